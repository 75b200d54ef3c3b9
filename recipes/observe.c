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

/* An answer of an earlier connection may still come in UNKNOWN: so UNKNOWN may become KNOWN. */
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
    return !o->data_missing || o->data == OBSERVING_KNOWN;
}

static void observing_move(struct observing *o, enum observing_node to)
{
    assert(observing_may_move(o->node, to));
    o->node = to;
}

static void observing_learn(struct observing *o, enum observing_data to)
{
    assert(observing_may_learn(o->data, to));
    o->data = to;
    o->data_missing = false;
}

/* ---- older data ---- */

void observing_rewind(struct observing *o)
{
    o->told.top = 0;
    o->data_zxid = 0;
    newest_rewind(&o->newest);
}

/* Decides what becomes of older data. Returns whether they are held back. */
static bool observing_holds_back(struct observing *o, const struct observing_moment *m,
                                 struct machine_actions *out)
{
    if (!newest_holds_back(&o->newest, m->children.now, m->patience)) {
        observing_rewind(o);
        return false;
    }
    observing_move(o, OBSERVING_LISTING);
    children_older(&o->children, &m->children, out);
    return true;
}

/* Whether the data are older than what was told. They are if the first in line has a lower token
 * than the leader told last; or if it has the same token, but was told to be gone or is another
 * node. On the connection on which that leader was first, only a used-up number puts such a node
 * there. */
static bool observing_is_older(const struct observing *o, const struct observing_moment *m)
{
    const bool same = o->token == o->told.top;

    if (o->met || o->used_up || o->told_used_up)
        return false;
    return o->token < o->told.top || (same && (!o->told.leads || m->other_node));
}

/* ---- telling ---- */

/* Tells which leader it is, by its token, if that is news; 0: nobody leads. The data are what this
 * leader proclaims if they have the same token. */
static void observing_tell_leader(struct observing *o, const struct observing_moment *m,
                                  struct machine_actions *out, uint64_t token)
{
    const bool own = o->data_token == token;
    const bool news = own ? !m->same : m->told_any;
    const enum observe_tell what = observe_see(&o->told, token, news);

    if (o->told.leads) {
        o->met = true;
        o->told_used_up = o->used_up;
    }
    if (what == OBSERVE_NOTHING)
        return;
    machine_tell(out,
                 what == OBSERVE_NOBODY ? OBSERVING_TELL_NOBODY
                 : own                  ? OBSERVING_TELL_PROCLAIMED
                                        : OBSERVING_TELL_SILENT,
                 STORE_OK);
}

/* Ends a query, which has found the leader of that token; 0: nobody leads. */
static void observing_found(struct observing *o, const struct observing_moment *m,
                            struct machine_actions *out, uint64_t token)
{
    newest_told(&o->newest);
    children_found(&o->children, &m->children, 0);
    observing_tell_leader(o, m, out, token);
}

/* Concludes the query, when the first in line and the election's data are known. */
static void observing_conclude(struct observing *o, const struct observing_moment *m,
                               struct machine_actions *out)
{
    if (o->node != OBSERVING_SEEN || o->data != OBSERVING_KNOWN)
        return;
    if (observing_is_older(o, m) && observing_holds_back(o, m, out))
        observing_tell_leader(o, m, out, 0);
    else
        observing_found(o, m, out, o->token);
}

/* ---- reading ---- */

static void observing_read_data(struct observing *o, struct machine_actions *out)
{
    struct machine_action *a = machine_ask(out, STORE_GET, OBSERVING_DATA);

    a->slot = OBSERVING_SLOT_DATA;
    a->watch = true;
    observing_learn(o, OBSERVING_ASKED);
}

/* Reads the first in line; and what is proclaimed, unless that is known, or a query that is put off
 * will read both. */
static void observing_read(struct observing *o, struct machine_actions *out)
{
    observing_move(o, OBSERVING_READING);
    machine_ask(out, STORE_GET, OBSERVING_FIRST)->watch = true;
    if (o->children.state == CHILDREN_READING && (o->data == OBSERVING_UNKNOWN || o->data_missing))
        observing_read_data(o, out);
}

static void observing_list_again(struct observing *o, struct machine_actions *out, bool watch)
{
    observing_move(o, OBSERVING_LISTING);
    children_list(&o->children, out, watch);
}

static void observing_on_missing(struct observing *o, const struct observing_moment *m,
                                 struct machine_actions *out)
{
    machine_act(out, MACHINE_ACT_UNWATCH)->node = OBSERVING_FIRST;
    observing_found(o, m, out, 0);
}

/* Handles a list. The user is told that nobody leads only if a watch stands that shows the next
 * leader. */
static void observing_on_listed(struct observing *o, const struct machine_event *ev,
                                const struct observing_moment *m, struct machine_actions *out)
{
    if (!newest_list(&o->newest, ev->pzxid)) {
        if (observing_holds_back(o, m, out))
            return;
        newest_list(&o->newest, ev->pzxid); /* after the rewind this list is the newest */
    }
    o->used_up = m->some && m->used_up;
    if (m->some) {
        machine_act(out, MACHINE_ACT_UNWATCH)->node = CHILDREN_DIRECTORY;
        machine_act(out, MACHINE_ACT_NAME)->node = OBSERVING_FIRST;
        observing_read(o, out);
    } else if (o->children.watched) {
        observing_on_missing(o, m, out);
    } else {
        observing_list_again(o, out, true);
    }
}

static void observing_on_children(struct observing *o, const struct machine_event *ev,
                                  const struct observing_moment *m, struct machine_actions *out)
{
    enum children_news news;

    if (ev->kind == MACHINE_EV_BEGIN) {
        observing_learn(o, OBSERVING_UNKNOWN);
        newest_connected(&o->newest);
        o->met = false;
    }
    news = children_step(&o->children, ev, &m->children, out);
    if (news == CHILDREN_BEGUN)
        observing_move(o, OBSERVING_LISTING);
    else if (news == CHILDREN_LISTED)
        observing_on_listed(o, ev, m, out);
    else if (news == CHILDREN_MISSING)
        observing_on_missing(o, m, out);
}

/* Handles the read of the election's data. */
static void observing_on_data(struct observing *o, const struct machine_event *ev,
                              const struct observing_moment *m, struct machine_actions *out)
{
    size_t at;

    if (ev->rc != STORE_OK && ev->rc != STORE_NONODE) {
        observing_learn(o, OBSERVING_UNKNOWN);
        children_refused(&o->children, &m->children, out, ev->rc);
        return;
    }
    if (ev->rc == STORE_OK && ev->mzxid < o->data_zxid && observing_holds_back(o, m, out)) {
        observing_learn(o, OBSERVING_UNKNOWN);
        return;
    }
    observing_learn(o, OBSERVING_KNOWN);
    o->data_missing = ev->rc == STORE_NONODE;
    if (!o->data_missing)
        o->data_zxid = ev->mzxid;
    if (o->data_missing || !observe_data(ev->data, ev->length, &o->data_token, &at))
        o->data_token = 0;
    observing_conclude(o, m, out);
}

void observing_step(struct observing *o, const struct machine_event *ev,
                    const struct observing_moment *m, struct machine_actions *out)
{
    const bool fired = ev->kind == MACHINE_EV_FIRED, answer = ev->kind == MACHINE_EV_ANSWER;

    if (fired && ev->node == OBSERVING_FIRST && !ev->gone) {
        /* The node still is the first in line: proclaiming has changed its version. This read takes
         * the place of a query that was under way. */
        children_reread(&o->children);
        observing_read(o, out);
    } else if (fired && ev->node == OBSERVING_FIRST) {
        if (children_changed(&o->children, &m->children, out) == CHILDREN_BEGUN)
            observing_move(o, OBSERVING_LISTING);
    } else if (fired && ev->node == OBSERVING_DATA) {
        observing_learn(o, OBSERVING_UNKNOWN);
        /* if they are gone, the first in line went before, and the next query reads both */
        if (!ev->gone)
            observing_read_data(o, out);
    } else if (answer && ev->node == OBSERVING_FIRST) {
        if (ev->rc == STORE_OK) {
            observing_move(o, OBSERVING_SEEN);
            o->token = ev->czxid;
            observing_conclude(o, m, out);
        } else if (ev->rc == STORE_NONODE) {
            observing_list_again(o, out, false);
        } else {
            children_refused(&o->children, &m->children, out, ev->rc);
        }
    } else if (answer && ev->node == OBSERVING_DATA) {
        observing_on_data(o, ev, m, out);
    } else {
        observing_on_children(o, ev, m, out);
    }
    assert(observing_invariant(o));
}
