/* A session over the fake store that stands still: its clocks, its timers and its callbacks move
 * when the test says so, and in the test's thread. */
#ifndef UNIT_BY_HAND_H
#define UNIT_BY_HAND_H

#include "fake_store.h"
#include "lib/grant/grant.h"

/* A session by hand is made and connected at 0 ms, with a timeout of 10 s and an unknown tick. So
 * its deadline is 8950 ms, and no proof follows unless the test answers. */
enum { HAND_DEADLINE_MS = 8950 };

/* Moves time to 0 and opens one. */
zkl_session *hand_session(void);
zkl_session *hand_session_with(const zkl_session_options *options); /* not connected */
zkl_session *hand_session_counting(int *warnings);                  /* those that are logged */
void hand_close(zkl_session *s);

/* The same of the clocks and timers alone, for sessions that are opened in between. */
void hand_begin(void);
void hand_end(void);

/* What is logged of that level or worse is in hand_logged, with "; " behind each line. */
zkl_session *hand_session_logging(zkl_log_level level);
extern char hand_logged[1024];

/* Both clocks go on; what comes due meanwhile runs at its time. */
void hand_pass(zkl_session *s, int64_t ms);

/* The server says that it stands alone: every write it answers is a proof. */
void hand_stand_alone(zkl_session *s);

/* As hand_pass(), and such a server answers the renewals. */
void hand_pass_proved(zkl_session *s, int64_t ms);

/* The clocks only: nothing runs. */
void hand_jump(int64_t boot_ms, int64_t raw_ms);

/* A thread that is about to wait for the session says so first; and that it waits. */
void hand_is_waiter(void);
void hand_await_waiter(zkl_session *s);

/* A lock on /l, decided when it is told; the grant is the test's. */
struct acquisition {
    zkl_mutex *mutex;
    zkl_op *op;
    zkl_grant *grant;
    zkl_error error;
    int calls;
    char *node; /* what the server names it; NULL: not asked to create it */
};

/* For any lock: data is an acquisition. */
void hand_acquired(zkl_grant *grant, const zkl_error *error, void *data);

void hand_enter(struct acquisition *a, zkl_session *s, int64_t timeout_ms);
void hand_hold(struct acquisition *a, zkl_session *s); /* enters, and is first */
/* Ends it, whatever it has. */
void hand_leave(struct acquisition *a);

/* Answers the create, with number 7, and the list behind it: "7" is the own node, others are
 * another's. */
void hand_answer_entry(struct acquisition *a, int before);

/* A tenure whose keeper is no contender, and does nothing; "who" is in its node. */
struct tenure *hand_tenure(zkl_session *s, const char *full_node, uint64_t token);

/* The keeper lets go of it. */
void hand_end_tenure(struct tenure *t);

#endif
