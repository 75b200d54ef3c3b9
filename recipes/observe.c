#include "observe.h"

enum observe_tell observe_see(struct observe *o, uint64_t token, bool news)
{
    bool same = o->leads && token != 0 && token == o->top, leads = same || token > o->top;
    bool first = !o->told, changed = leads != o->leads;

    o->told = true;
    o->leads = leads;
    if (!leads)
        return first || changed ? OBSERVE_NOBODY : OBSERVE_NOTHING;
    o->top = token;
    return !same || news ? OBSERVE_LEADER : OBSERVE_NOTHING;
}

void observe_rewind(struct observe *o)
{
    o->top = 0;
}

bool observe_data(const char *data, size_t length, uint64_t *ret_token, size_t *ret_at)
{
    uint64_t token = 0;
    size_t i = 0;

    for (; i < length && data[i] >= '0' && data[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(data[i] - '0');
        if (token > (UINT64_MAX - digit) / 10)
            return false;
        token = token * 10 + digit;
    }
    if (i == 0 || i == length || data[i] != '\n')
        return false;
    *ret_token = token;
    *ret_at = i + 1;
    return true;
}
