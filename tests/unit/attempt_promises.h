/* What a contender promises at every step, whatever comes in whatever order. Random walks check
 * it. */
#ifndef UNIT_ATTEMPT_PROMISES_H
#define UNIT_ATTEMPT_PROMISES_H

#include "attempt_play.h"

/* What is likely to come next, so that a walk gets far; choice is any number. */
enum play_row promises_likely(uint32_t choice);

/* An answer that a server may give to a request of that row. */
bool promises_may_answer(enum play_row row, enum store_rc rc);

/* Gives the event to play's contender; NULL, or the promise that it broke. */
const char *promises_give(const struct play_event *h);

/* From every state, giving up and what must follow leads to the end, with one answer. Returns NULL,
 * or what was broken on the way. */
const char *promises_end(void);

#endif
