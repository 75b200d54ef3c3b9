/* What the scenarios share: a scene, a holder and a waiter on nodes of choice, and the play. Each
 * ends with the judgement of its whole history, which decides. */
#ifndef FAULTS_SCENARIO_H
#define FAULTS_SCENARIO_H

#include "tests/history/scene.h"
#include "tests/support/progress.h"

#include "tests/support/runner.h"

/* A short tick, and followers that go on serving without their leader for 4 s: twice the session
 * timeout, so that what a server answers is no sign that the session lives. */
enum { TICK_MS = 100, TIMEOUT_MS = 2000, SYNC_LIMIT = 40 };

extern struct scene scene;

int scenario_init(void);              /* of a suite: skips it where there is no server */
void scenario_begin(struct lab *lab); /* three servers, in the lab if there is one */
/* Servers of which tests/support/server.h says so in words, and that serve twice as long alone. */
void scenario_begin_odd(const char *odd);
void scenario_begin_election(void); /* the same for candidates */
void scenario_end(void);
void scenario_stop(void); /* what a test that failed has left */

/* Waits until the condition holds, and ends the test if it never does. */
#define SCENARIO_UNTIL(condition)                                                                  \
    do {                                                                                           \
        if (!AWAIT((scenario_wake(), (condition))))                                                \
            scenario_give_up(#condition, __FILE__, __LINE__);                                      \
    } while (0)

void scenario_wake(void); /* what is done again and again while it is waited for */
_Noreturn void scenario_give_up(const char *condition, const char *file, int line);

int scenario_rounds(int rounds); /* by $ZKL_TEST_SCALE percent, at least 1 */
int leader(void);
int follower(int nth); /* 0 or 1 */

/* A worker that holds until it is told to end; on its own host if there is a lab. */
int holder_at(int node);

/* Lets the one hold and the other wait; returns right after a renewal of the one was answered. */
void turn_to(int holder, int waiter);

/* The same behind an outage, by the deadlines that the holder records: the proxy's count of its
 * renewals does not go on there. */
void turn_back_to(int holder, int waiter);

#endif
