/* The machine of a candidacy in exchanges: what it is told, and what it asks for then. */
#ifndef UNIT_CANDIDACY_PLAY_H
#define UNIT_CANDIDACY_PLAY_H

#include "recipes/candidacy.h"

#include <stddef.h>

enum { CANDIDACY_STEPS_MAX = 16 };

#define MS(n) ((n)*INT64_C(1000000))

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .ev.kind = CANDIDACY_EV_##name, ##__VA_ARGS__                                              \
    }
#define FAILED(...) EV(FAILED, .ev.why = CANDIDACY_CAUSE_ATTEMPT, ##__VA_ARGS__)
#define TOLD_LOST(...) EV(TERM_TOLD, .unowned = true, .ev.lost = true, ##__VA_ARGS__)
#define TOLD_RELEASED(...) EV(TERM_TOLD, .unowned = true, .ev.released = true, ##__VA_ARGS__)

/* A list: its number, and who is in it beside the candidate itself. Behind a rival comes one more,
 * without a priority: one rival is enough. */
#define LISTED(number, name, ...) EV(LISTED, .ev.tag = (number), .rival = (name), ##__VA_ARGS__)
#define ALONE(number, ...) EV(LISTED, .ev.tag = (number), ##__VA_ARGS__)
#define HIGHER "_c_b-p004-latch-0000000006"
#define EQUAL "_c_b-p003-latch-0000000006"
#define LOWER "_c_b-p002-latch-0000000006"
#define PLAIN "_c_b-latch-0000000006"

struct candidacy_heard {
    struct candidacy_event ev;
    const char *rival;
    bool unowned;   /* the grant was lost, or given back */
    bool unwatched; /* the watch is gone without a word: its answer left none */
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
