/* The machine of a candidacy in exchanges: what it is told, and what it asks for then. */
#ifndef UNIT_CANDIDACY_PLAY_H
#define UNIT_CANDIDACY_PLAY_H

#include "recipes/candidacy.h"

#include <stddef.h>

enum { CANDIDACY_STEPS_MAX = 16 };

#define MS(n) ((n)*INT64_C(1000000))

/* By the names that rows give them. */
enum {
    HEARD_TIMER = MACHINE_EV_TIMER,
    HEARD_FIRED = MACHINE_EV_FIRED,
    HEARD_STOP = MACHINE_EV_STOP,
    HEARD_SESSION = MACHINE_EV_SESSION,
    HEARD_OVER = MACHINE_EV_OVER,
    HEARD_ANSWER = MACHINE_EV_ANSWER,
    HEARD_WON = CANDIDACY_EV_WON,
    HEARD_FAILED = CANDIDACY_EV_FAILED,
    HEARD_REVOKED = CANDIDACY_EV_REVOKED,
    HEARD_TERM_TOLD = CANDIDACY_EV_TERM_TOLD,
    HEARD_YIELD = CANDIDACY_EV_YIELD
};

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = HEARD_##name, ##__VA_ARGS__                                                        \
    }
#define FAILED(...) EV(FAILED, .m.why = CANDIDACY_CAUSE_ATTEMPT, ##__VA_ARGS__)
#define TOLD_LOST(...) EV(TERM_TOLD, .unowned = true, .m.lost = true, ##__VA_ARGS__)
#define TOLD_RELEASED(...) EV(TERM_TOLD, .unowned = true, .m.released = true, ##__VA_ARGS__)

/* A list: its number (the first is 1), and who is in it beside the candidate itself. After a rival
 * the list has one more candidate, without a priority: one rival is enough. */
#define LISTED(number, name, ...) EV(ANSWER, .to = (number), .rival = (name), ##__VA_ARGS__)
#define ALONE(number, ...) EV(ANSWER, .to = (number), ##__VA_ARGS__)
#define UNLISTED(number, ...) EV(ANSWER, .to = (number), .rc = STORE_NOAUTH, ##__VA_ARGS__)
#define UNWATCHED(number, ...) EV(ANSWER, .to = (number), .rc = STORE_LIMIT, ##__VA_ARGS__)
#define HIGHER "_c_b-p004-latch-0000000006"
#define EQUAL "_c_b-p003-latch-0000000006"
#define LOWER "_c_b-p002-latch-0000000006"
#define PLAIN "_c_b-latch-0000000006"

struct candidacy_heard {
    unsigned kind, to;
    enum store_rc rc;
    struct candidacy_moment m;
    const char *rival;
    bool unowned; /* the grant was lost, or given back */
};

struct candidacy_step {
    struct candidacy_heard heard;
    const char *acts;
};

struct candidacy_exchange {
    const char *what;
    struct candidacy machine; /* as it begins */
    struct candidacy_step steps[CANDIDACY_STEPS_MAX];
};

/* Each from the beginning, as far as there are steps. */
void candidacy_play(const struct candidacy_exchange *rows, size_t count);

#endif
