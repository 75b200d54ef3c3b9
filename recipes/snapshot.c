#include "snapshot.h"

#include <assert.h>

#define BIT(state) (1U << (state))

/* With the next session a state begins again, and so moves to itself. */
static const struct {
    const char *name;
    uint32_t next;
} snapshot_table[SNAPSHOT_STATES] = {
    [SNAPSHOT_IDLE] = {"idle", BIT(SNAPSHOT_SYNCING) | BIT(SNAPSHOT_LISTING) |
                                   BIT(SNAPSHOT_ASKING) | BIT(SNAPSHOT_REMOVING) |
                                   BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_SYNCING] = {"syncing",
                          BIT(SNAPSHOT_SYNCING) | BIT(SNAPSHOT_LISTING) | BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_LISTING] = {"listing", BIT(SNAPSHOT_SYNCING) | BIT(SNAPSHOT_LISTING) |
                                         BIT(SNAPSHOT_LIMITING) | BIT(SNAPSHOT_READING) |
                                         BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_LIMITING] = {"limiting",
                           BIT(SNAPSHOT_SYNCING) | BIT(SNAPSHOT_LISTING) | BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_READING] = {"reading",
                          BIT(SNAPSHOT_SYNCING) | BIT(SNAPSHOT_LISTING) | BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_ASKING] = {"asking", BIT(SNAPSHOT_ASKING) | BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_REMOVING] = {"removing", BIT(SNAPSHOT_OVER)},
    [SNAPSHOT_OVER] = {"over", 0},
};

const char *snapshot_state_name(enum snapshot_state state)
{
    return state < SNAPSHOT_STATES ? snapshot_table[state].name : "?";
}

bool snapshot_may_move(enum snapshot_state from, enum snapshot_state to)
{
    return (snapshot_table[from].next & BIT(to)) != 0;
}

bool snapshot_invariant(const struct snapshot *s)
{
    const bool of_each = s->state == SNAPSHOT_READING || s->state == SNAPSHOT_ASKING;

    return of_each == (s->left > 0);
}

static void snapshot_move(struct snapshot *s, enum snapshot_state to)
{
    assert(snapshot_may_move(s->state, to));
    s->state = to;
}

static void snapshot_end(struct snapshot *s, struct machine_actions *out,
                         enum snapshot_verdict verdict, enum store_rc rc)
{
    s->left = 0;
    snapshot_move(s, SNAPSHOT_OVER);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, rc);
}

static void snapshot_list(struct snapshot *s, struct machine_actions *out)
{
    snapshot_move(s, SNAPSHOT_LISTING);
    machine_ask(out, STORE_LIST, SNAPSHOT_DIRECTORY);
}

/* Asks all contenders that are left to give way. Those whose nodes have numbers are read first. */
static void snapshot_ask(struct snapshot *s, const struct snapshot_moment *m,
                         struct machine_actions *out)
{
    struct machine_action *a;

    if (m->left == 0) {
        snapshot_end(s, out, SNAPSHOT_DONE, STORE_OK);
        return;
    }
    s->left = m->left;
    snapshot_move(s, SNAPSHOT_ASKING);
    a = machine_ask(out, STORE_SET, SNAPSHOT_CONTENDER);
    a->version = -1;
    a->more = m->count - 1;
    a = machine_ask(out, STORE_GET, SNAPSHOT_NUMBERED);
    a->joins = true;
    a->more = m->count - 1;
}

static void snapshot_begin(struct snapshot *s, const struct snapshot_moment *m,
                           struct machine_actions *out)
{
    s->left = 0;
    s->has_limit = s->again = false;
    if (s->goal == SNAPSHOT_OF_ALL) {
        snapshot_list(s, out);
    } else if (s->goal == SNAPSHOT_OF_FIRST) {
        snapshot_move(s, SNAPSHOT_SYNCING);
        machine_ask(out, STORE_SYNC, SNAPSHOT_DIRECTORY);
    } else if (s->goal == SNAPSHOT_ASK) {
        snapshot_ask(s, m, out);
    } else if (s->state == SNAPSHOT_REMOVING) { /* the former session asked for it */
        snapshot_end(s, out, SNAPSHOT_UNKNOWN, STORE_OK);
    } else {
        snapshot_move(s, SNAPSHOT_REMOVING);
        machine_ask(out, STORE_DELETE, SNAPSHOT_CONTENDER)->once = true;
    }
}

/* Counts a contender of which nothing more is asked. After the last one the snapshot ends, or
 * begins again. */
static void snapshot_count_answered(struct snapshot *s, const struct snapshot_moment *m,
                                    struct machine_actions *out)
{
    if (--s->left > 0)
        return;
    if (s->again)
        snapshot_begin(s, m, out);
    else
        snapshot_end(s, out, SNAPSHOT_DONE, STORE_OK);
}

/* Handles an answer about a contender that is asked to give way. If its data have changed it is
 * asked again, which does no harm. A contender that has left has given way. */
static void snapshot_on_asked(struct snapshot *s, const struct machine_event *ev,
                              const struct snapshot_moment *m, struct machine_actions *out)
{
    struct machine_action *a;

    if (ev->verb == STORE_GET && ev->rc == STORE_OK) {
        a = machine_ask(out, STORE_SET, ev->node);
        a->version = ev->version;
        a->joins = true;
    } else if (ev->rc == STORE_BADVERSION) {
        machine_ask(out, STORE_GET, ev->node)->joins = true;
    } else {
        snapshot_count_answered(s, m, out);
    }
}

static void snapshot_on_answer(struct snapshot *s, const struct machine_event *ev,
                               const struct snapshot_moment *m, struct machine_actions *out)
{
    const bool of_contender = ev->node != SNAPSHOT_DIRECTORY,
               left = of_contender && ev->rc == STORE_NONODE,
               changed = s->state == SNAPSHOT_ASKING && ev->rc == STORE_BADVERSION,
               unknown = s->state == SNAPSHOT_REMOVING && ev->rc == STORE_UNKNOWN;

    if (ev->rc != STORE_OK && !left && !changed && !unknown) {
        snapshot_end(s, out, SNAPSHOT_FAILED, ev->rc);
    } else if (s->state == SNAPSHOT_REMOVING) {
        snapshot_end(s, out, unknown ? SNAPSHOT_UNKNOWN : SNAPSHOT_DONE, STORE_OK);
    } else if (s->state == SNAPSHOT_ASKING) {
        snapshot_on_asked(s, ev, m, out);
    } else if (s->state == SNAPSHOT_READING) {
        s->again |= left && s->goal == SNAPSHOT_OF_FIRST;
        snapshot_count_answered(s, m, out);
    } else if (s->state == SNAPSHOT_LISTING && m->needs_limit && !s->has_limit) {
        snapshot_move(s, SNAPSHOT_LIMITING);
        machine_ask(out, STORE_GET, SNAPSHOT_DIRECTORY);
    } else if (s->state == SNAPSHOT_LISTING && m->left == 0) {
        snapshot_end(s, out, SNAPSHOT_DONE, STORE_OK);
    } else if (s->state == SNAPSHOT_LISTING) {
        s->left = m->left;
        snapshot_move(s, SNAPSHOT_READING);
        machine_ask(out, STORE_GET, SNAPSHOT_CONTENDER)->more = m->count - 1;
    } else {
        s->has_limit = s->state == SNAPSHOT_LIMITING;
        snapshot_list(s, out);
    }
}

void snapshot_step(struct snapshot *s, const struct machine_event *ev,
                   const struct snapshot_moment *m, struct machine_actions *out)
{
    out->count = 0;
    if (s->state == SNAPSHOT_OVER)
        return;
    if (ev->kind == MACHINE_EV_BEGIN || ev->kind == MACHINE_EV_SESSION)
        snapshot_begin(s, m, out);
    else if (ev->kind == MACHINE_EV_ANSWER)
        snapshot_on_answer(s, ev, m, out);
    else if (ev->kind == MACHINE_EV_STOP)
        snapshot_end(s, out, SNAPSHOT_STOPPED, STORE_OK);
    assert(snapshot_invariant(s));
}
