#include "numbering.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[NUMBERING_STATES] = {
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
    return state < NUMBERING_STATES ? table[state].name : "?";
}

bool numbering_may_move(enum numbering_state from, enum numbering_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

bool numbering_invariant(const struct numbering *n)
{
    return (n->state == NUMBERING_READING) == (n->left > 0) && (n->first == 0 || n->unknown == 0) &&
           (n->state != NUMBERING_WAITING || (n->who != NUMBERING_NOBODY && n->unknown > 0));
}

static void act(struct numbering_actions *out, enum numbering_action_kind kind,
                const struct numbering *n)
{
    assert(out->count < NUMBERING_ACTIONS);
    out->list[out->count++] = (struct numbering_action){.kind = kind, .tag = n->tag, .who = n->who};
}

static void move(struct numbering *n, enum numbering_state to, struct numbering_actions *out,
                 enum numbering_action_kind kind)
{
    n->state = to;
    n->tag++;
    act(out, kind, n);
}

static void end(struct numbering *n, struct numbering_actions *out, enum numbering_action_kind kind)
{
    n->left = 0;
    move(n, NUMBERING_OVER, out, kind);
}

/* What the own node's end is for whoever was admitted; anything else cannot be. */
static void end_by(struct numbering *n, enum numbering_answer answer, struct numbering_actions *out)
{
    end(n, out, answer == NUMBERING_GONE ? NUMBERING_ACT_VANISHED : NUMBERING_ACT_FAIL);
}

/* READING: so many answers are to come. */
static void read_next(struct numbering *n, uint32_t left, struct numbering_actions *out,
                      enum numbering_action_kind kind)
{
    move(n, NUMBERING_READING, out, kind);
    n->left = left;
    n->who = NUMBERING_NOBODY;
}

static void on_listed(struct numbering *n, const struct numbering_event *ev,
                      struct numbering_actions *out)
{
    if (ev->answer != NUMBERING_OK) {
        end_by(n, ev->answer, out);
        return;
    }
    n->unknown = ev->count;
    n->permits = ev->permits;
    n->first = 0;
    read_next(n, 1, out, NUMBERING_ACT_OWN);
    if (ev->count == 0)
        return;
    n->left++;
    act(out, NUMBERING_ACT_LOOK, n);
    out->list[out->count - 1].who = ev->count - 1;
}

static void ask_next(struct numbering *n, struct numbering_actions *out)
{
    if (n->who != NUMBERING_NOBODY)
        move(n, NUMBERING_WAITING, out, NUMBERING_ACT_WATCH);
    else if (n->unknown > 0)
        read_next(n, n->unknown, out, NUMBERING_ACT_READ);
    else
        move(n, NUMBERING_WRITING, out, NUMBERING_ACT_WRITE);
}

/* One that is gone by now uses none. The first that is known is the one right before the own node:
 * no other can tell of all before it. */
static void learn_numbers(struct numbering *n, const struct numbering_event *ev)
{
    n->unknown--;
    if (ev->answer == NUMBERING_OK && ev->ceiling > 0 && (uint64_t)ev->ceiling <= n->permits) {
        n->first = ev->ceiling;
        n->unknown = 0;
    }
    n->permits = 0;
}

static void on_read(struct numbering *n, const struct numbering_event *ev,
                    struct numbering_actions *out)
{
    const bool own = ev->kind == NUMBERING_EV_OWN;

    if (ev->answer == NUMBERING_REFUSED || (own && ev->answer == NUMBERING_GONE)) {
        end_by(n, ev->answer, out);
        return;
    }
    if (own && ev->answer == NUMBERING_OK) {
        n->left = 0;
        move(n, NUMBERING_NUMBERED, out, NUMBERING_ACT_DONE);
        return;
    }
    if (!own && ev->answer != NUMBERING_NONE_YET)
        learn_numbers(n, ev);
    else if (!own && (n->who == NUMBERING_NOBODY || ev->who > n->who))
        n->who = ev->who;
    if (--n->left == 0)
        ask_next(n, out);
}

static void on_watched(struct numbering *n, const struct numbering_event *ev,
                       struct numbering_actions *out)
{
    const uint32_t who = n->who;

    if (ev->kind == NUMBERING_EV_WATCHED && ev->answer == NUMBERING_NONE_YET)
        return;
    act(out, NUMBERING_ACT_UNWATCH, n);
    if (ev->kind == NUMBERING_EV_FIRED) {
        read_next(n, 1, out, NUMBERING_ACT_LOOK);
        out->list[out->count - 1].who = who;
    } else if (ev->answer == NUMBERING_REFUSED) {
        end_by(n, ev->answer, out);
    } else {
        learn_numbers(n, ev);
        n->who = NUMBERING_NOBODY;
        ask_next(n, out);
    }
}

static void on_written(struct numbering *n, const struct numbering_event *ev,
                       struct numbering_actions *out)
{
    if (ev->answer == NUMBERING_OK)
        move(n, NUMBERING_NUMBERED, out, NUMBERING_ACT_DONE);
    else if (ev->answer == NUMBERING_CHANGED)
        move(n, NUMBERING_LISTING, out, NUMBERING_ACT_LIST);
    else
        end_by(n, ev->answer, out);
}

static void on_end(struct numbering *n, struct numbering_actions *out)
{
    if (n->state == NUMBERING_WAITING)
        act(out, NUMBERING_ACT_UNWATCH, n);
    n->state = NUMBERING_OVER;
    n->left = 0;
    n->tag++;
}

static void step(struct numbering *n, const struct numbering_event *ev,
                 struct numbering_actions *out)
{
    const enum numbering_state s = n->state;
    const enum numbering_event_kind kind = ev->kind;
    const bool current = ev->tag == n->tag;

    if (s == NUMBERING_NUMBERED || s == NUMBERING_OVER)
        return;
    if (kind == NUMBERING_EV_END)
        on_end(n, out);
    else if (kind == NUMBERING_EV_BEGIN && s == NUMBERING_IDLE)
        move(n, NUMBERING_LISTING, out, NUMBERING_ACT_LIST);
    else if (kind == NUMBERING_EV_LISTED && s == NUMBERING_LISTING && current)
        on_listed(n, ev, out);
    else if ((kind == NUMBERING_EV_READ || kind == NUMBERING_EV_OWN) && s == NUMBERING_READING &&
             current)
        on_read(n, ev, out);
    else if (s == NUMBERING_WAITING &&
             (kind == NUMBERING_EV_FIRED || (kind == NUMBERING_EV_WATCHED && current)))
        on_watched(n, ev, out);
    else if (kind == NUMBERING_EV_WRITTEN && s == NUMBERING_WRITING && current)
        on_written(n, ev, out);
}

void numbering_step(struct numbering *n, const struct numbering_event *ev,
                    struct numbering_actions *out)
{
    const enum numbering_state from = n->state;

    out->count = 0;
    step(n, ev, out);
    assert(n->state == from || numbering_may_move(from, n->state));
    assert(numbering_invariant(n));
}

/* ---- numbers ---- */

static bool is_used(const int32_t *used, size_t count, int32_t number)
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
        if (!is_used(used, used_count, (int32_t)number))
            ret[i++] = (int32_t)number;
    for (size_t i = 0; i < used_count; i++)
        if ((uint32_t)used[i] >= number)
            number = (uint32_t)used[i] + 1;
    return number <= INT32_MAX ? (int32_t)number : 0;
}

/* The number that ends at end, and the space before it, which begins at *ret_at; -1: there is none.
 */
static int64_t read_last(const char *data, size_t end, size_t *ret_at)
{
    size_t at = end;
    int64_t number = 0;

    while (at > 0 && data[at - 1] >= '0' && data[at - 1] <= '9')
        at--;
    if (at == end || end - at > 10 || at == 0 || data[at - 1] != ' ')
        return -1;
    for (size_t i = at; i < end; i++)
        number = number * 10 + (data[i] - '0');
    *ret_at = at - 1;
    return number <= INT32_MAX ? number : -1;
}

int32_t numbering_ceiling(const char *data, size_t *length)
{
    const size_t words = sizeof NUMBERING_CEILING - 2; /* the space is the number's */
    size_t at = *length;
    const int64_t number = read_last(data, at, &at);

    if (number <= 0 || at < words || memcmp(data + at - words, NUMBERING_CEILING, words) != 0)
        return 0;
    *length = at - words;
    return (int32_t)number;
}

size_t numbering_read(const char *data, size_t length, int32_t *ret, size_t max,
                      size_t *ret_payload)
{
    const size_t words = sizeof NUMBERING_WORDS - 1;
    size_t at = length, count = 0;
    int64_t number;

    numbering_ceiling(data, &at);
    while ((number = read_last(data, at, &at)) >= 0) {
        if (count < max)
            ret[count] = (int32_t)number;
        count++;
    }
    *ret_payload = length;
    if (count == 0 || at < words || memcmp(data + at - words, NUMBERING_WORDS, words) != 0)
        return 0;
    *ret_payload = at - words;
    return count;
}
