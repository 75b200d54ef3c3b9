#include "multi_lock.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[MULTI_LOCK_STATES] = {
    [MULTI_LOCK_IDLE] = {"idle", BIT(MULTI_LOCK_ACQUIRING) | BIT(MULTI_LOCK_DONE)},
    [MULTI_LOCK_ACQUIRING] = {"acquiring", BIT(MULTI_LOCK_HOLDING) | BIT(MULTI_LOCK_DONE)},
    [MULTI_LOCK_HOLDING] = {"holding", BIT(MULTI_LOCK_DONE)},
    [MULTI_LOCK_DONE] = {"done", 0},
};

static const uint32_t places[MULTI_LOCK_PLACES] = {
    [MULTI_LOCK_OUT] = BIT(MULTI_LOCK_ENTERING),
    [MULTI_LOCK_ENTERING] = BIT(MULTI_LOCK_OUT) | BIT(MULTI_LOCK_WAITING) | BIT(MULTI_LOCK_HELD),
    [MULTI_LOCK_WAITING] = BIT(MULTI_LOCK_OUT) | BIT(MULTI_LOCK_HELD),
    [MULTI_LOCK_HELD] = BIT(MULTI_LOCK_OUT),
};

const char *multi_lock_state_name(enum multi_lock_state state)
{
    return state < MULTI_LOCK_STATES ? table[state].name : "?";
}

bool multi_lock_may_move(enum multi_lock_state from, enum multi_lock_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

bool multi_lock_may_go(enum multi_lock_place from, enum multi_lock_place to)
{
    return (places[from] & BIT(to)) != 0;
}

/* Returns the first path that is in one of the places wanted; .count: none is. */
static uint32_t first_in(const struct multi_lock *m, const struct multi_lock_path *paths,
                         uint32_t wanted)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (BIT(paths[i].place) & wanted)
            return i;
    }
    return m->count;
}

uint32_t multi_lock_front(const struct multi_lock *m, const struct multi_lock_path *paths)
{
    return first_in(m, paths,
                    BIT(MULTI_LOCK_OUT) | BIT(MULTI_LOCK_ENTERING) | BIT(MULTI_LOCK_WAITING));
}

/* Returns the path after which no other is entered; .count: all may be entered. */
static uint32_t last_to_enter(const struct multi_lock *m, const struct multi_lock_path *paths)
{
    return first_in(m, paths,
                    BIT(MULTI_LOCK_WAITING) | (m->one_by_one ? BIT(MULTI_LOCK_ENTERING) : 0));
}

/* Whether the paths after last_to_enter() are out, all others are not, and some path is not held.
 */
static bool is_in_order(const struct multi_lock *m, const struct multi_lock_path *paths)
{
    const uint32_t last = last_to_enter(m, paths);

    for (uint32_t i = 0; i < m->count; i++) {
        if ((paths[i].place == MULTI_LOCK_OUT) != (i > last))
            return false;
    }
    return multi_lock_front(m, paths) < m->count;
}

bool multi_lock_invariant(const struct multi_lock *m, const struct multi_lock_path *paths)
{
    if (m->count == 0 || m->count > MULTI_LOCK_PATHS)
        return false;
    if (m->state == MULTI_LOCK_ACQUIRING)
        return is_in_order(m, paths);
    if (m->state == MULTI_LOCK_HOLDING)
        return multi_lock_front(m, paths) == m->count;
    return first_in(m, paths, ~BIT(MULTI_LOCK_OUT)) == m->count;
}

/* ---- moves ---- */

static void multi_lock_move(struct multi_lock *m, enum multi_lock_state to)
{
    assert(multi_lock_may_move(m->state, to));
    m->state = to;
}

static void multi_lock_set_place(struct multi_lock_path *path, enum multi_lock_place to)
{
    assert(multi_lock_may_go(path->place, to));
    path->place = to;
}

static struct multi_lock_action *multi_lock_act(struct multi_lock_actions *out,
                                                enum multi_lock_action_kind kind)
{
    assert(out->count < 2 * MULTI_LOCK_PATHS + 1);
    struct multi_lock_action *a = &out->list[out->count++];
    *a = (struct multi_lock_action){.kind = kind};
    return a;
}

/* Leaves the path and all later ones, the last one first. A contender that waits for all of them
 * then finds the later ones free when it gets the earlier. */
static void leave_from(const struct multi_lock *m, struct multi_lock_path *paths, uint32_t from,
                       struct multi_lock_actions *out)
{
    for (uint32_t i = m->count; i-- > from;) {
        if (paths[i].place == MULTI_LOCK_OUT)
            continue;
        multi_lock_set_place(&paths[i], MULTI_LOCK_OUT);
        multi_lock_act(out, MULTI_LOCK_ACT_LEAVE)->path = i;
    }
}

/* Does what follows from where the paths are now. */
static void multi_lock_go_on(struct multi_lock *m, struct multi_lock_path *paths,
                             struct multi_lock_actions *out)
{
    const uint32_t waiting = first_in(m, paths, BIT(MULTI_LOCK_WAITING));

    if (waiting < m->count) {
        leave_from(m, paths, waiting + 1, out);
        return;
    }
    for (uint32_t i = 0; i < m->count && i <= last_to_enter(m, paths); i++) {
        if (paths[i].place != MULTI_LOCK_OUT)
            continue;
        multi_lock_set_place(&paths[i], MULTI_LOCK_ENTERING);
        paths[i].entry = ++m->entries;
        struct multi_lock_action *a = multi_lock_act(out, MULTI_LOCK_ACT_ENTER);
        a->path = i;
        a->entry = paths[i].entry;
    }
    if (multi_lock_front(m, paths) < m->count)
        return;
    multi_lock_act(out, MULTI_LOCK_ACT_GRANT);
    multi_lock_move(m, MULTI_LOCK_HOLDING);
}

/* ---- events ---- */

/* Handles the loss of a path's grant. The path is not left: its node ends by itself. */
static void multi_lock_lose(struct multi_lock *m, struct multi_lock_path *paths, uint32_t at,
                            struct multi_lock_actions *out)
{
    multi_lock_set_place(&paths[at], MULTI_LOCK_OUT);
    if (m->state == MULTI_LOCK_ACQUIRING) {
        leave_from(m, paths, at + 1, out);
        multi_lock_go_on(m, paths, out);
        return;
    }
    for (uint32_t i = 0; i < m->count; i++)
        paths[i].place = MULTI_LOCK_OUT;
    multi_lock_act(out, MULTI_LOCK_ACT_LOSE);
    multi_lock_move(m, MULTI_LOCK_DONE);
}

static void multi_lock_fail(struct multi_lock *m, struct multi_lock_path *paths,
                            struct multi_lock_actions *out)
{
    leave_from(m, paths, 0, out);
    multi_lock_act(out, MULTI_LOCK_ACT_FAIL);
    multi_lock_move(m, MULTI_LOCK_DONE);
}

/* Takes an event of a path. The attempt is under way until it is granted or has failed. */
static void multi_lock_step_path(struct multi_lock *m, struct multi_lock_path *paths,
                                 const struct multi_lock_event *ev, struct multi_lock_actions *out)
{
    struct multi_lock_path *path = &paths[ev->path];
    const bool under_way = path->place == MULTI_LOCK_ENTERING || path->place == MULTI_LOCK_WAITING;

    if (ev->entry != path->entry)
        return;
    if (ev->kind == MULTI_LOCK_EV_FAILED && under_way) {
        multi_lock_set_place(path, MULTI_LOCK_OUT);
        multi_lock_fail(m, paths, out);
    } else if (ev->kind == MULTI_LOCK_EV_GRANTED && under_way) {
        multi_lock_set_place(path, MULTI_LOCK_HELD);
        multi_lock_go_on(m, paths, out);
    } else if (ev->kind == MULTI_LOCK_EV_WAITS && path->place == MULTI_LOCK_ENTERING) {
        multi_lock_set_place(path, MULTI_LOCK_WAITING);
        multi_lock_go_on(m, paths, out);
    } else if (ev->kind == MULTI_LOCK_EV_LOST && path->place == MULTI_LOCK_HELD) {
        multi_lock_lose(m, paths, ev->path, out);
    }
}

void multi_lock_init(struct multi_lock *m, struct multi_lock_path *paths)
{
    *m = (struct multi_lock){
        .state = MULTI_LOCK_IDLE, .count = m->count, .one_by_one = m->one_by_one};
    for (uint32_t i = 0; i < m->count; i++)
        paths[i] = (struct multi_lock_path){.place = MULTI_LOCK_OUT};
}

void multi_lock_step(struct multi_lock *m, struct multi_lock_path *paths,
                     const struct multi_lock_event *ev, struct multi_lock_actions *out)
{
    out->count = 0;
    switch (ev->kind) {
    case MULTI_LOCK_EV_BEGIN:
        if (m->state != MULTI_LOCK_IDLE)
            break;
        multi_lock_move(m, MULTI_LOCK_ACQUIRING);
        multi_lock_go_on(m, paths, out);
        break;
    case MULTI_LOCK_EV_ABORT:
        if (m->state < MULTI_LOCK_HOLDING)
            multi_lock_fail(m, paths, out);
        break;
    case MULTI_LOCK_EV_RELEASE:
        if (m->state != MULTI_LOCK_HOLDING)
            break;
        leave_from(m, paths, 0, out);
        multi_lock_move(m, MULTI_LOCK_DONE);
        break;
    default:
        multi_lock_step_path(m, paths, ev, out);
    }
    assert(multi_lock_invariant(m, paths));
}
