/* How long to wait after a failure before the next attempt. */
#ifndef RECIPES_BACK_OFF_H
#define RECIPES_BACK_OFF_H

#include <stdint.h>

enum { BACK_OFF_FIRST_MS = 1000, BACK_OFF_LAST_MS = 30000 };

/* Pauses between rounds: in a round a session without a connection tries all its servers in
 * vain. */
enum {
    ROUND_FIRST_MS =
        50, /* the first pause; and for each server, so there are 20 attempts a second at most */
    ROUND_LAST_MS =
        1000, /* the longest pause while a deadline is ahead, and in the first rounds after it */
    ROUND_GROWTH = 12, /* later a pause is as many seconds as a twelfth of the number of rounds, */
    ROUND_IDLE_MS = 5000, /* but this at most, */
    ROUND_PART = 4,       /* and no more than this part of the session timeout */
    ROUND_SHARE =
        8 /* while a deadline is ahead: no more than this part of what is left until then */
};

/* Returns the next pause in ms, after one of last_ms: 1 s at first (last_ms is 0), then twice the
 * last one, 30 s at most. */
int64_t back_off_next(int64_t last_ms);

/* Returns the pause after a round, in ms. rounds: how many there were before. servers: how many are
 * tried in a round. left_ms: the time to the deadline of what the session holds, 0 if no deadline
 * is ahead. Then the pauses grow. But servers that all come back after an outage keep a session for
 * one timeout: each must come back long before. chance: a random number, so that many sessions
 * pause for different times. */
int64_t back_off_round(unsigned rounds, unsigned servers, int64_t left_ms, int64_t timeout_ms,
                       uint32_t chance);

#endif
