/* Grant: what a user has. It stands on one tenure or more. A turn of a retained lock stands on a
 * tenure that earlier turns stood on; a lock at several paths stands on one tenure at each.
 * docs/design/grants.md has the argument. */
#ifndef LIB_GRANT_H
#define LIB_GRANT_H

#include "lib/session/stats.h"
#include "tenure.h"

/* Called exactly once for what was waited for: the grant (owned by the callee) or the error. */
typedef void (*grant_decided)(void *context, zkl_grant *grant, const zkl_error *error);

/* How a grant was given back. */
struct grant_end {
    bool last;   /* the owner will not come again */
    bool before; /* a transaction has done so already */
    bool owned;  /* false: it was lost before */
    bool sure;   /* it was HELD at .now, CLOCK_BOOTTIME ns, which was read in this very call */
    int64_t now;
};

/* What else happens when a grant ends, if more has to go than one node. A function that is NULL
 * means that the tenure is released. */
struct grant_ops {
    /* A user's release gives up the reference alone: a member leaves its group otherwise. */
    bool stays;
    /* The user has given it back. */
    void (*given_back)(void *context, zkl_grant *g, const struct grant_end *end);
    /* The nodes have to go; node_gone: the first is known to be gone instead. */
    void (*let_go)(void *context, bool node_gone);
};

/* All with the monitor held, unless it says otherwise. */

/* Makes a grant with one reference, which is the caller's. It takes a reference to each tenure, and
 * each tenure that is kept takes one to it. ops NULL: the tenure is released in the end. */
zkl_grant *grant_new(struct tenure *const *tenures, uint32_t count, const struct grant_ops *ops,
                     void *context);

/* The same on one tenure, whose reference it takes. */
zkl_grant *grant_new_on(struct tenure *t);

/* Returns the next turn on t, with that number. spare is NULL or a turn of t's that is over: it is
 * used again if nobody else has it. The function takes spare's reference. */
zkl_grant *grant_new_turn(struct tenure *t, zkl_grant *spare, uint64_t number,
                          const struct grant_ops *ops, void *context);

zkl_grant *grant_ref(zkl_grant *g);

/* A user gets one of the references, to give it up with zkl_grant_release(). */
void grant_own(zkl_grant *g);

/* Returns our own pointer to a grant that was lent to a user. The const of a lent grant keeps a
 * borrower from releasing it. It does not keep us from noting what the borrower asks for. */
zkl_grant *grant_of(const zkl_grant *lent);

/* It may free the session, and with it the monitor. So the caller does not hold the monitor, unless
 * it has another reference to the session. */
void grant_unref(zkl_grant *g);

/* The .ops hear of its end no longer. */
void grant_forget(zkl_grant *g);

/* The same as zkl_grant_on_change(), where the calls are sure to come: before the session is
 * closed. */
void grant_watch(zkl_grant *g, zkl_grant_fn fn, void *data);

/* The user gets it now, CLOCK_BOOTTIME ns, and has waited for it so long: it is counted there. */
void grant_began(zkl_grant *g, struct stats_path *at, int64_t wait_ns, int64_t now);

/* Before anybody else has it: its permits have these numbers. */
void grant_set_slots(zkl_grant *g, const int32_t *slots, uint32_t count);

/* ---- the end by its user: it is told first, then the node is deleted ---- */

/* False: it was lost before. The caller's reference stays. last: the owner will not come again. */
bool grant_give_back(zkl_grant *g, bool last);

/* The two halves of a release, for a transaction that gives the grant back. After the first half
 * the grant is RELEASED, though its node stands; false: it was not owned. */
bool grant_disown(zkl_grant *g);
/* The nodes are deleted, unless they are gone. */
void grant_let_go(zkl_grant *g, bool node_gone);

/* ---- what happens to a tenure; the grant on it, if there is one, tells ---- */

/* A new deadline; a later one is a proof, which ends SUSPECT. False: it was lost before. */
bool grant_extend(struct tenure *t, struct instant deadline, bool proved);
void grant_suspect(struct tenure *t);

/* The tenure is lost for that reason, or was before by its deadline. No other function tells a
 * loss. If anybody was told, then(data) runs after them, on the callback thread and without the
 * monitor; NULL: nothing runs. Returns whether then will be called. */
bool grant_lose(struct tenure *t, enum loss loss, void (*then)(void *data), void *data);

/* There is reason for it: calls those who asked for it, now and once. */
void grant_call(struct tenure *t, enum tenure_call call);

/* The grant on t, given back, stands on it no longer; with t's reference. */
zkl_grant *grant_take_off(struct tenure *t);

/* What kept the tenure is done with it. */
void grant_detach(struct tenure *t);

/* Whether the grant on t was; and why that or, where there is none, t was lost. */
bool grant_is_given_back(const struct tenure *t);
zkl_loss grant_loss(const struct tenure *t);

/* ---- what others read of it; what never changes without the monitor ---- */

/* 0 for an owned one; otherwise ZKL_ELOST or ZKL_EPERM, and the thread's last error says so. */
int grant_check_state(const zkl_grant *g, zkl_state state);

zkl_session *grant_session(const zkl_grant *g);
uint32_t grant_count(const zkl_grant *g);
struct tenure *grant_tenure(const zkl_grant *g, uint32_t i);
const char *grant_full_node(const zkl_grant *g);        /* of the first tenure */
const char *grant_node(const zkl_grant *g, uint32_t i); /* of that tenure, as the user sees it */
bool grant_is_child(const zkl_grant *g);                /* in a forked child */

#endif
