/* A grant: what a contender at the head is given. It says until when the holder may believe. */
#ifndef ZKL_GRANT_H
#define ZKL_GRANT_H

#include <zkl/api.h>

ZKL_BEGIN

/* HELD and SUSPECT are both ownership; LOST and RELEASED are final. Since 0.1. */
typedef enum zkl_state {
    ZKL_HELD = 0,    /* owned, and lately proved */
    ZKL_SUSPECT = 1, /* owned, but no proof comes: finish or checkpoint, start nothing new */
    ZKL_LOST = 2,    /* not owned any more, and not by the holder's will */
    ZKL_RELEASED = 3 /* given back */
} zkl_state;

/* Called at a change of state, on a library thread, with no lock of the library held. */
typedef void (*zkl_grant_fn)(zkl_grant *grant, zkl_state state, void *data);

/* The fencing token: the contender's czxid, rising along the holders of a path. Never changes,
 * never fails, also after loss and in a forked child; 0 for NULL. Since 0.1. */
ZKL_API uint64_t zkl_grant_token(const zkl_grant *g);

/* Milliseconds, rounded down, during which no other client can be granted the lock, counted from
 * the reading of the clocks inside the call, not from its return: a thread may be stopped in
 * between: zkl_grant_deadline() gives the instant itself. 0 once lost or released, in the last
 * millisecond before the deadline, in a forked child and for NULL. Two clock reads and atomic
 * loads, so it needs no thread of the library to run. Since 0.1. */
ZKL_API int64_t zkl_grant_remaining_ms(const zkl_grant *g);

/* An instant on two clocks of this machine, which every process of it reads alike. Since 0.1. */
typedef struct zkl_deadline {
    int64_t boottime_ns;      /* CLOCK_BOOTTIME */
    int64_t monotonic_raw_ns; /* CLOCK_MONOTONIC_RAW */
} zkl_deadline;

/* Stores the deadline in *ret: no other client can be granted the lock before one of the clocks has
 * reached its value. The deadline moves: farther with each proof, and nearer if a server negotiates
 * a shorter session timeout; an instant that was read stays true. As cheap as
 * zkl_grant_remaining_ms(). Returns 0; ZKL_ELOST if the grant was lost, ZKL_EPERM if it was
 * released, and ZKL_ECHILD, each with both values 0; ZKL_EINVAL if g or ret is NULL. Since 0.1. */
ZKL_API int zkl_grant_deadline(const zkl_grant *g, zkl_deadline *ret);

/* The state when the clock was read inside the call; as cheap as zkl_grant_remaining_ms(), and LOST
 * from the deadline on whoever noticed it. LOST in a forked child and for NULL. Since 0.1. */
ZKL_API zkl_state zkl_grant_state(const zkl_grant *g);

/* The contender's node, as the session's connect string sees it (without its chroot); valid as
 * long as the grant. NULL for NULL. Since 0.1. */
ZKL_API const char *zkl_grant_node(const zkl_grant *g);

/* The id of the ZooKeeper session that owns the node. 0 for NULL. Since 0.1. */
ZKL_API int64_t zkl_grant_session_id(const zkl_grant *g);

/* Registers fn(g, state, data) for every later change. Registrations add up. When the state is
 * not HELD already, fn is called once with it. The last call is LOST or RELEASED, exactly once;
 * the grant outlives it. A call may come late: ask the grant for its state now. Returns 0;
 * ZKL_EINVAL; ZKL_ECLOSED if the session was closed, since nobody could call; ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_grant_on_change(zkl_grant *g, zkl_grant_fn fn, void *data);

/* Ends an owned grant: one that an asynchronous acquisition or a campaign gave. From any thread;
 * never waits for the server: the node is deleted in the background until that is confirmed or the
 * session is gone. The pointer is invalid afterwards, except inside callbacks of it already begun.
 * NULL is ignored. A borrowed grant (zkl_mutex_lock) must not be given here. In a forked child it
 * does nothing. Since 0.1. */
ZKL_API void zkl_grant_release(zkl_grant *g);

ZKL_END

#endif
