#include "observe.h"

#include <assert.h>

enum observe_tell observe_see(struct observe *o, uint64_t token, bool news)
{
    bool same = o->leads && token != 0 && token == o->top, leads = same || token > o->top;
    bool first = !o->told, changed = leads != o->leads;

    o->told = true;
    o->leads = leads;
    if (!leads)
        return first || changed ? OBSERVE_NOBODY : OBSERVE_NOTHING;
    o->top = token;
    return !same || news ? OBSERVE_LEADER : OBSERVE_NOTHING;
}

bool observe_data(const char *data, size_t length, uint64_t *ret_token, size_t *ret_at)
{
    uint64_t token = 0;
    size_t i = 0;

    for (; i < length && data[i] >= '0' && data[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(data[i] - '0');
        if (token > (UINT64_MAX - digit) / 10)
            return false;
        token = token * 10 + digit;
    }
    if (i == 0 || i == length || data[i] != '\n')
        return false;
    *ret_token = token;
    *ret_at = i + 1;
    return true;
}

/* ---- what is read ---- */

#define BIT(state) (1U << (state))

bool observing_may_move(enum observing_node from, enum observing_node to)
{
    static const uint32_t next[OBSERVING_NODES] = {
        [OBSERVING_LISTING] = BIT(OBSERVING_LISTING) | BIT(OBSERVING_READING),
        [OBSERVING_READING] = BIT(OBSERVING_LISTING) | BIT(OBSERVING_READING) | BIT(OBSERVING_SEEN),
        [OBSERVING_SEEN] = BIT(OBSERVING_LISTING) | BIT(OBSERVING_READING),
    };

    return (next[from] & BIT(to)) != 0;
}

/* An answer that was asked for on the connection before may come when it is UNKNOWN. */
bool observing_may_learn(enum observing_data from, enum observing_data to)
{
    static const uint32_t next[OBSERVING_DATAS] = {
        [OBSERVING_UNKNOWN] = BIT(OBSERVING_UNKNOWN) | BIT(OBSERVING_ASKED) | BIT(OBSERVING_KNOWN),
        [OBSERVING_ASKED] = BIT(OBSERVING_UNKNOWN) | BIT(OBSERVING_ASKED) | BIT(OBSERVING_KNOWN),
        [OBSERVING_KNOWN] = BIT(OBSERVING_UNKNOWN) | BIT(OBSERVING_ASKED),
    };

    return (next[from] & BIT(to)) != 0;
}

bool observing_invariant(const struct observing *o)
{
    if ((o->told.leads || o->met) && !o->told.told)
        return false;
    return o->data != OBSERVING_ASKED || o->data_tag != 0;
}

static void move(struct observing *o, enum observing_node to)
{
    assert(observing_may_move(o->node, to));
    o->node = to;
}

static void learn(struct observing *o, enum observing_data to)
{
    assert(observing_may_learn(o->data, to));
    o->data = to;
}

static struct observing_action *act(struct observing_actions *out, enum observing_action_kind kind)
{
    assert(out->count < OBSERVING_ACTIONS);
    struct observing_action *a = &out->list[out->count++];
    *a = (struct observing_action){.kind = kind};
    return a;
}

/* ---- older data ---- */

void observing_rewind(struct observing *o)
{
    o->told.top = 0;
    o->data_zxid = 0;
    newest_rewind(&o->newest);
}

/* What was read is older: is it held back? */
static bool holds_back(struct observing *o, const struct observing_event *ev,
                       struct observing_actions *out)
{
    if (!newest_holds_back(&o->newest, ev->now, ev->patience)) {
        observing_rewind(o);
        return false;
    }
    move(o, OBSERVING_LISTING);
    act(out, OBSERVING_ACT_OLDER);
    return true;
}

/* Whether the first in line should not be there behind the leader told: it was made before that one
 * was first, or is gone, or another node has its token. On one connection a number has put it
 * there. */
static bool is_older(const struct observing *o, const struct observing_event *ev)
{
    const bool same = o->token == o->told.top;

    if (o->met || o->used_up || o->told_used_up)
        return false;
    return o->token < o->told.top || (same && (!o->told.leads || ev->other_node));
}

/* ---- telling ---- */

/* Only what carries the leader's own token is its own. */
static void tell(struct observing *o, const struct observing_event *ev,
                 struct observing_actions *out, uint64_t token)
{
    const bool own = o->data_token == token;
    const bool news = own ? !ev->same : ev->told_any;
    const enum observe_tell what = observe_see(&o->told, token, news);

    if (o->told.leads) {
        o->met = true;
        o->told_used_up = o->used_up;
    }
    if (what == OBSERVE_NOTHING)
        return;
    struct observing_action *a = act(out, OBSERVING_ACT_TELL);
    a->tell = what;
    a->data = own && what == OBSERVE_LEADER;
}

static void find(struct observing *o, const struct observing_event *ev,
                 struct observing_actions *out, uint64_t token)
{
    newest_told(&o->newest);
    act(out, OBSERVING_ACT_FOUND);
    tell(o, ev, out, token);
}

static void conclude(struct observing *o, const struct observing_event *ev,
                     struct observing_actions *out)
{
    if (o->node != OBSERVING_SEEN || o->data != OBSERVING_KNOWN)
        return;
    if (is_older(o, ev) && holds_back(o, ev, out))
        tell(o, ev, out, 0);
    else
        find(o, ev, out, o->token);
}

static void read_node(struct observing *o, struct observing_actions *out)
{
    move(o, OBSERVING_READING);
    act(out, OBSERVING_ACT_READ_NODE);
}

static void read_data(struct observing *o, struct observing_actions *out)
{
    learn(o, OBSERVING_ASKED);
    act(out, OBSERVING_ACT_READ_DATA)->tag = ++o->data_tag;
}

static void list_again(struct observing *o, struct observing_actions *out, bool watch)
{
    move(o, OBSERVING_LISTING);
    act(out, OBSERVING_ACT_AGAIN)->watch = watch;
}

static void on_begin(struct observing *o, const struct observing_event *ev,
                     struct observing_actions *out)
{
    (void)ev;
    (void)out;
    move(o, OBSERVING_LISTING);
}

static void on_up(struct observing *o, const struct observing_event *ev,
                  struct observing_actions *out)
{
    (void)ev;
    (void)out;
    learn(o, OBSERVING_UNKNOWN);
    newest_connected(&o->newest);
    o->met = false;
}

static void on_missing(struct observing *o, const struct observing_event *ev,
                       struct observing_actions *out)
{
    act(out, OBSERVING_ACT_DROP_NODE);
    find(o, ev, out, 0);
}

/* Nobody is only told where a watch shows who comes. */
static void on_listed(struct observing *o, const struct observing_event *ev,
                      struct observing_actions *out)
{
    if (!newest_list(&o->newest, ev->zxid)) {
        if (holds_back(o, ev, out))
            return;
        newest_list(&o->newest, ev->zxid);
    }
    o->used_up = ev->used_up;
    if (!ev->some && ev->watched) {
        on_missing(o, ev, out);
    } else if (!ev->some) {
        list_again(o, out, true);
    } else {
        act(out, OBSERVING_ACT_TAKE_FIRST);
        read_node(o, out);
        if (o->data == OBSERVING_UNKNOWN || !ev->data_watched)
            read_data(o, out);
    }
}

static void on_node(struct observing *o, const struct observing_event *ev,
                    struct observing_actions *out)
{
    if (ev->tag != ev->query)
        return;
    if (ev->answer == OBSERVING_READ) {
        move(o, OBSERVING_SEEN);
        o->token = ev->token;
        act(out, OBSERVING_ACT_TAKE_NODE);
        conclude(o, ev, out);
    } else if (ev->answer == OBSERVING_NO_NODE) {
        list_again(o, out, false);
    } else {
        act(out, OBSERVING_ACT_REFUSED);
    }
}

/* Whether it counts. */
static bool take_data(struct observing *o, const struct observing_event *ev,
                      struct observing_actions *out)
{
    if (ev->zxid < o->data_zxid && holds_back(o, ev, out)) {
        learn(o, OBSERVING_UNKNOWN);
        return false;
    }
    o->data_zxid = ev->zxid;
    return true;
}

static void on_data(struct observing *o, const struct observing_event *ev,
                    struct observing_actions *out)
{
    if (ev->tag != o->data_tag)
        return;
    if (ev->answer == OBSERVING_REFUSED) {
        learn(o, OBSERVING_UNKNOWN);
        act(out, OBSERVING_ACT_REFUSED);
        return;
    }
    if (ev->answer == OBSERVING_READ && !take_data(o, ev, out))
        return;
    learn(o, OBSERVING_KNOWN);
    o->data_token = ev->token;
    act(out, OBSERVING_ACT_TAKE_DATA);
    conclude(o, ev, out);
}

/* While it stands it is still the first: proclaiming changes its version. */
static void on_node_fired(struct observing *o, const struct observing_event *ev,
                          struct observing_actions *out)
{
    act(out, ev->gone ? OBSERVING_ACT_FIRED : OBSERVING_ACT_REREAD);
    if (!ev->gone)
        read_node(o, out);
}

/* With the directory the first one went, and the next query asks for both. */
static void on_data_fired(struct observing *o, const struct observing_event *ev,
                          struct observing_actions *out)
{
    learn(o, OBSERVING_UNKNOWN);
    if (!ev->gone)
        read_data(o, out);
}

static void on_stop(struct observing *o, const struct observing_event *ev,
                    struct observing_actions *out)
{
    (void)ev;
    o->data_tag++;
    act(out, OBSERVING_ACT_DROP_NODE);
    act(out, OBSERVING_ACT_DROP_DATA);
}

void observing_step(struct observing *o, const struct observing_event *ev,
                    struct observing_actions *out)
{
    static void (*const handlers[])(struct observing * o, const struct observing_event *ev,
                                    struct observing_actions *out) = {
        [OBSERVING_EV_BEGIN] = on_begin,
        [OBSERVING_EV_UP] = on_up,
        [OBSERVING_EV_LISTED] = on_listed,
        [OBSERVING_EV_MISSING] = on_missing,
        [OBSERVING_EV_NODE] = on_node,
        [OBSERVING_EV_DATA] = on_data,
        [OBSERVING_EV_NODE_FIRED] = on_node_fired,
        [OBSERVING_EV_DATA_FIRED] = on_data_fired,
        [OBSERVING_EV_STOP] = on_stop,
    };

    out->count = 0;
    handlers[ev->kind](o, ev, out);
    assert(observing_invariant(o));
}
