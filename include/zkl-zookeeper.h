/* For programs that also use libzookeeper themselves: their transactions fenced by a grant, and
 * their calls on the session's own handle. Include <zookeeper/zookeeper.h> for the types. */
#ifndef ZKL_ZOOKEEPER_H
#define ZKL_ZOOKEEPER_H

#include <zkl.h>

ZKL_BEGIN

struct zoo_op;
struct _zhandle;

/* Makes *op the operation that fails unless g's node stands: to be put first into a zoo_multi() of
 * the caller's own, on any handle without a chroot (the session's own has none: put its chroot
 * before your paths). It refers to g, which must outlive it. Returns 0; ZKL_ELOST if g was
 * lost, ZKL_EPERM if it was released, ZKL_ECHILD, each with *op filled all the same; ZKL_EINVAL.
 *
 * zoo_multi() of the 3.8 client ends the process by a bad free() on a handle that has expired or
 * whose credentials were refused, or when a path is bad: look at zoo_state() right before, and
 * check paths. zkl_grant_multi() does that, and more. Since 0.1. */
ZKL_API int zkl_grant_check_op(const zkl_grant *g, struct zoo_op *op);

/* With the session's handle, which is not closed before the call returns. */
typedef void (*zkl_call_fn)(struct _zhandle *zh, void *data);

/* Calls fn(zh, data) in this thread, with no lock of the library held and its cancellation
 * disabled, and returns when it does. fn must return; it must neither close the handle nor keep it,
 * nor set its watcher, context or servers, nor add credentials. What it does below a lock's path is
 * a third party's doing. What it registers with the handle is called on libzookeeper's own thread,
 * where nothing of zkl's that waits may be called. Its synchronous calls have no timeout:
 * zkl_session_close() waits for fn up to 5 s, and the session with its nodes ends when fn has
 * returned. Answers 0;
 * ZKL_EUNREACHABLE: there is no handle just now, fn was not called; ZKL_EINVAL, ZKL_ECLOSED,
 * ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_call(zkl_session *s, zkl_call_fn fn, void *data);

ZKL_END

#endif
