/* From admission to numbers: exchanges, and what the numbers are. */
#include "numbering.h"

#include "exchange.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(numbering);

/* What is heard, and what it shows. */
struct heard {
    struct machine_event ev;
    struct numbering_moment shown;
};

#define ANSWERED(asked, which, code, ...)                                                          \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_ANSWER,                                                          \
               .verb = STORE_##asked,                                                              \
               .node = (which),                                                                    \
               .rc = STORE_##code,                                                                 \
               .version = 6},                                                                      \
        .shown = {__VA_ARGS__},                                                                    \
    }
#define HAPPENS(name)                                                                              \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_##name }                                                         \
    }
#define BEGIN HAPPENS(BEGIN)
#define STOP HAPPENS(STOP)
#define FIRED(i)                                                                                   \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_FIRED, .node = NUMBERING_BEFORE + (i) }                          \
    }
#define LISTED(n) ANSWERED(LIST, NUMBERING_DIRECTORY, OK, .count = (n), .permits = 4)
#define OWN(has) ANSWERED(GET, NUMBERING_OWN, OK, .numbered = (has))
#define READ(i, has) ANSWERED(GET, NUMBERING_BEFORE + (i), OK, .numbered = (has))
#define GONE(i) ANSWERED(GET, NUMBERING_BEFORE + (i), NONODE, .count = 0)
#define REFUSED(i) ANSWERED(GET, NUMBERING_BEFORE + (i), NOAUTH, .count = 0)
#define TELLS(i, below)                                                                            \
    ANSWERED(GET, NUMBERING_BEFORE + (i), OK, .numbered = true, .ceiling = (below))
#define WRITTEN(code) ANSWERED(SET, NUMBERING_OWN, code, .count = 0)

enum { STEPS = 12 };

struct row {
    const char *what;
    struct {
        struct heard heard;
        const char *acts;
    } steps[STEPS];
};

static void put(GString *text, const struct machine_action *a)
{
    static const char *const verdicts[] = {"done", "node-gone", "failed"};

    g_string_append(text, text->len ? " " : "");
    if (a->kind == MACHINE_ACT_TELL)
        g_string_append_printf(text, "%s", verdicts[a->verdict]);
    else if (a->kind == MACHINE_ACT_END)
        g_string_append(text, "end");
    else if (a->kind == MACHINE_ACT_UNWATCH)
        g_string_append_printf(text, "unwatch %u", a->node - NUMBERING_BEFORE);
    else if (a->verb == STORE_LIST)
        g_string_append(text, "list");
    else if (a->verb == STORE_SET)
        g_string_append_printf(text, "write@%d", a->version);
    else if (a->node == NUMBERING_OWN)
        g_string_append(text, "own");
    else
        g_string_append_printf(text, "%s %u", a->watch ? "watch" : "read",
                               a->node - NUMBERING_BEFORE);
    if (a->more > 0)
        g_string_append_printf(text, "..%u", a->node - NUMBERING_BEFORE + a->more);
    if (a->joins)
        g_string_append(text, " too");
}

static char *give(struct numbering *n, const struct heard *heard)
{
    struct machine_actions out = {.count = 0};
    GString *text = g_string_new(NULL);

    numbering_step(n, &heard->ev, &heard->shown, &out);
    for (uint32_t i = 0; i < out.count; i++)
        put(text, &out.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct numbering n = {.state = NUMBERING_IDLE, .first = 9};
        for (int k = 0; k < STEPS && rows[i].steps[k].acts; k++)
            exchange_check(give(&n, &rows[i].steps[k].heard), rows[i].steps[k].acts, rows[i].what,
                           k);
    }
}

/* The own node, and the last of those before it. */
#define ALONE                                                                                      \
    {BEGIN, "list"},                                                                               \
    {                                                                                              \
        LISTED(0), "own"                                                                           \
    }
#define BEHIND(n, last)                                                                            \
    {BEGIN, "list"},                                                                               \
    {                                                                                              \
        LISTED(n), "own read " last " too"                                                         \
    }

TEST_CASE(gets_numbers)
{
    static const struct row rows[] = {
        {"alone",
         {ALONE, {OWN(false), "write@6"}, {WRITTEN(OK), "end done"}, {STOP, ""}, {FIRED(0), ""}}},
        {"behind others",
         {BEHIND(3, "2"),
          {OWN(false), ""},
          {READ(2, true), "read 0..2"},
          {READ(1, true), ""},
          {GONE(0), "write@6"}}},
        {"behind one that is gone", {BEHIND(1, "0"), {OWN(false), ""}, {GONE(0), "write@6"}}},
        {"behind one that has none yet",
         {BEHIND(3, "2"),
          {READ(2, false), ""},
          {OWN(false), "watch 2"},
          {READ(2, false), ""},
          {FIRED(2), "read 2"},
          {READ(2, true), "read 0..2"}}},
        {"which has some when it is watched",
         {BEHIND(3, "2"),
          {READ(2, false), ""},
          {OWN(false), "watch 2"},
          {READ(2, true), "unwatch 2 read 0..2"}}},
        {"of those that have none, the last",
         {BEHIND(4, "3"),
          {OWN(false), ""},
          {READ(3, true), "read 0..3"},
          {READ(0, false), ""},
          {READ(2, false), ""},
          {READ(1, false), "watch 2"},
          {GONE(2), "unwatch 2 read 0..3"},
          {READ(1, true), ""},
          {READ(0, false), "watch 0"},
          {READ(0, true), "unwatch 0 write@6"}}},
        {"a set whose answer was lost: who came behind has read these numbers",
         {ALONE,
          {OWN(false), "write@6"},
          {WRITTEN(BADVERSION), "list"},
          {LISTED(3), "own read 2 too"},
          {OWN(true), "end done"},
          {READ(2, true), ""}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

/* Only the first node that is known tells of all before the own node. There must be as many permits
 * as numbers below its ceiling. */
TEST_CASE(ceiling_is_told)
{
    static const struct row rows[] = {
        {"as many", {BEHIND(3, "2"), {OWN(false), ""}, {TELLS(2, 4), "write@6"}}},
        {"fewer", {BEHIND(3, "2"), {OWN(false), ""}, {TELLS(2, 3), "write@6"}}},
        {"more", {BEHIND(3, "2"), {OWN(false), ""}, {TELLS(2, 5), "read 0..2"}}},
        {"far more", {BEHIND(3, "2"), {OWN(false), ""}, {TELLS(2, INT32_MAX), "read 0..2"}}},
        {"nothing", {BEHIND(3, "2"), {OWN(false), ""}, {TELLS(2, 0), "read 0..2"}}},
        {"nonsense", {BEHIND(3, "2"), {OWN(false), ""}, {TELLS(2, -1), "read 0..2"}}},
        {"when it is watched",
         {BEHIND(3, "2"),
          {OWN(false), ""},
          {READ(2, false), "watch 2"},
          {TELLS(2, 4), "unwatch 2 write@6"}}},
        {"by another than the last",
         {BEHIND(3, "2"),
          {OWN(false), ""},
          {GONE(2), "read 0..2"},
          {TELLS(1, 2), ""},
          {READ(0, true), "write@6"}}},
        {"by the first of several, of one number",
         {BEHIND(3, "2"),
          {OWN(false), ""},
          {GONE(2), "read 0..2"},
          {TELLS(0, 1), ""},
          {READ(1, false), "watch 1"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(first_number)
{
    static const struct heard told[] = {BEGIN, LISTED(3), OWN(false), TELLS(2, 3)},
                              read[] = {BEGIN,   LISTED(3),   OWN(false),
                                        GONE(2), TELLS(1, 2), READ(0, true)};
    struct numbering n = {.first = 9};

    for (size_t i = 0; i < G_N_ELEMENTS(told); i++)
        g_free(give(&n, &told[i]));
    CHECK_INT(n.first, 3);
    n = (struct numbering){.first = 9};
    for (size_t i = 0; i < G_N_ELEMENTS(read); i++)
        g_free(give(&n, &read[i]));
    CHECK_INT(n.first, 0);
}

TEST_CASE(ends)
{
    static const struct row rows[] = {
        {"the directory is gone",
         {{BEGIN, "list"},
          {ANSWERED(LIST, NUMBERING_DIRECTORY, NONODE, .count = 0), "end node-gone"}}},
        {"the own node is gone",
         {BEHIND(1, "0"), {ANSWERED(GET, NUMBERING_OWN, NONODE, .count = 0), "end node-gone"}}},
        {"the own node is gone when it is written",
         {ALONE, {OWN(false), "write@6"}, {WRITTEN(NONODE), "end node-gone"}}},
        {"the list is refused",
         {{BEGIN, "list"},
          {ANSWERED(LIST, NUMBERING_DIRECTORY, NOAUTH, .count = 0), "end failed"}}},
        {"a read is refused", {BEHIND(1, "0"), {REFUSED(0), "end failed"}, {OWN(false), ""}}},
        {"the set is refused", {ALONE, {OWN(false), "write@6"}, {WRITTEN(NOAUTH), "end failed"}}},
        {"the watch is refused",
         {BEHIND(1, "0"),
          {OWN(false), ""},
          {READ(0, false), "watch 0"},
          {REFUSED(0), "end failed"}}},
        {"the admission ends before it began", {{STOP, "end"}, {STOP, ""}}},
        {"the admission ends", {BEHIND(1, "0"), {STOP, "end"}}},
        {"the admission ends while it waits",
         {BEHIND(1, "0"),
          {OWN(false), ""},
          {READ(0, false), "watch 0"},
          {STOP, "end"},
          {FIRED(0), ""}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(invariant_sees)
{
    static const struct numbering wrong[] = {
        {.state = NUMBERING_READING},
        {.state = NUMBERING_LISTING, .left = 1},
        {.state = NUMBERING_WAITING, .unnumbered = NUMBERING_NOBODY, .unknown = 1},
        {.state = NUMBERING_WAITING},
        {.state = NUMBERING_READING, .left = 1, .unknown = 1, .first = 1},
    };
    static const struct numbering right[] = {
        {.state = NUMBERING_READING, .left = 1},
        {.state = NUMBERING_WAITING, .unknown = 1},
        {.state = NUMBERING_LISTING},
        {.state = NUMBERING_OVER, .unnumbered = NUMBERING_NOBODY},
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

TEST_CASE(lowest_free_numbers)
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
