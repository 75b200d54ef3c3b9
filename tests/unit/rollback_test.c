/* When a session is given up. If no server takes it back, servers that serve all the time tell
 * that. Any other session is given up only while nobody uses it. */
#include "recipes/ending.h"

#include "runner.h"

#include <stddef.h>

TEST_SUITE(rollback);

enum { TIMEOUT = 1000 };

static struct instant at(int64_t boot, int64_t raw)
{
    return (struct instant){boot, raw};
}

/* Hears it, and asks. */
static bool hear(struct rollback *r, enum rollback_evidence evidence, int64_t now)
{
    rollback_heard(r, evidence, at(now, now));
    return rollback_is_final(r, at(now, now), TIMEOUT);
}

TEST_CASE(refused_for_a_timeout)
{
    struct rollback r = {0};

    CHECK(!hear(&r, ROLLBACK_REFUSES, 100));
    CHECK(!hear(&r, ROLLBACK_REFUSES, 100 + TIMEOUT - 1));
    CHECK(hear(&r, ROLLBACK_REFUSES, 100 + TIMEOUT));
}

TEST_CASE(kept_out_for_three)
{
    struct rollback r = {0};

    CHECK(!hear(&r, ROLLBACK_SERVES, 100));
    CHECK(!hear(&r, ROLLBACK_SERVES, 100 + 3 * TIMEOUT - 1));
    CHECK(hear(&r, ROLLBACK_SERVES, 100 + 3 * TIMEOUT));
}

TEST_CASE(nobody_serves)
{
    struct rollback r = {0};

    for (int64_t now = 0; now < 100 * TIMEOUT; now += TIMEOUT)
        CHECK(!hear(&r, ROLLBACK_NONE, now));
}

/* Whatever had been heard before. */
TEST_CASE(a_break_begins_anew)
{
    static const enum rollback_evidence all[] = {ROLLBACK_SERVES, ROLLBACK_REFUSES};

    for (int i = 0; i < 2; i++) {
        struct rollback r = {0};
        int64_t limit = all[i] == ROLLBACK_SERVES ? 3 * TIMEOUT : TIMEOUT;

        CHECK(!hear(&r, all[i], 0));
        CHECK(!hear(&r, ROLLBACK_NONE, limit - 2));
        CHECK(!hear(&r, all[i], limit - 1));
        CHECK(!hear(&r, all[i], limit + 1));
        CHECK(!hear(&r, all[i], 2 * limit - 2));
        CHECK(hear(&r, all[i], 2 * limit - 1));
    }
}

/* One that would take us after all: its refusals do not count any more, that it serves does. */
TEST_CASE(a_server_catches_up)
{
    struct rollback r = {0};

    CHECK(!hear(&r, ROLLBACK_REFUSES, 0));
    CHECK(!hear(&r, ROLLBACK_SERVES, TIMEOUT));
    CHECK(!hear(&r, ROLLBACK_REFUSES, TIMEOUT + 1));
    CHECK(!hear(&r, ROLLBACK_REFUSES, 2 * TIMEOUT));
    CHECK(hear(&r, ROLLBACK_REFUSES, 2 * TIMEOUT + 1));
    CHECK(!hear(&r, ROLLBACK_SERVES, 3 * TIMEOUT - 1));
    CHECK(hear(&r, ROLLBACK_SERVES, 3 * TIMEOUT));
}

/* A machine that slept has not heard servers meanwhile. */
TEST_CASE(by_both_clocks)
{
    struct rollback r = {0};

    rollback_heard(&r, ROLLBACK_REFUSES, at(0, 0));
    CHECK(!rollback_is_final(&r, at(10 * TIMEOUT, TIMEOUT - 1), TIMEOUT));
    CHECK(!rollback_is_final(&r, at(TIMEOUT - 1, 10 * TIMEOUT), TIMEOUT));
    CHECK(rollback_is_final(&r, at(TIMEOUT, TIMEOUT), TIMEOUT));
}

TEST_CASE(not_under_its_users)
{
    static const struct {
        struct users users;
        enum presence most;
        bool may[ENDINGS], out; /* it may be ended; if it is out for its timeout */
    } rows[] = {
        {{0, 0, 0}, PRESENCE_NONE, {true, true, true}, true},
        {{0, 0, 0}, PRESENCE_WAITS, {true, false, true}, true},
        {{0, 0, 0}, PRESENCE_IN, {true, false, false}, true},
        {{0, 0, 0}, PRESENCE_HOLDS, {false, false, false}, false},
        {{2, 0, 0}, PRESENCE_NONE, {true, false, false}, true},
        {{0, 1, 0}, PRESENCE_NONE, {false, false, false}, true},
        {{0, 0, 1}, PRESENCE_NONE, {false, false, false}, true},
        {{1, 1, 1}, PRESENCE_HOLDS, {false, false, false}, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (enum end_reason why = 0; why < ENDINGS; why++) {
            const struct users *u = &rows[i].users;
            const bool wanted = rows[i].may[why];
            CHECK_INT(users_let_end(u, rows[i].most, why, 0, TIMEOUT), wanted);
            CHECK_INT(users_let_end(u, rows[i].most, why, TIMEOUT - 1, TIMEOUT), wanted);
            CHECK_INT(users_let_end(u, rows[i].most, why, TIMEOUT, TIMEOUT),
                      why == ENDING_STALE ? wanted : rows[i].out);
        }
    }
}
