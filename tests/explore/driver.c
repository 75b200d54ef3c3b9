#include "driver.h"

#include "check.h"
#include "watches.h"

static void step_kind(struct state *st, int i, enum event_kind kind)
{
    driver_step(st, i, &(struct event){.kind = kind});
}

/* ---- lib/lock/contender_requests.c ---- */

static void ask_watching(struct client *c, enum ask_kind kind, uint8_t node,
                         struct model_subscription *subscription, uint32_t tag)
{
    watches_add(c, node, subscription, tag);
    model_push_ask(c, kind, node, tag);
}

bool driver_is_own(const struct state *st, int i, int n)
{
    return st->nodes[n].client == i && st->nodes[n].id == st->clients[i].id;
}

/* An id of this attempt, but for the present one: only the newest of them is remembered. */
bool driver_is_old(const struct state *st, int i, int n)
{
    return st->nodes[n].client == i && st->nodes[n].id + 1 == st->clients[i].id;
}

static void delete_own(struct state *st, int i, uint16_t names, uint8_t keep)
{
    for (uint8_t n = 0; n < MODEL_NODES; n++)
        if ((names & MODEL_BIT(n)) && n != keep &&
            (driver_is_own(st, i, n) || driver_is_old(st, i, n)))
            model_push_ask(&st->clients[i], ASK_DELETE, n, 0);
}

/* contender_ask() */
static void ask(struct state *st, int i, const struct action *a, uint16_t names)
{
    struct client *c = &st->clients[i];

    switch (a->kind) {
    case ACT_ADMIT: /* admission_enter(): others may be first, so MOVE_ENTER comes at any time */
        break;
    case ACT_CREATE:
        model_push_ask(c, ASK_CREATE, MODEL_NONE, a->tag);
        break;
    case ACT_PARENTS:
        model_push_ask(c, ASK_PARENTS, MODEL_NONE, a->tag);
        break;
    case ACT_BARRIER:
        model_push_ask(c, ASK_BARRIER, MODEL_NONE, a->tag);
        break;
    case ACT_LIST:
        model_push_ask(c, ASK_LIST, MODEL_NONE, a->tag);
        break;
    case ACT_ADOPT:
        c->node = (uint8_t)a->id;
        break;
    case ACT_PROVE:
        model_push_ask(c, ASK_PROVE, c->node, a->tag);
        break;
    case ACT_READ:
        ask_watching(c, ASK_READ, c->node, &c->own_subscription, a->tag);
        break;
    case ACT_WATCH:
        c->predecessor = (uint8_t)a->id;
        /* fall through */
    case ACT_REWATCH:
        ask_watching(c, ASK_WATCH, c->predecessor, &c->predecessor_subscription, a->tag);
        break;
    case ACT_UNWATCH:
        watches_drop(c, &c->predecessor_subscription);
        break;
    case ACT_DELETE:
        if (c->stopping)
            st->broken = BROKEN_EARLY;
        model_push_ask(c, ASK_DELETE, c->node, 0);
        break;
    case ACT_DELETE_SPARE:
        delete_own(st, i, names, c->node);
        break;
    case ACT_DELETE_ALL:
        delete_own(st, i, names, MODEL_NONE);
        break;
    case ACT_ORPHAN:
        c->orphan = true;
        break;
    case ACT_READ_HINT:
        model_push_ask(c, ASK_HINT_READ, MODEL_NONE, a->tag);
        break;
    case ACT_SET_HINT: /* request_try() */
        if (c->connected)
            model_push_ask(c, ASK_HINT, c->node, (uint32_t)a->number);
        break;
    case ACT_RESET:
        model_push_ask(c, ASK_DIRECTORY_READ, MODEL_NONE, a->tag);
        break;
    default:
        st->broken = BROKEN_ACTION;
    }
}

/* request_recall(), of the newest one */
static void recall_ask(struct state *st, int i, enum ask_kind kind, enum event_kind event)
{
    struct client *c = &st->clients[i];
    int k = c->asks_count - 1;

    while (k >= 0 && c->asks[k].kind != kind)
        k--;
    if (k < 0 || c->connected)
        return;
    struct ask a = model_take_ask(c, k);
    driver_step(st, i, &(struct event){.kind = event, .answer = ANSWER_BAD, .tag = a.tag});
}

/* contender_recall() */
static void recall(struct state *st, int i)
{
    recall_ask(st, i, ASK_CREATE, EV_CREATED);
    if (st->clients[i].machine.state == ST_DONE)
        recall_ask(st, i, ASK_LIST, EV_LISTED);
}

/* ---- lib/lock/contender_step.c ---- */

/* retire() */
static void retire(struct client *c)
{
    c->retired = true;
    c->timer = c->orphan = false;
    watches_clear(c);
}

static void decide(struct state *st, struct client *c)
{
    if (c->decided)
        st->broken = BROKEN_TWICE;
    c->decided = true;
}

/* perform() */
static void perform(struct state *st, int i, const struct action *a, uint16_t names)
{
    struct client *c = &st->clients[i];

    switch (a->kind) {
    case ACT_GRANT:
        decide(st, c);
        c->grant = true;
        check_grant(st, i);
        break;
    case ACT_ASKED:
        check_asked(st, i);
        c->told_asked = true;
        break;
    case ACT_REVOKE: /* lose(): what the timer does next is driver_release(), at any time */
        c->grant = false;
        c->timer = false;
        c->stopping = true;
        break;
    case ACT_FAIL:
        decide(st, c);
        if (a->error == ATTEMPT_LAYOUT)
            check_refusal(st, i, a->id, names);
        break;
    case ACT_ARM:
        c->timer = true;
        break;
    default:
        ask(st, i, a, names);
    }
}

/* contender_step(); names: those of the snapshot given, if one is */
void driver_step_seeing(struct state *st, int i, struct event *ev, uint16_t names)
{
    struct client *c = &st->clients[i];
    struct actions actions;

    ev->session = c->established ? c->session : 0;
    ev->in_time = c->in_time && c->connected;
    ev->connection = c->connection;
    attempt_step(&c->machine, ev, &actions);
    for (uint32_t k = 0; k < actions.count; k++)
        perform(st, i, &actions.list[k], names);
    if (!c->machine.watching && c->predecessor_subscription.node != MODEL_NONE)
        st->broken = BROKEN_WATCH; /* the driver would see to it, but was not asked to */
    if (c->machine.state == ST_DONE && !c->retired)
        retire(c);
}

void driver_step(struct state *st, int i, struct event *ev)
{
    driver_step_seeing(st, i, ev, 0);
}

void driver_enter(struct state *st, int i)
{
    step_kind(st, i, EV_ENTER);
}

/* contender_abort() */
void driver_abort(struct state *st, int i)
{
    driver_step(st, i, &(struct event){.kind = EV_ABORT, .error = ATTEMPT_ABORTED});
    recall(st, i);
}

/* grant_give_back(); or on_told() */
void driver_release(struct state *st, int i)
{
    st->clients[i].grant = st->clients[i].stopping = false;
    step_kind(st, i, EV_RELEASE);
}

/* on_timer() */
void driver_timer(struct state *st, int i)
{
    st->clients[i].timer = false;
    step_kind(st, i, EV_TIMER);
}

/* extend(), for on_proved() */
void driver_extend(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    c->lapse_due = false;
    if (c->retired)
        return;
    if (c->machine.state != ST_HOLDING)
        step_kind(st, i, EV_EXTENDED);
    else if (!c->grant)
        step_kind(st, i, EV_LAPSED);
}

void driver_proof(struct state *st, int i)
{
    st->clients[i].in_time = true;
    driver_extend(st, i);
}

/* Who asks the grant for its state sees it lost from now on. */
void driver_deadline(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    c->in_time = false;
    c->lapse_due = c->grant;
    c->grant = false;
}

/* contender_lapse_all() */
void driver_tell_lapse(struct state *st, int i)
{
    st->clients[i].lapse_due = false;
    step_kind(st, i, EV_LAPSED);
}
