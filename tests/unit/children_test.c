/* The machine of a children watch, in exchanges: what it is told, and what it asks for then. */
#include "exchange.h"
#include "recipes/back_off.h"
#include "recipes/children.h"
#include "suites.h"

#include <glib.h>

#define MS(n) ((n)*INT64_C(1000000))

/* With what the driver adds to each event: there is a connection. */
#define EV(name, ...)                                                                              \
    {                                                                                              \
        .ev.kind = CHILDREN_EV_##name, ##__VA_ARGS__                                               \
    }
#define DONE(number) EV(DONE, .ev.tag = (number))
#define NO_NODE(number) EV(NO_NODE, .ev.tag = (number))
#define DENIED(number, ...)                                                                        \
    EV(REFUSED, .ev.tag = (number), .ev.why = CHILDREN_DENIED, ##__VA_ARGS__)
#define LIMIT(number) EV(REFUSED, .ev.tag = (number), .ev.why = CHILDREN_LIMIT)

enum { STEPS_MAX = 16 };

struct exchange {
    const char *what;
    struct children machine; /* as it begins */
    struct {
        struct {
            struct children_event ev;
            bool down;
        } heard;
        const char *acts;
    } steps[STEPS_MAX];
};

static void put(GString *text, const struct children_action *a)
{
    static const char *const words[] = {
        [CHILDREN_ACT_BEGIN] = "begin",   [CHILDREN_ACT_SYNC] = "sync",
        [CHILDREN_ACT_LIST] = "list",     [CHILDREN_ACT_STAT] = "stat",
        [CHILDREN_ACT_LISTED] = "listed", [CHILDREN_ACT_MISSING] = "missing",
        [CHILDREN_ACT_LOG] = "log",       [CHILDREN_ACT_FAILED] = "failed",
        [CHILDREN_ACT_ARM] = "arm",       [CHILDREN_ACT_DISARM] = "disarm",
        [CHILDREN_ACT_STOP] = "stop",
    };
    static const char *const whys[] = {"", "denied", "odd", "limit", "older"};

    g_string_append_printf(text, "%s%s%s", text->len ? " " : "", words[a->kind],
                           a->watch ? "+watch" : "");
    if (a->tag)
        g_string_append_printf(text, " %u", a->tag);
    if (a->kind == CHILDREN_ACT_ARM)
        g_string_append_printf(text, " %" G_GINT64_FORMAT "%s", a->at / MS(1),
                               a->at % MS(1) ? " and more" : "");
    if (a->why)
        g_string_append_printf(text, " %s", whys[a->why]);
}

static void play(const struct exchange *x)
{
    struct children c = x->machine;

    for (int k = 0; k < STEPS_MAX && x->steps[k].acts; k++) {
        struct children_event ev = x->steps[k].heard.ev;
        struct children_actions actions;
        GString *text = g_string_new(NULL);
        ev.up = !x->steps[k].heard.down;
        children_step(&c, &ev, &actions);
        for (uint32_t i = 0; i < actions.count; i++)
            put(text, &actions.list[i]);
        g_string_append_printf(text, " = %s", children_state_name(c.state));
        exchange_check(g_string_free(text, FALSE), x->steps[k].acts, x->what, k);
    }
}

static void play_all(const struct exchange *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

/* An observer: lists leave no watch unless nobody is there. */
static void observers(void)
{
    static const struct exchange rows[] = {
        {"the first is read, and again when its node changes, and all when it is gone",
         {.watch = false},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list 1 = listing"},
          {DONE(1), "listed = reading"},
          {EV(FOUND), " = settled"},
          {EV(FOUND), " = settled"},
          {EV(REREAD), " = reading"},
          {EV(FOUND), " = settled"},
          {EV(FIRED), "disarm begin list 3 = listing"}}},
        {"nobody: once more, with a watch",
         {.watch = false},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list 1 = listing"},
          {DONE(1), "listed = reading"},
          {EV(AGAIN, .ev.watch = true), "list+watch 1 = listing"},
          {DONE(1), "listed+watch = reading"},
          {EV(FOUND), " = settled"}}},
        {"the first has left before it was read",
         {.watch = false},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list 1 = listing"},
          {DONE(1), "listed = reading"},
          {EV(AGAIN), "list 1 = listing"},
          {DONE(1), "listed = reading"}}},
        {"what was asked before the node changed is stale, but not the timer",
         {.watch = false},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {EV(REREAD), " = reading"},
          {DONE(1), " = reading"},
          {DENIED(2), "log denied arm 1000 failed = backed off"},
          {EV(REREAD), " = backed off"},
          {EV(FOUND), " = backed off"},
          {EV(TIMER), "disarm begin sync 5 = syncing"}}},
        {"its node has gone while it backs off: at once",
         {.watch = false},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DENIED(1), "log denied arm 1000 failed = backed off"},
          {EV(FIRED), "disarm begin list 3 = listing"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* A watch of a queue: each list leaves one. */
static void watches(void)
{
    static const struct exchange rows[] = {
        {"listed not too often, and later for many",
         {.watch = true, .gap = MS(100), .gap_each = MS(2)},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list+watch 1 = listing"},
          {DONE(1), "listed+watch = reading"},
          {EV(FOUND, .ev.now = MS(10), .ev.count = 3), " = settled"},
          {EV(FIRED, .ev.now = MS(115)), "arm 116 = resting"},
          {EV(TIMER, .ev.now = MS(116)), "disarm begin list+watch 2 = listing"},
          {DONE(2), "listed+watch = reading"},
          {EV(FOUND, .ev.now = MS(120)), " = settled"},
          {EV(FIRED, .ev.now = MS(220)), "disarm begin list+watch 3 = listing"}}},
        {"no such path, and one that was made just then",
         {.watch = true, .gap = MS(100)},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list+watch 1 = listing"},
          {NO_NODE(1), "stat 1 = finding"},
          {NO_NODE(1), "missing = reading"},
          {EV(FOUND), " = settled"},
          {EV(FIRED, .ev.now = MS(100)), "disarm begin list+watch 2 = listing"},
          {NO_NODE(2), "stat 2 = finding"},
          {DONE(2), "list+watch 2 = listing"}}},
        {"another connection, while it waits for its time",
         {.watch = true, .gap = MS(100)},
         {{EV(BEGIN, .down = true), "disarm begin = away"},
          {EV(BEGIN), "disarm begin sync 2 = syncing"},
          {DONE(1), " = syncing"},
          {DONE(2), "list+watch 2 = listing"},
          {DONE(2), "listed+watch = reading"},
          {EV(FOUND), " = settled"},
          {EV(FIRED), "arm 100 = resting"},
          {EV(BEGIN), "disarm begin sync 3 = syncing"}}},
        {"its time comes without a connection",
         {.watch = true, .gap = MS(100)},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list+watch 1 = listing"},
          {DONE(1), "listed+watch = reading"},
          {EV(FOUND), " = settled"},
          {EV(FIRED), "arm 100 = resting"},
          {EV(TIMER, .down = true), "disarm begin = away"},
          {EV(BEGIN), "disarm begin sync 3 = syncing"}}},
        {"the session is over",
         {.watch = true, .gap = MS(100)},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DONE(1), "list+watch 1 = listing"},
          {EV(GONE, .ev.tag = 0), " = listing"},
          {EV(GONE, .ev.tag = 1), " = away"},
          {EV(BEGIN), "disarm begin sync 2 = syncing"}}},
        {"it stops: no answer counts any more",
         {.watch = true, .gap = MS(100)},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {EV(BEGIN), "disarm begin sync 2 = syncing"},
          {EV(STOP), "stop = over"},
          {DONE(1), " = over"},
          {DONE(2), " = over"},
          {NO_NODE(2), " = over"},
          {EV(GONE, .ev.tag = 2), " = over"},
          {DENIED(2), " = over"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

static void refusals(void)
{
    static const struct exchange rows[] = {
        {"told once for a reason; less and less often",
         {.watch = true, .gap = MS(100)},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {DENIED(1, .ev.now = MS(5)), "log denied arm 1005 failed = backed off"},
          {DENIED(1), " = backed off"},
          {EV(TIMER), "disarm begin sync 3 = syncing"},
          {DENIED(3), "arm 2000 = backed off"},
          {EV(TIMER), "disarm begin sync 5 = syncing"},
          {DONE(5), "list+watch 5 = listing"},
          {LIMIT(5), "log limit arm 4000 failed = backed off"},
          {EV(TIMER), "disarm begin sync 7 = syncing"},
          {DONE(7), "list+watch 7 = listing"},
          {DONE(7), "listed+watch = reading"},
          {EV(FOUND), " = settled"},
          {EV(FIRED, .ev.now = MS(100)), "disarm begin list+watch 8 = listing"},
          {LIMIT(8), "log limit arm 1000 failed = backed off"}}},
        {"a sync cannot find that there is no such path",
         {.watch = true},
         {{EV(BEGIN), "disarm begin sync 1 = syncing"},
          {NO_NODE(1), "log odd arm 1000 failed = backed off"}}},
        {"for good: each query says so",
         {.watch = true},
         {{EV(BEGIN, .down = true, .ev.barred = true), "disarm begin failed = away"},
          {EV(TIMER, .down = true, .ev.barred = true), "disarm begin failed = away"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* The diagram, and what may happen at any time. */
static void moves(void)
{
#define ANEW(more) "away syncing listing " more "resting backed off over "
    static const char *const allowed[CHILDREN_STATES] = {
        [CHILDREN_AWAY] = ANEW("reading "),
        [CHILDREN_SYNCING] = ANEW("reading "),
        [CHILDREN_LISTING] = ANEW("finding reading "),
        [CHILDREN_FINDING] = ANEW("reading "),
        [CHILDREN_READING] = ANEW("reading settled "),
        [CHILDREN_SETTLED] = ANEW("reading settled "),
        [CHILDREN_RESTING] = ANEW("reading "),
        [CHILDREN_BACKED_OFF] = ANEW("reading "),
        [CHILDREN_OVER] = "",
    };
#undef ANEW

    for (int from = 0; from < CHILDREN_STATES; from++) {
        GString *text = g_string_new(NULL);
        for (int to = 0; to < CHILDREN_STATES; to++) {
            if (children_may_move((enum children_state)from, (enum children_state)to))
                g_string_append_printf(text, "%s ", children_state_name((enum children_state)to));
        }
        CHECK_STR(text->str, allowed[from]);
        g_string_free(text, TRUE);
    }
    CHECK_STR(children_state_name(CHILDREN_STATES), "?");
}

/* Each that does not hold is broken by one thing. */
static void invariant(void)
{
#define FAILED(ms) .last_why = CHILDREN_DENIED, .back_off_ms = (ms)
    static const struct {
        struct children c;
        bool holds;
    } rows[] = {
        {{.state = CHILDREN_AWAY}, true},
        {{FAILED(BACK_OFF_FIRST_MS)}, true},
        {{FAILED(BACK_OFF_LAST_MS)}, true},
        {{FAILED(BACK_OFF_FIRST_MS - 1)}, false},
        {{FAILED(BACK_OFF_LAST_MS + 1)}, false},
        {{.back_off_ms = BACK_OFF_FIRST_MS}, false},
        {{.last_why = CHILDREN_ODD}, false},
        {{.state = CHILDREN_LISTING, .listed_watch = true}, true},
        {{.state = CHILDREN_READING, .listed_watch = true}, false},
        {{.state = CHILDREN_SETTLED}, true},
        {{.state = CHILDREN_SETTLED, FAILED(2000)}, false},
        {{.state = CHILDREN_RESTING, .gap = 1}, true},
        {{.state = CHILDREN_RESTING}, false},
    };
#undef FAILED

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(children_invariant(&rows[i].c), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

static const struct test_case cases[] = {
    {"observers", observers}, {"watches", watches},     {"refusals", refusals},
    {"moves", moves},         {"invariant", invariant}, {NULL, NULL},
};

const struct test_suite children_suite = {.name = "children", .cases = cases};
