/* Until when a command has its lock, as the processes of its tree read it. */
#include "runner.h"
#include "tools/guard/shared.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <time.h>

TEST_SUITE(deadline);

#define TOKEN 7
#define SESSION 0x10000001
#define HOUR_NS 3600000000000LL

static int64_t hence_ns(clockid_t clock, int64_t ns)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec + ns;
}

/* Two commands of one tool; the second holds its lock for an hour. */
static struct shared *two_commands(void)
{
    struct shared *s = shared_new(2);
    const zkl_deadline deadline = {hence_ns(CLOCK_BOOTTIME, HOUR_NS),
                                   hence_ns(CLOCK_MONOTONIC_RAW, HOUR_NS)};

    shared_set_deadline(&s[1], &deadline);
    return s;
}

static bool is_long(int64_t ms)
{
    return ms > 3500000 && ms <= 3600000;
}

TEST_CASE(is_of_one_grant)
{
    struct shared *s = two_commands();

    CHECK(is_long(shared_left_ms(&s[1])));
    CHECK_INT(deadline_left_of(s[1].deadline, 0, 0), 0); /* no command has begun */
    deadline_begin(s[1].deadline, TOKEN, SESSION);
    CHECK(is_long(deadline_left_of(s[1].deadline, TOKEN, SESSION)));
    CHECK_INT(deadline_left_of(s[1].deadline, TOKEN + 1, SESSION), 0);
    CHECK_INT(deadline_left_of(s[1].deadline, TOKEN, SESSION + 1), 0);
    CHECK_INT(deadline_left_of(s[0].deadline, TOKEN, SESSION), 0);
    shared_reset(&s[1]);
    CHECK_INT(deadline_left_of(s[1].deadline, TOKEN, SESSION), 0);
    CHECK_INT(shared_left_ms(&s[1]), 0);
    shared_free(s, 2);
}

/* The lock is given back right after that, and the guard lives on for a moment. */
TEST_CASE(is_over_when_the_end_is_decided)
{
    struct shared *s = two_commands();

    deadline_begin(s[1].deadline, TOKEN, SESSION);
    CHECK(shared_decide(&s[1], CAUSE_ENDED));
    CHECK_INT(deadline_left_of(s[1].deadline, TOKEN, SESSION), 0);
    CHECK(is_long(shared_left_ms(&s[1])));
    shared_free(s, 2);
}

TEST_CASE(is_over_by_either_clock)
{
    static const struct {
        int64_t boottime, raw;
        bool over;
    } rows[] = {{HOUR_NS, HOUR_NS, false}, {0, HOUR_NS, true}, {HOUR_NS, 0, true}, {-1, -1, true}};
    struct shared *s = two_commands();

    deadline_begin(s[0].deadline, TOKEN, SESSION);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const zkl_deadline deadline = {hence_ns(CLOCK_BOOTTIME, rows[i].boottime),
                                       hence_ns(CLOCK_MONOTONIC_RAW, rows[i].raw)};

        shared_set_deadline(&s[0], &deadline);
        const int64_t left = deadline_left_of(s[0].deadline, TOKEN, SESSION);
        CHECK(rows[i].over ? left == 0 : is_long(left));
    }
    shared_free(s, 2);
}

TEST_CASE(is_found_by_its_variable)
{
    struct shared *s = two_commands();
    char **envp = deadline_tell(s[1].deadline, NULL);
    const char *where = g_environ_getenv(envp, DEADLINE_VARIABLE);
    g_autofree char *beyond = g_strdup_printf("%.*s:2", (int)strcspn(where, ":"), where);
    const struct {
        const char *where;
        int error;
    } bad[] = {{beyond, EINVAL},
               {"/dev/null:0", EINVAL},
               {"/:0", EINVAL},
               {"/nowhere:0", ENOENT},
               {"", ENOENT}};

    deadline_begin(s[1].deadline, TOKEN, SESSION);
    const struct deadline *found = deadline_open(where);
    REQUIRE(found != NULL);
    CHECK(found != s[1].deadline);
    CHECK(is_long(deadline_left_of(found, TOKEN, SESSION)));
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        CHECK(deadline_open(bad[i].where) == NULL);
        CHECK_INT(errno, bad[i].error);
    }
    g_strfreev(envp);
    shared_free(s, 2);
}
