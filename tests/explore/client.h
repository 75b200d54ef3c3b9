/* The machine of a client with its exchange: what its actions lead to at its server and its user,
 * where the library has lib/session/driver.c and lib/contender/contender.c. */
#ifndef EXPLORE_CLIENT_H
#define EXPLORE_CLIENT_H

#include "model.h"

/* What the machine hears, and what it sees with it. */
struct heard {
    struct machine_event ev;
    struct attempt_moment moment;
    const uint8_t *listed; /* the nodes that were listed */
};

/* A step, and what happens in it, behind it. */
void client_step(struct state *st, int i, struct heard *heard);
void client_step_kind(struct state *st, int i, unsigned kind);

/* Whether the node carries the present id of the attempt, or the one before. */
bool client_is_own(const struct state *st, int i, int n);
bool client_is_old(const struct state *st, int i, int n);

void client_release(struct state *st, int i); /* by the user, or by the callbacks of a loss */
void client_timer(struct state *st, int i);

void client_deadline(struct state *st, int i);   /* it passes */
void client_tell_lapse(struct state *st, int i); /* its timer runs */
void client_proof(struct state *st, int i);      /* there is a new deadline */
void client_extend(struct state *st, int i);     /* extend() of locks.c */

#endif
