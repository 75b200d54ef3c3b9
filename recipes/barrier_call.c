#include "barrier_call.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const uint32_t barrier_call_table[BARRIER_CALL_STATES] = {
    [BARRIER_CALL_IDLE] = BIT(BARRIER_CALL_ASKING) | BIT(BARRIER_CALL_OVER),
    [BARRIER_CALL_ASKING] =
        BIT(BARRIER_CALL_ASKING) | BIT(BARRIER_CALL_WATCHING) | BIT(BARRIER_CALL_OVER),
    [BARRIER_CALL_WATCHING] = BIT(BARRIER_CALL_ASKING) | BIT(BARRIER_CALL_OVER),
};

bool barrier_call_may_move(enum barrier_call_state from, enum barrier_call_state to)
{
    return (barrier_call_table[from] & BIT(to)) != 0;
}

static void barrier_call_move(struct barrier_call *c, enum barrier_call_state to)
{
    assert(barrier_call_may_move(c->state, to));
    c->state = to;
}

static void barrier_call_end(struct barrier_call *c, struct machine_actions *out,
                             enum barrier_call_verdict verdict, enum store_rc rc)
{
    barrier_call_move(c, BARRIER_CALL_OVER);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, rc);
}

static void barrier_call_read(struct barrier_call *c, struct machine_actions *out, bool also)
{
    struct machine_action *a = machine_ask(out, STORE_GET, 0);

    barrier_call_move(c, BARRIER_CALL_ASKING);
    a->watch = true;
    a->also = also;
}

/* A server that lags is not asked whether it is open. */
static void barrier_call_ask(struct barrier_call *c, struct machine_actions *out)
{
    if (c->goal == BARRIER_WAIT) {
        machine_ask(out, STORE_SYNC, 0);
        barrier_call_read(c, out, true);
        return;
    }
    barrier_call_move(c, BARRIER_CALL_ASKING);
    if (c->goal == BARRIER_SET)
        machine_ask(out, STORE_CREATE, 0)->mode = STORE_PERSISTENT;
    else
        machine_ask(out, STORE_DELETE, 0);
}

static void barrier_call_on_answer(struct barrier_call *c, const struct machine_event *ev,
                                   struct machine_actions *out)
{
    const enum store_rc as_well = c->goal == BARRIER_SET ? STORE_EXISTS : STORE_NONODE;

    if (ev->verb == STORE_SYNC)
        return; /* the read behind it tells */
    if (ev->rc == as_well || (ev->rc == STORE_OK && c->goal != BARRIER_WAIT))
        barrier_call_end(c, out, BARRIER_CALL_DONE, STORE_OK);
    else if (ev->rc == STORE_OK)
        barrier_call_move(c, BARRIER_CALL_WATCHING);
    else
        barrier_call_end(c, out, BARRIER_CALL_REFUSED, ev->rc);
}

void barrier_call_step(struct barrier_call *c, const struct machine_event *ev,
                       struct machine_actions *out)
{
    if (c->state == BARRIER_CALL_OVER)
        return;
    if (ev->kind == MACHINE_EV_ANSWER)
        barrier_call_on_answer(c, ev, out);
    else if (ev->kind == MACHINE_EV_STOP)
        barrier_call_end(c, out, BARRIER_CALL_STOPPED, STORE_OK);
    else if (ev->kind == MACHINE_EV_FIRED && ev->gone)
        barrier_call_end(c, out, BARRIER_CALL_DONE, STORE_OK);
    else if (ev->kind == MACHINE_EV_FIRED)
        barrier_call_read(c, out, false);
    else
        barrier_call_ask(c, out);
}
