/* What lib/lock/contender*.c do between recipe, server and user. Each function names the one that
 * it mirrors. */
#ifndef EXPLORE_DRIVER_H
#define EXPLORE_DRIVER_H

#include "model.h"

/* contender_step(); names: those of the snapshot given. */
void driver_step(struct state *st, int i, struct event *ev);
void driver_step_seeing(struct state *st, int i, struct event *ev, uint16_t names);

/* Whether the node carries the present id of the attempt, or the one before. */
bool driver_is_own(const struct state *st, int i, int n);
bool driver_is_old(const struct state *st, int i, int n);

void driver_enter(struct state *st, int i);
void driver_abort(struct state *st, int i);
void driver_release(struct state *st, int i); /* by the user, or by the callbacks of a loss */
void driver_timer(struct state *st, int i);

void driver_deadline(struct state *st, int i);   /* it passes */
void driver_tell_lapse(struct state *st, int i); /* its timer runs */
void driver_proof(struct state *st, int i);      /* there is a new deadline */
void driver_extend(struct state *st, int i);     /* extend(), for on_proved() */

#endif
