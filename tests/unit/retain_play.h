/* The machine of a lock that is retained, in exchanges: what it is told, and then what it asks
 * for. */
#ifndef UNIT_RETAIN_PLAY_H
#define UNIT_RETAIN_PLAY_H

#include "recipes/retain.h"

#include <stddef.h>

enum { RETAIN_STEPS_MAX = 20 };

#define MS(n) ((n)*INT64_C(1000000))

/* At so many ms. */
#define EV(ms, name, ...)                                                                          \
    {                                                                                              \
        .ev.kind = RETAIN_EV_##name, .ev.now = MS(ms), ##__VA_ARGS__                               \
    }
#define DOUBT .doubt = true
#define TRIES .ev.tries = true
#define FIRST .ev.first = true
#define OTHERS .ev.others = true
#define WATCHED .ev.watched = true
#define WAITED .ev.waited = true

/* Idle since 3 ms, and watched; its timer comes due at 103. */
#define IDLE                                                                                       \
    {EV(1, LOCK), "enter"}, {EV(2, GRANTED), "turn 0"}, {EV(3, UNLOCK), "look arm 103"},           \
    {                                                                                              \
        EV(4, LOOKED, WATCHED), ""                                                                 \
    }
/* And then used again, with the timer gone. */
#define HELD(name, ...)                                                                            \
    IDLE, {EV(4, name, ##__VA_ARGS__), "turn 1"},                                                  \
    {                                                                                              \
        EV(4, TIMER), ""                                                                           \
    }

struct retain_told {
    struct retain_event ev;
    bool doubt;   /* the deadline has passed, or the session is in doubt */
    int64_t more; /* ns after its ms */
};

struct retain_row {
    const char *what;
    struct retain machine; /* as it is configured */
    struct {
        struct retain_told told;
        const char *acts; /* in words, divided by blanks; times in ms */
    } steps[RETAIN_STEPS_MAX];
};

/* What it asks for then; g_free() it. */
char *retain_play_step(struct retain *r, const struct retain_told *told);

/* Plays each row from the beginning, as far as it has steps. What a row does not configure is this:
 * a tenure is idle for 100 ms, and two local waiters go first. */
void retain_play(const struct retain_row *rows, size_t count);

#endif
