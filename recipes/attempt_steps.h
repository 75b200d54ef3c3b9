/* How an attempt goes on: attempt.c hands an event to the phase that the attempt is in. A phase
 * moves on and returns; what the new state begins with, attempt.c asks of the phase that it belongs
 * to. So calls go one way, attempt.c -> enter, wait, hold -> attempt_common.c, and no phase calls
 * another. */
#ifndef RECIPES_ATTEMPT_STEPS_H
#define RECIPES_ATTEMPT_STEPS_H

#include "attempt.h"

/* A set of states is the sum of these. */
#define BIT(state) (1U << (state))

/* ---- attempt_enter.c: IDLE, REENTERING, CREATING, PARENTS, SETTLING, ADOPTING, RESETTING ---- */

void attempt_step_enter(struct attempt *c, const struct event *ev, struct actions *out);

/* Asks to enter again: thousands may have to at once. Answers to what was asked before are stale
 * from here on. */
void attempt_begin_reentering(struct attempt *c, struct actions *out);

/* ---- attempt_wait.c: LISTING, WAITING, FIRST, SUCCEEDING ---- */

void attempt_step_wait(struct attempt *c, const struct event *ev, struct actions *out);

/* ---- attempt_permits.c: the same of a semaphore, for attempt_wait.c ---- */

struct place;

/* Of a list: the limit was not of its time, so that both are asked for. */
bool attempt_lacks_limit(struct attempt *c, const struct event *ev, struct actions *out);

/* The place that a list shows: is it among those who are admitted? */
void attempt_take_place(struct attempt *c, const struct event *ev, struct actions *out,
                        const struct place *place);

/* EV_LIMIT_READ in LISTING; and of any that has told a limit. */
void attempt_limit_read(struct attempt *c, const struct event *ev, struct actions *out);
void attempt_learn_limit(struct attempt *c, const struct event *ev);

/* WAITING and FIRST. */
void attempt_step_in_line(struct attempt *c, const struct event *ev, struct actions *out);
void attempt_step_first(struct attempt *c, const struct event *ev, struct actions *out);

/* ---- attempt_hold.c: PROVING, CLAIMING, HOLDING, LAPSED, LEAVING ---- */

/* The end of the session comes here only when the caller has its answer. */
void attempt_step_hold(struct attempt *c, const struct event *ev, struct actions *out);

/* Nobody is ahead and the node is proved: a grant still needs a deadline. */
void attempt_begin_claiming(struct attempt *c, const struct event *ev, struct actions *out);

/* Our create is not settled: what is left of it is looked for, and removed. The caller has its
 * answer. The event may say already that to look was refused. */
void attempt_begin_leaving(struct attempt *c, const struct event *ev, struct actions *out);

/* ---- attempt_common.c ---- */

/* What a list tells of others. */
enum attempt_others attempt_others_in(const struct attempt *c, const struct event *ev,
                                      const struct place *place);

/* The last action asks for a watch on the predecessor. */
void attempt_wait_for(struct attempt *c, struct actions *out, uint32_t predecessor);

void attempt_unwatch(struct attempt *c, struct actions *out);
void attempt_unwatch_limit(struct attempt *c, struct actions *out);

void attempt_move(struct attempt *c, enum attempt_state to);

struct action *attempt_act(struct actions *out, enum action_kind kind);

/* A request whose answer makes those to earlier requests stale. */
void attempt_ask(struct attempt *c, struct actions *out, enum action_kind kind);

/* Ends the attempt with whatever is left of it at the server. */
void attempt_finish(struct attempt *c, struct actions *out);

/* The own node went, as LOSS_DELETED alone, or else with the session. */
void attempt_end_without_node(struct attempt *c, struct actions *out, enum loss loss);

/* The caller gets its answer, and with fail that is all. */
void attempt_tell(struct attempt *c, struct actions *out, int error);
void attempt_fail(struct attempt *c, struct actions *out, int error);

/* What the caller is told of such an answer. */
int attempt_error_of(enum answer answer);
void attempt_fail_answer(struct attempt *c, struct actions *out, enum answer answer);

/* A read of the own node: it is not there, or is another session's. */
bool attempt_is_own_gone(const struct event *ev);

/* Such a read has left a watch on it. */
void attempt_own_watched(struct attempt *c, const struct event *ev);

/* Of a holder: a watch on the children tells of the own node's end, but not of what is written
 * there.
 */
bool attempt_needs_own_watch(const struct attempt *c);

/* Counts a beginning anew. After too many it fails, and returns false. */
bool attempt_next_round(struct attempt *c, struct actions *out);

/* The own node is not there: back to the tail. */
void attempt_reenter(struct attempt *c, struct actions *out);

#endif
