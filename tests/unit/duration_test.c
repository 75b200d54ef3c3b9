/* Times of a command line: what is one, and how long it is. */
#include "runner.h"
#include "tools/duration.h"

#include <stddef.h>

TEST_SUITE(duration);

TEST_CASE(counted_in_its_unit)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: it is no time */
    } times[] = {
        {"0", 0},
        {"30", 30000},
        {"+30", 30000},
        {"030", 30000},
        {"1.5", 1500},
        {"1.50", 1500},
        {".25", 250},
        {"2.0", 2000},
        {"1e3", 1000000},
        {"0.0001", 1},
        {"500ms", 500},
        {"0.5ms", -1},
        {"30s", 30000},
        {"0.3s", 300},
        {"5m", 300000},
        {"1.5m", 90000},
        {"1h", 3600000},
        {"0.0001h", 360},
        {"1e1s", 10000},
        {"80000h", 288000000000},
        {"320000000", 320000000000},
        {"320000000.1", -1},
    };

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        int64_t ms = -1;
        CHECK(duration_parse(times[i].text, &ms) == (times[i].ms >= 0));
        CHECK_INT(ms, times[i].ms);
    }
}

TEST_CASE(nothing_else)
{
    static const char *const others[] = {
        "",   " 1",  "1 ",   "1 s", "s",    "ms",   "-1",      "-1s",  "-1ms",  "1x",       "1S",
        "1M", "1d",  "1sec", "1ss", "1s ",  "1s1",  "0x10",    "0x1s", "inf",   "-inf",     "nan",
        "1e", "1em", "1,5",  "1_0", "1e99", "1e9h", "100000h", "infs", "nanms", "infinity", ".s",
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int64_t ms = 7;
        if (!CHECK(!duration_parse(others[i], &ms)))
            runner_fail(__FILE__, __LINE__, "\"%s\"", others[i]);
        CHECK_INT(ms, 7);
    }
}
