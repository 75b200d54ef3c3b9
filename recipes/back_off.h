/* How long to wait after a failure before the next attempt. */
#ifndef RECIPES_BACK_OFF_H
#define RECIPES_BACK_OFF_H

#include <stdint.h>

enum { BACK_OFF_FIRST_MS = 1000, BACK_OFF_LAST_MS = 30000 };

/* The first time (last_ms is 0) 1 s, then twice as long as the last time, at most 30 s. */
int64_t back_off_next(int64_t last_ms);

#endif
