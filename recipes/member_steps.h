/* How a member goes on: member.c hands an event to the phase that the member is in, unless all
 * phases take it in the same way. Calls go one way, member.c -> join, wait, in, leave ->
 * member_common.c, and no phase calls another. */
#ifndef RECIPES_MEMBER_STEPS_H
#define RECIPES_MEMBER_STEPS_H

#include "member.h"

/* A set of states is the sum of these. */
#define BIT(state) (1U << (state))

/* ---- member_join.c: OUT, CREATING, READING, BACKED_OFF ---- */

void member_step_join(struct member *m, const struct member_event *ev, struct member_actions *out);

/* ---- member_wait.c: JUDGING, CLAIMING, WAITING ---- */

void member_step_wait(struct member *m, const struct member_event *ev, struct member_actions *out);

/* ---- member_in.c: IN ---- */

void member_step_in(struct member *m, const struct member_event *ev, struct member_actions *out);

/* After each event: the user is told what the deadline says of a member that is in, and newer data
 * is written. */
void member_follow_up(struct member *m, const struct member_event *ev, struct member_actions *out);

/* ---- member_leave.c: LEAVING, PASSING, SETTLING ---- */

void member_step_leave(struct member *m, const struct member_event *ev, struct member_actions *out);

/* ---- member_common.c ---- */

/* LEAVING, PASSING or SETTLING */
bool member_is_ending(const struct member *m);

void member_move(struct member *m, enum member_state to);

struct member_action *member_act(struct member_actions *out, enum member_action_kind kind);

/* The answer to this action is awaited; those to earlier ones are stale. */
struct member_action *member_act_tagged(struct member *m, struct member_actions *out,
                                        enum member_action_kind kind);

/* The user is told. */
void member_report(struct member *m, struct member_actions *out, enum member_tell what);
void member_report_written(struct member *m, struct member_actions *out, uint32_t what);

/* Whatever is told of the own node is told before anything else happens to it. */
void member_report_out(struct member *m, struct member_actions *out, enum member_why why);

void member_read_watching(struct member *m, struct member_actions *out);

/* To what several phases lead. With member_finish() it is OVER. */
void member_begin_creating(struct member *m, struct member_actions *out);
void member_begin_judging(struct member *m, struct member_actions *out, uint64_t czxid);
void member_begin_in(struct member *m, struct member_actions *out, uint64_t czxid, int32_t version);
void member_begin_leaving(struct member *m, struct member_actions *out, uint64_t czxid);

/* The user is told once; the pauses between the tries get longer. */
void member_try_later(struct member *m, const struct member_event *ev, struct member_actions *out);

void member_finish(struct member *m, struct member_actions *out);

#endif
