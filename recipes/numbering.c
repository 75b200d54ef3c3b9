#include "numbering.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} numbering_table[NUMBERING_STATES] = {
    [NUMBERING_IDLE] = {"idle", BIT(NUMBERING_LISTING) | BIT(NUMBERING_OVER)},
    [NUMBERING_LISTING] = {"listing", BIT(NUMBERING_READING) | BIT(NUMBERING_OVER)},
    [NUMBERING_READING] = {"reading", BIT(NUMBERING_WAITING) | BIT(NUMBERING_WRITING) |
                                          BIT(NUMBERING_NUMBERED) | BIT(NUMBERING_OVER)},
    [NUMBERING_WAITING] = {"waiting",
                           BIT(NUMBERING_READING) | BIT(NUMBERING_WRITING) | BIT(NUMBERING_OVER)},
    [NUMBERING_WRITING] = {"writing",
                           BIT(NUMBERING_LISTING) | BIT(NUMBERING_NUMBERED) | BIT(NUMBERING_OVER)},
    [NUMBERING_NUMBERED] = {"numbered", 0},
    [NUMBERING_OVER] = {"over", 0},
};

const char *numbering_state_name(enum numbering_state state)
{
    return state < NUMBERING_STATES ? numbering_table[state].name : "?";
}

bool numbering_may_move(enum numbering_state from, enum numbering_state to)
{
    return (numbering_table[from].next & BIT(to)) != 0;
}

bool numbering_invariant(const struct numbering *n)
{
    return (n->state == NUMBERING_READING) == (n->left > 0) && (n->first == 0 || n->unknown == 0) &&
           (n->state != NUMBERING_WAITING || (n->unnumbered != NUMBERING_NOBODY && n->unknown > 0));
}

static void numbering_end(struct numbering *n, struct machine_actions *out)
{
    n->state = NUMBERING_OVER;
    n->left = 0;
    machine_act(out, MACHINE_ACT_END);
}

/* Ends after a refusal. If the own node is missing, the admission ends, too; no other refusal is
 * expected. */
static void numbering_end_by(struct numbering *n, enum store_rc rc, struct machine_actions *out)
{
    numbering_end(n, out);
    machine_tell(out, rc == STORE_NONODE ? NUMBERING_NODE_GONE : NUMBERING_FAILED, rc);
}

static void numbering_succeed(struct numbering *n, struct machine_actions *out)
{
    n->state = NUMBERING_NUMBERED;
    n->left = 0;
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, NUMBERING_DONE, STORE_OK);
}

static void numbering_list(struct numbering *n, struct machine_actions *out)
{
    n->state = NUMBERING_LISTING;
    machine_ask(out, STORE_LIST, NUMBERING_DIRECTORY);
}

/* Begins READING, which ends after that many answers. */
static void numbering_read_next(struct numbering *n, uint32_t left)
{
    n->state = NUMBERING_READING;
    n->left = left;
    n->unnumbered = NUMBERING_NOBODY;
}

static void numbering_on_listed(struct numbering *n, const struct machine_event *ev,
                                const struct numbering_moment *shown, struct machine_actions *out)
{
    if (ev->rc != STORE_OK) {
        numbering_end_by(n, ev->rc, out);
        return;
    }
    n->before = n->unknown = shown->count;
    n->permits = shown->permits;
    n->first = 0;
    numbering_read_next(n, shown->count > 0 ? 2 : 1);
    machine_ask(out, STORE_GET, NUMBERING_OWN);
    if (shown->count > 0)
        machine_ask(out, STORE_GET, NUMBERING_BEFORE + shown->count - 1)->joins = true;
}

/* Goes on when all reads are answered: waits for a node without numbers, reads all that are not
 * known, or sets the own numbers. */
static void numbering_ask_next(struct numbering *n, struct machine_actions *out)
{
    if (n->unnumbered != NUMBERING_NOBODY) {
        n->state = NUMBERING_WAITING;
        machine_ask(out, STORE_GET, NUMBERING_BEFORE + n->unnumbered)->watch = true;
    } else if (n->unknown > 0) {
        numbering_read_next(n, n->unknown);
        machine_ask(out, STORE_GET, NUMBERING_BEFORE)->more = n->before - 1;
    } else {
        n->state = NUMBERING_WRITING;
        machine_ask(out, STORE_SET, NUMBERING_OWN)->version = n->version;
    }
}

/* Takes the read of a node before the own one. A node that is gone counts as known: it has no
 * numbers. The node right before the own node is the first to become known. Only that node's
 * ceiling covers all before the own node. So .permits becomes 0 then, and no later ceiling is low
 * enough to be taken. */
static void numbering_on_read(struct numbering *n, const struct machine_event *ev,
                              const struct numbering_moment *shown, struct machine_actions *out)
{
    const uint32_t at = ev->node - NUMBERING_BEFORE;
    const bool known = ev->rc == STORE_NONODE || shown->numbered;

    if (ev->rc != STORE_OK && ev->rc != STORE_NONODE) {
        numbering_end_by(n, ev->rc, out);
        return;
    }
    if (known) {
        n->unknown--;
        if (ev->rc == STORE_OK && shown->ceiling > 0 && (uint64_t)shown->ceiling <= n->permits) {
            n->first = shown->ceiling;
            n->unknown = 0;
        }
        n->permits = 0;
    } else if (n->unnumbered == NUMBERING_NOBODY || at > n->unnumbered) {
        n->unnumbered = at;
    }
    if (n->state != NUMBERING_WAITING) {
        if (--n->left == 0)
            numbering_ask_next(n, out);
    } else if (known) { /* the node that was read again, with a watch */
        machine_act(out, MACHINE_ACT_UNWATCH)->node = ev->node;
        n->unnumbered = NUMBERING_NOBODY;
        numbering_ask_next(n, out);
    }
}

static void numbering_on_answer(struct numbering *n, const struct machine_event *ev,
                                const struct numbering_moment *shown, struct machine_actions *out)
{
    if (ev->verb == STORE_LIST) {
        numbering_on_listed(n, ev, shown, out);
    } else if (ev->verb == STORE_SET) {
        if (ev->rc == STORE_OK)
            numbering_succeed(n, out);
        else if (ev->rc == STORE_BADVERSION)
            numbering_list(n, out);
        else
            numbering_end_by(n, ev->rc, out);
    } else if (ev->node == NUMBERING_OWN) {
        n->version = ev->version;
        if (ev->rc != STORE_OK)
            numbering_end_by(n, ev->rc, out);
        else if (shown->numbered)
            numbering_succeed(n, out);
        else if (--n->left == 0)
            numbering_ask_next(n, out);
    } else {
        numbering_on_read(n, ev, shown, out);
    }
}

void numbering_step(struct numbering *n, const struct machine_event *ev,
                    const struct numbering_moment *shown, struct machine_actions *out)
{
    const enum numbering_state from = n->state;

    if (from == NUMBERING_NUMBERED || from == NUMBERING_OVER)
        return;
    if (ev->kind == MACHINE_EV_BEGIN) {
        numbering_list(n, out);
    } else if (ev->kind == MACHINE_EV_ANSWER) {
        numbering_on_answer(n, ev, shown, out);
    } else if (ev->kind == MACHINE_EV_FIRED) {
        numbering_read_next(n, 1);
        machine_ask(out, STORE_GET, ev->node);
    } else {
        numbering_end(n, out);
    }
    assert(n->state == from || numbering_may_move(from, n->state));
    assert(numbering_invariant(n));
}

/* ---- numbers ---- */

static bool numbering_is_used(const int32_t *used, size_t count, int32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (used[i] == number)
            return true;
    return false;
}

int32_t numbering_choose(const int32_t *used, size_t used_count, int32_t first, int32_t *ret,
                         size_t count)
{
    uint32_t number = (uint32_t)first;

    for (size_t i = 0; i < count; number++)
        if (!numbering_is_used(used, used_count, (int32_t)number))
            ret[i++] = (int32_t)number;
    for (size_t i = 0; i < used_count; i++)
        if ((uint32_t)used[i] >= number)
            number = (uint32_t)used[i] + 1;
    return number <= INT32_MAX ? (int32_t)number : 0;
}
