#include "attempt_play.h"

#include "runner.h"

#include <string.h>

#define MS_NS INT64_C(1000000)

struct play play;

void play_start(bool try_only)
{
    play_start_as(RULE_LOCK, try_only);
}

void play_start_as(enum rule rule, bool try_only)
{
    play = (struct play){.now = 77000 * MS_NS};
    attempt_init(&play.c, rule, try_only);
}

void play_start_permits(uint32_t permits, bool try_only)
{
    play_start_as(RULE_LEASE, try_only);
    play.c.permits = permits;
    play.c.has_limit = true;
    play.c.limit = 2;
    play.c.limit_zxid = 9;
}

void play_start_lease(bool try_only)
{
    play_start_as(RULE_LEASE, try_only);
    attempt_count_leases(&play.c, 2);
}

void play_start_in_long_queue(uint32_t long_queue)
{
    play_start(false);
    play.c.long_queue = long_queue;
}

/* ---- what the driver does ---- */

bool play_is_under_way(enum play_row row)
{
    return row < PLAY_ANSWERS && play.asked[row].under_way > 0;
}

bool play_awaits(enum play_row row)
{
    return play_is_under_way(row) && !exchange_is_stale(&play.exchange, play.asked[row].number);
}

static void play_ask(const struct machine_action *a, const char *file, int line)
{
    const enum play_row row = play_row_of(a);
    const struct exchange_request number = exchange_ask(&play.exchange, a);
    const char *wrong;

    if (row == PLAY_ROWS) {
        runner_fail(file, line, "asks for what it never does: %u of %u", a->verb, a->node);
        return;
    }
    wrong = play_wrong_request(row, a);
    if (wrong)
        runner_fail(file, line, "%s: \"%s\"", wrong, play_actions());
    play.asked[row] = (struct play_request){number, a->more + 1, a->watch};
}

static void play_act(const struct machine_action *a, const char *file, int line)
{
    if (a->kind == MACHINE_ACT_REQUEST)
        play_ask(a, file, line);
    else if (a->kind == MACHINE_ACT_FORGET)
        exchange_forget(&play.exchange, a->slot);
    else if (a->kind == MACHINE_ACT_END)
        exchange_end(&play.exchange);
    if (a->kind != MACHINE_ACT_TELL)
        return;
    play.grants += a->verdict == ATTEMPT_GRANT;
    play.fails += a->verdict == ATTEMPT_FAIL;
    play.revokes += a->verdict == ATTEMPT_REVOKE;
}

/* Each request is answered once; those of a session that has ended are not heard. */
static bool play_hears(const struct play_event *h, const char *file, int line)
{
    if (h->row == PLAY_REPLACED || h->row == PLAY_END)
        memset(play.asked, 0, sizeof(play.asked));
    if (h->row >= PLAY_ANSWERS)
        return true;
    if (!play_is_under_way(h->row))
        return false;
    switch (exchange_answered(&play.exchange, h->to, &h->ev)) {
    case EXCHANGE_HEARD:
        play.asked[h->row].under_way--;
        if (h->ev.watched && !play.asked[h->row].watch)
            runner_fail(file, line, "nobody asked for that watch");
        return true;
    case EXCHANGE_PARENTS:
        runner_fail(file, line, "the driver would make the parents");
        return false;
    default:
        return false;
    }
}

/* ---- what holds at every step ---- */

static uint32_t play_count(enum machine_action_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < play.out.count; i++)
        count += play.out.list[i].kind == kind;
    return count;
}

/* The end is the end of the attempt, and of the step. */
static void play_check_end(enum attempt_state from, const char *file, int line)
{
    const bool ends = from != ST_DONE && play.c.state == ST_DONE;

    if (play_count(MACHINE_ACT_END) != ends)
        runner_fail(file, line, "%u ends", play_count(MACHINE_ACT_END));
    else if (ends && (play.out.list[play.out.count - 1].kind != MACHINE_ACT_END ||
                      !play.out.list[play.out.count - 1].deleting))
        runner_fail(file, line, "not the end: \"%s\"", play_actions());
    if (from == ST_DONE && play.out.count > 0)
        runner_fail(file, line, "actions when done");
    if (from != ST_DONE && play.c.state == ST_DONE && *play_awaited())
        runner_fail(file, line, "awaits %s when done", play_awaited());
}

/* Those of the list that was answered: all of it, and nothing else. */
static void play_check_deletes(const struct play_event *h, const char *file, int line)
{
    for (uint32_t i = 0; i < play.out.count; i++) {
        const struct machine_action *a = &play.out.list[i];
        const bool listed = a->node == ATTEMPT_SPARE || a->node == ATTEMPT_OURS;
        const bool shown = h->ev.verb == STORE_LIST && h->ev.rc == STORE_OK && h->ev.count > 0;
        if (a->kind != MACHINE_ACT_DELETE || (!listed && a->more == 0))
            continue;
        if (!listed || !shown || a->more != h->ev.count - 1)
            runner_fail(file, line, "deletes %u of %zu", a->more + 1, h->ev.count);
    }
}

static void play_check(const struct play_event *h, enum attempt_state from, const char *file,
                       int line)
{
    const char *name = attempt_state_name(play.c.state);

    if (!attempt_invariant(&play.c))
        runner_fail(file, line, "inconsistent in %s", name);
    if (from != play.c.state && !attempt_may_move(from, play.c.state))
        runner_fail(file, line, "moved from %s to %s", attempt_state_name(from), name);
    if (play.grants + play.fails != play.c.told || play.revokes > play.grants)
        runner_fail(file, line, "%u grants, %u fails, %u revokes, told %d", play.grants, play.fails,
                    play.revokes, play.c.told);
    play_check_end(from, file, line);
    play_check_deletes(h, file, line);
}

bool play_give(const struct play_event *h, const char *file, int line)
{
    const enum attempt_state from = play.c.state;
    struct machine_event ev = h->ev;

    play.out.count = 0;
    play.now = h->m.now;
    if (!play_hears(h, file, line))
        return false;
    if (h->row >= PLAY_ANSWERS)
        exchange_tell(&play.exchange, &ev, false);
    memset(&play.out, 0xa5, sizeof(play.out)); /* it is emptied by the step, not by its caller */
    attempt_step(&play.c, &ev, &h->m, &play.out);
    if (play.out.count > MACHINE_ACTIONS) {
        runner_fail(file, line, "%u actions", play.out.count);
        play.out.count = 0;
    }
    for (uint32_t i = 0; i < play.out.count; i++)
        play_act(&play.out.list[i], file, line);
    play_check(h, from, file, line);
    return true;
}

/* ---- scripts ---- */

void play_say(const char *words, const char *file, int line)
{
    struct play_event h;

    play.now += MS_NS;
    if (play_event(&h, words))
        play_give(&h, file, line);
    else
        runner_fail(file, line, "not understood: \"%s\"", words);
}

void play_step(const char *words, enum attempt_state state, const char *actions, const char *file,
               int line)
{
    play_say(words, file, line);
    bool ok = runner_check_str(attempt_state_name(play.c.state), attempt_state_name(state), "state",
                               file, line);
    ok &= runner_check_str(play_actions(), actions, "actions", file, line);
    if (!ok)
        runner_fail(file, line, "after \"%s\"", words);
}

void play_reach(enum attempt_state state)
{
    static const char *const ways[ST_COUNT][6] = {
        [ST_IDLE] = {NULL},
        [ST_REENTERING] = {"enter", "replaced"},
        [ST_CREATING] = {"enter"},
        [ST_PARENTS] = {"enter", "created nonode"},
        [ST_SETTLING] = {"enter", "created unknown"},
        [ST_ADOPTING] = {"enter", "created unknown", "passed", "listed 7*"},
        [ST_LISTING] = {"enter", "created 7"},
        [ST_WAITING] = {"enter", "created 7", "listed 5 7*"},
        [ST_FIRST] = {"enter", "created 7", "listed 5x2 7*", "limited 2 z9", "left listed 5x2 7*"},
        [ST_SUCCEEDING] = {"enter", "created 7", "listed 4 5 7*", "pred gone"},
        [ST_PROVING] = {"enter", "created 7", "listed 5 7*", "pred gone"},
        [ST_CLAIMING] = {"enter", "nodeadline created 7", "nodeadline listed 7*"},
        [ST_RESETTING] = {"enter", "created 2147483647"},
        [ST_HOLDING] = {"enter", "created 7", "listed 7*"},
        [ST_LAPSED] = {"enter", "created 7", "listed 7*", "lapsed"},
        [ST_LEAVING] = {"enter", "abort"},
        [ST_DONE] = {"enter", "created 7", "listed 7*", "release"},
    };
    if (state == ST_FIRST)
        play_start_permits(1, false);
    else
        play_start_in_long_queue(state == ST_SUCCEEDING ? 2 : 0);
    for (int i = 0; i < 6 && ways[state][i]; i++)
        SAY(ways[state][i]);
    CHECK_STR(attempt_state_name(play.c.state), attempt_state_name(state));
}
