/* How long to wait after a failure before the next attempt. */
#ifndef RECIPES_BACK_OFF_H
#define RECIPES_BACK_OFF_H

#include <stdint.h>

enum { BACK_OFF_FIRST_MS = 1000, BACK_OFF_LAST_MS = 30000 };

/* Rounds of attempts to connect. */
enum {
    ROUND_FIRST_MS = 50,  /* and for each attempt: 20 a second at most */
    ROUND_LAST_MS = 1000, /* while a deadline is ahead, and in the first rounds after it */
    ROUND_GROWTH = 12,    /* later a pause is as many seconds as a twelfth of the rounds */
    ROUND_IDLE_MS = 5000, /* at most, and */
    ROUND_PART = 4,       /* no more than that part of the session timeout */
    ROUND_SHARE = 8       /* of the time that is left: no more than that part */
};

/* The first time (last_ms is 0) 1 s, then twice as long as the last time, at most 30 s. */
int64_t back_off_next(int64_t last_ms);

/* How long a session without a connection waits after it has tried all its servers in vain. rounds:
 * how often it did that before. left_ms: the time to the deadline of what it holds, 0 if no
 * deadline is ahead. Then the pauses grow, but servers that all come back after an outage keep a
 * session for one timeout: each must come back long before. chance: a random number, so that many
 * sessions wait for different times. */
int64_t back_off_round(unsigned rounds, unsigned servers, int64_t left_ms, int64_t timeout_ms,
                       uint32_t chance);

#endif
