/* Times of a command line: the input is one. */
#include "targets.h"

#include "input.h"
#include "runner.h"
#include "tools/duration.h"

/* Behind text is end; its time, -1: it is none. */
static int64_t with(const char *text, const char *end)
{
    char *whole = g_strconcat(text, end, NULL);
    int64_t ms = -1;

    if (!duration_parse(whole, &ms))
        CHECK_INT(ms, -1);
    g_free(whole);
    return ms;
}

/* That is a number: bare, it counts seconds. */
static void check_number(const char *text)
{
    const int64_t s = with(text, "s"), ms = with(text, "ms");

    CHECK_INT(with(text, ""), s);
    if (ms >= 0 && s >= 0)
        CHECK_INT(s, ms * 1000);
    if (ms >= 0 && with(text, "h") >= 0)
        CHECK_INT(with(text, "h"), with(text, "m") * 60);
}

void fuzz_durations(const uint8_t *data, size_t size)
{
    static const char number[] = "+-.0123456789eE";
    struct input in = {data, size};
    char *text = input_until(&in, '\0', NULL);
    const size_t digits = strspn(text, number);
    const char *unit = text + digits;
    const int64_t ms = with(text, "");
    const bool known = !*unit || strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0 ||
                       strcmp(unit, "m") == 0 || strcmp(unit, "h") == 0;

    CHECK(ms <= INT64_C(320000000000));
    CHECK(ms < 0 || (known && digits > 0));
    CHECK(ms < 0 || strpbrk(text, "0123456789"));
    if (!*unit)
        check_number(text);
    g_free(text);
}
