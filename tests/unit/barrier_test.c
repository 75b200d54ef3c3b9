/* The machine of a member of a double barrier, tested by exchanges: an event that it hears, and the
 * requests that it then makes. Its driver is tested with a refusal at once. tests/explore/rounds
 * has every interleaving. */
#include "recipes/barrier.h"

#include "by_hand.h"
#include "exchange.h"
#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(barrier);

/* What it hears, as the rows say it. */
enum word {
    ENTER_,
    LEAVE_,
    JOINED_,
    LOOKED_,
    COUNTED_,
    OPENED_,
    OVERTAKEN_,
    QUIT_,
    GONE_,
    REFUSED_,
    FIRED_,
    TIMER_,
    STOP_,
    REPLACED_,
    OVER_
};

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .word = name##_, ##__VA_ARGS__                                                             \
    }
/* An answer to what was asked last; czxids in the order of names, the own node at that place. */
#define COUNTED(own, ...)                                                                          \
    EV(COUNTED), (own),                                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define UNREAD BARRIER_UNREAD

enum { STEPS_MAX = 16, MEMBERS_MAX = 6 };

struct heard {
    enum word word;
    uint64_t zxid, bound;
    int64_t late;
    int32_t version;
    bool unsent;
};

struct exchange_row {
    const char *what;
    struct {
        struct heard heard;
        int own;
        uint64_t czxids[MEMBERS_MAX];
        const char *acts;
    } steps[STEPS_MAX];
};

static struct {
    struct barrier b;
    uint64_t czxids[MEMBERS_MAX];
    size_t own;
    struct machine_action asked; /* last */
    bool named;                  /* the own node is another from here on */
    GString *text;
} game;

static void put(const char *format, ...) G_GNUC_PRINTF(1, 2);

static void put(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (game.text->len > 0)
        g_string_append_c(game.text, ' ');
    g_string_append_vprintf(game.text, format, args);
    va_end(args);
}

static void put_request(const struct machine_action *a)
{
    static const char *const words[] = {"join", "look", "ready"};

    if (a->verb == STORE_MULTI && a->parts[0].verb == STORE_SET)
        put("open %d%s for %d", (int)game.b.bound, a->parts[1].verb == STORE_SET ? " again" : "",
            a->parts[0].version);
    else if (a->verb == STORE_MULTI || a->verb == STORE_DELETE)
        put("quit%s", a->verb == STORE_MULTI ? " last" : "");
    else if (a->verb == STORE_LIST)
        put("count");
    else if (a->node >= BARRIER_MEMBER && a->more == MEMBERS_MAX - 1)
        put("read all");
    else if (a->node >= BARRIER_MEMBER)
        put("read %u", a->node - BARRIER_MEMBER);
    else if (a->node == BARRIER_AWAITED)
        put("await %d", (int)game.b.awaited);
    else if (a->verb == STORE_STAT && a->node == BARRIER_OWN)
        put("find");
    else if (a->verb == STORE_CREATE)
        put(game.named ? "join" : "join again");
    else if (a->verb != STORE_STAT)
        put("%s", words[a->node]);
    CHECK(a->watch ==
          (a->node == BARRIER_AWAITED || (a->node == BARRIER_READY && a->verb == STORE_STAT)));
    CHECK(!a->once && a->joins == (a->node == BARRIER_READY));
    game.asked = *a;
    game.named = false;
}

static void put_action(const struct machine_action *a)
{
    static const char *const verdicts[] = {"tell done", "tell lost", "tell failed", "refused"};

    if (a->kind == MACHINE_ACT_REQUEST)
        put_request(a);
    else if (a->kind == MACHINE_ACT_END ||
             (a->kind == MACHINE_ACT_UNWATCH && a->node == BARRIER_READY))
        put("ignore");
    else if (a->kind == MACHINE_ACT_TELL)
        put("%s", verdicts[a->verdict]);
    else if (a->kind == MACHINE_ACT_LATE || a->kind == MACHINE_ACT_DELETE)
        put("%s", a->kind == MACHINE_ACT_LATE ? "late" : "delete");
    else if (a->kind == MACHINE_ACT_FORGET || a->kind == MACHINE_ACT_DISARM)
        put("%s", a->kind == MACHINE_ACT_FORGET ? "forget" : "disarm");
    else if (a->kind == MACHINE_ACT_ARM)
        put("arm %d", (int)a->at);
    else if (a->kind == MACHINE_ACT_NAME)
        game.named = true;
}

static void feed(struct machine_event ev)
{
    const struct barrier_members members = {game.czxids, MEMBERS_MAX, game.own};
    struct machine_actions actions = {.count = 0};

    barrier_step(&game.b, &ev, &members, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put_action(&actions.list[i]);
}

/* The answer to what was asked last; of several, to each. */
static void answer(struct machine_event ev)
{
    const struct machine_action asked = game.asked;

    ev.kind = MACHINE_EV_ANSWER;
    ev.verb = asked.verb;
    for (uint32_t i = 0; i <= asked.more; i++) {
        CHECK(i == 0 || game.text->len == 0);
        ev.node = asked.node + i;
        feed(ev);
    }
}

/* The directory is read, then the state of ready, and what is in it. */
static void feed_look(const struct heard *h)
{
    char *data = g_strdup_printf("%s%d", h->bound ? BARRIER_WORDS : "", (int)h->bound);
    struct machine_event ev = {.kind = MACHINE_EV_ANSWER,
                               .verb = STORE_GET,
                               .node = BARRIER_DIRECTORY,
                               .version = h->version};

    feed(ev);
    game.asked = (struct machine_action){.verb = STORE_STAT, .node = BARRIER_READY};
    if (h->zxid == 0) {
        answer((struct machine_event){.rc = STORE_NONODE});
    } else {
        answer((struct machine_event){.mzxid = h->zxid + 1});
        CHECK_STR(game.text->str, "ready");
        g_string_truncate(game.text, 0);
        answer((struct machine_event){.mzxid = h->zxid, .data = data, .length = strlen(data)});
    }
    g_free(data);
}

static void play_heard(const struct heard *h)
{
    static const unsigned kinds[] = {
        [ENTER_] = BARRIER_EV_ENTER,      [LEAVE_] = BARRIER_EV_LEAVE, [FIRED_] = MACHINE_EV_FIRED,
        [GONE_] = MACHINE_EV_FIRED,       [TIMER_] = MACHINE_EV_TIMER, [STOP_] = MACHINE_EV_STOP,
        [REPLACED_] = MACHINE_EV_SESSION, [OVER_] = MACHINE_EV_OVER};

    switch (h->word) {
    case JOINED_:
        answer((struct machine_event){.czxid = h->zxid, .late_until = h->late});
        break;
    case LOOKED_:
        feed_look(h);
        break;
    case COUNTED_:
        answer((struct machine_event){.pzxid = h->zxid});
        break;
    case OPENED_:
    case QUIT_:
        answer((struct machine_event){.rc = STORE_OK});
        break;
    case OVERTAKEN_:
        answer((struct machine_event){.rc = STORE_BADVERSION});
        break;
    case REFUSED_:
        answer((struct machine_event){.rc = STORE_NOAUTH});
        break;
    default:
        feed((struct machine_event){.kind = kinds[h->word],
                                    .node = h->word == GONE_ ? BARRIER_AWAITED : BARRIER_READY,
                                    .gone = h->word == GONE_,
                                    .unsent = h->unsent});
    }
}

static void play(const struct exchange_row *x)
{
    memset(&game, 0, sizeof game);
    game.b.wanted = 2;
    game.own = MEMBERS_MAX;
    for (int k = 0; k < STEPS_MAX && x->steps[k].acts; k++) {
        const enum word word = x->steps[k].heard.word;
        game.text = g_string_new(NULL);
        if (word == COUNTED_ || word == GONE_ || word == QUIT_) {
            if (x->steps[k].czxids[0] || x->steps[k].czxids[1])
                memcpy(game.czxids, x->steps[k].czxids, sizeof game.czxids);
            game.own = x->steps[k].own < 0 ? MEMBERS_MAX : (size_t)x->steps[k].own;
        }
        play_heard(&x->steps[k].heard);
        g_string_append_printf(game.text, " = %s", barrier_state_name(game.b.state));
        exchange_check(g_string_free(game.text, FALSE), x->steps[k].acts, x->what, k);
    }
}

static void play_all(const struct exchange_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

#define ENTER                                                                                      \
    {                                                                                              \
        EV(ENTER), .acts = "join = joining"                                                        \
    }
#define JOINED                                                                                     \
    {                                                                                              \
        EV(JOINED, .zxid = 10), .acts = "look = looking"                                           \
    }
#define NO_READY                                                                                   \
    {                                                                                              \
        EV(LOOKED, .version = 4), .acts = "count = counting"                                       \
    }
#define JOINS ENTER, JOINED
/* There is no ready, so it lists. */
#define LISTS JOINS, NO_READY
#define INSIDE                                                                                     \
    LISTS, {COUNTED(0, 10, 8), "open 10 for 4 = opening"},                                         \
    {                                                                                              \
        EV(OPENED), .acts = "ignore tell done = inside"                                            \
    }

#define LEAVE                                                                                      \
    {                                                                                              \
        EV(LEAVE), .acts = "count = leaving"                                                       \
    }
#define LEAVES INSIDE, LEAVE
/* The node was made by a repeated create, of which the first may be done until then. */
#define LISTS_LATE(until)                                                                          \
    ENTER, {EV(JOINED, .zxid = 10, .late = (until)), .acts = "look = looking"}, NO_READY
#define LEAVES_LATE(until)                                                                         \
    LISTS_LATE(until), {COUNTED(0, 10, 8), "open 10 for 4 = opening"},                             \
        {EV(OPENED), .acts = "ignore tell done = inside"}, LEAVE

/* For two: by the own list, or by a ready that is younger and high enough. */
TEST_CASE(entering)
{
    static const struct exchange_row rows[] = {
        {"by the own list", {INSIDE}},
        {"by ready, as the last it lets in",
         {JOINS, {EV(LOOKED, .zxid = 12, .bound = 10), .acts = "ignore tell done = inside"}}},
        {"one too many",
         {JOINS,
          {EV(LOOKED, .zxid = 12, .bound = 9), .acts = "count = counting"},
          {COUNTED(1, 8, 10, 9), "await 0 = waiting"},
          {EV(GONE), 1, {0, 10, 9}, "look = looking"}}},
        {"another library's ready, younger",
         {JOINS, {EV(LOOKED, .zxid = 12), .acts = "ignore tell done = inside"}}},
        {"another library's ready, older",
         {JOINS,
          {EV(LOOKED, .zxid = 9, .version = 3), .acts = "count = counting"},
          {COUNTED(0, 10), " = waiting"},
          {EV(FIRED), .acts = "look = looking"},
          {EV(LOOKED, .zxid = 9, .version = 3), .acts = "count = counting"},
          {COUNTED(0, 10, 11), "open 11 again for 3 = opening"}}},
        {"a bound that is none",
         {JOINS,
          {EV(LOOKED, .zxid = 9, .bound = 20), .acts = "count = counting"},
          {COUNTED(0, 10, 8), "await 1 = waiting"}}},
        {"an older ready that has let others in",
         {JOINS,
          {EV(LOOKED, .zxid = 9, .bound = 8), .acts = "count = counting"},
          {COUNTED(0, 10, 8, 12), "await 1 = waiting"}}},
        {"as many as are wanted",
         {LISTS, {EV(COUNTED, .zxid = 11), 0, {UNREAD, UNREAD}, "open 11 for 4 = opening"}}},
        {"as many, by a list that does not know of the own node",
         {LISTS,
          {EV(COUNTED, .zxid = 9), 0, {UNREAD, UNREAD}, "read all = counting"},
          {COUNTED(0, 10, 8), "open 10 for 4 = opening"}}},
        {"more",
         {LISTS,
          {COUNTED(0, UNREAD, UNREAD, UNREAD), "read all = counting"},
          {COUNTED(0, 10, 8, 9), "open 9 for 4 = opening"}}},
        {"fewer, behind an older ready",
         {JOINS,
          {EV(LOOKED, .zxid = 9, .bound = 8), .acts = "count = counting"},
          {COUNTED(0, UNREAD), " = waiting"}}},
        {"as many, behind an older ready",
         {JOINS,
          {EV(LOOKED, .zxid = 9, .bound = 8), .acts = "count = counting"},
          {COUNTED(0, UNREAD, UNREAD), "read all = counting"},
          {COUNTED(0, 10, 8), "await 1 = waiting"}}},
        {"ready has changed before they are read",
         {LISTS,
          {EV(FIRED), .acts = " = counting"},
          {COUNTED(0, UNREAD, UNREAD, UNREAD), "look = looking"}}},
        {"beyond the first two",
         {LISTS,
          {COUNTED(2, 9, 8, 10), "open 9 for 4 = opening"},
          {EV(OPENED), .acts = "look = looking"}}},
        {"another was faster",
         {LISTS,
          {COUNTED(0, 10, 8), "open 10 for 4 = opening"},
          {EV(OVERTAKEN), .acts = "look = looking"}}},
        {"ready has changed meanwhile",
         {LISTS,
          {EV(FIRED), .acts = " = counting"},
          {COUNTED(0, 10, 8), "look = looking"},
          NO_READY,
          {COUNTED(0, 10, 8), "open 10 for 4 = opening"}}},
        {"the own node was deleted", {LISTS, {COUNTED(-1, 9, 8), "join = joining"}}},
        {"and while it was read", {LISTS, {COUNTED(1, 9, 0, 8), "join = joining"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* The lowest waits for the highest, others for the lowest; those of other rounds do not count. */
TEST_CASE(leaving)
{
    static const struct exchange_row rows[] = {
        {"the last",
         {LEAVES,
          {COUNTED(0, 10), "ignore quit last = quitting"},
          {EV(QUIT), 0, {10}, "ignore tell done = outside"}}},
        {"the lowest",
         {LEAVES,
          {COUNTED(1, 11, 10, 8, 9, 12), "await 3 = leaving"},
          {EV(GONE), 1, {11, 10, 8, 9, 12}, "count = leaving"},
          {COUNTED(1, 11, 10, 8, 0, 12), "await 2 = leaving"},
          {EV(GONE), 1, {11, 10, 8, 0, 12}, "count = leaving"},
          {COUNTED(1, 11, 10, 0, 0, 12), "ignore quit last = quitting"}}},
        {"the lowest, who reads few",
         {LEAVES,
          {COUNTED(0, UNREAD, UNREAD, UNREAD), "read 1 = leaving"},
          {COUNTED(0, UNREAD, 8, UNREAD), "read 2 = leaving"},
          {COUNTED(0, UNREAD, 8, 9), "await 2 = leaving"}}},
        {"another, who reads few",
         {LEAVES,
          {COUNTED(2, UNREAD, UNREAD, UNREAD, UNREAD), "read 0 = leaving"},
          {COUNTED(2, 0, UNREAD, UNREAD, UNREAD), "read 1 = leaving"},
          {COUNTED(2, 0, 8, UNREAD, UNREAD), "ignore quit = quitting"},
          {EV(QUIT), 2, {0, 8, UNREAD, UNREAD}, "await 1 = leaving"}}},
        {"beside those beyond",
         {LEAVES,
          {COUNTED(2, UNREAD, UNREAD, UNREAD), "read 0 = leaving"},
          {COUNTED(2, 11, UNREAD, UNREAD), "read all = leaving"},
          {COUNTED(2, 11, 12, 10), "ignore quit last = quitting"}}},
        {"another",
         {LEAVES,
          {COUNTED(2, 11, 8, 10, 9), "ignore quit = quitting"},
          {EV(QUIT), 2, {11, 8, 10, 9}, "await 1 = leaving"},
          {EV(GONE), 2, {11, 8, 10, 9}, "count = leaving"},
          {COUNTED(-1, 11, 0, 0, 9), "await 3 = leaving"},
          {EV(GONE), -1, {11, 0, 0, 9}, "count = leaving"},
          {COUNTED(-1, 11), "ignore tell done = outside"}}},
        {"the own node was deleted",
         {LEAVES,
          {COUNTED(-1, 8), "await 0 = leaving"},
          {EV(GONE), -1, {8}, "count = leaving"},
          {COUNTED(-1, 0, 11), "ignore tell done = outside"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* A node that may be made once more is kept until it cannot be: as long as it stands there is no
 * other. */
TEST_CASE(settling)
{
    static const struct exchange_row rows[] = {
        {"the last",
         {LEAVES_LATE(20),
          {COUNTED(0, 10), "ignore forget arm 20 = quitting"},
          {EV(TIMER), .acts = "quit last = quitting"},
          {EV(QUIT), 0, {10}, "ignore tell done = outside"},
          JOINS,
          {EV(STOP), .acts = "ignore quit = quitting"}}},
        {"another",
         {LEAVES_LATE(20),
          {COUNTED(1, 8, 10), "ignore forget arm 20 = quitting"},
          {EV(TIMER), .acts = "quit = quitting"},
          {EV(QUIT), 1, {8, 10}, "await 0 = leaving"}}},
        {"another, whose time passes",
         {LEAVES_LATE(20),
          {COUNTED(1, 8, 10), "ignore forget arm 20 = quitting"},
          {EV(STOP), .acts = " = quitting"},
          {EV(TIMER), .acts = "quit = quitting"},
          {EV(QUIT), 1, {8, 10}, "ignore tell failed = outside"}}},
        {"another, whose session ends",
         {LEAVES_LATE(20),
          {COUNTED(1, 8, 10), "ignore forget arm 20 = quitting"},
          {EV(REPLACED), .acts = "disarm count = leaving"},
          {COUNTED(-1, 0, 12), "ignore tell done = outside"}}},
        {"inside when the session ends",
         {LISTS_LATE(20),
          {COUNTED(0, 10, 8), "open 10 for 4 = opening"},
          {EV(OPENED), .acts = "ignore tell done = inside"},
          {EV(REPLACED), .acts = "disarm = inside"},
          {EV(LEAVE), .acts = "ignore tell lost = outside"}}},
        {"one that waits",
         {LISTS_LATE(20),
          {COUNTED(0, 10), " = waiting"},
          {EV(STOP), .acts = "ignore forget arm 20 = quitting"},
          {EV(TIMER), .acts = "quit = quitting"},
          {EV(QUIT), .acts = "ignore tell failed = outside"}}},
        {"by the last create",
         {LISTS_LATE(20),
          {COUNTED(-1, 9, 8), "join again = joining"},
          {EV(JOINED, .zxid = 12, .late = 30), .acts = "look = looking"},
          {EV(STOP), .acts = "ignore forget arm 30 = quitting"}}},
        {"one that somebody has deleted",
         {LISTS_LATE(20),
          {COUNTED(-1, 9, 8), "join again = joining"},
          {EV(JOINED, .zxid = 12), .acts = "look = looking"},
          {EV(STOP), .acts = "ignore forget arm 20 = quitting"}}},
        {"one that somebody has deleted, when it leaves",
         {LEAVES_LATE(20), {COUNTED(-1, 0, 12), "late ignore tell done = outside"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* None is told before its node is gone. */
TEST_CASE(stopped)
{
    static const struct exchange_row rows[] = {
        {"while it joins",
         {ENTER,
          {EV(STOP), .acts = " = joining"},
          {EV(JOINED, .zxid = 10), .acts = "ignore quit = quitting"},
          {EV(STOP), .acts = " = quitting"},
          {EV(QUIT), .acts = "ignore tell failed = outside"},
          {EV(ENTER), .acts = "join = joining"},
          {EV(JOINED, .zxid = 12), .acts = "look = looking"}}},
        {"and is refused",
         {ENTER,
          {EV(STOP), .acts = " = joining"},
          {EV(REFUSED), .acts = "refused ignore tell failed = outside"}}},
        {"while it waits",
         {LISTS,
          {COUNTED(0, 10), " = waiting"},
          {EV(STOP), .acts = "ignore quit = quitting"},
          {EV(QUIT), .acts = "ignore tell failed = outside"}}},
        {"inside, and then outside",
         {INSIDE,
          {EV(STOP), .acts = "ignore quit = quitting"},
          {EV(QUIT), .acts = "ignore tell failed = outside"},
          {EV(STOP), .acts = " = outside"}}},
        {"as the lowest that leaves",
         {LEAVES,
          {COUNTED(0, 10, 8), "await 1 = leaving"},
          {EV(STOP), .acts = "ignore quit = quitting"},
          {EV(QUIT), 0, {10, 8}, "ignore tell failed = outside"}}},
        {"as another that leaves",
         {LEAVES,
          {COUNTED(1, 8, 10), "ignore quit = quitting"},
          {EV(STOP), .acts = " = quitting"},
          {EV(QUIT), 1, {8, 10}, "ignore tell failed = outside"}}},
        {"behind its own node",
         {LEAVES,
          {COUNTED(1, 8, 10), "ignore quit = quitting"},
          {EV(QUIT), 1, {8, 10}, "await 0 = leaving"},
          {EV(STOP), .acts = "ignore tell failed = outside"}}},
        {"as the last, which it is all the same",
         {LEAVES,
          {COUNTED(0, 10), "ignore quit last = quitting"},
          {EV(STOP), .acts = " = quitting"},
          {EV(QUIT), 0, {10}, "ignore tell done = outside"}}},
        {"refused", {JOINS, {EV(REFUSED), .acts = "refused ignore quit = quitting"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(session_ends)
{
    static const struct exchange_row rows[] = {
        {"before anything was sent",
         {ENTER, {EV(REPLACED, .unsent = true), .acts = "join = joining"}}},
        {"when there may be a node", {ENTER, {EV(REPLACED), .acts = "ignore tell lost = outside"}}},
        {"while it looks",
         {JOINS, {EV(REPLACED, .unsent = true), .acts = "ignore tell lost = outside"}}},
        {"inside",
         {INSIDE,
          {EV(REPLACED), .acts = " = inside"},
          {EV(LEAVE), .acts = "ignore tell lost = outside"},
          {EV(REPLACED), .acts = " = outside"}}},
        {"leaving",
         {LEAVES,
          {COUNTED(0, 10, 8), "await 1 = leaving"},
          {EV(REPLACED), .acts = "count = leaving"},
          {COUNTED(-1, 8), "await 0 = leaving"},
          {EV(GONE), -1, {8}, "count = leaving"},
          {COUNTED(-1, 0, 12), "ignore tell done = outside"}}},
        {"the last that leaves",
         {LEAVES,
          {COUNTED(0, 10), "ignore quit last = quitting"},
          {EV(REPLACED), .acts = "ignore tell done = outside"}}},
        {"another that leaves",
         {LEAVES,
          {COUNTED(1, 8, 10), "ignore quit = quitting"},
          {EV(REPLACED), .acts = "count = leaving"}}},
        {"stopped while it joined",
         {ENTER,
          {EV(STOP), .acts = " = joining"},
          {EV(REPLACED, .unsent = true), .acts = "ignore tell failed = outside"}}},
        {"stopped",
         {JOINS,
          {EV(STOP), .acts = "ignore quit = quitting"},
          {EV(REPLACED), .acts = "ignore tell failed = outside"}}},
        {"for good",
         {JOINS,
          {EV(OVER), .acts = "ignore tell failed = outside"},
          {EV(OVER), .acts = " = outside"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

#define ANSWERED(name, ...)                                                                        \
    {                                                                                              \
        .kind = MACHINE_EV_ANSWER, .rc = STORE_##name, ##__VA_ARGS__                               \
    }

/* What comes back of the own node, and of others, where it is not what was hoped for. */
TEST_CASE(odd_answers)
{
    static const struct {
        const char *what;
        struct barrier b;
        struct machine_event ev;
        const char *acts;
    } rows[] = {
        {"made before", {.state = BARRIER_JOINING}, ANSWERED(EXISTS), "find = joining"},
        {"which is gone again",
         {.state = BARRIER_JOINING, .made = true},
         ANSWERED(NONODE, .verb = STORE_STAT),
         "join again = joining"},
        {"which is found",
         {.state = BARRIER_JOINING, .made = true},
         ANSWERED(OK, .verb = STORE_STAT, .czxid = 3),
         "look = looking"},
        {"there may be one, and the session ends",
         {.state = BARRIER_JOINING, .made = true},
         {.kind = MACHINE_EV_SESSION, .unsent = true},
         "ignore tell lost = outside"},
        {"sent twice, and refused",
         {.state = BARRIER_JOINING},
         ANSWERED(NOAUTH, .late_until = 1),
         "refused late ignore tell failed = outside"},
        {"sent twice, and the session ends",
         {.state = BARRIER_QUITTING, .own = true, .late = 1},
         {.kind = MACHINE_EV_SESSION},
         "disarm ignore tell failed = outside"},
        {"the last, and ready is gone",
         {.state = BARRIER_QUITTING, .own = true, .then = BARRIER_THEN_DONE},
         ANSWERED(NONODE, .verb = STORE_MULTI),
         "quit = quitting"},
        {"not to be deleted",
         {.state = BARRIER_QUITTING, .own = true},
         ANSWERED(NOAUTH, .verb = STORE_DELETE),
         "delete ignore tell failed = outside"},
        {"ready goes before it is read",
         {.state = BARRIER_LOOKING, .own = true, .czxid = 3},
         ANSWERED(NONODE, .verb = STORE_GET, .node = BARRIER_READY),
         "count = counting"},
        {"no directory",
         {.state = BARRIER_LOOKING, .own = true, .czxid = 3, .version = 4},
         ANSWERED(NONODE, .verb = STORE_GET, .node = BARRIER_DIRECTORY),
         " = looking"},
        {"nobody may read the directory",
         {.state = BARRIER_LOOKING, .own = true, .czxid = 3},
         ANSWERED(NOAUTH, .verb = STORE_GET, .node = BARRIER_DIRECTORY),
         "refused ignore quit = quitting"},
        {"the awaited is there",
         {.state = BARRIER_WAITING, .own = true, .czxid = 3, .awaits = true},
         ANSWERED(OK, .verb = STORE_GET, .node = BARRIER_AWAITED),
         " = waiting"},
        {"the awaited is gone already",
         {.state = BARRIER_WAITING, .own = true, .czxid = 3, .awaits = true},
         ANSWERED(NONODE, .verb = STORE_GET, .node = BARRIER_AWAITED),
         "look = looking"},
        {"the awaited has changed",
         {.state = BARRIER_LEAVING, .awaits = true, .awaited = 2},
         {.kind = MACHINE_EV_FIRED, .node = BARRIER_AWAITED},
         "await 2 = leaving"},
        {"another is counted when it goes",
         {.state = BARRIER_LEAVING},
         {.kind = MACHINE_EV_FIRED, .node = BARRIER_AWAITED, .gone = true},
         " = leaving"},
        {"too much is watched",
         {.state = BARRIER_WAITING, .own = true, .czxid = 3, .awaits = true},
         ANSWERED(LIMIT, .verb = STORE_GET, .node = BARRIER_AWAITED),
         "refused ignore quit = quitting"},
        {"overtaken by itself",
         {.state = BARRIER_OPENING, .own = true, .czxid = 3, .bound = 3},
         ANSWERED(EXISTS, .verb = STORE_MULTI),
         "look = looking"},
        {"not to be opened",
         {.state = BARRIER_OPENING, .own = true, .czxid = 3, .bound = 3},
         ANSWERED(NOAUTH, .verb = STORE_MULTI),
         "refused ignore quit = quitting"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        memset(&game, 0, sizeof game);
        game.b = rows[i].b;
        game.own = MEMBERS_MAX;
        game.text = g_string_new(NULL);
        feed(rows[i].ev);
        g_string_append_printf(game.text, " = %s", barrier_state_name(game.b.state));
        exchange_check(g_string_free(game.text, FALSE), rows[i].acts, rows[i].what, 0);
    }
}

TEST_CASE(table)
{
    static const struct barrier waiting = {.state = BARRIER_WAITING, .own = true, .czxid = 5};
    struct barrier b = waiting;

    CHECK(barrier_invariant(&b));
    b.leaving = true;
    CHECK(!barrier_invariant(&b));
    for (enum barrier_state s = 0; s < BARRIER_STATES; s++) {
        const bool without = s == BARRIER_OUTSIDE || s == BARRIER_JOINING;
        const bool either = s == BARRIER_INSIDE || s == BARRIER_LEAVING;
        b = (struct barrier){.state = s, .own = true, .czxid = 5, .bound = 5};
        CHECK_INT(barrier_invariant(&b), !without);
        b.own = false;
        CHECK_INT(barrier_invariant(&b), without || either);
        b.own = !without;
        b.leaving = true;
        CHECK_INT(barrier_invariant(&b), s == BARRIER_QUITTING || s == BARRIER_LEAVING);
    }
    for (enum barrier_state s = 0; s < BARRIER_STATES; s++) {
        const bool without = s == BARRIER_OUTSIDE || s == BARRIER_JOINING;
        b = (struct barrier){.state = s, .own = !without, .czxid = 5, .bound = 5, .awaits = true};
        CHECK_INT(barrier_invariant(&b), s == BARRIER_WAITING || s == BARRIER_LEAVING);
        b.awaits = false;
        b.made = true;
        CHECK_INT(barrier_invariant(&b), s == BARRIER_JOINING);
    }
    b = (struct barrier){.state = BARRIER_JOINING, .late = 1};
    CHECK(barrier_invariant(&b));
    b.state = BARRIER_OUTSIDE;
    CHECK(!barrier_invariant(&b));
    b = (struct barrier){.state = BARRIER_INSIDE, .own = true, .czxid = 5, .bound = 4};
    CHECK(!barrier_invariant(&b));
    for (enum barrier_state s = BARRIER_COUNTING; s <= BARRIER_OPENING; s++) {
        b = (struct barrier){.state = s, .own = true, .czxid = 5, .before = 4};
        CHECK(barrier_invariant(&b));
        b.before = 5;
        CHECK_INT(barrier_invariant(&b), s == BARRIER_WAITING);
    }
    CHECK(barrier_may_move(BARRIER_OUTSIDE, BARRIER_JOINING));
    CHECK(!barrier_may_move(BARRIER_OUTSIDE, BARRIER_INSIDE));
    CHECK(!barrier_may_move(BARRIER_WAITING, BARRIER_INSIDE));
    CHECK_STR(barrier_state_name(BARRIER_OPENING), "opening");
    CHECK_STR(barrier_state_name(BARRIER_STATES), "?");
}

/* The operations on a barrier that one may wait for: each asks once, and ends once. */
TEST_CASE(calls)
{
    static const char *const verbs[] = {[STORE_CREATE] = "create",
                                        [STORE_DELETE] = "delete",
                                        [STORE_GET] = "get",
                                        [STORE_SYNC] = "sync",
                                        [STORE_STAT] = ""};
    static const struct {
        enum barrier_goal goal;
        struct machine_event heard[3];
        const char *acts;
    } rows[] = {
        {BARRIER_SET, {ANSWERED(OK)}, "create; end 0 0"},
        {BARRIER_SET, {ANSWERED(EXISTS)}, "create; end 0 0"},
        {BARRIER_SET, {ANSWERED(NOAUTH)}, "create; end 1 4"},
        {BARRIER_SET, {{.kind = MACHINE_EV_SESSION}, ANSWERED(OK)}, "create; create; end 0 0"},
        {BARRIER_SET, {{.kind = MACHINE_EV_STOP}, ANSWERED(OK)}, "create; end 2 0"},
        {BARRIER_REMOVE, {ANSWERED(OK)}, "delete; end 0 0"},
        {BARRIER_REMOVE, {ANSWERED(NONODE)}, "delete; end 0 0"},
        {BARRIER_REMOVE, {ANSWERED(NOTEMPTY)}, "delete; end 1 6"},
        {BARRIER_REMOVE, {{.kind = MACHINE_EV_SESSION}, ANSWERED(OK)}, "delete; delete; end 0 0"},
        {BARRIER_SET,
         {ANSWERED(OK, .late_until = 7), {.kind = MACHINE_EV_TIMER}},
         "create; arm 7; end 0 0"},
        {BARRIER_SET,
         {ANSWERED(EXISTS, .late_until = 7),
          {.kind = MACHINE_EV_SESSION},
          {.kind = MACHINE_EV_TIMER}},
         "create; arm 7; end 0 0"},
        {BARRIER_REMOVE,
         {ANSWERED(NONODE, .late_until = 7), {.kind = MACHINE_EV_TIMER}},
         "delete; arm 7; end 0 0"},
        {BARRIER_REMOVE,
         {ANSWERED(OK, .late_until = 7), {.kind = MACHINE_EV_STOP}},
         "delete; arm 7; end 2 0"},
        {BARRIER_SET,
         {ANSWERED(NOAUTH, .late_until = 7), {.kind = MACHINE_EV_TIMER}},
         "create; arm 7; end 1 4"},
        {BARRIER_REMOVE,
         {ANSWERED(NOTEMPTY, .late_until = 7), {.kind = MACHINE_EV_TIMER}},
         "delete; arm 7; end 1 6"},
        {BARRIER_WAIT, {ANSWERED(NONODE)}, "sync; get watch also; end 0 0"},
        {BARRIER_WAIT,
         {ANSWERED(NOAUTH, .verb = STORE_SYNC), ANSWERED(NONODE)},
         "sync; get watch also; end 0 0"},
        {BARRIER_WAIT, {ANSWERED(EXISTS)}, "sync; get watch also; end 1 2"},
        {BARRIER_WAIT,
         {ANSWERED(OK), {.kind = MACHINE_EV_FIRED, .gone = true}},
         "sync; get watch also; end 0 0"},
        {BARRIER_WAIT,
         {ANSWERED(OK), {.kind = MACHINE_EV_FIRED}, ANSWERED(NONODE)},
         "sync; get watch also; get watch; end 0 0"},
        {BARRIER_WAIT,
         {ANSWERED(OK), {.kind = MACHINE_EV_SESSION}, ANSWERED(NONODE)},
         "sync; get watch also; sync; get watch also; end 0 0"},
        {BARRIER_WAIT, {ANSWERED(OK), {.kind = MACHINE_EV_STOP}}, "sync; get watch also; end 2 0"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct barrier_call c = {.goal = rows[i].goal};
        struct machine_actions out = {.count = 0};
        GString *text = g_string_new(NULL);
        barrier_call_step(&c, &(struct machine_event){.kind = MACHINE_EV_BEGIN}, &out);
        for (int k = 0; k <= 3; k++) {
            for (uint32_t n = 0; n < out.count; n++) {
                const struct machine_action *a = &out.list[n];
                CHECK(a->node == 0 && a->mode == STORE_PERSISTENT);
                if (a->kind == MACHINE_ACT_REQUEST)
                    g_string_append_printf(text, "%s%s%s; ", verbs[a->verb],
                                           a->watch ? " watch" : "", a->joins ? " also" : "");
                else if (a->kind == MACHINE_ACT_ARM)
                    g_string_append_printf(text, "arm %d; ", (int)a->at);
                else if (a->kind == MACHINE_ACT_TELL)
                    g_string_append_printf(text, "end %d %d", a->verdict, (int)a->rc);
                else
                    CHECK_INT(a->kind, MACHINE_ACT_END);
            }
            out.count = 0;
            if (k < 3 && rows[i].heard[k].kind)
                barrier_call_step(&c, &rows[i].heard[k], &out);
        }
        CHECK_INT(c.state, BARRIER_CALL_OVER);
        exchange_check(g_string_free(text, FALSE), rows[i].acts, "call", (int)i);
    }
    struct barrier_call waits = {.goal = BARRIER_WAIT};
    struct machine_actions out = {.count = 0};
    barrier_call_step(&waits, &(struct machine_event){.kind = MACHINE_EV_BEGIN}, &out);
    CHECK_INT(waits.state, BARRIER_CALL_ASKING);
    barrier_call_step(&waits, &(struct machine_event)ANSWERED(OK), &out);
    CHECK_INT(waits.state, BARRIER_CALL_WATCHING);
    CHECK(!barrier_call_may_move(BARRIER_CALL_OVER, BARRIER_CALL_ASKING));
    CHECK(!barrier_call_may_move(BARRIER_CALL_WATCHING, BARRIER_CALL_WATCHING));
    CHECK(!barrier_call_may_move(BARRIER_CALL_IDLE, BARRIER_CALL_WATCHING));
}

TEST_CASE(bounds)
{
    static const struct {
        const char *data;
        uint64_t bound;
        bool later;
    } rows[] = {
        {"", 0, false},
        {"zkl round", 0, false},
        {"zkl round ", 0, true},
        {"zkl round 1 ", 0, true},
        {"zkl round 1 7", 7, false},
        {"zkl round 1 18446744073709551615", UINT64_MAX, false},
        {"zkl round 1 18446744073709551616", 0, true},
        {"zkl round 1 7x", 0, true},
        {"zkl round 1 /", 0, true},
        {"zkl round 1 :", 0, true},
        {"zkl round 2 7", 0, true},
        {"zkl rounds 7", 0, false},
        {"10.0.0.1", 0, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        CHECK(barrier_bound_read(rows[i].data, strlen(rows[i].data)) == rows[i].bound);
        CHECK_INT(barrier_is_later(rows[i].data, strlen(rows[i].data)), rows[i].later);
    }
    CHECK_INT(barrier_bound_read("zkl round 1 78", 13), 7);
    CHECK_INT(barrier_bound_read(NULL, 0), 0);
    CHECK(!barrier_is_later(NULL, 0));
}

static bool refuse_reading(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_BAD};
    return request->kind == STORE_GET && strcmp(request->path, "/root/d") == 0;
}

static void on_done(const zkl_error *err, void *data)
{
    *(int *)data = err ? err->code : 0;
}

/* Refused while it is being sent: the watch that is asked for behind it does not outlive the
 * member.
 */
TEST_CASE(look_is_refused_at_once)
{
    zkl_session *s = hand_session();
    zkl_double_barrier *b;
    int code = 1;

    REQUIRE(zkl_double_barrier_new(&b, s, "/d", 1, NULL) == 0);
    REQUIRE(zkl_double_barrier_enter_async(b, ZKL_FOREVER, on_done, &code) == 0);
    fake_answer_at_once(refuse_reading);
    ANSWER(STORE_CREATE, "/root/d/", .rc = STORE_OK, .czxid = 5);
    fake_answer_at_once(NULL);
    ANSWER(STORE_STAT, "/root/d/ready", .rc = STORE_NONODE);
    ANSWER(STORE_UNWATCH, "/root/d/ready", .rc = STORE_OK);
    ANSWER(STORE_DELETE, "/root/d/", .rc = STORE_OK);
    zkl_session_dispatch(s);
    CHECK_INT(code, ZKL_EPROTO);
    zkl_double_barrier_free(b);
    hand_close(s);
}
