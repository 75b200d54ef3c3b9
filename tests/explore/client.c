#include "model.h"

/* What was recalled in a step. */
struct coming {
    struct ask asks[MODEL_QUEUE];
    int count;
};

bool client_is_own(const struct state *st, int i, int n)
{
    return st->nodes[n].client == i && st->nodes[n].id == st->clients[i].id;
}

/* It is of the entry before: older ids are not remembered. */
bool client_is_old(const struct state *st, int i, int n)
{
    return st->nodes[n].client == i && st->nodes[n].id + 1 == st->clients[i].id;
}

/* contender_path(); MODEL_NONE: the directory, or a node that is not meant */
static uint8_t client_node(const struct state *st, int i, uint32_t about, const uint8_t *listed)
{
    const struct client *c = &st->clients[i];
    uint8_t n;

    if (about < ATTEMPT_SPARE)
        return about == ATTEMPT_OWN           ? c->node
               : about == ATTEMPT_PREDECESSOR ? c->predecessor
                                              : MODEL_NONE;
    n = listed[about - (about < ATTEMPT_OURS ? ATTEMPT_SPARE : ATTEMPT_OURS)];
    if (about < ATTEMPT_OURS && n == c->node)
        return MODEL_NONE;
    return client_is_own(st, i, n) || client_is_old(st, i, n) ? n : MODEL_NONE;
}

/* ---- actions ---- */

static void client_ask(struct state *st, int i, const struct machine_action *a)
{
    struct client *c = &st->clients[i];
    const struct ask ask = {.number = exchange_ask(&c->exchange, a),
                            .verb = (uint8_t)a->verb,
                            .about = (uint8_t)a->node,
                            .node = client_node(st, i, a->node, NULL),
                            .watch = a->watch,
                            .once = a->once,
                            .heard = true};

    if (a->more > 0 || a->node >= ATTEMPT_PARENT || (a->watch && !link_watch_wanted(c, a->node))) {
        st->broken = "an action that nobody understands";
        return;
    }
    if (a->watch)
        link_watch_add(c, &ask);
    model_push_ask(c, ask);
}

/* request_recall(), of what is asked about that, or of all */
static void client_recall(struct client *c, unsigned about, bool all, struct coming *coming)
{
    for (int k = 0; k < c->asks_count && !c->connected;) {
        if (!c->asks[k].heard || (!all && c->asks[k].about != about)) {
            k++;
            continue;
        }
        const struct ask ask = model_take_ask(c, k);
        coming->asks[coming->count++] = ask;
        if (ask.watch)
            link_watch_answered(c, &ask, STORE_BAD);
    }
}

static void client_delete(struct state *st, int i, const struct machine_action *a,
                          const uint8_t *listed)
{
    struct client *c = &st->clients[i];

    if (c->stopping)
        st->broken = "the node goes while its holder is being told of the loss";
    for (uint32_t k = a->node; k <= a->node + a->more; k++) {
        const uint8_t n = client_node(st, i, k, listed);
        if (link_watch_wanted(c, k))
            link_watch_drop(c, k, true);
        if (n != MODEL_NONE)
            model_push_ask(c, (struct ask){.verb = STORE_DELETE, .about = ATTEMPT_OWN, .node = n});
    }
}

/* request_try() */
static void client_note(struct client *c, const struct machine_action *a)
{
    if (c->connected)
        model_push_ask(c, (struct ask){.verb = STORE_SET,
                                       .about = (uint8_t)a->node,
                                       .node = c->node,
                                       .version = (uint8_t)a->version,
                                       .once = true});
}

static void client_end(struct client *c, bool deleting, struct coming *coming)
{
    exchange_end(&c->exchange);
    c->timer = c->orphan = false;
    link_watch_drop(c, ATTEMPT_OWN, deleting);
    link_watch_drop(c, ATTEMPT_PREDECESSOR, deleting);
    client_recall(c, 0, true, coming);
}

static void client_decide(struct state *st, struct client *c)
{
    if (c->decided)
        st->broken = "the caller was answered twice";
    c->decided = true;
}

/* contender_on_verdict(). ADMIT: others may be first, so MOVE_ENTER comes at any time. LOSE: what
 * the timer does next is client_release(), at any time. */
static void client_tell(struct state *st, int i, const struct machine_action *a,
                        const struct heard *heard)
{
    struct client *c = &st->clients[i];

    switch ((enum attempt_verdict)a->verdict) {
    case ATTEMPT_ADMIT:
        break;
    case ATTEMPT_FOLLOW:
        c->predecessor = heard->listed[a->why];
        break;
    case ATTEMPT_ADOPT:
        c->node = heard->listed[a->why];
        break;
    case ATTEMPT_GRANT:
        client_decide(st, c);
        c->grant = true;
        check_grant(st, i);
        break;
    case ATTEMPT_FAIL:
        client_decide(st, c);
        if (a->why == ATTEMPT_LAYOUT)
            check_refusal(st, i, a->node < heard->ev.count ? heard->listed[a->node] : MODEL_NONE);
        break;
    case ATTEMPT_LOSE:
        c->grant = false;
        c->stopping = true;
        break;
    case ATTEMPT_ASKED:
        check_asked(st, i);
        c->told_asked = true;
        break;
    case ATTEMPT_ORPHAN:
        c->orphan = true;
        break;
    default:
        st->broken = "an action that nobody understands";
    }
}

static void client_perform(struct state *st, int i, const struct machine_action *a,
                           const struct heard *heard, struct coming *coming)
{
    struct client *c = &st->clients[i];

    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        client_ask(st, i, a);
        break;
    case MACHINE_ACT_NAME:
        c->id++;
        break;
    case MACHINE_ACT_FORGET:
        exchange_forget(&c->exchange, a->slot);
        break;
    case MACHINE_ACT_RECALL:
        client_recall(c, a->node, false, coming);
        break;
    case MACHINE_ACT_UNWATCH:
        link_watch_drop(c, a->node, a->deleting);
        break;
    case MACHINE_ACT_DELETE:
        client_delete(st, i, a, heard->listed);
        break;
    case MACHINE_ACT_NOTE:
        client_note(c, a);
        break;
    case MACHINE_ACT_ARM:
        c->timer = !c->stopping;
        break;
    case MACHINE_ACT_END:
        client_end(c, a->deleting, coming);
        break;
    case MACHINE_ACT_TELL:
        client_tell(st, i, a, heard);
        break;
    default:
        st->broken = "an action that nobody understands";
    }
}

void client_step(struct state *st, int i, struct heard *heard)
{
    struct client *c = &st->clients[i];
    struct machine_actions actions;
    struct coming coming;

    coming.count = 0;
    heard->moment.in_time = c->in_time && c->connected;
    heard->moment.connection = c->connected ? c->connection : 0;
    heard->moment.container = true;
    const enum attempt_state before = c->machine.state;
    const bool kept = heard->ev.kind == MACHINE_EV_TIMER && c->machine.awaits && !c->connected;
    attempt_step(&c->machine, &heard->ev, &heard->moment, &actions);
    if (kept && c->machine.state != before)
        st->broken = "a head makes way without a connection";
    for (uint32_t k = 0; k < actions.count; k++)
        client_perform(st, i, &actions.list[k], heard, &coming);
    if (!c->machine.watching && c->predecessor_watch != MODEL_NONE)
        st->broken = "a watch is left that nobody wants";
    for (int k = 0; k < coming.count; k++)
        link_answer(st, i, &(struct reply){.to = coming.asks[k], .rc = STORE_BAD});
}

/* ---- events ---- */

void client_step_kind(struct state *st, int i, unsigned kind)
{
    client_step(st, i, &(struct heard){.ev.kind = kind});
}

/* grant_give_back(); or contender_on_loss_told() */
void client_release(struct state *st, int i)
{
    st->clients[i].grant = st->clients[i].stopping = false;
    client_step_kind(st, i, ATTEMPT_EV_RELEASE);
}

void client_timer(struct state *st, int i)
{
    st->clients[i].timer = false;
    client_step_kind(st, i, MACHINE_EV_TIMER);
}

void client_extend(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    c->deadline_due = false;
    if (c->machine.state == ST_DONE)
        return;
    if (c->machine.state != ST_HOLDING)
        client_step_kind(st, i, ATTEMPT_EV_DEADLINE_MOVED);
    else if (!c->grant)
        client_step_kind(st, i, ATTEMPT_EV_DEADLINE_PASSED);
}

void client_proof(struct state *st, int i)
{
    st->clients[i].in_time = true;
    client_extend(st, i);
}

/* From now on a user that asks the grant for its state sees it lost. */
void client_deadline(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    c->in_time = false;
    c->deadline_due = c->grant;
    c->grant = false;
}

void client_tell_deadline_passed(struct state *st, int i)
{
    st->clients[i].deadline_due = false;
    client_step_kind(st, i, ATTEMPT_EV_DEADLINE_PASSED);
}
