#include "turns.h"

#include "lib/base/error.h"
#include "lib/grant/multi.h"

guint turns_most = TURNS_MOST;
uint32_t turns_local = TURNS_LOCAL;

struct turn_waiter {
    struct turns *turns;
    struct turn_caller caller;
    turn_enter enter;
    grant_decided decided;
    void *context;
    GList link;
};

struct turns {
    struct contender_queue queue; /* where nothing is retained */
    unsigned refs; /* the handle's, and one while it has a contender or a caller that waits */
    struct retain machine;
    zkl_session *session;
    struct contenders *all; /* of the session */
    struct contender_spec spec;
    struct contender *attempt;        /* NULL: none, or decided */
    struct contender *holder;         /* keeps the tenure; NULL: none */
    struct tenure *tenure;            /* ours, with the holder */
    zkl_grant *spare;                 /* the last turn, to be used again */
    uint64_t owner;                   /* of the last turn, if it may come again */
    bool was_new;                     /* it may not */
    zkl_error error;                  /* the attempt's */
    uint32_t connection;              /* that the attempt began on; 0: none */
    GQueue waiting;                   /* of struct turn_waiter */
    const struct turn_caller *taking; /* in turns_take(): its caller, who waits in no queue */
    zkl_grant *taken;                 /* what it gets */
    struct timer timer;
    GList idle_link; /* in the session's list */
    GArray *pending; /* of struct retain_event: while another is being stepped */
    bool stepping;
    bool over; /* the tenure ends without our doing */
    bool listed_idle;
    bool busy; /* has the second reference */
};

struct tenure *turns_tenure(const struct turns *t)
{
    return t->tenure;
}

void turns_unref(struct turns *t)
{
    if (--t->refs > 0)
        return;
    timers_cancel(&t->timer);
    g_array_unref(t->pending);
    g_ref_string_release(t->spec.directory);
    g_free(t);
}

static const struct grant_ops turns_grant_ops;

/* Gives the machine an event and does what it asks. */
static void turns_step(struct turns *t, struct retain_event *ev);

/* ---- callers that wait ---- */

static void turns_free_waiter(struct turn_waiter *w)
{
    g_ref_string_release(w->caller.payload);
    g_free(w);
}

static void turns_decide(struct turn_waiter *w, zkl_grant *turn, const zkl_error *error)
{
    struct turns *t = w->turns;

    g_queue_unlink(&t->waiting, &w->link);
    w->turns = NULL;
    w->decided(w->context, turn, error);
    turns_free_waiter(w);
}

static bool turns_retain(const struct turns *t)
{
    return t->machine.retain_ns > 0;
}

static void turns_refuse(struct turns *t, GList *link)
{
    const char *path = session_path(t->session, t->spec.directory);
    zkl_error e;

    error_fill(&e, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
    turns_decide(link->data, NULL, &e);
}

static bool turns_is_last_owner(const struct turns *t, const struct turn_caller *caller)
{
    return !caller->is_new && !t->was_new && caller->owner == t->owner;
}

/* The caller that is first; NULL: nobody waits. */
static const struct turn_caller *turns_first(const struct turns *t)
{
    const GList *head = t->waiting.head;

    if (t->taking)
        return t->taking;
    return head ? &((const struct turn_waiter *)head->data)->caller : NULL;
}

static void turns_give_turn(struct turns *t, uint64_t number)
{
    const struct turn_caller *caller = turns_first(t);
    zkl_grant *turn = grant_new_turn(t->tenure, t->spare, number, &turns_grant_ops, t);

    t->spare = NULL;
    t->owner = caller->owner;
    t->was_new = caller->is_new;
    if (t->taking)
        t->taken = turn;
    else
        turns_decide(g_queue_peek_head(&t->waiting), turn, NULL);
}

/* ---- contenders ---- */

static void turns_drop_tenure(struct turns *t)
{
    if (t->spare)
        grant_unref(t->spare);
    tenure_unref(t->tenure);
    t->spare = NULL;
    t->tenure = NULL;
    t->holder = NULL;
    t->over = false;
}

static void turns_on_news(void *context, enum contender_news news)
{
    struct turns *t = context;
    struct retain_event ev = {.kind = RETAIN_EV_LOOKED};

    switch (news) {
    case CONTENDER_PROVED:
        ev.kind = RETAIN_EV_PROVED;
        break;
    case CONTENDER_ENDED:
        turns_drop_tenure(t);
        ev.kind = RETAIN_EV_ENDED;
        break;
    case CONTENDER_OTHERS:
        ev.kind = t->machine.looking ? RETAIN_EV_LOOKED : RETAIN_EV_RIVAL;
        ev.others = true;
        break;
    case CONTENDER_ASKED: /* whoever asks counts as one who waits */
        ev.kind = RETAIN_EV_RIVAL;
        break;
    case CONTENDER_ALONE:
        ev.watched = true;
        break;
    case CONTENDER_UNKNOWN:
        break;
    case CONTENDER_WAITS:
        return;
    }
    turns_step(t, &ev);
}

static void turns_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct turns *t = context;
    struct retain_event ev = {.kind = RETAIN_EV_FAILED};

    t->attempt = NULL;
    if (tenure) {
        t->tenure = tenure;
        t->holder = contender_of(tenure);
        ev.kind = RETAIN_EV_GRANTED;
        ev.waited = contender_has_waited(t->holder);
        ev.delayed = t->connection != t->session->connection;
        ev.others = contender_others(t->holder) == CONTENDER_OTHERS;
        ev.watched = contender_others(t->holder) == CONTENDER_ALONE;
    } else {
        t->error = *error;
        ev.busy = error->code == ZKL_EBUSY;
    }
    turns_step(t, &ev);
}

static void turns_enter(struct turns *t, const struct retain_action *a)
{
    struct contender_spec spec = t->spec;

    spec.payload = turns_first(t)->payload;
    spec.try_only = a->tries;
    spec.watch_children = a->watch;
    spec.heeds = true;
    spec.news = turns_on_news;
    t->connection = t->session->up ? t->session->connection : 0;
    contender_enter(&t->attempt, t->session, &spec, turns_on_decided, t);
}

/* One that was lost ends by itself, when the callbacks are through; and one that a transaction is
 * giving back, with that. */
static void turns_end_tenure(struct turns *t)
{
    struct contender *c = t->holder;
    const bool over = t->over;

    contender_forget(c);
    contender_set_idle(c, false);
    turns_drop_tenure(t);
    if (!over)
        contender_release(c);
}

static void turns_on_timer(void *data)
{
    turns_step(data, &(struct retain_event){.kind = RETAIN_EV_TIMER});
}

/* ---- steps ---- */

static void turns_perform(struct turns *t, const struct retain_action *a)
{
    switch (a->kind) {
    case RETAIN_ACT_TURN:
        turns_give_turn(t, a->turn);
        break;
    case RETAIN_ACT_BUSY:
        turns_refuse(t, a->last ? t->waiting.tail : t->waiting.head);
        break;
    case RETAIN_ACT_ENTER:
        turns_enter(t, a);
        break;
    case RETAIN_ACT_ABANDON:
        if (t->attempt)
            contender_abandon(t->attempt);
        t->attempt = NULL;
        break;
    case RETAIN_ACT_LOOK:
        contender_look(t->holder);
        break;
    case RETAIN_ACT_END:
        turns_end_tenure(t);
        break;
    case RETAIN_ACT_FAIL:
        turns_decide(g_queue_peek_head(&t->waiting), NULL, &t->error);
        break;
    case RETAIN_ACT_ARM:
        timers_arm(t->session->timers, &t->timer, a->at, turns_on_timer, t);
        break;
    }
}

static void turns_read_clock(const struct turns *t, struct retain_event *ev)
{
    if (t->tenure)
        ev->sure = validity_state(&t->tenure->validity, &ev->now) == ZKL_HELD;
    if (ev->now == 0)
        ev->now = clock_boot();
}

static void turns_step_once(struct turns *t, struct retain_event *ev)
{
    const struct turn_caller *first = turns_first(t);
    struct retain_actions actions;

    if (ev->now == 0)
        turns_read_clock(t, ev);
    ev->same = first && turns_is_last_owner(t, first);
    retain_step(&t->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        turns_perform(t, &actions.list[i]);
}

/* What the machine has come to, where others see it. */
static void turns_show(struct turns *t)
{
    GQueue *idle = &t->all->idle;
    const bool is_idle = t->machine.state == RETAIN_IDLE, was_idle = t->listed_idle;

    if (is_idle != was_idle) {
        if (is_idle)
            g_queue_push_tail_link(idle, &t->idle_link);
        else
            g_queue_unlink(idle, &t->idle_link);
        t->listed_idle = is_idle;
    }
    if (t->holder)
        contender_set_idle(t->holder, is_idle);
    if (!t->machine.armed)
        timers_cancel(&t->timer);
}

/* Events that come out of a step wait for its end. */
static void turns_step(struct turns *t, struct retain_event *ev)
{
    if (t->stepping) {
        g_array_append_vals(t->pending, ev, 1);
        return;
    }
    t->refs++;
    t->stepping = true;
    turns_step_once(t, ev);
    for (guint i = 0; i < t->pending->len; i++) {
        struct retain_event next = g_array_index(t->pending, struct retain_event, i);
        turns_step_once(t, &next);
    }
    if (t->pending->len > 0)
        g_array_set_size(t->pending, 0);
    t->stepping = false;
    turns_show(t);
    const bool busy = t->machine.state != RETAIN_NONE, was_busy = t->busy;
    t->busy = busy;
    t->refs += busy;
    t->refs -= was_busy;
    turns_unref(t);
}

/* ---- where nothing is retained ---- */

/* The next one has a contender from here on, and does not wait in this queue. */
static void turns_let_in(struct turns *t)
{
    struct turn_waiter *w = t->queue.inside ? NULL : g_queue_peek_head(&t->waiting);

    if (!w)
        return;
    struct contender_spec spec = t->spec;
    spec.payload = w->caller.payload;
    spec.try_only = w->caller.tries;
    spec.queue = &t->queue;
    g_queue_unlink(&t->waiting, &w->link);
    t->queue.others = !g_queue_is_empty(&t->waiting);
    t->refs++; /* until it has left */
    w->enter(w->context, &spec);
    turns_free_waiter(w);
}

static void turns_on_left(struct contender_queue *q)
{
    struct turns *t = (struct turns *)q;

    turns_let_in(t);
    turns_unref(t);
}

static void turns_on_arrival(struct turns *t, bool tries)
{
    if (!t->queue.inside)
        turns_let_in(t);
    else if (tries)
        turns_refuse(t, t->waiting.tail);
    else
        contender_queue_wait(&t->queue);
}

/* ---- what callers do ---- */

void turns_wait(struct turn_waiter **ret, struct turns *t, const struct turn_caller *caller,
                turn_enter enter, grant_decided decided, void *context)
{
    struct turn_waiter *w = g_new0(struct turn_waiter, 1);

    *ret = w;
    w->turns = t;
    w->caller = *caller;
    g_ref_string_acquire(w->caller.payload);
    w->enter = enter;
    w->decided = decided;
    w->context = context;
    w->link.data = w;
    g_queue_push_tail_link(&t->waiting, &w->link);
    if (turns_retain(t))
        turns_step(t, &(struct retain_event){.kind = RETAIN_EV_LOCK, .tries = caller->tries});
    else
        turns_on_arrival(t, caller->tries);
}

zkl_grant *turns_take(struct turns *t, uint64_t owner)
{
    struct retain_event ev = {.kind = RETAIN_EV_LOCK};
    const struct turn_caller caller = {.owner = owner};
    const struct retain *m = &t->machine;

    if (m->state != RETAIN_IDLE || m->waiting > 0 ||
        (m->fence64 && !turns_is_last_owner(t, &caller)))
        return NULL;
    turns_read_clock(t, &ev);
    if (!ev.sure)
        return NULL;
    t->taking = &caller;
    turns_step(t, &ev);
    t->taking = NULL;
    zkl_grant *turn = g_steal_pointer(&t->taken);
    if (turn)
        grant_began(turn, 0, ev.now);
    return turn;
}

void turns_give_up(struct turn_waiter *w, int code, const char *text)
{
    struct turns *t = w->turns;
    const char *path = session_path(t->session, t->spec.directory);
    struct retain_event ev = {.kind = RETAIN_EV_GAVE_UP, .first = !w->link.prev};
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    t->refs++;
    turns_decide(w, NULL, &why);
    if (turns_retain(t))
        turns_step(t, &ev);
    else
        t->queue.others = !g_queue_is_empty(&t->waiting);
    turns_unref(t);
}

/* The tenures that were idle longest go first, of all of the session. */
static void turns_shed(struct contenders *all)
{
    GQueue *idle = &all->idle;

    while (idle->length > turns_most)
        turns_yield(g_queue_peek_head(idle));
}

/* The turn is over. Where a transaction of it is not decided yet, or never will be, that may be
 * applied as long as the node stands. */
static void turns_on_given_back(void *context, zkl_grant *turn, const struct grant_end *end)
{
    struct turns *t = context;
    struct contenders *all = t->all;
    const bool in_doubt = multi_line_is_in_doubt(t->tenure->line);

    grant_forget(turn);
    t->over = !end->owned || end->before;
    if (!t->over)
        t->spare = grant_take_off(t->tenure);
    turns_step(t, &(struct retain_event){.kind = RETAIN_EV_UNLOCK,
                                         .now = end->sure ? end->now : 0,
                                         .sure = end->sure,
                                         .must_end = end->last || in_doubt || t->over});
    turns_shed(all);
}

static const struct grant_ops turns_grant_ops = {.given_back = turns_on_given_back};

void turns_yield(struct turns *t)
{
    if (turns_retain(t))
        turns_step(t, &(struct retain_event){.kind = RETAIN_EV_YIELD});
}

void turns_close(struct turns *t)
{
    if (turns_retain(t))
        turns_step(t, &(struct retain_event){.kind = RETAIN_EV_CLOSE});
}

struct turns *turns_new(zkl_session *s, const struct contender_spec *spec,
                        const struct retain *config)
{
    struct turns *t = g_new0(struct turns, 1);

    t->refs = 1;
    t->machine = *config;
    retain_init(&t->machine);
    t->session = s;
    t->spec = *spec;
    t->spec.directory = g_ref_string_acquire(spec->directory);
    t->spec.payload = NULL; /* of each contender its own */
    t->spec.retains = turns_retain(t);
    t->queue.left = turns_on_left;
    t->pending = g_array_new(FALSE, FALSE, sizeof(struct retain_event));
    t->idle_link.data = t;
    t->all = contenders_of(s);
    return t;
}
