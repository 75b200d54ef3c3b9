/* Three years of work by a calendar, in four zones, with hosts that sleep, come and go and are
 * killed, clocks that differ and step, and trials by hand. Some hosts have a version that knows no
 * calendars. Which instants are meant is said here a second time, minute by minute. */
#include "lib/base/zone.h"
#include "recipes/once.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

TEST_SUITE(once_years);

#define MINUTE_MS INT64_C(60000)

/* 2026 to 2028, with a leap day at the end. */
enum { FIRST_DAY = 20454, DAYS = 365 + 365 + 366, DAY = 1440, MINUTES = DAYS * DAY };
#define FIRST_MINUTE ((int64_t)FIRST_DAY * DAY)

enum { HOSTS = 3 };

enum plant { AS_IT_IS, USED_AGAIN, MOVED_BY_A_MINUTE, NO_SLACK, REPEATED, ENDS_EARLY };

static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York",
                                    "Australia/Lord_Howe"};

static bool at_half_past_two(const struct tm *t)
{
    return t->tm_hour == 2 && t->tm_min == 30;
}

static bool at_five_past(const struct tm *t)
{
    return t->tm_min == 5;
}

static bool on_sundays(const struct tm *t)
{
    return t->tm_wday == 0 && t->tm_hour == 1 && t->tm_min == 45;
}

static bool on_the_last(const struct tm *t)
{
    return t->tm_mday == 31 && t->tm_hour == 2 && t->tm_min == 0;
}

static const struct work {
    const char *calendar;
    bool (*named)(const struct tm *t);
    bool each_hour;
    bool each_minute; /* somebody calls; otherwise by cron, at the same times */
} works[] = {
    {"30 2 * * *", at_half_past_two, false, true}, {"30 2 * * *", at_half_past_two, false, false},
    {"5 * * * *", at_five_past, true, true},       {"5 * * * *", at_five_past, true, false},
    {"45 1 * * 0", on_sundays, false, false},      {"0 2 31 * *", on_the_last, false, false},
};

static struct years {
    int16_t offsets[MINUTES];               /* of the zone */
    uint8_t meant[MINUTES], shown[MINUTES]; /* and what the clock shows is named */
    uint8_t runs[MINUTES];
    const struct work *work;
    GTimeZone *zone;
    struct calendar calendar;
    struct calendar_zone around;
    int64_t around_of; /* a day */
    struct once_plan plan;
    struct once_record last; /* its instant is 0: there is none */
    enum plant plant;
    GRand *rand;
    int64_t skew;         /* of the leader's clock, ms */
    int64_t hosts[HOSTS]; /* of theirs */
    int64_t asleep;       /* until then, a minute, nobody is awake */
    int64_t since;        /* the last instant, in minutes */
    bool all;
    unsigned skipped, doubled, strange, refused, begun;
    int64_t latest;
} y;

static int64_t between(int64_t least, int64_t most)
{
    return g_rand_int_range(y.rand, (int)least, (int)most + 1);
}

static bool one_in(int n)
{
    return between(1, n) == 1;
}

/* ---- what is meant ---- */

static bool is_named(int64_t local)
{
    static struct tm t;
    static int64_t hour;

    if (hour != local / 60) {
        const time_t seconds = (time_t)(local * 60);
        gmtime_r(&seconds, &t);
        hour = local / 60;
    }
    t.tm_min = (int)(local % 60);
    return y.work->named(&t);
}

/* A time counts when the clock first reaches it. Where each hour counts, when it is shown. */
static void find_meant(void)
{
    int64_t reached = FIRST_MINUTE + y.offsets[0] - 1;

    memset(y.meant, 0, sizeof y.meant);
    for (int m = 0; m < MINUTES; m++) {
        const int64_t local = FIRST_MINUTE + m + y.offsets[m];
        y.shown[m] = is_named(local);
        if (y.work->each_hour)
            reached = local - 1;
        while (reached < local)
            y.meant[m] |= is_named(++reached);
    }
}

/* ---- a caller ---- */

static const struct calendar_zone *zone_at(uint64_t now)
{
    const int64_t day = (int64_t)(now / 1000 / 86400);

    if (y.around_of != day) {
        y.around = zone_around(y.zone, now);
        y.around_of = day;
        for (uint32_t i = 1; y.plant == MOVED_BY_A_MINUTE && i < y.around.count; i++)
            y.around.parts[i].from++;
    }
    return &y.around;
}

static void record(const struct calendar_aim *aim, int64_t now)
{
    const int64_t minute = (int64_t)aim->instant / MINUTE_MS - FIRST_MINUTE;
    const int64_t late = now - (int64_t)aim->instant;

    y.last = (struct once_record){.begun = (uint64_t)now,
                                  .due = aim->next,
                                  .instant = aim->instant - (y.plant == USED_AGAIN)};
    if (minute >= 0 && minute < MINUTES)
        y.runs[minute]++;
    if (late < 0)
        y.strange++;
    if (late > y.latest)
        y.latest = late;
}

/* By a host that is killed now and then: the next in line begins again, some seconds later. */
static void call(int64_t true_ms)
{
    for (int64_t now = true_ms + y.skew;; now += between(0, 20000)) {
        const uint64_t at = (uint64_t)now;
        struct calendar_aim aim = calendar_aim(&y.calendar, zone_at(at), at, y.plan.slack_ms);
        const struct once_moment m = {.record = y.last.instant ? &y.last : NULL, .aim = &aim};
        const enum once_verdict verdict = once_judged(&y.plan, &m, at);
        if (verdict == ONCE_ENTER) {
            now = (int64_t)aim.instant;
            continue;
        }
        if (verdict != ONCE_RUN)
            return;
        y.begun++;
        if (one_in(20))
            continue;
        record(&aim, now);
        return;
    }
}

/* ---- three years ---- */

/* One of the hosts may have a version that finds no record that it knows. */
static void call_by(int host, int64_t true_ms)
{
    if (host == 2 && (true_ms / 86400000) % 3 == 0)
        y.refused++;
    else
        call(true_ms);
}

/* A leader follows another, a clock is set, nobody is awake for a while, somebody tries it. */
static void disturb(int64_t m)
{
    const bool lasts = y.work->each_minute;

    if (one_in(30))
        y.skew = lasts ? between(-300000, 300000) : between(-10000, 10000);
    if (one_in(10))
        y.hosts[between(0, HOSTS - 1)] = between(-8000, 8000);
    if (lasts && one_in(40))
        y.asleep = m + between(1, 45);
    if (one_in(15))
        call((FIRST_MINUTE + m) * MINUTE_MS + between(0, 59999));
}

/* Far from all instants each minute is like another: there one of ten has a caller, unless the
 * environment's ZKL_YEARS is set. */
static void call_in_minute(int64_t m)
{
    y.since = y.meant[m] ? 0 : y.since + 1;
    if (m % 60 == 7)
        disturb(m);
    if (m >= y.asleep && (y.since < (y.work->each_hour ? 5 : 75) || y.meant[m + 1] ||
                          y.meant[m + 2] || m % 10 == 0 || y.all))
        call_by((int)between(0, HOSTS - 2), (FIRST_MINUTE + m) * MINUTE_MS + between(0, 20000));
}

/* The first host is always awake. */
static void call_by_cron(int64_t m)
{
    const int first = (int)between(0, HOSTS - 1);

    for (int i = 0; i < HOSTS; i++) {
        const int host = (first + i) % HOSTS;
        if (i == 0 || host == 0 || one_in(2))
            call_by(host, (FIRST_MINUTE + m) * MINUTE_MS - y.hosts[host] + between(0, 5000));
    }
    disturb(m + between(10, 50));
}

static void live(const struct work *work, enum plant plant, int days)
{
    const int64_t end = (int64_t)days * DAY - 10; /* a run that begins then is in time */

    y.work = work;
    y.plant = plant;
    y.plan = (struct once_plan){.slack_ms = plant == NO_SLACK ? 0 : 30000, .late_ms = 3600000};
    y.last.instant = 0;
    y.skew = y.asleep = y.latest = y.around_of = y.since = 0;
    y.all = g_getenv("ZKL_YEARS") != NULL;
    y.skipped = y.doubled = y.strange = y.refused = y.begun = 0;
    memset(y.hosts, 0, sizeof y.hosts);
    memset(y.runs, 0, sizeof y.runs);
    find_meant();
    REQUIRE(!calendar_read(work->calendar, &y.calendar));
    if (plant == REPEATED)
        y.calendar.each_hour = true;
    if (plant == ENDS_EARLY)
        y.calendar.minutes <<= 1;
    for (int64_t m = 0; m < end; m++)
        if (work->each_minute)
            call_in_minute(m);
        else if (y.meant[m] || y.shown[m])
            call_by_cron(m);
    for (int64_t m = 10; m < end; m++) {
        y.skipped += y.meant[m] && y.runs[m] == 0;
        y.strange += !y.meant[m] && y.runs[m] > 0;
        y.doubled += y.runs[m] > 1;
    }
}

static void settle_in(const char *zone)
{
    g_clear_pointer(&y.zone, g_time_zone_unref);
    y.zone = zone_open(zone);
    REQUIRE(y.zone != NULL);
    for (int m = 0; m < MINUTES; m++)
        y.offsets[m] =
            m % 15 != 0
                ? y.offsets[m - 1]
                : (int16_t)zone_offset(y.zone, (uint64_t)(FIRST_MINUTE + m) * (uint64_t)MINUTE_MS);
}

TEST_CASE(none_skipped_none_doubled)
{
    y.rand = g_rand_new_with_seed(1);
    for (size_t z = 0; z < G_N_ELEMENTS(zones); z++) {
        settle_in(zones[z]);
        for (size_t i = 0; i < G_N_ELEMENTS(works); i++) {
            live(&works[i], AS_IT_IS, DAYS);
            CHECK_INT(y.skipped, 0);
            CHECK_INT(y.doubled, 0);
            CHECK_INT(y.strange, 0);
            CHECK(y.begun > 0 && y.latest <= 3600000);
            if (g_getenv("ZKL_YEARS"))
                printf("%-20s %-10s %-11s begun %5u, skipped %u, doubled %u, latest %4d s, "
                       "refused %u\n",
                       zones[z], works[i].calendar, works[i].each_minute ? "each minute" : "cron",
                       y.begun, y.skipped, y.doubled, (int)(y.latest / 1000), y.refused);
        }
    }
    g_rand_free(y.rand);
}

/* The rules see what they are for. */
TEST_CASE(planted_faults)
{
    static const struct {
        enum plant plant;
        int work;
    } rows[] = {
        {USED_AGAIN, 0}, {MOVED_BY_A_MINUTE, 0}, {NO_SLACK, 1}, {REPEATED, 1}, {ENDS_EARLY, 1}};

    y.rand = g_rand_new_with_seed(1);
    settle_in("Europe/Berlin");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        live(&works[rows[i].work], rows[i].plant, 365);
        if (!CHECK(y.skipped + y.doubled + y.strange > 0))
            runner_fail(__FILE__, __LINE__, "fault %u is not seen", rows[i].plant);
    }
    live(&works[0], AS_IT_IS, 365);
    CHECK(y.skipped + y.doubled + y.strange == 0);
    g_rand_free(y.rand);
}
