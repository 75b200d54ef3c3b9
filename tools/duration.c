#include "duration.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Ten years. A longer time is a slip of the user's, and sums of shorter ones do not overflow. */
#define MOST_MS 3.2e11

bool duration_parse(const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    char *end;
    const double number = g_ascii_strtod(text, &end);
    int64_t unit = 0; /* there is no such unit */

    for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
        if (strcmp(units[i].name, *end ? end : "s") == 0)
            unit = units[i].ms;
    const double ms = number * (double)unit;
    /* g_ascii_strtod() takes hexadecimal numbers too, and spaces before a number. */
    const bool decimal = end > text && strspn(text, "+-.0123456789eE") >= (size_t)(end - text);
    if (!decimal || unit == 0 || !isfinite(ms) || ms < 0 || ms > MOST_MS)
        return false;
    if (unit == 1 && (double)(int64_t)ms < ms)
        return false;
    /* Less than a millionth is an error of the product. */
    *ret_ms = (int64_t)ms + (ms - (double)(int64_t)ms > 0.000001);
    return true;
}
