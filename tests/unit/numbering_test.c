/* From admission to numbers: exchanges, and what the numbers are. */
#include "numbering.h"

#include "suites.h"

#include <string.h>

static struct numbering n;
static struct numbering_actions out;

/* The only action, or -1. */
static int give(enum numbering_event_kind kind, enum numbering_answer answer, uint32_t count,
                uint32_t who)
{
    const struct numbering_event ev = {
        .kind = kind, .answer = answer, .tag = n.tag, .count = count, .who = who};

    numbering_step(&n, &ev, &out);
    return out.count == 1 ? (int)out.list[0].kind : -1;
}

#define GIVE(kind_, answer_, state_, action_)                                                      \
    do {                                                                                           \
        CHECK_INT(give(NUMBERING_EV_##kind_, NUMBERING_##answer_, 0, 0), action_);                 \
        CHECK_STR(numbering_state_name(n.state), numbering_state_name(NUMBERING_##state_));        \
    } while (0)

/* The own node, and the last of those before it. */
static void start_reading(uint32_t before)
{
    n = (struct numbering){.state = NUMBERING_IDLE};
    GIVE(BEGIN, OK, LISTING, NUMBERING_ACT_LIST);
    give(NUMBERING_EV_LISTED, NUMBERING_OK, before, 0);
    CHECK_INT(n.state, NUMBERING_READING);
    CHECK_INT(out.count, before > 0 ? 2 : 1);
    CHECK_INT(out.list[0].kind, NUMBERING_ACT_OWN);
    if (before == 0)
        return;
    CHECK_INT(out.list[1].kind, NUMBERING_ACT_LOOK);
    CHECK_INT(out.list[1].who, before - 1);
}

static void start_waiting(void)
{
    start_reading(3);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_NONE_YET, 0, 2), -1);
    GIVE(OWN, NONE_YET, WAITING, NUMBERING_ACT_WATCH);
    CHECK_INT(out.list[0].who, 2);
}

static void start_writing(void)
{
    start_reading(0);
    GIVE(OWN, NONE_YET, WRITING, NUMBERING_ACT_WRITE);
}

static void alone(void)
{
    start_writing();
    GIVE(WRITTEN, OK, NUMBERED, NUMBERING_ACT_DONE);
    GIVE(END, OK, NUMBERED, -1);
}

static void behind_others(void)
{
    start_reading(3);
    GIVE(OWN, NONE_YET, READING, -1);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_OK, 0, 2), NUMBERING_ACT_READ);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_OK, 0, 1), -1);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_GONE, 0, 0), NUMBERING_ACT_WRITE);
    CHECK_INT(n.state, NUMBERING_WRITING);
    start_reading(1);
    GIVE(OWN, NONE_YET, READING, -1);
    GIVE(READ, GONE, WRITING, NUMBERING_ACT_WRITE);
}

static void one_before_has_none_yet(void)
{
    start_waiting();
    GIVE(WATCHED, NONE_YET, WAITING, -1);
    CHECK_INT(give(NUMBERING_EV_FIRED, NUMBERING_OK, 0, 0), -1);
    CHECK_INT(out.count, 2);
    CHECK_INT(out.list[0].kind, NUMBERING_ACT_UNWATCH);
    CHECK_INT(out.list[1].kind, NUMBERING_ACT_LOOK);
    CHECK_INT(out.list[1].who, 2);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_OK, 0, 2), NUMBERING_ACT_READ);
    for (int i = 0; i < 2; i++) {
        start_waiting();
        give(NUMBERING_EV_WATCHED, i ? NUMBERING_GONE : NUMBERING_OK, 0, 2);
        CHECK_INT(n.state, NUMBERING_READING);
        CHECK_INT(out.list[1].kind, NUMBERING_ACT_READ);
    }
}

/* Only the first that is known tells of all before the own node; and there must be as many permits
 * as numbers below that. */
static void ceiling_is_told(void)
{
    static const struct {
        enum numbering_answer answer;
        int32_t ceiling;
        int32_t first; /* 0: the others are read */
    } rows[] = {{NUMBERING_OK, 4, 4}, {NUMBERING_OK, 3, 3},   {NUMBERING_OK, 5, 0},
                {NUMBERING_OK, 0, 0}, {NUMBERING_GONE, 4, 0}, {NUMBERING_OK, INT32_MAX, 0},
                {NUMBERING_OK, -1, 0}};

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        struct numbering_event ev = {.kind = NUMBERING_EV_LISTED, .count = 3, .permits = 4};
        n = (struct numbering){.state = NUMBERING_IDLE, .first = 9};
        give(NUMBERING_EV_BEGIN, NUMBERING_OK, 0, 0);
        ev.tag = n.tag;
        numbering_step(&n, &ev, &out);
        give(NUMBERING_EV_OWN, NUMBERING_NONE_YET, 0, 0);
        if (i % 2 == 1)
            give(NUMBERING_EV_READ, NUMBERING_NONE_YET, 0, 2);
        ev = (struct numbering_event){.kind = i % 2 ? NUMBERING_EV_WATCHED : NUMBERING_EV_READ,
                                      .answer = rows[i / 2].answer,
                                      .tag = n.tag,
                                      .who = 2,
                                      .ceiling = rows[i / 2].ceiling};
        numbering_step(&n, &ev, &out);
        CHECK_INT(n.first, rows[i / 2].first);
        CHECK_INT(n.state, rows[i / 2].first ? NUMBERING_WRITING : NUMBERING_READING);
        CHECK_INT(out.list[out.count - 1].kind,
                  rows[i / 2].first ? NUMBERING_ACT_WRITE : NUMBERING_ACT_READ);
        if (rows[i / 2].first)
            continue;
        ev = (struct numbering_event){
            .kind = NUMBERING_EV_READ, .tag = n.tag, .who = 1, .ceiling = 2};
        numbering_step(&n, &ev, &out);
        CHECK_INT(n.state, NUMBERING_READING);
        CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_OK, 0, 0), NUMBERING_ACT_WRITE);
        CHECK_INT(n.first, 0);
    }
}

/* Of those that have none, the last. */
static void some_before_have_none_any_more(void)
{
    start_reading(4);
    give(NUMBERING_EV_OWN, NUMBERING_NONE_YET, 0, 0);
    give(NUMBERING_EV_READ, NUMBERING_OK, 0, 3);
    give(NUMBERING_EV_READ, NUMBERING_NONE_YET, 0, 0);
    give(NUMBERING_EV_READ, NUMBERING_NONE_YET, 0, 2);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_NONE_YET, 0, 1), NUMBERING_ACT_WATCH);
    CHECK_INT(out.list[0].who, 2);
    give(NUMBERING_EV_WATCHED, NUMBERING_GONE, 0, 2);
    CHECK_INT(out.list[1].kind, NUMBERING_ACT_READ);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_OK, 0, 1), -1);
    CHECK_INT(give(NUMBERING_EV_READ, NUMBERING_NONE_YET, 0, 0), NUMBERING_ACT_WATCH);
    CHECK_INT(out.list[0].who, 0);
    give(NUMBERING_EV_WATCHED, NUMBERING_OK, 0, 0);
    CHECK_INT(out.list[1].kind, NUMBERING_ACT_WRITE);
    CHECK_INT(n.state, NUMBERING_WRITING);
}

/* A set whose answer was lost: who came behind has read these numbers. */
static void own_numbers_are_kept(void)
{
    start_writing();
    GIVE(WRITTEN, CHANGED, LISTING, NUMBERING_ACT_LIST);
    give(NUMBERING_EV_LISTED, NUMBERING_OK, 3, 0);
    GIVE(OWN, OK, NUMBERED, NUMBERING_ACT_DONE);
    GIVE(READ, OK, NUMBERED, -1);
}

static void own_node_goes(void)
{
    n = (struct numbering){.state = NUMBERING_IDLE};
    GIVE(BEGIN, OK, LISTING, NUMBERING_ACT_LIST);
    GIVE(LISTED, GONE, OVER, NUMBERING_ACT_VANISHED);
    start_reading(1);
    GIVE(OWN, GONE, OVER, NUMBERING_ACT_VANISHED);
    start_writing();
    GIVE(WRITTEN, GONE, OVER, NUMBERING_ACT_VANISHED);
}

static void refused(void)
{
    n = (struct numbering){.state = NUMBERING_IDLE};
    GIVE(BEGIN, OK, LISTING, NUMBERING_ACT_LIST);
    GIVE(LISTED, REFUSED, OVER, NUMBERING_ACT_FAIL);
    start_reading(1);
    GIVE(READ, REFUSED, OVER, NUMBERING_ACT_FAIL);
    start_writing();
    GIVE(WRITTEN, REFUSED, OVER, NUMBERING_ACT_FAIL);
    start_waiting();
    give(NUMBERING_EV_WATCHED, NUMBERING_REFUSED, 0, 0);
    CHECK_INT(out.count, 2);
    CHECK_INT(out.list[0].kind, NUMBERING_ACT_UNWATCH);
    CHECK_INT(out.list[1].kind, NUMBERING_ACT_FAIL);
    CHECK_INT(n.state, NUMBERING_OVER);
}

static void admission_ends(void)
{
    n = (struct numbering){.state = NUMBERING_IDLE};
    GIVE(END, OK, OVER, -1);
    start_reading(1);
    GIVE(END, OK, OVER, -1);
    start_waiting();
    GIVE(END, OK, OVER, NUMBERING_ACT_UNWATCH);
    GIVE(FIRED, OK, OVER, -1);
}

static void stale_answers(void)
{
    static const enum numbering_event_kind kinds[] = {NUMBERING_EV_LISTED, NUMBERING_EV_READ,
                                                      NUMBERING_EV_OWN, NUMBERING_EV_WATCHED,
                                                      NUMBERING_EV_WRITTEN};
    for (int state = 0; state < 4; state++)
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
            if (state == 0) {
                n = (struct numbering){.state = NUMBERING_IDLE};
                give(NUMBERING_EV_BEGIN, NUMBERING_OK, 0, 0);
            } else if (state == 1) {
                start_reading(0);
            } else if (state == 2) {
                start_waiting();
            } else {
                start_writing();
            }
            const struct numbering before = n;
            numbering_step(&n, &(struct numbering_event){.kind = kinds[i], .tag = n.tag - 1}, &out);
            CHECK(out.count == 0 && n.state == before.state && n.left == before.left);
        }
}

static void invariant_sees(void)
{
    static const struct numbering wrong[] = {
        {.state = NUMBERING_READING},
        {.state = NUMBERING_LISTING, .left = 1},
        {.state = NUMBERING_WAITING, .who = NUMBERING_NOBODY, .unknown = 1},
        {.state = NUMBERING_WAITING},
        {.state = NUMBERING_READING, .left = 1, .unknown = 1, .first = 1},
    };
    static const struct numbering right[] = {
        {.state = NUMBERING_READING, .left = 1},
        {.state = NUMBERING_WAITING, .unknown = 1},
        {.state = NUMBERING_LISTING},
        {.state = NUMBERING_OVER, .who = NUMBERING_NOBODY},
        {.state = NUMBERING_READING, .left = 1, .first = 1},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CHECK(!numbering_invariant(&wrong[i]));
        CHECK(numbering_invariant(&right[i]));
    }
    CHECK_STR(numbering_state_name(NUMBERING_WRITING), "writing");
    CHECK_STR(numbering_state_name(NUMBERING_STATES), "?");
    for (int s = 0; s < NUMBERING_STATES; s++) {
        CHECK(!numbering_may_move(NUMBERING_NUMBERED, (enum numbering_state)s));
        CHECK(!numbering_may_move(NUMBERING_OVER, (enum numbering_state)s));
    }
}

static void lowest_free_numbers(void)
{
    static const int32_t used[] = {5, 0, 2, 0}, highest[] = {INT32_MAX, INT32_MAX - 1};
    int32_t chosen[3];

    CHECK_INT(numbering_choose(used, 4, 0, chosen, 3), 6);
    CHECK(chosen[0] == 1 && chosen[1] == 3 && chosen[2] == 4);
    CHECK_INT(numbering_choose(NULL, 0, 0, chosen, 2), 2);
    CHECK(chosen[0] == 0 && chosen[1] == 1);
    CHECK_INT(numbering_choose(used, 4, 6, chosen, 2), 8);
    CHECK(chosen[0] == 6 && chosen[1] == 7);
    CHECK_INT(numbering_choose(highest, 1, 0, chosen, 1), 0);
    CHECK_INT(chosen[0], 0);
    CHECK_INT(numbering_choose(highest + 1, 1, 0, chosen, 1), INT32_MAX);
}

static void numbers_in_data(void)
{
    static const struct {
        const char *data;
        size_t count, payload;
        int32_t last, ceiling;
    } rows[] = {
        {"who\nzkl numbers 3", 1, 3, 3, 0},
        {"who\nzkl numbers 3 2147483647", 2, 3, INT32_MAX, 0},
        {"\nzkl numbers 0", 1, 0, 0, 0},
        {"a 1\nzkl numbers 2\nzkl numbers 4 7", 2, 17, 7, 0},
        {"", 0, 0, 0, 0},
        {"who", 0, 3, 0, 0},
        {" 3", 0, 2, 0, 0},
        {"3", 0, 1, 0, 0},
        {"who 3 4", 0, 7, 0, 0},
        {"zkl numbers 3", 0, 13, 0, 0},
        {"\nzkl numbers", 0, 12, 0, 0},
        {"\nzkl numbers 9 19", 2, 0, 19, 0},
        {"\nzkl numbers-3", 0, 14, 0, 0},
        {"\nzkl numbers 3 ", 0, 15, 0, 0},
        {"\nzkl numbers  3", 0, 15, 0, 0},
        {"\nzkl numbers 2147483648", 0, 23, 0, 0},
        {"\nzkl numbers 00000000003", 0, 24, 0, 0},
        {"\nzkl numbers -3", 0, 15, 0, 0},
        {"\nzkl Numbers 3", 0, 14, 0, 0},
        {"who\nzkl numbers 3 of 5", 1, 3, 3, 5},
        {"\nzkl numbers 3 4 of 2147483647", 2, 0, 4, INT32_MAX},
        {"\nzkl numbers 3 of 2147483648", 0, 28, 0, 0},
        {"\nzkl numbers 3 of 0", 0, 19, 0, 0},
        {"\nzkl numbers 3 of 5 6", 0, 21, 0, 0},
        {"\nzkl numbers 3 of", 0, 17, 0, 0},
        {"\nzkl numbers 3  of 5", 0, 20, 0, 5},
        {"\nzkl numbers of 5", 0, 17, 0, 5},
        {"of 5", 0, 4, 0, 0},
        {" of 5", 0, 5, 0, 5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int32_t last = 0;
        size_t payload = 99, length = strlen(rows[i].data);
        bool ok = CHECK_INT(numbering_read(rows[i].data, strlen(rows[i].data), &last, 1, &payload),
                            rows[i].count);
        ok &= CHECK_INT(payload, rows[i].payload);
        ok &= rows[i].count == 0 || CHECK_INT(last, rows[i].last);
        ok &= CHECK_INT(numbering_ceiling(rows[i].data, &length), rows[i].ceiling);
        if (!ok)
            runner_fail(__FILE__, __LINE__, "of \"%s\"", rows[i].data);
    }
}

static const struct test_case cases[] = {
    {"alone", alone},
    {"behind_others", behind_others},
    {"one_before_has_none_yet", one_before_has_none_yet},
    {"ceiling_is_told", ceiling_is_told},
    {"some_before_have_none_any_more", some_before_have_none_any_more},
    {"own_numbers_are_kept", own_numbers_are_kept},
    {"own_node_goes", own_node_goes},
    {"refused", refused},
    {"admission_ends", admission_ends},
    {"stale_answers", stale_answers},
    {"invariant_sees", invariant_sees},
    {"lowest_free_numbers", lowest_free_numbers},
    {"numbers_in_data", numbers_in_data},
    {NULL, NULL},
};

const struct test_suite numbering_suite = {.name = "numbering", .cases = cases};
