/* A grant: the right, mostly to a lock, that its holder has. An owned grant is a zkl_grant *, a
 * lent one a const zkl_grant *. A lent grant is invalid for everybody after its owner's last
 * unlock, after the end of a thread that is its owner, or after the lock was freed, except inside
 * callbacks of the grant. That of zkl_election_start() is invalid after its term, and that of
 * zkl_once_call() after its work. Another holder's grant may have its memory by then. */
#ifndef ZKL_GRANT_H
#define ZKL_GRANT_H

#include <zkl/api.h>

ZKL_BEGIN

/* In HELD and SUSPECT the lock is owned. LOST and RELEASED are final. */
typedef enum zkl_state {
    ZKL_HELD = 0,    /* owned, and recently proved */
    ZKL_SUSPECT = 1, /* owned, but no proof arrives: finish or checkpoint, start nothing new */
    ZKL_LOST = 2,    /* no longer owned: zkl_grant_loss() says why */
    ZKL_RELEASED = 3 /* no longer owned: it was released */
} zkl_state;

/* Why a grant was lost. If several things happened, the first of which the library heard counts.
 * Later versions may append reasons. */
typedef enum zkl_loss {
    ZKL_LOSS_NONE = 0, /* it was not lost */
    ZKL_LOSS_DEADLINE =
        1,                /* the deadline passed, because no proof of the session arrived in time */
    ZKL_LOSS_EXPIRED = 2, /* the servers have ended the ZooKeeper session: it expired, or another
                             client closed it */
    ZKL_LOSS_DELETED = 3, /* somebody else deleted the node, for example with zkl_queue_break().
                             With a connection a lock's holder mostly hears of it in some 20 ms and
                             a round trip; later if it cannot watch the node */
    ZKL_LOSS_CLOSED = 4,  /* zkl_session_close() was called */
    ZKL_LOSS_REPLACED = 5, /* the library gave up the ZooKeeper session for a new one, because the
                              servers no longer accepted it, as when their data has gone back, or
                              because what answers is no ZooKeeper */
    ZKL_LOSS_REFUSED = 6,  /* the server refused the session's credentials, or demands some */
    ZKL_LOSS_FORKED = 7    /* the caller is a forked child of the grant's process */
} zkl_loss;

/* A function that is registered below: a callback (zkl(3), Threads and callbacks). */
typedef void (*zkl_grant_fn)(const zkl_grant *grant, zkl_state state, void *data);

/* Returns the fencing token: the czxid of the grant's node. Where one holds alone, it rises from
 * one holder of a path to the next; see also zkl_grant_turn() and zkl_grant_part(). It never
 * changes and can be read as long as g is valid, even after a loss and in a forked child. Returns 0
 * for NULL; no grant has that token. */
ZKL_API uint64_t zkl_grant_token(const zkl_grant *g);

/* Returns the number of the grant's turn, from 0. A mutex that retains (retain_ms) grants one node,
 * and so one token, several times, and the turn rises with each grant. So the pair (token, turn)
 * rises with every grant at a mutex's path. The turn of a member is how often it had joined before.
 * The turn can be read whenever the token can. Returns 0 for every other kind of grant, and for
 * NULL. */
ZKL_API uint64_t zkl_grant_turn(const zkl_grant *g);

/* The size of a fence in bytes, with its final 0. */
enum { ZKL_FENCE_SIZE = 33 };

/* Writes token and turn into buf, each as 16 lower-case hexadecimal digits, and a final 0. Compared
 * byte by byte, as strcmp() does, and a database with COLLATE "C", these strings sort as the pairs
 * do. size is the size of buf, at least ZKL_FENCE_SIZE. A zkl_multilock's fence is that of its
 * first path, and fences nothing else (zkl(7), SEVERAL PATHS).
 *
 * Returns 0; or
 *   ZKL_EINVAL: g or buf is NULL;
 *   ZKL_ERANGE: size is too small. */
ZKL_API int zkl_grant_fence(const zkl_grant *g, char *buf, size_t size);

/* Returns how many milliseconds, rounded down, are left before the deadline. They count from the
 * moment inside the call at which the clocks are read; zkl_grant_deadline() gives the instant
 * itself. Returns 0 if the grant was lost or released, in the last millisecond before the deadline,
 * in a forked child and for NULL. The function asks no server, takes no lock, and works even if no
 * thread of the library runs. */
ZKL_API int64_t zkl_grant_remaining_ms(const zkl_grant *g);

/* An instant on two clocks of this machine. All processes of the machine read the same values,
 * unless they have time namespaces of their own. */
typedef struct zkl_deadline {
    int64_t boottime_ns;      /* on CLOCK_BOOTTIME */
    int64_t monotonic_raw_ns; /* on CLOCK_MONOTONIC_RAW */
} zkl_deadline;

/* Stores the grant's deadline in *ret: no other client can acquire what this grant excludes before
 * one of the two clocks has reached its value (zkl(7), WHAT IS TAKEN FOR GRANTED). The deadline
 * moves. A proof makes it later; a shorter session timeout, a loss or a release may make it
 * earlier. Costs as little as zkl_grant_remaining_ms(), unless it fails.
 *
 * Returns 0 if the grant is owned and both values are ahead of their clocks; or
 *   ZKL_ELOST: the grant was lost; both values are 0;
 *   ZKL_EPERM: the grant was released; both values are 0;
 *   ZKL_ECHILD: called in a forked child; both values are 0;
 *   ZKL_EINVAL: g or ret is NULL, and nothing is stored. */
ZKL_API int zkl_grant_deadline(const zkl_grant *g, zkl_deadline *ret);

/* Returns the state at the moment inside the call at which the clocks are read. A grant that was
 * not released is LOST from the deadline on, even if no thread of the library has run since. Costs
 * as little as zkl_grant_remaining_ms(). Returns ZKL_LOST in a forked child and for NULL. */
ZKL_API zkl_state zkl_grant_state(const zkl_grant *g);

/* Returns why the grant was lost, or ZKL_LOSS_NONE if zkl_grant_state() does not return ZKL_LOST.
 * The reason is set together with the state LOST and never changes after that. Costs as little as
 * zkl_grant_remaining_ms(). Returns ZKL_LOSS_FORKED in a forked child, even if the grant was lost
 * before, and ZKL_LOSS_NONE for NULL. */
ZKL_API zkl_loss zkl_grant_loss(const zkl_grant *g);

/* Returns a constant text for a reason, such as "somebody else deleted the node", or "unknown
 * reason" for any other number; never NULL. May be called anywhere, even in a forked child. */
ZKL_API const char *zkl_strloss(zkl_loss loss);

/* Returns the path of the grant's node, without the chroot of the session's connect string. The
 * string is valid as long as the grant. Returns NULL for NULL. */
ZKL_API const char *zkl_grant_node(const zkl_grant *g);

/* A part of a grant. There may be several in these cases: a node for each path of a zkl_multilock,
 * in the order in which zkl_multilock_new() got the paths; a node for each permit of a semaphore in
 * Curator's layout, in any order; a number for each numbered permit, in rising order. */
typedef struct zkl_part {
    uint64_t token;   /* the fencing token: the czxid of the node */
    const char *node; /* its path, as zkl_grant_node(); valid as long as the grant */
    int slot;         /* the number of a numbered permit; -1: it has none */
} zkl_part;

/* Stores part i of the grant, from 0, in *ret. A grant of any other kind has one part. All parts of
 * numbered permits have the same token and node. zkl_grant_token() and zkl_grant_node() return
 * those of part 0. The parts can be read whenever the token can:
 *
 *   for (size_t i = 0; zkl_grant_part(g, i, &part) == 0; i++)
 *
 * Returns 0; or
 *   ZKL_ENOENT: the grant has no part i;
 *   ZKL_EINVAL: g or ret is NULL. */
ZKL_API int zkl_grant_part(const zkl_grant *g, size_t i, zkl_part *ret);

/* Returns the id of the ZooKeeper session that owns the node. Returns 0 for NULL. */
ZKL_API int64_t zkl_grant_session_id(const zkl_grant *g);

/* Registers fn(g, state, data), which is called at every later change of state. If the state is not
 * HELD, fn is called once with the present state, too. The last call has the state LOST or
 * RELEASED, and comes exactly once; g is valid during that call. A call may come late:
 * zkl_grant_state() returns the present state. Registrations add up, and end with the grant.
 *
 * Returns 0; or
 *   ZKL_EINVAL: g or fn is NULL;
 *   ZKL_ECLOSED: the session was closed, and fn could not be called;
 *   ZKL_ECHILD. */
ZKL_API int zkl_grant_on_change(const zkl_grant *g, zkl_grant_fn fn, void *data);

/* Registers fn(g, state, data), which is called once, when another contender waits for the lock. If
 * one already waits, fn is called soon. Except for a reader or a holder of permits, any child that
 * appears in or disappears from a directory of the lock may count as a contender, and so does
 * another waiting caller of a mutex that does not retain. The call may come late, with an earlier
 * state. What is heard after the end of the grant is not reported. The registration may cost lists
 * of each node's directory, and a watch there. Registrations add up, and end with the grant.
 * Returns as zkl_grant_on_change(). */
ZKL_API int zkl_grant_on_wanted(const zkl_grant *g, zkl_grant_fn fn, void *data);

/* Registers fn(g, state, data), which is called once, when somebody asks the holder to give way
 * (zkl(7), GIVING WAY). If that has happened already, even before the grant, fn is called soon. The
 * holder may release the lock now, later or never. All else is as with zkl_grant_on_wanted(), but
 * the registration may cost reads of each node in place of lists. Returns as
 * zkl_grant_on_change(). */
ZKL_API int zkl_grant_on_revoke(const zkl_grant *g, zkl_grant_fn fn, void *data);

/* Releases a grant that the caller owns: one that came as zkl_grant *. A grant that is lent ends
 * otherwise: a mutex's by zkl_mutex_unlock(). The release of a membership's grant does not end the
 * membership: zkl_member_leave() does. Each grant is released once, or once for each call that gave
 * it (zkl_election_campaign(), zkl_member_grant()); the first release ends a term. One too many is
 * undefined; the library ignores and logs it where it can.
 *
 * Unless a mutex retains the node, the library deletes it in the background, and tries until the
 * deletion is confirmed or the session has ended. Never waits for the server: zkl_session_flush()
 * does. After its last release g is invalid, except inside callbacks of g. A transaction that was
 * not sent yet may then fail with ZKL_ELOST, unless ZKL_MULTI_RELEASE released g. A call that has g
 * as its fence fails where it would begin another transaction. */
ZKL_API void zkl_grant_release(zkl_grant *g);

ZKL_END

#endif
