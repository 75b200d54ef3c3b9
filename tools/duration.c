#include "duration.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Ten years: beyond that it is a slip, and far from any overflow. */
#define MOST_MS 3.2e11

/* 0: there is no such unit. */
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

/* Decimal, which g_ascii_strtod() alone does not demand; nor that nothing is before it. */
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
    *ret_ms = (int64_t)ms + (ms - (double)(int64_t)ms > 0.000001);
    return true;
}
