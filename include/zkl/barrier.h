/* Barriers: a node that keeps others waiting, and a double barrier at which members enter and leave
 * together. Both in the layout of Curator and kazoo. */
#ifndef ZKL_BARRIER_H
#define ZKL_BARRIER_H

#include <zkl/api.h>
#include <zkl/error.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* For both kinds of barrier. Fill with ZKL_BARRIER_OPTIONS_INIT, then change members. Since 0.1. */
typedef struct zkl_barrier_options {
    size_t size;         /* sizeof(zkl_barrier_options); see zkl/session.h */
    const char *name;    /* what the nodes made hold, for people: UTF-8, at most 1024 bytes; NULL:
                            host and process id */
    zkl_parents parents; /* how missing directories are created; default: containers */
} zkl_barrier_options;

#define ZKL_BARRIER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_barrier_options), NULL, ZKL_PARENTS_CONTAINER                                   \
    }

/* Every function below that has a timeout_ms blocks for that long at most; 0 means one session
 * timeout. Each returns
 *   0;
 *   ZKL_EACCES, ZKL_EPATH, ZKL_EPROTO: the server refused a request;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed, with a connection or, for that
 *     reason, without one;
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_ELIMIT: too many watches;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: a handle is NULL;
 *   ZKL_ECLOSED: the session was closed, or the handle freed;
 *   ZKL_ECHILD;
 * and what its own comment names. The forms that end in _async return 0, ZKL_EINVAL (also if fn is
 * NULL), ZKL_ECLOSED, ZKL_ECHILD, ZKL_EBUSY or ZKL_EPERM, and call fn(err, data) exactly once if
 * they return 0; err then has one of the other codes. Lost connections are survived in silence. */

/* ---- a barrier: closed while its node exists ---- */

/* Creates a handle for the barrier at path and stores it in *ret. path is as for zkl_mutex_new().
 * options may be NULL. Sends nothing to the server. Free the handle with zkl_barrier_free().
 * Returns 0; ZKL_EINVAL: ret or s is NULL, or path or options are invalid; ZKL_ECLOSED; ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_barrier_new(zkl_barrier **ret, zkl_session *s, const char *path,
                            const zkl_barrier_options *options);

/* Frees the handle; the barrier stays as it is. Calls in progress fail with ZKL_ECLOSED. No call
 * with b may begin afterwards. Never waits for the server. NULL is ignored. In a forked child it
 * does nothing. Since 0.1. */
ZKL_API void zkl_barrier_free(zkl_barrier *b);

/* Closes the barrier: creates its node, as a persistent one, unless it exists. If it fails for any
 * reason but a refusal of the server, the barrier may have been closed, or may be later.
 * Since 0.1. */
ZKL_API int zkl_barrier_set(zkl_barrier *b, int64_t timeout_ms);

/* Opens the barrier: deletes its node, if it exists. Also returns ZKL_ENOTEMPTY: the node has
 * children. If it fails otherwise for any reason but a refusal of the server, the barrier may have
 * been opened, or may be later. Since 0.1. */
ZKL_API int zkl_barrier_remove(zkl_barrier *b, int64_t timeout_ms);

/* Waits until the barrier is open. The server catches up with the leader first, so a barrier that
 * was closed before the call began keeps it waiting. The wait goes on in the next session if this
 * one expires. A barrier that is opened and closed again at once may be missed. Since 0.1. */
ZKL_API int zkl_barrier_wait(zkl_barrier *b, int64_t timeout_ms);
ZKL_API int zkl_barrier_wait_async(zkl_barrier *b, int64_t timeout_ms, zkl_done_fn fn, void *data);

/* ---- a double barrier: members enter together and leave together ---- */

/* Creates a handle for one member of the double barrier at path, at which members members meet (1
 * to 1000, the same for all of them), and stores it in *ret. One handle is one member: it enters
 * and leaves, and may then enter again. options may be NULL. Sends nothing to the server. Free the
 * handle with zkl_double_barrier_free().
 * Returns 0; ZKL_EINVAL: ret or s is NULL, or path, members or options are invalid; ZKL_ECLOSED;
 * ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_double_barrier_new(zkl_double_barrier **ret, zkl_session *s, const char *path,
                                   int members, const zkl_barrier_options *options);

/* Frees the handle. A call in progress fails with ZKL_ECLOSED. A member that is inside leaves
 * without waiting for the others: its node is deleted in the background. No call with b may begin
 * afterwards. Never waits for the server. NULL is ignored. In a forked child it does nothing.
 * Since 0.1. */
ZKL_API void zkl_double_barrier_free(zkl_double_barrier *b);

/* Waits until as many members are there as the handle was created for, this one among them, and
 * enters with them. Of more members the first enter, in the order in which their nodes were made;
 * the others wait until all of these have left. What a member that crashed left behind of an
 * earlier round lets nobody in.
 * A member whose time passes leaves before the function returns: its node is gone then, or, if the
 * server does not answer for one session timeout more, is deleted as soon as it does. The others
 * may have entered with it just before.
 * Also returns
 *   ZKL_ELOST: the session expired while the member waited, and its node with it. Others may have
 *     entered with it before that;
 *   ZKL_EBUSY: the member is inside, another call of this handle is in progress, or the node of a
 *     call that failed is still to be deleted.
 * Since 0.1. */
ZKL_API int zkl_double_barrier_enter(zkl_double_barrier *b, int64_t timeout_ms);
ZKL_API int zkl_double_barrier_enter_async(zkl_double_barrier *b, int64_t timeout_ms,
                                           zkl_done_fn fn, void *data);

/* Leaves, and waits until all who entered with this member have left. Whatever it returns but
 * ZKL_EPERM and ZKL_EBUSY, this member has left, as zkl_double_barrier_enter() says.
 * Also returns
 *   ZKL_ELOST: the session has expired since the member entered, and its node with it: others may
 *     have taken it for one that left;
 *   ZKL_EPERM: the member is not inside;
 *   ZKL_EBUSY: another call of this handle is in progress.
 * Since 0.1. */
ZKL_API int zkl_double_barrier_leave(zkl_double_barrier *b, int64_t timeout_ms);
ZKL_API int zkl_double_barrier_leave_async(zkl_double_barrier *b, int64_t timeout_ms,
                                           zkl_done_fn fn, void *data);

ZKL_END

#endif
