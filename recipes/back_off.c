#include "back_off.h"

int64_t back_off_next(int64_t last_ms)
{
    if (last_ms == 0)
        return BACK_OFF_FIRST_MS;
    return last_ms * 2 < BACK_OFF_LAST_MS ? last_ms * 2 : BACK_OFF_LAST_MS;
}
