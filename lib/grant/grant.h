/* A grant is what a user has of a lock. It stands on one tenure or more. A turn of a retained lock
 * is a grant on a tenure that earlier turns stood on. The grant of a lock at several paths stands
 * on one tenure for each path. docs/design/grants.md has the argument. */
#ifndef LIB_GRANT_H
#define LIB_GRANT_H

#include "lib/session/stats.h"
#include "tenure.h"

/* Called exactly once, with the grant, whose reference is the callee's, or with the error. */
typedef void (*grant_decided)(void *context, zkl_grant *grant, const zkl_error *error);

/* How a grant was given back. */
struct grant_end {
    bool last;   /* the owner will not lock again */
    bool before; /* a transaction has given it back already */
    bool owned;  /* false: the grant was lost before */
    bool sure;   /* the grant was HELD at .now */
    int64_t now; /* CLOCK_BOOTTIME ns, read in this very call; 0: not read */
};

/* What is done when a grant ends, if that is not just the release of one tenure. */
struct grant_ops {
    /* zkl_grant_release() gives up the reference alone. A member's grant ends when the member
     * leaves its group. */
    bool stays;
    /* The functions below are called even when the tenure has ended: .context lasts until the user
     * has released the grant. Only of a grant on one tenure. */
    bool outlasts;
    /* Called when the user has given the grant back. NULL: the nodes go. */
    void (*given_back)(void *context, zkl_grant *g, const struct grant_end *end);
    /* Deletes the nodes. node_gone: ends the first tenure instead, since a transaction has found
     * that its node is gone. NULL: the tenure is released. */
    void (*let_go)(void *context, bool node_gone);
};

/* All functions are called with the monitor held, unless they say otherwise. */

/* Makes a grant on count tenures, with one reference, which is the caller's. The grant takes a
 * reference to each tenure. Each tenure that still has its contender or member (.kept) takes one to
 * the grant. ops NULL: the tenure is released when the grant ends. */
zkl_grant *grant_new(struct tenure *const *tenures, uint32_t count, const struct grant_ops *ops,
                     void *context);

/* Makes a grant on one tenure, and takes over the caller's reference to that. */
zkl_grant *grant_new_on(struct tenure *t);

/* Makes the grant for the next turn on t, with that number. spare is NULL, or the grant of an
 * earlier turn: if nobody else has that, it is used again. The function takes over the caller's
 * reference to spare. */
zkl_grant *grant_new_turn(struct tenure *t, zkl_grant *spare, uint64_t number,
                          const struct grant_ops *ops, void *context);

zkl_grant *grant_ref(zkl_grant *g);

/* Gives one of the references to a user, who gives it up with zkl_grant_release(). */
void grant_own(zkl_grant *g);

/* Returns a pointer without const to a grant that was lent to a user. The const keeps the user from
 * releasing the grant. We may still change it. */
zkl_grant *grant_of(const zkl_grant *lent);

/* Gives up a reference. This may free the session, and with it the monitor. So the caller does not
 * hold the monitor, unless it has another reference to the session. */
void grant_unref(zkl_grant *g);

/* From now on no function of the ops is called for the grant. */
void grant_forget(zkl_grant *g);

/* Does what zkl_grant_on_change() does. The session is not closed, so the calls are sure. */
void grant_watch(zkl_grant *g, zkl_grant_fn fn, void *data);

/* Counts at that path that the user gets the grant at now (CLOCK_BOOTTIME ns), after a wait of
 * wait_ns. This is for statistics and probes: the grant is HELD since it was made. */
void grant_began(zkl_grant *g, struct stats_path *at, int64_t wait_ns, int64_t now);

/* Sets the numbers of the permits, before a user has the grant. */
void grant_set_slots(zkl_grant *g, const int32_t *slots, uint32_t count);

/* ---- the end by the user: the watchers are told first, then the node is deleted ---- */

/* Gives the grant back. The caller's reference stays. last: the owner will not lock again. Returns
 * false if the grant was lost before. */
bool grant_give_back(zkl_grant *g, bool last);

/* Does the first half of grant_give_back(), for a transaction that gives the grant back: makes the
 * grant RELEASED, though its node stands. Returns false if the grant had ended before. */
bool grant_disown(zkl_grant *g);

/* Does the second half: deletes the nodes. node_gone: as in struct grant_ops. */
void grant_let_go(zkl_grant *g, bool node_gone);

/* ---- what happens to a tenure; the watchers of its grant, if there is one, are told ---- */

/* Sets a new deadline: see validity_move_deadline(). */
bool grant_move_deadline(struct tenure *t, struct instant deadline, bool proved);

/* Makes a HELD tenure SUSPECT. */
void grant_suspect(struct tenure *t);

/* Makes the tenure LOST for that reason, unless its deadline has passed and so has made it LOST
 * before. No other function tells a loss. If watchers are told, then(data) is called after them, as
 * a callback; NULL: nothing is. Returns whether it will be called. */
bool grant_lose(struct tenure *t, enum loss loss, void (*then)(void *data), void *data);

/* Calls the functions that the user has registered for such a call, once each. */
void grant_call(struct tenure *t, enum tenure_call call);

/* Takes the grant, which was given back, off the tenure. Returns it with the tenure's reference. */
zkl_grant *grant_take_off(struct tenure *t);

/* Lets the tenure forget its keeper, and gives up the tenure's reference to the grant on it. */
void grant_detach(struct tenure *t);

/* Whether there is a grant on t, and it was given back. */
bool grant_is_given_back(const struct tenure *t);

/* Returns why the grant on t was lost; or, without a grant, why t was. */
zkl_loss grant_loss(const struct tenure *t);

/* ---- what others read of a grant; these may be called without the monitor ---- */

/* Returns 0 if a grant in that state has not ended; otherwise ZKL_ELOST or ZKL_EPERM, the thread's
 * last error. */
int grant_check_state(const zkl_grant *g, zkl_state state);

zkl_session *grant_session(const zkl_grant *g);
uint32_t grant_count(const zkl_grant *g);
struct tenure *grant_tenure(const zkl_grant *g, uint32_t i);
const char *grant_full_node(const zkl_grant *g);        /* of the first tenure */
const char *grant_node(const zkl_grant *g, uint32_t i); /* of that tenure, as the user sees it */
bool grant_is_child(const zkl_grant *g);                /* in a forked child */

#endif
