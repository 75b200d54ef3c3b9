#include "counter.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[COUNTER_STATES] = {
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
    return state < COUNTER_STATES ? table[state].name : "?";
}

bool counter_may_move(enum counter_state from, enum counter_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

/* A set may be applied that was not answered. */
static bool is_doubtful(const struct counter *c)
{
    return c->state == COUNTER_SETTING || c->state == COUNTER_PASSING ||
           c->state == COUNTER_CHECKING;
}

bool counter_invariant(const struct counter *c)
{
    if (c->width != 4 && c->width != 8)
        return false;
    if (is_doubtful(c) && (c->goal == COUNTER_GET || !counter_fits(c->width, c->next)))
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

static bool overflows(int64_t a, int64_t b)
{
    return b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b;
}

enum counter_verdict counter_next(const struct counter *c, int64_t value, int64_t *ret)
{
    if (c->goal == COUNTER_SWAP && value != c->expected)
        return COUNTER_MISMATCH;
    if (c->goal == COUNTER_GET)
        *ret = value;
    else if (c->goal != COUNTER_ADD)
        *ret = c->operand;
    else if (!overflows(value, c->operand))
        *ret = value + c->operand;
    else
        return COUNTER_OVERFLOW;
    return counter_fits(c->width, *ret) ? COUNTER_DONE : COUNTER_OVERFLOW;
}

/* ---- steps ---- */

static void move(struct counter *c, enum counter_state to)
{
    assert(counter_may_move(c->state, to));
    c->state = to;
}

static void ask(struct counter *c, struct counter_action *out, enum counter_state state,
                enum counter_action_kind kind)
{
    move(c, state);
    out->kind = kind;
}

static void end(struct counter *c, struct counter_action *out, enum counter_verdict verdict)
{
    move(c, COUNTER_OVER);
    out->kind = COUNTER_ACT_END;
    out->verdict = verdict;
}

static void set(struct counter *c, struct counter_action *out)
{
    if (c->tries == COUNTER_TRIES) {
        end(c, out, c->doubted ? COUNTER_UNKNOWN : COUNTER_BUSY);
        return;
    }
    c->tries++;
    ask(c, out, COUNTER_SETTING, COUNTER_ACT_SET);
    out->version = c->version;
    counter_encode(c->width, c->next, out->bytes);
}

/* From that value on; or it has ended. */
static bool is_to_be_written(struct counter *c, int64_t value, struct counter_action *out)
{
    const enum counter_verdict verdict = counter_next(c, value, &c->next);

    if (verdict == COUNTER_DONE && c->goal != COUNTER_GET)
        return true;
    end(c, out, verdict);
    return false;
}

/* Every set is made, even of the number that it is: whoever watches the node expects it. */
static void use(struct counter *c, const struct counter_event *ev, struct counter_action *out)
{
    int64_t value;

    if (!counter_decode(c->width, ev->data, ev->length, &value)) {
        end(c, out, COUNTER_ODD);
        return;
    }
    c->version = ev->version;
    c->czxid = ev->czxid;
    if (is_to_be_written(c, value, out))
        set(c, out);
}

/* A set was not answered: what was its version used for? While that is the present one it may still
 * come, but no second time for the same version. */
static void judge(struct counter *c, const struct counter_event *ev, struct counter_action *out)
{
    const int32_t next = (int32_t)((uint32_t)c->version + 1);
    int64_t value;
    bool same = counter_decode(c->width, ev->data, ev->length, &value) && ev->length > 0 &&
                value == c->next;

    if (ev->czxid != c->czxid || (ev->version != c->version && ev->version != next))
        end(c, out, COUNTER_UNKNOWN);
    else if (ev->version != c->version && same)
        /* ours, or the same number of another client: for a plain set that is as good */
        end(c, out, c->goal == COUNTER_SET ? COUNTER_DONE : COUNTER_UNKNOWN);
    else {
        c->doubted = ev->version == c->version;
        use(c, ev, out);
    }
}

/* Nothing was set yet, or what was set is known. */
static void step_reading(struct counter *c, const struct counter_event *ev,
                         struct counter_action *out)
{
    switch (ev->kind) {
    case COUNTER_EV_VALUE:
        use(c, ev, out);
        break;
    case COUNTER_EV_NO_NODE: /* 0: what is refused makes no node */
        if (is_to_be_written(c, 0, out))
            ask(c, out, COUNTER_MAKING, COUNTER_ACT_MAKE);
        break;
    case COUNTER_EV_REFUSED:
        end(c, out, COUNTER_REFUSED);
        break;
    case COUNTER_EV_TIMEOUT:
        end(c, out, COUNTER_LATE);
        break;
    default:
        ask(c, out, COUNTER_READING, COUNTER_ACT_READ);
        break;
    }
}

static void step_setting(struct counter *c, const struct counter_event *ev,
                         struct counter_action *out)
{
    switch (ev->kind) {
    case COUNTER_EV_SET: /* of another node than was read? */
        end(c, out,
            ev->czxid == c->czxid || c->goal == COUNTER_SET ? COUNTER_DONE : COUNTER_UNKNOWN);
        break;
    case COUNTER_EV_OUTDATED:
    case COUNTER_EV_NO_NODE:
        ask(c, out, c->doubted ? COUNTER_CHECKING : COUNTER_READING, COUNTER_ACT_READ);
        break;
    case COUNTER_EV_UNKNOWN:
        c->doubted = true;
        ask(c, out, COUNTER_PASSING, COUNTER_ACT_PASS);
        break;
    case COUNTER_EV_REFUSED:
        end(c, out, c->doubted ? COUNTER_UNKNOWN : COUNTER_REFUSED);
        break;
    default:
        end(c, out, ev->unsent && !c->doubted ? COUNTER_LATE : COUNTER_UNKNOWN);
        break;
    }
}

bool counter_step(struct counter *c, const struct counter_event *ev, struct counter_action *out)
{
    *out = (struct counter_action){.kind = COUNTER_ACT_END};
    switch (c->state) {
    case COUNTER_IDLE:
    case COUNTER_READING:
    case COUNTER_MAKING:
        step_reading(c, ev, out);
        break;
    case COUNTER_SETTING:
        step_setting(c, ev, out);
        break;
    case COUNTER_PASSING:
        if (ev->kind == COUNTER_EV_PASSED)
            ask(c, out, COUNTER_CHECKING, COUNTER_ACT_READ);
        else
            end(c, out, COUNTER_UNKNOWN);
        break;
    case COUNTER_CHECKING:
        if (ev->kind == COUNTER_EV_VALUE)
            judge(c, ev, out);
        else
            end(c, out, COUNTER_UNKNOWN);
        break;
    default:
        return false;
    }
    assert(counter_invariant(c));
    return true;
}
