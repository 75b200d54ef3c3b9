#include "counter.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} counter_table[COUNTER_STATES] = {
    [COUNTER_IDLE] = {"idle", BIT(COUNTER_READING) | BIT(COUNTER_OVER)},
    [COUNTER_READING] = {"reading", BIT(COUNTER_READING) | BIT(COUNTER_MAKING) |
                                        BIT(COUNTER_SETTING) | BIT(COUNTER_OVER)},
    [COUNTER_MAKING] = {"making", BIT(COUNTER_READING) | BIT(COUNTER_OVER)},
    [COUNTER_SETTING] = {"setting", BIT(COUNTER_READING) | BIT(COUNTER_PASSING) |
                                        BIT(COUNTER_CHECKING) | BIT(COUNTER_OVER)},
    [COUNTER_PASSING] = {"passing", BIT(COUNTER_CHECKING) | BIT(COUNTER_OVER)},
    [COUNTER_CHECKING] = {"checking", BIT(COUNTER_SETTING) | BIT(COUNTER_OVER)},
    [COUNTER_OVER] = {"over", 0},
};

const char *counter_state_name(enum counter_state state)
{
    return state < COUNTER_STATES ? counter_table[state].name : "?";
}

bool counter_may_move(enum counter_state from, enum counter_state to)
{
    return (counter_table[from].next & BIT(to)) != 0;
}

/* Whether a set was sent that may be applied, and whose answer is not known. */
static bool counter_is_doubtful(const struct counter *c)
{
    return c->state == COUNTER_SETTING || c->state == COUNTER_PASSING ||
           c->state == COUNTER_CHECKING;
}

bool counter_invariant(const struct counter *c)
{
    if (c->width != 4 && c->width != 8)
        return false;
    if (counter_is_doubtful(c) && (c->goal == COUNTER_GET || !counter_fits(c->width, c->next)))
        return false;
    return c->tries <= COUNTER_TRIES;
}

/* ---- numbers ---- */

bool counter_fits(unsigned width, int64_t value)
{
    return width == 8 || (value >= INT32_MIN && value <= INT32_MAX);
}

void counter_encode(unsigned width, int64_t value, uint8_t *bytes)
{
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * (width - 1 - i)));
}

bool counter_decode(unsigned width, const void *data, size_t length, int64_t *ret)
{
    const uint8_t *bytes = data;
    uint64_t bits = 0;

    if (length != 0 && length != width)
        return false;
    for (size_t i = 0; i < length; i++)
        bits = bits << 8 | bytes[i];
    *ret = length == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    return true;
}

enum counter_verdict counter_next(const struct counter *c, int64_t value, int64_t *ret)
{
    if (c->goal == COUNTER_SWAP && value != c->expected)
        return COUNTER_MISMATCH;
    if (c->goal == COUNTER_GET)
        *ret = value;
    else if (c->goal != COUNTER_ADD)
        *ret = c->operand;
    else if (c->operand > 0 ? value > INT64_MAX - c->operand : value < INT64_MIN - c->operand)
        return COUNTER_OVERFLOW;
    else
        *ret = value + c->operand;
    return counter_fits(c->width, *ret) ? COUNTER_DONE : COUNTER_OVERFLOW;
}

/* ---- steps ---- */

static void counter_move(struct counter *c, enum counter_state to)
{
    assert(counter_may_move(c->state, to));
    c->state = to;
}

static void counter_end(struct counter *c, struct machine_actions *out,
                        enum counter_verdict verdict, enum store_rc rc)
{
    counter_move(c, COUNTER_OVER);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, rc);
}

/* Reads the number. If that is all, it syncs first, so that no server that lags is asked. */
static void counter_read(struct counter *c, struct machine_actions *out, enum counter_state state)
{
    const bool first = c->goal == COUNTER_GET;

    counter_move(c, state);
    if (first)
        machine_ask(out, STORE_SYNC, COUNTER_NODE);
    machine_ask(out, STORE_GET, COUNTER_NODE)->joins = first;
}

int64_t counter_written(const struct counter *c)
{
    return c->state == COUNTER_SETTING ? c->next : 0;
}

/* Whether a number is to be written in place of that value. If not, the operation has ended. */
static bool counter_is_to_write(struct counter *c, int64_t value, struct machine_actions *out)
{
    const enum counter_verdict verdict = counter_next(c, value, &c->next);

    if (verdict == COUNTER_DONE && c->goal != COUNTER_GET)
        return true;
    counter_end(c, out, verdict, STORE_OK);
    return false;
}

/* Decides by the number that was read, and writes the next one, unless other clients were faster
 * too often. A set is made even if it does not change the number, since watches of the node are to
 * fire. */
static void counter_use(struct counter *c, const struct machine_event *ev,
                        struct machine_actions *out)
{
    struct machine_action *a;
    int64_t value;

    if (!counter_decode(c->width, ev->data, ev->length, &value)) {
        counter_end(c, out, COUNTER_ODD, STORE_OK);
        return;
    }
    c->version = ev->version;
    c->czxid = ev->czxid;
    if (!counter_is_to_write(c, value, out))
        return;
    if (c->tries == COUNTER_TRIES) {
        counter_end(c, out, c->doubted ? COUNTER_UNKNOWN : COUNTER_BUSY, STORE_OK);
        return;
    }
    c->tries++;
    counter_move(c, COUNTER_SETTING);
    a = machine_ask(out, STORE_SET, COUNTER_NODE);
    a->once = true;
    a->version = c->version;
}

/* Decides by a read after a set that was not answered: what was its version used for? While that
 * version is the present one the set may still come, but only one set is applied for a version. */
static void counter_judge(struct counter *c, const struct machine_event *ev,
                          struct machine_actions *out)
{
    const int32_t next = (int32_t)((uint32_t)c->version + 1);
    int64_t value;
    bool same = counter_decode(c->width, ev->data, ev->length, &value) && ev->length > 0 &&
                value == c->next;

    if (ev->czxid != c->czxid || (ev->version != c->version && ev->version != next))
        counter_end(c, out, COUNTER_UNKNOWN, STORE_OK);
    else if (ev->version != c->version && same)
        /* ours, or the same number of another client: for a plain set that is as good */
        counter_end(c, out, c->goal == COUNTER_SET ? COUNTER_DONE : COUNTER_UNKNOWN, STORE_OK);
    else {
        c->doubted = ev->version == c->version;
        counter_use(c, ev, out);
    }
}

/* ---- answers ---- */

static void counter_on_set(struct counter *c, const struct machine_event *ev,
                           struct machine_actions *out)
{
    switch (ev->rc) {
    case STORE_OK: /* the set may be of another node than was read */
        counter_end(c, out,
                    ev->czxid == c->czxid || c->goal == COUNTER_SET ? COUNTER_DONE
                                                                    : COUNTER_UNKNOWN,
                    STORE_OK);
        break;
    case STORE_BADVERSION:
    case STORE_NONODE:
        counter_read(c, out, c->doubted ? COUNTER_CHECKING : COUNTER_READING);
        break;
    case STORE_UNKNOWN:
        c->doubted = true;
        counter_move(c, COUNTER_PASSING);
        machine_ask_quorum(out, COUNTER_NODE_NONE);
        break;
    default:
        counter_end(c, out, c->doubted ? COUNTER_UNKNOWN : COUNTER_REFUSED, ev->rc);
        break;
    }
}

static void counter_on_answer(struct counter *c, const struct machine_event *ev,
                              struct machine_actions *out)
{
    if (ev->verb == STORE_SYNC)
        return; /* the read after it tells */
    switch (c->state) {
    case COUNTER_READING:
        if (ev->rc == STORE_OK) {
            counter_use(c, ev, out);
        } else if (ev->rc != STORE_NONODE) {
            counter_end(c, out, COUNTER_REFUSED, ev->rc);
        } else if (counter_is_to_write(c, 0, out)) {
            /* makes the node with the number 0; an operation that is refused makes none */
            counter_move(c, COUNTER_MAKING);
            machine_ask(out, STORE_CREATE, COUNTER_NODE)->mode = STORE_PERSISTENT;
        }
        break;
    case COUNTER_MAKING:
        if (ev->rc == STORE_OK || ev->rc == STORE_EXISTS)
            counter_read(c, out, COUNTER_READING);
        else
            counter_end(c, out, COUNTER_REFUSED, ev->rc);
        break;
    case COUNTER_SETTING:
        counter_on_set(c, ev, out);
        break;
    case COUNTER_PASSING:
        if (machine_is_by_quorum(ev->rc))
            counter_read(c, out, COUNTER_CHECKING);
        else
            counter_end(c, out, COUNTER_UNKNOWN, STORE_OK);
        break;
    default:
        if (c->state == COUNTER_CHECKING && ev->rc == STORE_OK)
            counter_judge(c, ev, out);
        else
            counter_end(c, out, COUNTER_UNKNOWN, STORE_OK);
        break;
    }
}

void counter_step(struct counter *c, const struct machine_event *ev, struct machine_actions *out)
{
    const bool unsent = c->state == COUNTER_SETTING && ev->unsent; /* the last set was not sent */

    if (c->state == COUNTER_OVER)
        return;
    switch (ev->kind) {
    case MACHINE_EV_ANSWER:
        counter_on_answer(c, ev, out);
        break;
    case MACHINE_EV_STOP:
        counter_end(c, out,
                    counter_is_doubtful(c) && (!unsent || c->doubted) ? COUNTER_UNKNOWN
                                                                      : COUNTER_LATE,
                    STORE_OK);
        break;
    case MACHINE_EV_SESSION:
        if (unsent)
            counter_read(c, out, c->doubted ? COUNTER_CHECKING : COUNTER_READING);
        else if (counter_is_doubtful(c))
            counter_end(c, out, COUNTER_UNKNOWN, STORE_OK);
        else
            counter_read(c, out, COUNTER_READING);
        break;
    default:
        counter_read(c, out, COUNTER_READING);
        break;
    }
    assert(counter_invariant(c));
}

/* ---- a watch ---- */

static void counter_watch_read(struct machine_actions *out)
{
    machine_ask(out, STORE_GET, COUNTER_WATCHED)->watch = true;
}

/* Ends a query, and tells its result, unless the user was told the same last. odd: the data are no
 * number. */
static void counter_watch_found(struct counter_watch *w, bool odd, int64_t number,
                                const struct children_moment *m, struct machine_actions *out)
{
    const bool news = odd ? !w->odd : !w->told || w->odd || number != w->number;

    children_found(&w->children, m, 0);
    w->odd = odd;
    w->told = true;
    w->number = number;
    if (news)
        machine_tell(out, odd ? COUNTER_TELL_ODD : COUNTER_TELL_NUMBER, STORE_OK);
}

/* Handles an event or an answer about the node. If it has gone since it was listed, the watch of
 * that list tells. */
static void counter_watch_on_node(struct counter_watch *w, const struct machine_event *ev,
                                  const struct children_moment *m, struct machine_actions *out)
{
    int64_t number = 0;

    if (ev->kind == MACHINE_EV_FIRED && !ev->gone) {
        children_reread(&w->children);
        counter_watch_read(out);
    } else if (ev->kind == MACHINE_EV_FIRED || ev->rc == STORE_NONODE) {
        children_changed(&w->children, m, out);
    } else if (ev->rc == STORE_OK) {
        const bool odd = !counter_decode(w->width, ev->data, ev->length, &number);
        counter_watch_found(w, odd, number, m, out);
    } else {
        children_refused(&w->children, m, out, ev->rc);
    }
}

void counter_watch_step(struct counter_watch *w, const struct machine_event *ev,
                        const struct children_moment *m, struct machine_actions *out)
{
    const bool about = ev->kind == MACHINE_EV_FIRED || ev->kind == MACHINE_EV_ANSWER;

    if (about && ev->node == COUNTER_WATCHED) {
        counter_watch_on_node(w, ev, m, out);
        return;
    }
    const enum children_news news = children_step(&w->children, ev, m, out);
    if (news == CHILDREN_LISTED)
        counter_watch_read(out);
    else if (news == CHILDREN_MISSING)
        counter_watch_found(w, false, 0, m, out);
}
