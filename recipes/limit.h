/* The limit of a semaphore, in its directory's data: how many permits there are, in ASCII digits,
 * as kazoo writes it. And how an administrator reads or sets it:
 *
 *           ┌──another version, or another session──┐
 *           v                                       │
 *   IDLE ──> READING ──it is another──> SETTING ────┤
 *               └──as wanted, or refused────> OVER <┘ set
 *
 * A set whose answer was lost is sent again. If it had been done, the next read finds another
 * version, and the limit that was to be set. */
#ifndef RECIPES_LIMIT_H
#define RECIPES_LIMIT_H

#include "machine.h"

enum limit_state { LIMIT_IDLE, LIMIT_READING, LIMIT_SETTING, LIMIT_OVER, LIMIT_STATES };

enum limit_verdict {
    LIMIT_DONE,    /* the result is .limit */
    LIMIT_ODD,     /* the data are not a limit */
    LIMIT_REFUSED, /* the server refused: .rc */
    LIMIT_STOPPED
};

/* All 0 but for .wanted. Its only node is the directory. */
struct limit_call {
    int32_t wanted; /* to be set; 0: it is only read */
    enum limit_state state;
    int32_t limit; /* as read */
};

void limit_step(struct limit_call *l, const struct machine_event *ev, struct machine_actions *out);

bool limit_may_move(enum limit_state from, enum limit_state to);

/* Reads a limit, 1 to INT32_MAX; 0: the data are not a limit. */
int32_t limit_read(const char *data, size_t length);

#endif
