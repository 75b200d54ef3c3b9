/* Calendars: which texts are one, and which instants they mean, in zones of the system's tzdata. */
#include "lib/base/zone.h"
#include "recipes/calendar.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(calendar);

#define MINUTE_MS UINT64_C(60000)

TEST_CASE(text)
{
    static const struct {
        const char *text, *wrong; /* what the sentence has; NULL: it is good */
    } rows[] = {
        {"30 2 * * *", NULL},
        {"0,15,30-40/5,59 0-23 * * *", NULL},
        {"*/5\t*  *  *  * ", NULL},
        {"0 0 1-31/2 * *", NULL},
        {"0 0 * * 0-7", NULL},
        {"0 0 * * */2", NULL},
        {"", "first"},
        {" 30 2 * * *", "first"},
        {"60 2 * * *", "first"},
        {"-1 2 * * *", "first"},
        {"5-4 2 * * *", "first"},
        {"5/2 2 * * *", "first"},
        {"*/0 2 * * *", "first"},
        {"*/ 2 * * *", "first"},
        {"1, 2 * * *", "first"},
        {"1- 2 * * *", "first"},
        {"005 2 * * *", "first"},
        {"** 2 * * *", "first"},
        {"@daily", "first"},
        {"30 24 * * *", "second"},
        {"30", "second"},
        {"30 2 0 * *", "third"},
        {"30 2 32 * *", "third"},
        {"30 2 L * *", "third"},
        {"30 2 * 1 *", "fourth"},
        {"30 2 * 1-12 *", "fourth"},
        {"30 2 * */1 *", "fourth"},
        {"30 2 * *", "fifth"},
        {"30 2 * * 8", "fifth"},
        {"30 2 * * mon", "fifth"},
        {"30 2 * * * *", "five fields"},
        {"30 2 1 * 1", "one of"},
    };
    struct calendar c;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *wrong = calendar_read(rows[i].text, &c);
        if (!CHECK(rows[i].wrong ? wrong && strstr(wrong, rows[i].wrong) : !wrong))
            runner_fail(__FILE__, __LINE__, "%s: %s", rows[i].text, wrong ? wrong : "good");
    }
    REQUIRE(!calendar_read("0,15,30-40/5,59 1-3,23 * * 5,7", &c));
    CHECK(c.minutes == (1 | UINT64_C(1) << 15 | UINT64_C(1) << 30 | UINT64_C(1) << 35 |
                        UINT64_C(1) << 40 | UINT64_C(1) << 59));
    CHECK(c.hours == (0xe | 1 << 23) && !c.each_hour && c.weekdays == (1 | 1 << 5));
    REQUIRE(!calendar_read("0 * 31 * *", &c));
    CHECK(c.hours == 0xffffff && c.each_hour && c.days == 1U << 31 && c.weekdays == 0x7f);
    REQUIRE(!calendar_read("0 */1 * * *", &c));
    CHECK(c.hours == 0xffffff && !c.each_hour);
}

/* Minutes since 1970 of "2026-03-29T01:00". */
static uint64_t minute_of(const char *text)
{
    char *full = g_strdup_printf("%s:00Z", text);
    GDateTime *time = g_date_time_new_from_iso8601(full, NULL);
    const uint64_t minute = (uint64_t)g_date_time_to_unix(time) / 60;

    g_date_time_unref(time);
    g_free(full);
    return minute;
}

static struct calendar_aim aim_at(const char *text, const char *zone_name, uint64_t now_ms,
                                  uint64_t slack_ms)
{
    struct calendar c;
    GTimeZone *zone = zone_open(zone_name);

    REQUIRE(zone && !calendar_read(text, &c));
    const struct calendar_zone z = zone_around(zone, now_ms);
    g_time_zone_unref(zone);
    return calendar_aim(&c, &z, now_ms, slack_ms);
}

/* All instants of a zone from one on, in UTC. */
TEST_CASE(instants)
{
    static const struct {
        const char *what, *text, *zone;
        const char *instants[8];
    } rows[] = {
        {"a night of 23 hours leaves it out",
         "30 2 * * *",
         "Europe/Berlin",
         {"2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"}},
        {"several that are left out are one",
         "0,15,59 2 * * *",
         "Europe/Berlin",
         {"2026-03-28T01:59", "2026-03-29T01:00", "2026-03-30T00:00"}},
        {"and so is the one that the clock shows instead",
         "0 2,3 * * *",
         "Europe/Berlin",
         {"2026-03-28T02:00", "2026-03-29T01:00", "2026-03-30T00:00"}},
        {"a night of 25 hours has it twice",
         "30 2 * * *",
         "Europe/Berlin",
         {"2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"}},
        {"the end of the hour that comes twice",
         "0,59 2,3 * * *",
         "Europe/Berlin",
         {"2026-10-25T00:00", "2026-10-25T00:59", "2026-10-25T02:00", "2026-10-25T02:59"}},
        {"each hour, in 23",
         "5 * * * *",
         "Europe/Berlin",
         {"2026-03-28T23:05", "2026-03-29T00:05", "2026-03-29T01:05", "2026-03-29T02:05"}},
        {"each hour, in 25",
         "5 * * * *",
         "Europe/Berlin",
         {"2026-10-24T23:05", "2026-10-25T00:05", "2026-10-25T01:05", "2026-10-25T02:05"}},
        {"every second hour",
         "0 */2 * * *",
         "Europe/Berlin",
         {"2026-10-24T22:00", "2026-10-25T00:00", "2026-10-25T03:00"}},
        {"at midnight, where there is none",
         "0 0 * * *",
         "Africa/Cairo",
         {"2026-04-22T22:00", "2026-04-23T22:00", "2026-04-24T21:00"}},
        {"half an hour is left out",
         "15 2 * * *",
         "Australia/Lord_Howe",
         {"2026-10-02T15:45", "2026-10-03T15:30", "2026-10-04T15:15"}},
        {"a week after half an hour was left out",
         "45 1 * * 0",
         "Australia/Lord_Howe",
         {"2026-10-03T15:15", "2026-10-10T14:45", "2026-10-17T14:45"}},
        {"half an hour comes twice",
         "45 1 * * *",
         "Australia/Lord_Howe",
         {"2026-04-03T14:45", "2026-04-04T14:45", "2026-04-05T15:15"}},
        {"a day is left out: its run and the next one's",
         "30 2 * * *",
         "Pacific/Apia",
         {"2011-12-29T12:30", "2011-12-30T10:00", "2011-12-30T12:30"}},
        {"the 31st",
         "0 4 31 * *",
         "UTC",
         {"2025-12-31T04:00", "2026-01-31T04:00", "2026-03-31T04:00", "2026-05-31T04:00",
          "2026-07-31T04:00", "2026-08-31T04:00", "2026-10-31T04:00"}},
        {"a leap day",
         "0 4 29 * *",
         "UTC",
         {"2028-01-29T04:00", "2028-02-29T04:00", "2028-03-29T04:00"}},
        {"none, as 2100 is no leap year",
         "0 4 29 * *",
         "UTC",
         {"2100-01-29T04:00", "2100-03-29T04:00"}},
        {"Sundays",
         "0 23 * * 7",
         "America/New_York",
         {"2026-03-02T04:00", "2026-03-09T03:00", "2026-03-16T03:00"}},
        {"beyond the table of tzdata",
         "30 2 * * *",
         "Europe/Berlin",
         {"2050-03-26T01:30", "2050-03-27T01:00", "2050-03-28T00:30"}},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint64_t now = minute_of(rows[i].instants[0]);
        for (size_t k = 0; k < G_N_ELEMENTS(rows[i].instants) && rows[i].instants[k]; k++) {
            const uint64_t instant = minute_of(rows[i].instants[k]);
            const struct calendar_aim at =
                aim_at(rows[i].text, rows[i].zone, instant * MINUTE_MS, 0);
            if (!CHECK(now == instant && at.instant == instant * MINUTE_MS))
                runner_fail(__FILE__, __LINE__, "%s: %s", rows[i].what, rows[i].instants[k]);
            CHECK(aim_at(rows[i].text, rows[i].zone, at.next - 1, 0).instant == at.instant);
            CHECK(aim_at(rows[i].text, rows[i].zone, at.next - 1, 1).instant == at.next);
            now = at.next / MINUTE_MS;
        }
    }
}

/* For which instant a call comes: at 01:00 is one, at 02:00 the next. */
TEST_CASE(slack)
{
    static const struct {
        const char *text;
        uint64_t slack_ms, before_ms; /* the call comes so long before the next */
        bool next;
    } rows[] = {
        {"0 * * * *", 0, 1, false},
        {"0 * * * *", 0, 0, true},
        {"0 * * * *", 30000, 30001, false},
        {"0 * * * *", 30000, 30000, true},
        {"0 * * * *", 3600000, 1800001, false}, /* half the gap at most */
        {"0 * * * *", 3600000, 1800000, true},
    };
    const uint64_t one = minute_of("2026-06-01T01:00") * MINUTE_MS, two = one + 60 * MINUTE_MS;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct calendar_aim at =
            aim_at(rows[i].text, "UTC", two - rows[i].before_ms, rows[i].slack_ms);
        CHECK_INT(at.instant, rows[i].next ? two : one);
        CHECK_INT(at.next, rows[i].next ? two + 60 * MINUTE_MS : two);
        CHECK_INT(at.offset, 0);
    }
    CHECK_INT(aim_at("0 * * * *", "America/New_York", one, 0).offset, -240);
    CHECK_INT(aim_at("0 4 31 * *", "UTC", 0, 0).instant, 0);
    CHECK_INT(aim_at("0 4 31 * *", "UTC", 0, 0).next, 30 * 1440 * MINUTE_MS + 240 * MINUTE_MS);
}

TEST_CASE(first_part_has_no_beginning)
{
    const struct calendar_zone z = {.count = 1, .parts = {{.from = INT64_MAX, .offset = 60}}};
    const uint64_t one = minute_of("2026-06-01T01:00") * MINUTE_MS;
    struct calendar c;

    REQUIRE(!calendar_read("0 2 * * *", &c));
    const struct calendar_aim at = calendar_aim(&c, &z, one, 0);
    CHECK_INT(at.instant, one);
    CHECK_INT(at.offset, 60);
}

TEST_CASE(zones)
{
    static const char *const none[] = {
        "",     "Europe/Nowhere", "localtime",   "+01:00", "/etc/localtime", "CET-1CEST",
        ":UTC", "../UTC",         "leapseconds", "Europe", "Europe/",        "America/Argentina",
        "CET"};

    for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
        if (!CHECK(!zone_open(none[i])))
            runner_fail(__FILE__, __LINE__, "%s", none[i]);
}
