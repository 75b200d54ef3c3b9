#include "limit.h"

int32_t limit_read(const char *data, size_t length)
{
    int64_t value = 0;

    for (size_t i = 0; i < length; i++) {
        if (data[i] < '0' || data[i] > '9')
            return 0;
        value = value * 10 + (data[i] - '0');
        if (value > INT32_MAX)
            return 0;
    }
    return (int32_t)value;
}
