/* The machine of a lock at several paths, in exchanges: what it is told, and what it asks for. */
#include "exchange.h"
#include "recipes/multi_lock.h"
#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(multi_lock);

enum { STEPS_MAX = 12 };

/* .old: of the attempt before the present one at the path. */
struct told {
    enum multi_lock_event_kind kind;
    uint32_t path;
    bool old;
};

struct row {
    const char *what;
    uint32_t count;
    struct {
        struct told told;
        const char *acts; /* in words, divided by blanks; paths from 0 */
    } steps[STEPS_MAX];
};

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = MULTI_LOCK_EV_##name, ##__VA_ARGS__                                                \
    }
#define AT(n) .path = (n)

static void put(GString *text, const struct multi_lock_action *a)
{
    static const char *const words[] = {
        [MULTI_LOCK_ACT_ENTER] = "enter", [MULTI_LOCK_ACT_LEAVE] = "leave",
        [MULTI_LOCK_ACT_GRANT] = "grant", [MULTI_LOCK_ACT_LOSE] = "lose",
        [MULTI_LOCK_ACT_FAIL] = "fail",
    };

    g_string_append_printf(text, "%s%s", text->len ? " " : "", words[a->kind]);
    if (a->kind == MULTI_LOCK_ACT_ENTER || a->kind == MULTI_LOCK_ACT_LEAVE)
        g_string_append_printf(text, " %u", a->path);
}

/* The numbers of the last attempts of each path, as the machine gave them. */
struct numbers {
    uint32_t last, before;
};

static char *step(struct multi_lock *m, struct multi_lock_path *paths, struct numbers *numbers,
                  const struct told *told)
{
    const struct numbers *n = &numbers[told->path];
    struct multi_lock_event ev = {
        .kind = told->kind, .path = told->path, .entry = told->old ? n->before : n->last};
    struct multi_lock_actions actions;
    GString *text = g_string_new(NULL);

    multi_lock_step(m, paths, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct multi_lock_action *a = &actions.list[i];
        put(text, a);
        if (a->kind == MULTI_LOCK_ACT_ENTER)
            numbers[a->path] = (struct numbers){a->entry, numbers[a->path].last};
    }
    return g_string_free(text, FALSE);
}

static void play(const struct row *rows, size_t count, bool one_by_one)
{
    for (size_t i = 0; i < count; i++) {
        struct multi_lock m = {.count = rows[i].count, .one_by_one = one_by_one};
        struct multi_lock_path paths[MULTI_LOCK_PATHS];
        struct numbers numbers[MULTI_LOCK_PATHS] = {{0, 0}};

        multi_lock_init(&m, paths);
        for (int k = 0; k < STEPS_MAX && rows[i].steps[k].acts; k++) {
            char *acts = step(&m, paths, numbers, &rows[i].steps[k].told);
            exchange_check(acts, rows[i].steps[k].acts, rows[i].what, k);
        }
    }
}

TEST_CASE(acquires)
{
    static const struct row rows[] = {
        {"one path is a lock",
         1,
         {{EV(BEGIN), "enter 0"},
          {EV(WAITS, AT(0)), ""},
          {EV(GRANTED, AT(0)), "grant"},
          {EV(RELEASE), "leave 0"}}},
        {"all at once, and granted in any order",
         3,
         {{EV(BEGIN), "enter 0 enter 1 enter 2"},
          {EV(GRANTED, AT(2)), ""},
          {EV(GRANTED, AT(0)), ""},
          {EV(GRANTED, AT(1)), "grant"},
          {EV(RELEASE), "leave 2 leave 1 leave 0"},
          {EV(RELEASE), ""}}},
        {"behind one that is waited for nothing is queued or held, what is before it stays",
         4,
         {{EV(BEGIN), "enter 0 enter 1 enter 2 enter 3"},
          {EV(GRANTED, AT(0)), ""},
          {EV(GRANTED, AT(3)), ""},
          {EV(WAITS, AT(1)), "leave 3 leave 2"},
          {EV(WAITS, AT(1)), ""},
          {EV(GRANTED, AT(1)), "enter 2 enter 3"},
          {EV(WAITS, AT(2)), "leave 3"},
          {EV(GRANTED, AT(2)), "enter 3"},
          {EV(GRANTED, AT(3)), "grant"}}},
        {"the first that is waited for counts, also if a later one was known before",
         3,
         {{EV(BEGIN), "enter 0 enter 1 enter 2"},
          {EV(WAITS, AT(1)), "leave 2"},
          {EV(WAITS, AT(0)), "leave 1"},
          {EV(GRANTED, AT(0)), "enter 1 enter 2"},
          {EV(GRANTED, AT(1)), ""},
          {EV(GRANTED, AT(2)), "grant"}}},
        {"the last one waits alone",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(WAITS, AT(1)), ""},
          {EV(GRANTED, AT(1)), ""},
          {EV(GRANTED, AT(0)), "grant"}}},
    };

    play(rows, G_N_ELEMENTS(rows), false);
}

TEST_CASE(one_by_one)
{
    static const struct row rows[] = {
        {"each behind the last",
         3,
         {{EV(BEGIN), "enter 0"},
          {EV(GRANTED, AT(0)), "enter 1"},
          {EV(GRANTED, AT(1)), "enter 2"},
          {EV(GRANTED, AT(2)), "grant"},
          {EV(RELEASE), "leave 2 leave 1 leave 0"}}},
        {"refused where another is first",
         3,
         {{EV(BEGIN), "enter 0"},
          {EV(GRANTED, AT(0)), "enter 1"},
          {EV(FAILED, AT(1)), "leave 0 fail"}}},
        {"behind one that yields",
         2,
         {{EV(BEGIN), "enter 0"},
          {EV(WAITS, AT(0)), ""},
          {EV(GRANTED, AT(0)), "enter 1"},
          {EV(GRANTED, AT(1)), "grant"}}},
        {"what is lost is entered again, and what is behind it later",
         3,
         {{EV(BEGIN), "enter 0"},
          {EV(GRANTED, AT(0)), "enter 1"},
          {EV(GRANTED, AT(1)), "enter 2"},
          {EV(LOST, AT(0)), "leave 2 leave 1 enter 0"},
          {EV(GRANTED, AT(0)), "enter 1"}}},
    };

    play(rows, G_N_ELEMENTS(rows), true);
}

TEST_CASE(losses)
{
    static const struct row rows[] = {
        {"of an earlier one, while a later one is waited for: that is left, and both entered again",
         4,
         {{EV(BEGIN), "enter 0 enter 1 enter 2 enter 3"},
          {EV(GRANTED, AT(0)), ""},
          {EV(GRANTED, AT(1)), ""},
          {EV(WAITS, AT(2)), "leave 3"},
          {EV(LOST, AT(1)), "leave 2 enter 1 enter 2 enter 3"},
          {EV(WAITS, AT(1)), "leave 3 leave 2"},
          {EV(GRANTED, AT(1)), "enter 2 enter 3"},
          {EV(GRANTED, AT(2)), ""},
          {EV(GRANTED, AT(3)), "grant"}}},
        {"of a later one: what is before it stays",
         3,
         {{EV(BEGIN), "enter 0 enter 1 enter 2"},
          {EV(GRANTED, AT(1)), ""},
          {EV(GRANTED, AT(2)), ""},
          {EV(LOST, AT(1)), "leave 2 enter 1 enter 2"},
          {EV(GRANTED, AT(1)), ""},
          {EV(GRANTED, AT(2)), ""},
          {EV(GRANTED, AT(0)), "grant"}}},
        {"of all, one after the other, as with their session",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(GRANTED, AT(0)), ""},
          {EV(LOST, AT(0)), "leave 1 enter 0 enter 1"},
          {EV(GRANTED, AT(1)), ""},
          {EV(LOST, AT(1)), "enter 1"}}},
        {"once it is granted: of the whole",
         3,
         {{EV(BEGIN), "enter 0 enter 1 enter 2"},
          {EV(GRANTED, AT(0)), ""},
          {EV(GRANTED, AT(1)), ""},
          {EV(GRANTED, AT(2)), "grant"},
          {EV(LOST, AT(1)), "lose"},
          {EV(LOST, AT(0)), ""},
          {EV(RELEASE), ""}}},
        {"of what is waited for or was left there is none",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(LOST, AT(0)), ""},
          {EV(WAITS, AT(0)), "leave 1"},
          {EV(LOST, AT(0)), ""},
          {EV(LOST, AT(1)), ""},
          {EV(GRANTED, AT(0)), "enter 1"}}},
    };

    play(rows, G_N_ELEMENTS(rows), false);
}

TEST_CASE(ends)
{
    static const struct row rows[] = {
        {"one that fails fails all",
         3,
         {{EV(BEGIN), "enter 0 enter 1 enter 2"},
          {EV(GRANTED, AT(0)), ""},
          {EV(FAILED, AT(1)), "leave 2 leave 0 fail"},
          {EV(FAILED, AT(2)), ""},
          {EV(GRANTED, AT(2)), ""}}},
        {"one that waits fails",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(WAITS, AT(0)), "leave 1"},
          {EV(FAILED, AT(0)), "fail"},
          {EV(ABORT), ""}}},
        {"aborted, all are left, what is held too",
         3,
         {{EV(BEGIN), "enter 0 enter 1 enter 2"},
          {EV(GRANTED, AT(0)), ""},
          {EV(WAITS, AT(1)), "leave 2"},
          {EV(ABORT), "leave 1 leave 0 fail"},
          {EV(ABORT), ""},
          {EV(BEGIN), ""}}},
        {"aborted before it has begun", 2, {{EV(ABORT), "fail"}, {EV(BEGIN), ""}}},
        {"it begins once", 1, {{EV(BEGIN), "enter 0"}, {EV(BEGIN), ""}, {EV(RELEASE), ""}}},
        {"granted, it is not aborted",
         1,
         {{EV(BEGIN), "enter 0"}, {EV(GRANTED, AT(0)), "grant"}, {EV(ABORT), ""}}},
        {"granted, no attempt is left to fail, nor to be granted once more",
         1,
         {{EV(BEGIN), "enter 0"},
          {EV(GRANTED, AT(0)), "grant"},
          {EV(GRANTED, AT(0)), ""},
          {EV(FAILED, AT(0)), ""},
          {EV(WAITS, AT(0)), ""},
          {EV(RELEASE), "leave 0"}}},
        {"released, nothing is lost",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(GRANTED, AT(0)), ""},
          {EV(GRANTED, AT(1)), "grant"},
          {EV(RELEASE), "leave 1 leave 0"},
          {EV(LOST, AT(1)), ""}}},
    };

    play(rows, G_N_ELEMENTS(rows), false);
}

/* What an attempt that was left still says is not the next one's. */
TEST_CASE(old_attempts)
{
    static const struct row rows[] = {
        {"of a path that was entered again",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(WAITS, AT(0)), "leave 1"},
          {EV(GRANTED, AT(0)), "enter 1"},
          {EV(GRANTED, AT(1), .old = true), ""},
          {EV(WAITS, AT(1), .old = true), ""},
          {EV(FAILED, AT(1), .old = true), ""},
          {EV(GRANTED, AT(1)), "grant"},
          {EV(LOST, AT(1), .old = true), ""},
          {EV(LOST, AT(1)), "lose"}}},
        {"of a path that was left",
         2,
         {{EV(BEGIN), "enter 0 enter 1"},
          {EV(WAITS, AT(0)), "leave 1"},
          {EV(GRANTED, AT(1)), ""},
          {EV(WAITS, AT(1)), ""},
          {EV(FAILED, AT(1)), ""},
          {EV(GRANTED, AT(0)), "enter 1"}}},
    };

    play(rows, G_N_ELEMENTS(rows), false);
}

/* The most that can be: each action has room. */
TEST_CASE(many_paths)
{
    enum { LAST = MULTI_LOCK_PATHS - 1 };
    struct multi_lock m = {.count = MULTI_LOCK_PATHS};
    struct multi_lock_path paths[MULTI_LOCK_PATHS];
    struct multi_lock_actions actions;

    multi_lock_init(&m, paths);
    multi_lock_step(&m, paths, &(struct multi_lock_event){.kind = MULTI_LOCK_EV_BEGIN}, &actions);
    CHECK_INT(actions.count, MULTI_LOCK_PATHS);
    for (uint32_t i = 0; i < LAST; i++)
        multi_lock_step(
            &m, paths,
            &(struct multi_lock_event){MULTI_LOCK_EV_GRANTED, .path = i, .entry = paths[i].entry},
            &actions);
    CHECK_INT(multi_lock_front(&m, paths), LAST);
    multi_lock_step(
        &m, paths,
        &(struct multi_lock_event){MULTI_LOCK_EV_LOST, .path = 0, .entry = paths[0].entry},
        &actions);
    CHECK_INT(actions.count, LAST + MULTI_LOCK_PATHS);
    CHECK_INT(multi_lock_front(&m, paths), 0);
    multi_lock_step(&m, paths, &(struct multi_lock_event){.kind = MULTI_LOCK_EV_ABORT}, &actions);
    CHECK_INT(actions.count, MULTI_LOCK_PATHS + 1);
}

/* The call makes new what was used before, and touches nothing behind the last path. */
TEST_CASE(init)
{
    struct multi_lock m = {.state = MULTI_LOCK_DONE, .count = 2, .one_by_one = true, .entries = 7};
    struct multi_lock_path paths[3];

    for (int i = 0; i < 3; i++)
        paths[i] = (struct multi_lock_path){MULTI_LOCK_HELD, 5};
    multi_lock_init(&m, paths);
    CHECK_INT(m.state, MULTI_LOCK_IDLE);
    CHECK_INT(m.count, 2);
    CHECK(m.one_by_one);
    CHECK_INT(m.entries, 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(paths[i].place, i < 2 ? MULTI_LOCK_OUT : MULTI_LOCK_HELD);
}

TEST_CASE(diagram)
{
    static const char *const names[] = {"idle", "acquiring", "holding", "done", "?"};
    static const char states[] = " > >"  /* idle */
                                 "  >>"  /* acquiring */
                                 "   >"  /* holding */
                                 "    "; /* done */
    static const char places[] = " >  "  /* out */
                                 "> >>"  /* entering */
                                 ">  >"  /* waiting */
                                 ">   "; /* held */

    for (int i = 0; i <= MULTI_LOCK_STATES; i++)
        CHECK_STR(multi_lock_state_name((enum multi_lock_state)i), names[i]);
    for (int i = 0; i < 16; i++) {
        CHECK_INT(
            multi_lock_may_move((enum multi_lock_state)(i / 4), (enum multi_lock_state)(i % 4)),
            states[i] == '>');
        CHECK_INT(multi_lock_may_go((enum multi_lock_place)(i / 4), (enum multi_lock_place)(i % 4)),
                  places[i] == '>');
    }
}

/* Places as letters: out, entering, waiting, held. */
TEST_CASE(invariant)
{
    static const struct {
        enum multi_lock_state state;
        const char *places;
        bool good;
    } rows[] = {
        {MULTI_LOCK_ACQUIRING, "ee", true},  {MULTI_LOCK_ACQUIRING, "he", true},
        {MULTI_LOCK_ACQUIRING, "eh", true},  {MULTI_LOCK_ACQUIRING, "hw", true},
        {MULTI_LOCK_ACQUIRING, "ewo", true}, {MULTI_LOCK_ACQUIRING, "woo", true},
        {MULTI_LOCK_ACQUIRING, "we", false}, {MULTI_LOCK_ACQUIRING, "wh", false},
        {MULTI_LOCK_ACQUIRING, "ww", false}, {MULTI_LOCK_ACQUIRING, "ow", false},
        {MULTI_LOCK_ACQUIRING, "eo", false}, {MULTI_LOCK_ACQUIRING, "hh", false},
        {MULTI_LOCK_ACQUIRING, "oh", false}, {MULTI_LOCK_HOLDING, "hh", true},
        {MULTI_LOCK_HOLDING, "he", false},   {MULTI_LOCK_HOLDING, "oh", false},
        {MULTI_LOCK_HOLDING, "wh", false},   {MULTI_LOCK_IDLE, "oo", true},
        {MULTI_LOCK_IDLE, "oe", false},      {MULTI_LOCK_DONE, "oo", true},
        {MULTI_LOCK_DONE, "ho", false},      {MULTI_LOCK_DONE, "ow", false},
        {MULTI_LOCK_IDLE, "", false},
    };
    struct multi_lock_path paths[MULTI_LOCK_PATHS + 1] = {{.place = MULTI_LOCK_OUT}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct multi_lock m = {.state = rows[i].state, .count = (uint32_t)strlen(rows[i].places)};
        for (uint32_t k = 0; k < m.count; k++)
            paths[k].place = (enum multi_lock_place)(strchr("oewh", rows[i].places[k]) - "oewh");
        if (!CHECK_INT(multi_lock_invariant(&m, paths), rows[i].good))
            runner_fail(__FILE__, __LINE__, "row %zu: %s", i, rows[i].places);
        m.one_by_one = true;
        CHECK_INT(multi_lock_invariant(&m, paths),
                  m.state == MULTI_LOCK_ACQUIRING
                      ? g_regex_match_simple("^h*[ew]o*$", rows[i].places, 0, 0)
                      : rows[i].good);
    }
    for (uint32_t k = 0; k <= MULTI_LOCK_PATHS; k++)
        paths[k].place = MULTI_LOCK_OUT;
    CHECK(multi_lock_invariant(&(struct multi_lock){.count = MULTI_LOCK_PATHS}, paths));
    CHECK(!multi_lock_invariant(&(struct multi_lock){.count = MULTI_LOCK_PATHS + 1}, paths));
}
