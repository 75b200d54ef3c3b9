/* What the two halves of the protocol share: attempt_queue.c up to the grant, attempt.c the rest.
 */
#ifndef RECIPES_ATTEMPT_STEPS_H
#define RECIPES_ATTEMPT_STEPS_H

#include "attempt.h"

void attempt_move(struct attempt *c, enum attempt_state to);

struct action *attempt_act(struct actions *out, enum action_kind kind);

/* A request whose answer makes those to earlier requests stale. */
void attempt_ask(struct attempt *c, struct actions *out, enum action_kind kind);

/* Ends the attempt with whatever is left of it at the server. */
void attempt_finish(struct attempt *c, struct actions *out);

/* The caller gets its answer, and with fail that is all. */
void attempt_tell(struct attempt *c, struct actions *out, int error);
void attempt_fail(struct attempt *c, struct actions *out, int error);

/* Our create is not settled: what is left of it is looked for, and removed. The caller has its
 * answer. */
void attempt_leave(struct attempt *c);

/* To look was refused. */
void attempt_unsettled(struct attempt *c, struct actions *out);

/* ---- attempt_queue.c ---- */

void attempt_enter(struct attempt *c, struct actions *out);

/* Asks to enter again: thousands may have to at once. */
void attempt_admit(struct attempt *c, struct actions *out);
void attempt_step_queued(struct attempt *c, const struct event *ev, struct actions *out);

#endif
