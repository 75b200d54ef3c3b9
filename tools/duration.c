#include "duration.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Ten years. A longer time is a slip of the user's; and sums of such times do not overflow. */
#define MOST_MS 3.2e11

/* Returns how many ms the unit has; 0: there is no such unit. */
static int64_t unit_ms(const char *name)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

    for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].ms;
    return 0;
}

/* Whether the number from text to end is decimal, and begins at once. g_ascii_strtod() takes
 * hexadecimal numbers too, and spaces before a number. */
static bool is_decimal(const char *text, const char *end)
{
    return end > text && strspn(text, "+-.0123456789eE") >= (size_t)(end - text);
}

bool duration_parse(const char *text, int64_t *ret_ms)
{
    char *end;
    const double number = g_ascii_strtod(text, &end);
    const int64_t unit = unit_ms(*end ? end : "s");
    const double ms = number * (double)unit;

    if (!is_decimal(text, end) || unit == 0 || !isfinite(ms) || ms < 0 || ms > MOST_MS)
        return false;
    if (unit == 1 && (double)(int64_t)ms < ms)
        return false;
    /* Less than a millionth is an error of the product. */
    *ret_ms = (int64_t)ms + (ms - (double)(int64_t)ms > 0.000001);
    return true;
}
