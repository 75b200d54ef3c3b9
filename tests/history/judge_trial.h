/* A history, spoilt at will, and what the judge says of it. */
#ifndef HISTORY_JUDGE_TRIAL_H
#define HISTORY_JUDGE_TRIAL_H

#include "judge.h"

#include "tests/support/runner.h"

#define MS(n) ((int64_t)(n)*1000000)
#define S(n) MS((n)*1000)

struct trial {
    GArray *events;
    bool garbled;
    int64_t idle_ns, service_ns;
};

extern struct trial trial;
void trial_begin(const event *given, guint count); /* forgets the one before */
void trial_insert(event e);                        /* in any order */

/* Both find the event of this kind, process and token. */
event *trial_pick(event_kind kind, int pid, uint64_t token);
void trial_drop(event_kind kind, int pid, uint64_t token);

judgement *trial_hear(int nodes_left);

/* Accepted when number is negative, else rejected for that verdict and no other. */
void trial_expect_left(int number, int nodes_left);
void trial_expect(int number);

#endif
