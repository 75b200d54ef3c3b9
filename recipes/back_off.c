#include "back_off.h"

int64_t back_off_next(int64_t last_ms)
{
    if (last_ms == 0)
        return BACK_OFF_FIRST_MS;
    return last_ms * 2 < BACK_OFF_LAST_MS ? last_ms * 2 : BACK_OFF_LAST_MS;
}

static int64_t back_off_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t back_off_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The limit of attempts in a second comes first, then the deadline, then the rest. */
int64_t back_off_round(unsigned rounds, unsigned servers, int64_t left_ms, int64_t timeout_ms,
                       uint32_t chance)
{
    const int64_t floor = (int64_t)ROUND_FIRST_MS * servers;
    /* the longest pause while no deadline is ahead */
    const int64_t grown = (int64_t)ROUND_LAST_MS * rounds / ROUND_GROWTH,
                  last = back_off_least(timeout_ms / ROUND_PART, ROUND_IDLE_MS),
                  idle = back_off_most(ROUND_LAST_MS, back_off_least(grown, last));
    const int64_t cap = left_ms > 0 ? back_off_least(ROUND_LAST_MS, left_ms / ROUND_SHARE) : idle;
    const int64_t wanted =
        back_off_least((int64_t)ROUND_FIRST_MS << back_off_least(rounds, 10), cap);
    const int64_t pause = wanted / 2 + chance % (wanted / 2 + 1);

    return back_off_most(pause, floor);
}
