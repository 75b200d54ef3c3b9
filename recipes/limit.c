#include "limit.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const uint32_t limit_table[LIMIT_STATES] = {
    [LIMIT_IDLE] = BIT(LIMIT_READING) | BIT(LIMIT_OVER),
    [LIMIT_READING] = BIT(LIMIT_READING) | BIT(LIMIT_SETTING) | BIT(LIMIT_OVER),
    [LIMIT_SETTING] = BIT(LIMIT_READING) | BIT(LIMIT_OVER),
};

bool limit_may_move(enum limit_state from, enum limit_state to)
{
    return (limit_table[from] & BIT(to)) != 0;
}

static void limit_move(struct limit_call *l, enum limit_state to)
{
    assert(limit_may_move(l->state, to));
    l->state = to;
}

static void limit_end(struct limit_call *l, struct machine_actions *out, enum limit_verdict verdict,
                      enum store_rc rc)
{
    limit_move(l, LIMIT_OVER);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, rc);
}

/* Decides by the limit that was read. In a node without data a limit can be set, but none can be
 * read. */
static void limit_use(struct limit_call *l, const struct machine_event *ev,
                      struct machine_actions *out)
{
    l->limit = limit_read(ev->data, ev->length);
    if (l->limit == 0 && (ev->length > 0 || l->wanted == 0)) {
        limit_end(l, out, LIMIT_ODD, STORE_OK);
    } else if (l->wanted != 0 && l->limit != l->wanted) {
        limit_move(l, LIMIT_SETTING);
        machine_ask(out, STORE_SET, 0)->version = ev->version;
    } else {
        limit_end(l, out, LIMIT_DONE, STORE_OK);
    }
}

void limit_step(struct limit_call *l, const struct machine_event *ev, struct machine_actions *out)
{
    if (l->state == LIMIT_OVER)
        return;
    if (ev->kind == MACHINE_EV_STOP) {
        limit_end(l, out, LIMIT_STOPPED, STORE_OK);
    } else if (ev->kind != MACHINE_EV_ANSWER || ev->rc == STORE_BADVERSION) {
        limit_move(l, LIMIT_READING);
        machine_ask(out, STORE_GET, 0);
    } else if (ev->rc != STORE_OK) {
        limit_end(l, out, LIMIT_REFUSED, ev->rc);
    } else if (l->state == LIMIT_READING) {
        limit_use(l, ev, out);
    } else {
        limit_end(l, out, LIMIT_DONE, STORE_OK);
    }
}

int32_t limit_read(const char *data, size_t length)
{
    int64_t value = 0;

    for (size_t i = 0; i < length; i++) {
        if (data[i] < '0' || data[i] > '9')
            return 0;
        value = value * 10 + (data[i] - '0');
        if (value > INT32_MAX)
            return 0;
    }
    return (int32_t)value;
}
