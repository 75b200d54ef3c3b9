/* The holders in a queue, as a snapshot tells them. A contender holds if none before it keeps it
 * waiting. The contenders of a semaphore hold as long as they and all before them ask for no more
 * than the limit. But an earlier limit may have admitted one that came before the last change. */
#ifndef RECIPES_HOLDERS_H
#define RECIPES_HOLDERS_H

#include "rule.h"

enum holding {
    HOLDS_NOT, /* it does not hold, or is not marked yet */
    HOLDS,
    HOLDS_BEYOND /* it holds beyond the limit, which was higher when it came; this mark stays */
};

/* A contender, as its name shows it. */
struct in_line {
    struct child child;
    bool ours; /* it has the names of this library */
    enum holding holding;
};

/* Marks all contenders, which are in queue order. limit: how many permits there are; 0: there is
 * none. */
void holders_mark(struct in_line *line, size_t count, int32_t limit);

/* Whether a contender that is marked HOLDS_NOT may hold beyond the limit. older: it is older than
 * the limit. has_numbers: its permits, which are to have numbers, have them. */
bool holders_may_be_beyond(const struct in_line *c, bool older, bool has_numbers);

#endif
