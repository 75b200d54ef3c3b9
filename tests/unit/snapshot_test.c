/* What is asked about a queue: a snapshot, that contenders give way, that one is removed. */
#include "snapshot.h"

#include "exchange.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(snapshot);

/* What is heard, and what the driver knows then. */
struct heard {
    struct machine_event ev;
    struct snapshot_moment m;
};

#define ANSWERED(asked, which, code, ...)                                                          \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_ANSWER,                                                          \
               .verb = STORE_##asked,                                                              \
               .node = (which),                                                                    \
               .rc = STORE_##code,                                                                 \
               .version = 6},                                                                      \
        .m = {__VA_ARGS__},                                                                        \
    }
#define HAPPENS(name, ...)                                                                         \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_##name}, .m = {__VA_ARGS__},                                     \
    }
#define BEGIN HAPPENS(BEGIN, .count = 0)
#define SESSION HAPPENS(SESSION, .count = 0)
#define STOP HAPPENS(STOP, .count = 0)
#define LISTED(n, asked) ANSWERED(LIST, SNAPSHOT_DIRECTORY, OK, .count = (n), .left = (asked))
#define LEASES ANSWERED(LIST, SNAPSHOT_DIRECTORY, OK, .needs_limit = true)
#define LIMIT(code) ANSWERED(GET, SNAPSHOT_DIRECTORY, code, .count = 0)
#define READ(i, code) ANSWERED(GET, SNAPSHOT_CONTENDER + (i), code, .count = 3)
#define NUMBERS(i, code) ANSWERED(GET, SNAPSHOT_NUMBERED + (i), code, .count = 3)
#define WORD(i, code) ANSWERED(SET, SNAPSHOT_CONTENDER + (i), code, .count = 3)
#define BELOW(i, code) ANSWERED(SET, SNAPSHOT_NUMBERED + (i), code, .count = 3)
#define REMOVED(code) ANSWERED(DELETE, SNAPSHOT_CONTENDER, code, .count = 1)

enum { STEPS = 8 };

struct row {
    const char *what;
    enum snapshot_goal goal;
    struct {
        struct heard heard;
        const char *acts;
    } steps[STEPS];
};

static void put(GString *text, const struct machine_action *a)
{
    static const char *const verdicts[] = {"done", "unknown", "failed", "stopped"};
    static const char *const verbs[] = {[STORE_SYNC] = "sync",
                                        [STORE_LIST] = "list",
                                        [STORE_GET] = "get",
                                        [STORE_SET] = "set",
                                        [STORE_DELETE] = "delete"};

    g_string_append(text, text->len ? " " : "");
    if (a->kind == MACHINE_ACT_TELL)
        g_string_append_printf(text, "%s", verdicts[a->verdict]);
    else if (a->kind == MACHINE_ACT_END)
        g_string_append(text, "end");
    else
        g_string_append(text, verbs[a->verb]);
    if (a->kind == MACHINE_ACT_REQUEST && a->node >= SNAPSHOT_NUMBERED)
        g_string_append_printf(text, " numbered %u", a->node - SNAPSHOT_NUMBERED);
    else if (a->kind == MACHINE_ACT_REQUEST && a->node >= SNAPSHOT_CONTENDER)
        g_string_append_printf(text, " %u", a->node - SNAPSHOT_CONTENDER);
    if (a->more > 0)
        g_string_append_printf(text, "+%u", a->more);
    if (a->verb == STORE_SET)
        g_string_append_printf(text, "@%d", a->version);
    g_string_append(text, a->joins ? " too" : a->once ? " once" : "");
}

static char *give(struct snapshot *s, const struct heard *heard)
{
    struct machine_actions out = {.count = 0};
    GString *text = g_string_new(NULL);
    const enum snapshot_state from = s->state;

    snapshot_step(s, &heard->ev, &heard->m, &out);
    CHECK(s->state == from || snapshot_may_move(from, s->state));
    for (uint32_t i = 0; i < out.count; i++)
        put(text, &out.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct snapshot s = {.goal = rows[i].goal};
        for (int k = 0; k < STEPS && rows[i].steps[k].acts; k++)
            exchange_check(give(&s, &rows[i].steps[k].heard), rows[i].steps[k].acts, rows[i].what,
                           k);
    }
}

TEST_CASE(reads)
{
    static const struct row rows[] = {
        {"nobody", SNAPSHOT_OF_ALL, {{BEGIN, "list"}, {LISTED(0, 0), "end done"}, {STOP, ""}}},
        {"nobody who is not known", SNAPSHOT_OF_ALL, {{BEGIN, "list"}, {LISTED(3, 0), "end done"}}},
        {"all",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"},
          {LISTED(3, 2), "get 0+2"},
          {READ(2, OK), ""},
          {READ(0, NONODE), "end done"},
          {SESSION, ""}}},
        {"leases of ours",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"},
          {LEASES, "get"},
          {LIMIT(OK), "list"},
          {ANSWERED(LIST, SNAPSHOT_DIRECTORY, OK, .count = 1, .left = 1, .needs_limit = true),
           "get 0"},
          {READ(0, OK), "end done"}}},
        {"the first",
         SNAPSHOT_OF_FIRST,
         {{BEGIN, "sync"},
          {ANSWERED(SYNC, SNAPSHOT_DIRECTORY, OK, .count = 0), "list"},
          {LISTED(1, 1), "get 0"},
          {READ(0, NONODE), "sync"},
          {ANSWERED(SYNC, SNAPSHOT_DIRECTORY, OK, .count = 0), "list"},
          {LISTED(1, 1), "get 0"},
          {READ(0, OK), "end done"}}},
        {"anew in the next session",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"},
          {LEASES, "get"},
          {LIMIT(OK), "list"},
          {SESSION, "list"},
          {LEASES, "get"},
          {SESSION, "list"},
          {LISTED(2, 2), "get 0+1"},
          {SESSION, "list"}}},
        {"the first, anew", SNAPSHOT_OF_FIRST, {{BEGIN, "sync"}, {SESSION, "sync"}}},
        {"nothing that was refused",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"},
          {ANSWERED(LIST, SNAPSHOT_DIRECTORY, NONODE, .count = 0), "end failed"},
          {SESSION, ""}}},
        {"nothing without the limit",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"}, {LEASES, "get"}, {LIMIT(NOAUTH), "end failed"}}},
        {"nothing if one is refused",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"}, {LISTED(3, 2), "get 0+2"}, {READ(1, NOAUTH), "end failed"}}},
        {"nothing if an answer makes no sense",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"}, {LISTED(3, 2), "get 0+2"}, {READ(1, BADVERSION), "end failed"}}},
        {"nothing if an answer is not known",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"}, {LISTED(3, 2), "get 0+2"}, {READ(1, UNKNOWN), "end failed"}}},
        {"until it is stopped",
         SNAPSHOT_OF_ALL,
         {{BEGIN, "list"}, {LISTED(3, 2), "get 0+2"}, {STOP, "end stopped"}, {READ(1, OK), ""}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(asks)
{
#define ASK_BEGIN(n) HAPPENS(BEGIN, .count = 3, .left = (n)), "set 0+2@-1 get numbered 0+2 too"
    static const struct row rows[] = {
        {"nobody", SNAPSHOT_ASK, {{HAPPENS(BEGIN, .count = 3), "end done"}}},
        {"who has left, too",
         SNAPSHOT_ASK,
         {{ASK_BEGIN(2)}, {WORD(0, OK), ""}, {WORD(1, NONODE), "end done"}}},
        {"below the word the numbers stay",
         SNAPSHOT_ASK,
         {{ASK_BEGIN(2)},
          {NUMBERS(1, OK), "set numbered 1@6 too"},
          {BELOW(1, BADVERSION), "get numbered 1 too"},
          {NUMBERS(1, OK), "set numbered 1@6 too"},
          {BELOW(1, OK), ""},
          {NUMBERS(2, NONODE), "end done"}}},
        {"again in the next session",
         SNAPSHOT_ASK,
         {{ASK_BEGIN(2)},
          {WORD(0, OK), ""},
          {HAPPENS(SESSION, .count = 3, .left = 1), "set 0+2@-1 get numbered 0+2 too"},
          {WORD(1, OK), "end done"}}},
        {"who refuses", SNAPSHOT_ASK, {{ASK_BEGIN(2)}, {WORD(0, NOAUTH), "end failed"}}},
        {"until it is stopped", SNAPSHOT_ASK, {{ASK_BEGIN(2)}, {STOP, "end stopped"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(removes)
{
#define REMOVE_BEGIN HAPPENS(BEGIN, .count = 1), "delete 0 once"
    static const struct row rows[] = {
        {"one", SNAPSHOT_REMOVE, {{REMOVE_BEGIN}, {REMOVED(OK), "end done"}}},
        {"one that has left", SNAPSHOT_REMOVE, {{REMOVE_BEGIN}, {REMOVED(NONODE), "end done"}}},
        {"perhaps", SNAPSHOT_REMOVE, {{REMOVE_BEGIN}, {REMOVED(UNKNOWN), "end unknown"}}},
        {"not in the next session", SNAPSHOT_REMOVE, {{REMOVE_BEGIN}, {SESSION, "end unknown"}}},
        {"not what is refused", SNAPSHOT_REMOVE, {{REMOVE_BEGIN}, {REMOVED(NOAUTH), "end failed"}}},
        {"until it is stopped", SNAPSHOT_REMOVE, {{REMOVE_BEGIN}, {STOP, "end stopped"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(invariant_sees)
{
    CHECK(!snapshot_invariant(&(struct snapshot){.state = SNAPSHOT_READING}));
    CHECK(!snapshot_invariant(&(struct snapshot){.state = SNAPSHOT_LISTING, .left = 1}));
    CHECK(snapshot_invariant(&(struct snapshot){.state = SNAPSHOT_ASKING, .left = 1}));
    CHECK(snapshot_invariant(&(struct snapshot){.state = SNAPSHOT_OVER}));
    CHECK_STR(snapshot_state_name(SNAPSHOT_LIMITING), "limiting");
    CHECK_STR(snapshot_state_name(SNAPSHOT_STATES), "?");
    for (int s = 0; s < SNAPSHOT_STATES; s++)
        CHECK(!snapshot_may_move(SNAPSHOT_OVER, (enum snapshot_state)s));
}
