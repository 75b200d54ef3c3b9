#include "children.h"

#include <assert.h>

#include "back_off.h"

#define BIT(state) (1U << (state))

/* Every state but OVER leads to these: a query may begin, or begin anew, at any time. */
#define ANEW                                                                                       \
    (BIT(CHILDREN_AWAY) | BIT(CHILDREN_SYNCING) | BIT(CHILDREN_LISTING) | BIT(CHILDREN_RESTING) |  \
     BIT(CHILDREN_READING) | BIT(CHILDREN_BACKED_OFF) | BIT(CHILDREN_OVER))

static const struct {
    const char *name;
    uint32_t next;
} children_table[CHILDREN_STATES] = {
    [CHILDREN_AWAY] = {"away", ANEW},
    [CHILDREN_SYNCING] = {"syncing", ANEW},
    [CHILDREN_LISTING] = {"listing", ANEW | BIT(CHILDREN_FINDING)},
    [CHILDREN_FINDING] = {"finding", ANEW},
    [CHILDREN_READING] = {"reading", ANEW | BIT(CHILDREN_SETTLED)},
    [CHILDREN_SETTLED] = {"settled", ANEW | BIT(CHILDREN_SETTLED)},
    [CHILDREN_RESTING] = {"resting", ANEW},
    [CHILDREN_BACKED_OFF] = {"backed off", ANEW},
    [CHILDREN_OVER] = {"over", 0},
};

const char *children_state_name(enum children_state state)
{
    return state < CHILDREN_STATES ? children_table[state].name : "?";
}

bool children_may_move(enum children_state from, enum children_state to)
{
    return (children_table[from].next & BIT(to)) != 0;
}

bool children_invariant(const struct children *c)
{
    const int64_t back_off = c->back_off_ms;

    if (back_off != 0 && (back_off < BACK_OFF_FIRST_MS || back_off > BACK_OFF_LAST_MS))
        return false;
    if ((back_off == 0) != (c->refusal == CHILDREN_TELL_NOTHING))
        return false;
    if (c->state == CHILDREN_SETTLED && back_off != 0)
        return false;
    if (c->state == CHILDREN_RESTING && c->gap == 0)
        return false;
    return !c->watched || c->state == CHILDREN_LISTING || c->state == CHILDREN_READING;
}

static void children_move(struct children *c, enum children_state to)
{
    assert(children_may_move(c->state, to));
    c->state = to;
    c->watched = false;
}

/* ---- asking ---- */

void children_list(struct children *c, struct machine_actions *out, bool watch)
{
    machine_ask(out, STORE_LIST, CHILDREN_DIRECTORY)->watch = watch;
    children_move(c, CHILDREN_LISTING);
    c->watched = watch;
}

/* Makes the answers of the present query stale. */
static void children_forget(struct machine_actions *out)
{
    machine_act(out, MACHINE_ACT_FORGET)->slot = CHILDREN_SLOT;
}

/* Begins a query: with a sync, unless a watch has just shown that the server is up to date. */
static enum children_news children_begin(struct children *c, const struct children_moment *moment,
                                         struct machine_actions *out, bool sync)
{
    machine_act(out, MACHINE_ACT_DISARM);
    if (moment->barred)
        machine_tell(out, CHILDREN_TELL_BARRED, STORE_OK);
    if (!moment->up) {
        children_forget(out);
        children_move(c, CHILDREN_AWAY);
    } else if (sync) {
        machine_ask(out, STORE_SYNC, CHILDREN_DIRECTORY);
        children_move(c, CHILDREN_SYNCING);
    } else {
        children_list(c, out, c->watch);
    }
    return CHILDREN_BEGUN;
}

/* ---- answers ---- */

/* Tells a reason once, and tries again less and less often. */
static void children_refuse(struct children *c, const struct children_moment *moment,
                            struct machine_actions *out, enum children_tell why)
{
    const bool news = why != c->refusal;

    c->refusal = why;
    c->back_off_ms = back_off_next(c->back_off_ms);
    children_forget(out);
    children_move(c, CHILDREN_BACKED_OFF);
    machine_act(out, MACHINE_ACT_ARM)->at = moment->now + c->back_off_ms * 1000000;
    if (news)
        machine_tell(out, (int)why, STORE_OK);
}

static enum children_news children_on_answer(struct children *c, const struct machine_event *ev,
                                             const struct children_moment *moment,
                                             struct machine_actions *out)
{
    const bool watched = c->watched; /* a move clears it */

    if (ev->rc == STORE_OK && c->state == CHILDREN_LISTING) {
        children_move(c, CHILDREN_READING);
        c->watched = watched;
        return CHILDREN_LISTED;
    }
    if (ev->rc == STORE_OK) {
        children_list(c, out, c->watch);
        return CHILDREN_NOTHING;
    }
    if (ev->rc == STORE_NONODE && c->state == CHILDREN_LISTING) {
        machine_ask(out, STORE_STAT, CHILDREN_DIRECTORY)->watch = true;
        children_move(c, CHILDREN_FINDING);
        return CHILDREN_NOTHING;
    }
    if (ev->rc == STORE_NONODE && c->state == CHILDREN_FINDING) {
        children_move(c, CHILDREN_READING);
        return CHILDREN_MISSING;
    }
    children_refused(c, moment, out, ev->rc);
    return CHILDREN_NOTHING;
}

enum children_news children_step(struct children *c, const struct machine_event *ev,
                                 const struct children_moment *moment, struct machine_actions *out)
{
    enum children_news news = CHILDREN_NOTHING;

    if (ev->kind == MACHINE_EV_BEGIN) {
        news = children_begin(c, moment, out, true);
    } else if (ev->kind == MACHINE_EV_TIMER) {
        news = children_begin(c, moment, out, c->state == CHILDREN_BACKED_OFF);
    } else if (ev->kind == MACHINE_EV_FIRED) {
        news = children_changed(c, moment, out);
    } else if (ev->kind == MACHINE_EV_ANSWER) {
        news = children_on_answer(c, ev, moment, out);
    } else if (ev->kind == MACHINE_EV_STOP) {
        machine_act(out, MACHINE_ACT_END);
        children_move(c, CHILDREN_OVER);
    }
    assert(children_invariant(c));
    return news;
}

void children_report(struct children *c, const struct machine_event *ev,
                     const struct children_moment *moment, struct machine_actions *out)
{
    const enum children_news news = children_step(c, ev, moment, out);

    if (news != CHILDREN_LISTED && news != CHILDREN_MISSING)
        return;
    children_found(c, moment, news == CHILDREN_LISTED ? ev->count : 0);
    machine_tell(out, CHILDREN_TELL_OWN, STORE_OK);
}

/* ---- for the larger machine ---- */

enum children_news children_changed(struct children *c, const struct children_moment *moment,
                                    struct machine_actions *out)
{
    if (moment->now >= c->not_before)
        return children_begin(c, moment, out, false);
    machine_act(out, MACHINE_ACT_ARM)->at = c->not_before;
    children_move(c, CHILDREN_RESTING);
    return CHILDREN_NOTHING;
}

void children_reread(struct children *c)
{
    if (c->state != CHILDREN_BACKED_OFF)
        children_move(c, CHILDREN_READING);
}

void children_found(struct children *c, const struct children_moment *moment, size_t count)
{
    c->not_before = moment->now + c->gap + (int64_t)count * c->gap_each;
    c->back_off_ms = 0;
    c->refusal = CHILDREN_TELL_NOTHING;
    if (c->state != CHILDREN_BACKED_OFF)
        children_move(c, CHILDREN_SETTLED);
    assert(children_invariant(c));
}

void children_refused(struct children *c, const struct children_moment *moment,
                      struct machine_actions *out, enum store_rc rc)
{
    children_refuse(c, moment, out,
                    rc == STORE_NOAUTH  ? CHILDREN_TELL_DENIED
                    : rc == STORE_LIMIT ? CHILDREN_TELL_LIMIT
                                        : CHILDREN_TELL_ODD);
}

void children_older(struct children *c, const struct children_moment *moment,
                    struct machine_actions *out)
{
    children_refuse(c, moment, out, CHILDREN_TELL_OLDER);
}

/* ---- what was read, and is no older than before ---- */

bool newest_list(struct newest *n, uint64_t pzxid)
{
    if (pzxid < n->changed)
        return false;
    n->changed = pzxid;
    return true;
}

bool newest_holds_back(struct newest *n, int64_t now, int64_t patience)
{
    if (!n->rewound && !n->older)
        n->since = now;
    n->older = true;
    n->last = now;
    if (!n->rewound && now - n->since < patience && n->held + now - n->since < 2 * patience)
        return true;
    newest_rewind(n);
    return false;
}

void newest_connected(struct newest *n)
{
    if (n->older)
        n->held += n->last - n->since;
    n->older = false;
}

void newest_told(struct newest *n)
{
    n->older = n->rewound = false;
    n->held = 0;
}

void newest_rewind(struct newest *n)
{
    n->changed = 0;
    n->rewound = true;
}
