/* Barriers. A barrier is a node: clients wait while it exists. At a double barrier, members enter
 * together and leave together. Both have the layout of Curator and kazoo. zkl(3) says what all
 * functions have in common. */
#ifndef ZKL_BARRIER_H
#define ZKL_BARRIER_H

#include <zkl/api.h>
#include <zkl/error.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* The options of both kinds of barrier. Fill with ZKL_BARRIER_OPTIONS_INIT, then change members. */
typedef struct zkl_barrier_options {
    size_t size;         /* sizeof(zkl_barrier_options); see zkl/session.h */
    const char *name;    /* the data of the barrier's node, or of the member's, for people: UTF-8,
                            at most 1024 bytes; NULL: host and process id */
    zkl_parents parents; /* how missing directories are created; default: containers */
    int reserved;        /* 0 */
} zkl_barrier_options;

#define ZKL_BARRIER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_barrier_options), NULL, ZKL_PARENTS_CONTAINER, 0                                \
    }

/* The functions below that have a timeout_ms block for timeout_ms at most; 0 means one session
 * timeout; zkl_barrier_set() has an exception. They go on after a lost connection. A member of a
 * double barrier whose time has passed leaves first, which takes one session timeout more at most.
 * Each returns 0; or
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed; a change may have been made;
 *   ZKL_EACCES, ZKL_EPROTO, ZKL_EAUTH, ZKL_EDEADLK, ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD;
 *   the codes that its own description names.
 *
 * The functions whose names end in _async do not block: they call fn(err, data). Each returns 0; or
 *   ZKL_EINVAL: a handle or fn is NULL;
 *   ZKL_EBUSY, ZKL_EPERM: as the function of the same name without _async;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of that function, except ZKL_EBUSY, ZKL_EPERM, ZKL_EDEADLK, ZKL_EINVAL
 * and ZKL_ECHILD. */

/* ---- a barrier: closed while its node exists ---- */

/* Creates a handle for the barrier at path and stores it in *ret. path is as for zkl_mutex_new().
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_barrier_new(zkl_barrier **ret, zkl_session *s, const char *path,
                            const zkl_barrier_options *options);

/* Frees the handle, not the barrier. Calls in progress fail with ZKL_ECLOSED. */
ZKL_API void zkl_barrier_free(zkl_barrier *b);

/* Closes the barrier: creates its node, as a persistent one, unless it exists. After an error the
 * barrier may have been closed, or may be closed later, unless the first request was refused.
 *
 * If the answer was lost with a connection, the call repeats the request. The servers may still do
 * the first one, even if the repetition was refused. So the call returns, or fails, when they
 * cannot do it any more: mostly 22 s after the answer to the repetition, or 1.1 session timeouts if
 * that is longer. A timeout_ms of 0 does not limit that wait; another one does. The same holds for
 * zkl_barrier_remove().
 *
 * Also returns
 *   ZKL_EPATH: path is below an ephemeral node. */
ZKL_API int zkl_barrier_set(zkl_barrier *b, int64_t timeout_ms);

/* Opens the barrier: deletes its node, if it exists. After an error the barrier may have been
 * opened, or may be opened later.
 *
 * Also returns
 *   ZKL_ENOTEMPTY: the node has children. */
ZKL_API int zkl_barrier_remove(zkl_barrier *b, int64_t timeout_ms);

/* Waits until the barrier is open. The server first catches up with its leader, so the function
 * waits for a barrier that was closed before the call began. The wait continues in the next
 * ZooKeeper session if this one ends. The function may miss that a barrier was open if it is
 * closed again at once.
 *
 * Also returns
 *   ZKL_ELIMIT. */
ZKL_API int zkl_barrier_wait(zkl_barrier *b, int64_t timeout_ms);
ZKL_API int zkl_barrier_wait_async(zkl_barrier *b, int64_t timeout_ms, zkl_done_fn fn, void *data);

/* ---- a double barrier: members enter together and leave together ---- */

/* Creates a handle for one member of the double barrier at path, and stores it in *ret. members is
 * how many members meet: 1 to 1000, and the same number for all members. One handle is one member:
 * it enters, leaves, and may then enter again.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_double_barrier_new(zkl_double_barrier **ret, zkl_session *s, const char *path,
                                   int members, const zkl_barrier_options *options);

/* Frees the handle. A call in progress fails with ZKL_ECLOSED. A member that is inside leaves
 * without waiting for the others: its node is deleted in the background. */
ZKL_API void zkl_double_barrier_free(zkl_double_barrier *b);

/* Waits until the handle's number of members is there, this member included, and enters with them.
 * If more members come, all of this library, the first of them enter, in the order in which their
 * nodes were created. The others wait at least until all of those have left. While the node of a
 * member that crashed in an earlier round stands, no member of this library enters.
 *
 * If the time passes, the member leaves: its node is deleted before the function returns, or later.
 * The other members may have entered with this member just before.
 *
 * If the answer to the create of the node was lost with a connection, the servers may do that
 * create late. So the node is deleted only when they cannot any more, as zkl_barrier_set() says. A
 * leave waits until then. If an enter has failed, the handle is busy until then, and other members
 * may still enter with this member.
 *
 * Also returns
 *   ZKL_ELOST: the ZooKeeper session ended while the member waited, and its node with it. Other
 *     members may have entered with this member before that;
 *   ZKL_ELAYOUT: the round there was begun by a later version of this library, and this one does
 *     not know whom it lets in;
 *   ZKL_EBUSY: the member is inside, another call of this handle is in progress, or the node of a
 *     call that failed is not deleted yet;
 *   ZKL_EPATH, ZKL_ELIMIT. */
ZKL_API int zkl_double_barrier_enter(zkl_double_barrier *b, int64_t timeout_ms);
ZKL_API int zkl_double_barrier_enter_async(zkl_double_barrier *b, int64_t timeout_ms,
                                           zkl_done_fn fn, void *data);

/* Leaves, and waits until all members that entered with this member have left. After every result
 * except ZKL_EPERM, ZKL_EBUSY, ZKL_EDEADLK, ZKL_EINVAL and ZKL_ECHILD this member has left. Its
 * node is deleted as zkl_double_barrier_enter() says.
 *
 * Also returns
 *   ZKL_ELOST: the ZooKeeper session ended before the call, and the node with it. Other members may
 *     have concluded that this member had left;
 *   ZKL_EPERM: the member is not inside;
 *   ZKL_EBUSY: another call of this handle is in progress;
 *   ZKL_ELIMIT. */
ZKL_API int zkl_double_barrier_leave(zkl_double_barrier *b, int64_t timeout_ms);
ZKL_API int zkl_double_barrier_leave_async(zkl_double_barrier *b, int64_t timeout_ms,
                                           zkl_done_fn fn, void *data);

ZKL_END

#endif
