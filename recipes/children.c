#include "children.h"

#include <assert.h>

#include "back_off.h"

#define BIT(state) (1U << (state))

/* A query begins anew at any time. */
#define ANEW                                                                                       \
    (BIT(CHILDREN_AWAY) | BIT(CHILDREN_SYNCING) | BIT(CHILDREN_LISTING) | BIT(CHILDREN_RESTING) |  \
     BIT(CHILDREN_READING) | BIT(CHILDREN_BACKED_OFF) | BIT(CHILDREN_OVER))

static const struct {
    const char *name;
    uint32_t next;
} table[CHILDREN_STATES] = {
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
    return state < CHILDREN_STATES ? table[state].name : "?";
}

bool children_may_move(enum children_state from, enum children_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

bool children_invariant(const struct children *c)
{
    const int64_t back_off = c->back_off_ms;

    if (back_off != 0 && (back_off < BACK_OFF_FIRST_MS || back_off > BACK_OFF_LAST_MS))
        return false;
    if ((back_off == 0) != (c->last_why == CHILDREN_NOT_REFUSED))
        return false;
    if (c->state == CHILDREN_SETTLED && back_off != 0)
        return false;
    if (c->state == CHILDREN_RESTING && c->gap == 0)
        return false;
    return !c->listed_watch || c->state == CHILDREN_LISTING;
}

static void move(struct children *c, enum children_state to)
{
    assert(children_may_move(c->state, to));
    c->state = to;
    c->listed_watch = false;
}

static struct children_action *act(struct children_actions *out, enum children_action_kind kind)
{
    assert(out->count < CHILDREN_ACTIONS);
    struct children_action *a = &out->list[out->count++];
    *a = (struct children_action){.kind = kind};
    return a;
}

/* ---- asking ---- */

static void list(struct children *c, struct children_actions *out, bool watch)
{
    struct children_action *a = act(out, CHILDREN_ACT_LIST);

    a->watch = watch;
    a->tag = c->tag;
    move(c, CHILDREN_LISTING);
    c->listed_watch = watch;
}

/* Behind a sync, unless a watch has just shown that the server is up to date. */
static void begin(struct children *c, const struct children_event *ev, struct children_actions *out,
                  bool sync)
{
    c->tag++;
    act(out, CHILDREN_ACT_DISARM);
    act(out, CHILDREN_ACT_BEGIN);
    if (ev->barred)
        act(out, CHILDREN_ACT_FAILED);
    if (!ev->up) {
        move(c, CHILDREN_AWAY);
    } else if (sync) {
        act(out, CHILDREN_ACT_SYNC)->tag = c->tag;
        move(c, CHILDREN_SYNCING);
    } else {
        list(c, out, c->watch);
    }
}

static void on_begin(struct children *c, const struct children_event *ev,
                     struct children_actions *out)
{
    begin(c, ev, out, true);
}

static void on_timer(struct children *c, const struct children_event *ev,
                     struct children_actions *out)
{
    begin(c, ev, out, c->state == CHILDREN_BACKED_OFF);
}

static void on_fired(struct children *c, const struct children_event *ev,
                     struct children_actions *out)
{
    if (ev->now >= c->not_before) {
        begin(c, ev, out, false);
        return;
    }
    act(out, CHILDREN_ACT_ARM)->at = c->not_before;
    move(c, CHILDREN_RESTING);
}

/* ---- answers ---- */

static void on_done(struct children *c, const struct children_event *ev,
                    struct children_actions *out)
{
    const bool watched = c->listed_watch;

    if (ev->tag != c->tag)
        return;
    if (c->state != CHILDREN_LISTING) {
        list(c, out, c->watch);
        return;
    }
    move(c, CHILDREN_READING);
    act(out, CHILDREN_ACT_LISTED)->watch = watched;
}

/* Told once for a reason, and tried again less and less often. */
static void refuse(struct children *c, const struct children_event *ev,
                   struct children_actions *out, enum children_refusal why)
{
    const bool news = why != c->last_why;

    c->last_why = why;
    c->tag++;
    c->back_off_ms = back_off_next(c->back_off_ms);
    move(c, CHILDREN_BACKED_OFF);
    if (news)
        act(out, CHILDREN_ACT_LOG)->why = why;
    act(out, CHILDREN_ACT_ARM)->at = ev->now + c->back_off_ms * 1000000;
    if (news)
        act(out, CHILDREN_ACT_FAILED);
}

static void on_refused(struct children *c, const struct children_event *ev,
                       struct children_actions *out)
{
    if (ev->tag == c->tag)
        refuse(c, ev, out, ev->why);
}

static void on_no_node(struct children *c, const struct children_event *ev,
                       struct children_actions *out)
{
    if (ev->tag != c->tag)
        return;
    if (c->state == CHILDREN_LISTING) {
        act(out, CHILDREN_ACT_STAT)->tag = c->tag;
        move(c, CHILDREN_FINDING);
    } else if (c->state == CHILDREN_FINDING) {
        move(c, CHILDREN_READING);
        act(out, CHILDREN_ACT_MISSING);
    } else {
        refuse(c, ev, out, CHILDREN_ODD);
    }
}

static void on_gone(struct children *c, const struct children_event *ev,
                    struct children_actions *out)
{
    (void)out;
    if (ev->tag == c->tag)
        move(c, CHILDREN_AWAY);
}

/* ---- whoever watches ---- */

static void on_again(struct children *c, const struct children_event *ev,
                     struct children_actions *out)
{
    list(c, out, ev->watch);
}

/* A timer that is to begin a query still does. */
static void on_reread(struct children *c, const struct children_event *ev,
                      struct children_actions *out)
{
    (void)ev;
    (void)out;
    c->tag++;
    if (c->state != CHILDREN_BACKED_OFF)
        move(c, CHILDREN_READING);
}

static void on_found(struct children *c, const struct children_event *ev,
                     struct children_actions *out)
{
    (void)out;
    c->not_before = ev->now + c->gap + ev->count * c->gap_each;
    c->back_off_ms = 0;
    c->last_why = CHILDREN_NOT_REFUSED;
    if (c->state != CHILDREN_BACKED_OFF)
        move(c, CHILDREN_SETTLED);
}

static void on_stop(struct children *c, const struct children_event *ev,
                    struct children_actions *out)
{
    (void)ev;
    c->tag++;
    act(out, CHILDREN_ACT_STOP);
    move(c, CHILDREN_OVER);
}

void children_step(struct children *c, const struct children_event *ev,
                   struct children_actions *out)
{
    static void (*const handlers[])(struct children * c, const struct children_event *ev,
                                    struct children_actions *out) = {
        [CHILDREN_EV_BEGIN] = on_begin,     [CHILDREN_EV_TIMER] = on_timer,
        [CHILDREN_EV_FIRED] = on_fired,     [CHILDREN_EV_DONE] = on_done,
        [CHILDREN_EV_NO_NODE] = on_no_node, [CHILDREN_EV_GONE] = on_gone,
        [CHILDREN_EV_REFUSED] = on_refused, [CHILDREN_EV_AGAIN] = on_again,
        [CHILDREN_EV_REREAD] = on_reread,   [CHILDREN_EV_FOUND] = on_found,
        [CHILDREN_EV_STOP] = on_stop,
    };

    out->count = 0;
    handlers[ev->kind](c, ev, out);
    assert(children_invariant(c));
}
