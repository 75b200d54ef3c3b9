/* What the two halves of the protocol share: contend_queue.c up to the grant, contend.c the rest.
 */
#ifndef RECIPES_CONTEND_STEPS_H
#define RECIPES_CONTEND_STEPS_H

#include "contend.h"

void contend_move(struct contend *c, enum contend_state to);

struct action *contend_act(struct actions *out, enum action_kind kind);

/* A request whose answer makes those to earlier requests stale. */
void contend_ask(struct contend *c, struct actions *out, enum action_kind kind);

/* Ends the attempt with whatever is left of it at the server. */
void contend_finish(struct contend *c, struct actions *out);

/* The caller gets its answer, and with fail that is all. */
void contend_tell(struct contend *c, struct actions *out, int error);
void contend_fail(struct contend *c, struct actions *out, int error);

/* Our create is not settled: what is left of it is looked for, and removed. The caller has its
 * answer. */
void contend_leave(struct contend *c);

/* To look was refused. */
void contend_unsettled(struct contend *c, struct actions *out);

/* ---- contend_queue.c ---- */

void contend_enter(struct contend *c, struct actions *out);

/* Asks to enter again: thousands may have to at once. */
void contend_admit(struct contend *c, struct actions *out);
void contend_step_queued(struct contend *c, const struct event *ev, struct actions *out);

#endif
