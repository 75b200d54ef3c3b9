/* The machine of a children watch, in exchanges: what it is told, and what it asks for then. */
#include "exchange.h"
#include "recipes/back_off.h"
#include "recipes/children.h"
#include "recipes/machine.h"
#include "runner.h"

#include <glib.h>

TEST_SUITE(children);

#define MS(n) ((n)*INT64_C(1000000))

/* What the larger machine does, too. */
enum { LIST = MACHINE_EV_OWN, CHANGED, REREAD, FOUND, OLDER, REFUSED };

/* With what the driver adds to each event: there is a connection. */
#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = MACHINE_EV_##name, ##__VA_ARGS__                                                   \
    }
#define DO(name, ...)                                                                              \
    {                                                                                              \
        .kind = (name), ##__VA_ARGS__                                                              \
    }
#define ANSWER_TO(number, code, ...) EV(ANSWER, .to = (number), .rc = (code), ##__VA_ARGS__)
#define DONE(number, ...) ANSWER_TO(number, STORE_OK, ##__VA_ARGS__)
#define NO_NODE(number) ANSWER_TO(number, STORE_NONODE)
#define DENIED(number, ...) ANSWER_TO(number, STORE_NOAUTH, ##__VA_ARGS__)
#define LIMIT(number) ANSWER_TO(number, STORE_LIMIT)

enum { STEPS_MAX = 16 };

struct row {
    const char *what;
    struct children machine; /* as it begins */
    struct {
        struct {
            unsigned kind, to; /* the request that is answered: the first is 1 */
            enum store_rc rc;
            int64_t now;
            size_t count;
            bool watch, down, barred;
        } heard;
        const char *acts;
    } steps[STEPS_MAX];
};

/* What the driver has, of one machine. */
struct play {
    struct children c;
    struct exchange exchange;
    struct exchange_request asked[STEPS_MAX];
    unsigned count;
    bool reports;
    GString *text;
};

static void put(struct play *p, const struct machine_action *a)
{
    static const char *const verbs[] = {
        [STORE_SYNC] = "sync", [STORE_LIST] = "list", [STORE_STAT] = "stat"};
    static const char *const words[] = {
        [MACHINE_ACT_FORGET] = "forget", [MACHINE_ACT_ARM] = "arm",
        [MACHINE_ACT_DISARM] = "disarm", [MACHINE_ACT_END] = "end",
        [MACHINE_ACT_TELL] = "tell",
    };
    static const char *const tells[] = {
        [CHILDREN_TELL_DENIED] = "denied", [CHILDREN_TELL_ODD] = "odd",
        [CHILDREN_TELL_LIMIT] = "limit",   [CHILDREN_TELL_OLDER] = "older",
        [CHILDREN_TELL_BARRED] = "barred", [CHILDREN_TELL_OWN] = "listed"};

    g_string_append(p->text, p->text->len ? " " : "");
    if (a->kind == MACHINE_ACT_REQUEST) {
        p->asked[p->count++] = exchange_ask(&p->exchange, a);
        g_string_append_printf(p->text, "%s%s %u", verbs[a->verb], a->watch ? "+watch" : "",
                               p->count);
        return;
    }
    if (a->kind == MACHINE_ACT_FORGET)
        exchange_forget(&p->exchange, a->slot);
    if (a->kind == MACHINE_ACT_END)
        exchange_end(&p->exchange);
    g_string_append(p->text, words[a->kind]);
    if (a->kind == MACHINE_ACT_ARM)
        g_string_append_printf(p->text, " %" G_GINT64_FORMAT "%s", a->at / MS(1),
                               a->at % MS(1) ? " and more" : "");
    if (a->kind == MACHINE_ACT_TELL)
        g_string_append_printf(p->text, " %s", tells[a->verdict]);
}

static enum children_news hear(struct play *p, const struct row *row, int k,
                               struct machine_actions *out)
{
    const struct children_moment moment = {.now = row->steps[k].heard.now,
                                           .up = !row->steps[k].heard.down,
                                           .barred = row->steps[k].heard.barred};
    const struct machine_event ev = {.kind = row->steps[k].heard.kind,
                                     .rc = row->steps[k].heard.rc,
                                     .count = row->steps[k].heard.count};
    enum children_news news = CHILDREN_NOTHING;

    if (ev.kind == LIST)
        children_list(&p->c, out, row->steps[k].heard.watch);
    else if (ev.kind == CHANGED)
        news = children_changed(&p->c, &moment, out);
    else if (ev.kind == REREAD)
        children_reread(&p->c);
    else if (ev.kind == FOUND)
        children_found(&p->c, &moment, ev.count);
    else if (ev.kind == OLDER)
        children_older(&p->c, &moment, out);
    else if (ev.kind == REFUSED)
        children_refused(&p->c, &moment, out, ev.rc);
    else if (p->reports)
        children_report(&p->c, &ev, &moment, out);
    else
        news = children_step(&p->c, &ev, &moment, out);
    return news;
}

static void play(const struct row *row, bool reports)
{
    static const char *const heard[] = {
        [CHILDREN_NOTHING] = "",
        [CHILDREN_BEGUN] = ", begun",
        [CHILDREN_LISTED] = ", listed",
        [CHILDREN_MISSING] = ", missing",
    };
    struct play p = {.c = row->machine, .reports = reports};

    for (int k = 0; k < STEPS_MAX && row->steps[k].acts; k++) {
        const unsigned to = row->steps[k].heard.to;
        struct machine_actions actions = {.count = 0};
        p.text = g_string_new(NULL);
        if (to && exchange_is_stale(&p.exchange, p.asked[to - 1])) {
            exchange_check(g_string_free(p.text, FALSE), row->steps[k].acts, row->what, k);
            continue;
        }
        const enum children_news news = hear(&p, row, k, &actions);
        for (uint32_t i = 0; i < actions.count; i++)
            put(&p, &actions.list[i]);
        g_string_append_printf(p.text, "%s = %s", heard[news], children_state_name(p.c.state));
        exchange_check(g_string_free(p.text, FALSE), row->steps[k].acts, row->what, k);
    }
}

static void play_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i], false);
}

#define STALE ""
#define WATCH .watch = true, .gap = MS(100)
#define BEGUN                                                                                      \
    {                                                                                              \
        EV(BEGIN), "disarm sync 1, begun = syncing"                                                \
    }

/* By an observer. */
#define LISTED                                                                                     \
    BEGUN, {DONE(1), "list 2 = listing"},                                                          \
    {                                                                                              \
        DONE(2), ", listed = reading"                                                              \
    }
/* By a watch, which leaves one with each list. */
#define WATCHED                                                                                    \
    BEGUN, {DONE(1), "list+watch 2 = listing"},                                                    \
    {                                                                                              \
        DONE(2), ", listed = reading"                                                              \
    }

/* An observer: lists leave no watch unless nobody is there. */
TEST_CASE(observers)
{
    static const struct row rows[] = {
        {"the first is read, and again when its node changes, and all when it is gone",
         .steps = {LISTED,
                   {DO(FOUND), " = settled"},
                   {DO(FOUND), " = settled"},
                   {DO(REREAD), " = reading"},
                   {DO(FOUND), " = settled"},
                   {DO(CHANGED), "disarm list 3, begun = listing"}}},
        {"nobody: once more, with a watch",
         .steps = {LISTED,
                   {DO(LIST, .watch = true), "list+watch 3 = listing"},
                   {DONE(3), ", listed = reading"},
                   {DO(FOUND), " = settled"}}},
        {"the first has left before it was read",
         .steps = {LISTED, {DO(LIST), "list 3 = listing"}, {DONE(3), ", listed = reading"}}},
        {"a node that changes while it backs off leaves the timer",
         .steps = {BEGUN,
                   {DENIED(1), "forget arm 1000 tell denied = backed off"},
                   {DO(REREAD), " = backed off"},
                   {DO(FOUND), " = backed off"},
                   {EV(TIMER), "disarm sync 2, begun = syncing"}}},
        {"its node has gone while it backs off: at once",
         .steps = {BEGUN,
                   {DENIED(1), "forget arm 1000 tell denied = backed off"},
                   {DO(CHANGED), "disarm list 2, begun = listing"}}},
        {"what was read is refused, or older",
         .steps = {LISTED,
                   {DO(OLDER), "forget arm 1000 tell older = backed off"},
                   {EV(TIMER), "disarm sync 3, begun = syncing"},
                   {DONE(3), "list 4 = listing"},
                   {DONE(4), ", listed = reading"},
                   {DO(OLDER), "forget arm 2000 = backed off"},
                   {DO(REFUSED, .rc = STORE_NOAUTH), "forget arm 4000 tell denied = backed off"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* A watch of a queue: each list leaves one. */
TEST_CASE(watches)
{
    static const struct row rows[] = {
        {"listed not too often, and later for many",
         {WATCH, .gap_each = MS(2)},
         {WATCHED,
          {DO(FOUND, .now = MS(10), .count = 3), " = settled"},
          {EV(FIRED, .now = MS(115)), "arm 116 = resting"},
          {EV(TIMER, .now = MS(116)), "disarm list+watch 3, begun = listing"},
          {DONE(3), ", listed = reading"},
          {DO(FOUND, .now = MS(120)), " = settled"},
          {EV(FIRED, .now = MS(220)), "disarm list+watch 4, begun = listing"}}},
        {"no such path, and one that was made just then",
         {WATCH},
         {BEGUN,
          {DONE(1), "list+watch 2 = listing"},
          {NO_NODE(2), "stat+watch 3 = finding"},
          {NO_NODE(3), ", missing = reading"},
          {DO(FOUND), " = settled"},
          {EV(FIRED, .now = MS(100)), "disarm list+watch 4, begun = listing"},
          {NO_NODE(4), "stat+watch 5 = finding"},
          {DONE(5), "list+watch 6 = listing"}}},
        {"another connection, while it waits for its time",
         {WATCH},
         {{EV(BEGIN, .down = true), "disarm forget, begun = away"},
          {EV(BEGIN), "disarm sync 1, begun = syncing"},
          {EV(BEGIN), "disarm sync 2, begun = syncing"},
          {DONE(1), STALE},
          {DONE(2), "list+watch 3 = listing"},
          {DONE(3), ", listed = reading"},
          {DO(FOUND), " = settled"},
          {EV(FIRED), "arm 100 = resting"},
          {EV(BEGIN), "disarm sync 4, begun = syncing"}}},
        {"its time comes without a connection",
         {WATCH},
         {WATCHED,
          {DO(FOUND), " = settled"},
          {EV(FIRED), "arm 100 = resting"},
          {EV(TIMER, .down = true), "disarm forget, begun = away"},
          {EV(BEGIN), "disarm sync 3, begun = syncing"}}},
        {"the connection is lost, and its answer still comes",
         {WATCH},
         {BEGUN,
          {DONE(1), "list+watch 2 = listing"},
          {EV(BEGIN, .down = true, .barred = true), "disarm tell barred forget, begun = away"},
          {DONE(2), STALE}}},
        {"it stops: no answer counts any more",
         {WATCH},
         {BEGUN,
          {EV(BEGIN), "disarm sync 2, begun = syncing"},
          {EV(STOP), "end = over"},
          {DONE(1), STALE},
          {DONE(2), STALE}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(refusals)
{
    static const struct row rows[] = {
        {"told once for a reason; less and less often",
         {WATCH},
         {BEGUN,
          {DENIED(1, .now = MS(5)), "forget arm 1005 tell denied = backed off"},
          {DENIED(1), STALE},
          {EV(TIMER), "disarm sync 2, begun = syncing"},
          {DENIED(2), "forget arm 2000 = backed off"},
          {EV(TIMER), "disarm sync 3, begun = syncing"},
          {DONE(3), "list+watch 4 = listing"},
          {LIMIT(4), "forget arm 4000 tell limit = backed off"},
          {EV(TIMER), "disarm sync 5, begun = syncing"},
          {DONE(5), "list+watch 6 = listing"},
          {DONE(6), ", listed = reading"},
          {DO(FOUND), " = settled"},
          {EV(FIRED, .now = MS(100)), "disarm list+watch 7, begun = listing"},
          {LIMIT(7), "forget arm 1000 tell limit = backed off"}}},
        {"a sync cannot find that there is no such path",
         {.watch = true},
         {BEGUN, {NO_NODE(1), "forget arm 1000 tell odd = backed off"}}},
        {"for good: each query says so",
         {.watch = true},
         {{EV(BEGIN, .down = true, .barred = true), "disarm tell barred forget, begun = away"},
          {EV(TIMER, .down = true, .barred = true), "disarm tell barred forget, begun = away"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* The machine that has nothing to read. */
TEST_CASE(reports)
{
    static const struct row rows[] = {
        {"each list is told, and the next one waits for its time",
         {WATCH, .gap_each = MS(2)},
         {{EV(BEGIN), "disarm sync 1 = syncing"},
          {DONE(1), "list+watch 2 = listing"},
          {DONE(2, .now = MS(10), .count = 3), "tell listed = settled"},
          {EV(FIRED, .now = MS(115)), "arm 116 = resting"}}},
        {"so is that there is no such path",
         {WATCH, .gap_each = MS(2)},
         {{EV(BEGIN), "disarm sync 1 = syncing"},
          {DONE(1), "list+watch 2 = listing"},
          {NO_NODE(2), "stat+watch 3 = finding"},
          {ANSWER_TO(3, STORE_NONODE, .count = 3), "tell listed = settled"},
          {EV(FIRED, .now = MS(100)), "disarm list+watch 4 = listing"}}},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        play(&rows[i], true);
}

/* The diagram, and what may happen at any time. */
TEST_CASE(moves)
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
TEST_CASE(invariant)
{
#define FAILED(ms) .refusal = CHILDREN_TELL_DENIED, .back_off_ms = (ms)
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
        {{.refusal = CHILDREN_TELL_ODD}, false},
        {{.state = CHILDREN_LISTING, .watched = true}, true},
        {{.state = CHILDREN_READING, .watched = true}, true},
        {{.state = CHILDREN_FINDING, .watched = true}, false},
        {{.state = CHILDREN_SETTLED, .watched = true}, false},
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
