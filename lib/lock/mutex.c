/* A handle that retains has one tenure for all its callers. Each caller gets a turn: a grant on
 * that tenure. While no caller has a turn, the tenure is idle. The functions of the interface and
 * mutex_take() take the monitor. All others are called with it held. */
#include "mutex.h"

#include "handle.h"
#include "lib/base/error.h"
#include "lib/base/steps.h"
#include "lib/contender/claim.h"
#include "lib/grant/multi.h"
#include "recipes/retain.h"

guint turns_most = TURNS_MOST;
uint32_t turns_local = TURNS_LOCAL;

/* ---- if the handle does not retain: one caller after the other has a contender ---- */

/* The callers of one handle. */
struct local_queue {
    struct contender_queue queue; /* its .waiting are of struct local_waiter */
    unsigned refs;                /* the handle's, and one while a caller has a contender */
    zkl_session *session;
    struct contender_spec spec;
};

struct local_waiter {
    struct local_queue *queue;
    char *payload; /* GRefString: for the node of its contender */
    zkl_op *op;
    GList link;
};

/* Fills in the error of a try that would have to wait for others. */
static void mutex_fill_busy(zkl_session *s, const char *directory, zkl_error *ret)
{
    const char *path = session_path(s, directory);

    error_fill(ret, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
}

static void local_queue_unref(struct local_queue *q)
{
    if (--q->refs > 0)
        return;
    g_ref_string_release(q->spec.directory);
    g_free(q);
}

/* Enters the contender of a caller. */
static void local_queue_let_in(struct local_queue *q, zkl_op *op, char *payload, bool try_only)
{
    struct contender_spec spec = q->spec;

    spec.payload = payload;
    spec.try_only = try_only;
    spec.queue = &q->queue;
    q->refs++; /* until the contender has left */
    op_contend(op, &spec);
}

static void local_queue_free_waiter(struct local_waiter *w)
{
    g_ref_string_release(w->payload);
    g_free(w);
}

/* Lets in the next caller: the contender of the last one has left. */
static void local_queue_on_left(struct contender_queue *queue)
{
    struct local_queue *q = (struct local_queue *)queue;
    GList *next = g_queue_pop_head_link(&queue->waiting);

    if (next) {
        struct local_waiter *w = next->data;
        local_queue_let_in(q, w->op, w->payload, false);
        local_queue_free_waiter(w);
    }
    local_queue_unref(q);
}

/* Ends the operation of a caller that waits, with an error. */
static void local_queue_give_up(void *waiter, int code, const char *text)
{
    struct local_waiter *w = waiter;
    struct local_queue *q = w->queue;
    const char *path = session_path(q->session, q->spec.directory);
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    g_queue_unlink(&q->queue.waiting, &w->link);
    op_decide(w->op, NULL, &why);
    local_queue_free_waiter(w);
}

static const struct op_ops local_queue_op_ops = {.abort = local_queue_give_up};

/* Lets a caller contend at once if no other caller of the handle does. Otherwise the caller waits,
 * or fails if it only tries. */
static void local_queue_arrive(struct local_queue *q, zkl_op *op, char *payload, bool try_only)
{
    zkl_error busy;

    if (!q->queue.current) {
        local_queue_let_in(q, op, payload, try_only);
    } else if (try_only) {
        mutex_fill_busy(q->session, q->spec.directory, &busy);
        op_decide(op, NULL, &busy);
    } else {
        struct local_waiter *w = g_new0(struct local_waiter, 1);
        op_assign(op, &local_queue_op_ops, w);
        *w = (struct local_waiter){
            .queue = q, .payload = g_ref_string_acquire(payload), .op = op, .link.data = w};
        g_queue_push_tail_link(&q->queue.waiting, &w->link);
        contender_want(q->queue.current);
    }
}

/* Makes a queue with one reference. spec describes the contenders, but for payload, try_only and
 * queue. The queue takes a reference to its directory. */
static struct local_queue *local_queue_new(zkl_session *s, const struct contender_spec *spec)
{
    struct local_queue *q = g_new0(struct local_queue, 1);

    q->refs = 1;
    q->session = s;
    q->spec = *spec;
    q->spec.directory = g_ref_string_acquire(spec->directory);
    q->spec.payload = NULL; /* each contender has its own */
    q->queue.left = local_queue_on_left;
    return q;
}

/* ---- if the handle retains: turns on one tenure ---- */

struct turn_caller {
    char *payload;  /* GRefString: for the node, if the contender enters for this caller */
    uint64_t owner; /* two callers with the same number are the same owner */
    bool is_new;    /* the owner is no other caller's, and .owner says nothing */
    bool try_only;  /* the caller does not wait for others */
};

struct turn_waiter {
    struct turns *turns;
    struct turn_caller caller;
    zkl_op *op;
    GList link;
};

/* The callers of one handle, and its tenure. */
struct turns {
    unsigned refs; /* the handle's, one while the machine is not in RETAIN_NONE, and each step's */
    zkl_session *session;
    struct contenders *all; /* of the session */
    struct contender_spec spec;
    GQueue waiting; /* of struct turn_waiter */
    struct retain machine;
    struct claim claim;
    zkl_grant *spare;    /* the grant of the last turn, to be used again; NULL: none */
    uint64_t owner;      /* the owner of the last turn */
    bool was_new;        /* that was an asynchronous call: .owner says nothing */
    zkl_error error;     /* why the last attempt failed */
    uint32_t connection; /* on which the attempt began; 0: on none */
    const struct turn_caller
        *taking;      /* the caller in turns_take_turn(), which is not in .waiting */
    zkl_grant *taken; /* the turn for .taking; NULL: none */
    struct timer timer;
    GList idle_link;     /* in contenders.idle, if .listed_idle */
    struct steps *steps; /* NULL: the machine is in no step */
    bool over;           /* the tenure is lost, or a transaction has given it back */
    bool listed_idle;
    bool busy; /* the machine is not in RETAIN_NONE */
};

static void turns_unref(struct turns *t)
{
    if (--t->refs > 0)
        return;
    timers_cancel(&t->timer);
    g_ref_string_release(t->spec.directory);
    g_free(t);
}

static const struct grant_ops turns_grant_ops;

/* Steps the machine by an event, and then by those that come in the midst of that step. */
static void turns_step(struct turns *t, struct retain_event ev);

/* ---- callers that wait ---- */

/* Ends the operation of a caller that waits: with a turn, or with an error if turn is NULL. */
static void turns_decide(struct turn_waiter *w, zkl_grant *turn, const zkl_error *error)
{
    struct turns *t = w->turns;

    g_queue_unlink(&t->waiting, &w->link);
    w->turns = NULL;
    op_decide(w->op, turn, error);
    g_ref_string_release(w->caller.payload);
    g_free(w);
}

/* Whether the caller is the owner of the last turn. */
static bool turns_is_last_owner(const struct turns *t, const struct turn_caller *caller)
{
    return !caller->is_new && !t->was_new && caller->owner == t->owner;
}

/* Returns the caller that is to have the next turn; NULL: nobody waits. */
static const struct turn_caller *turns_first(const struct turns *t)
{
    const GList *head = t->waiting.head;

    if (t->taking)
        return t->taking;
    return head ? &((const struct turn_waiter *)head->data)->caller : NULL;
}

/* Gives the first caller a turn with that number. */
static void turns_give_turn(struct turns *t, uint64_t number)
{
    const struct turn_caller *caller = turns_first(t);
    zkl_grant *turn = grant_new_turn(t->claim.tenure, t->spare, number, &turns_grant_ops, t);

    t->spare = NULL;
    t->owner = caller->owner;
    t->was_new = caller->is_new;
    if (t->taking)
        t->taken = turn;
    else
        turns_decide(g_queue_peek_head(&t->waiting), turn, NULL);
}

/* ---- contenders ---- */

/* Tells the machine what happens to the contender that holds. */
static void turns_on_news(void *context, enum contender_news news)
{
    struct turns *t = context;
    struct retain_event ev = {.kind = RETAIN_EV_LOOKED};

    switch (news) {
    case CONTENDER_PROVED:
        ev.kind = RETAIN_EV_PROVED;
        break;
    case CONTENDER_ENDED:
        g_clear_pointer(&t->spare, grant_unref);
        ev.kind = RETAIN_EV_ENDED;
        break;
    case CONTENDER_OTHERS:
        ev.kind = t->machine.looking ? RETAIN_EV_LOOKED : RETAIN_EV_RIVAL;
        ev.others = true;
        break;
    case CONTENDER_ASKED: /* a client that asks counts as a rival */
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
    turns_step(t, ev);
}

/* Tells the machine that the contender has the lock, or has failed. */
static void turns_on_decided(void *context, const zkl_error *error)
{
    struct turns *t = context;
    const struct contender *holder = t->claim.holder;
    struct retain_event ev = {.kind = error ? RETAIN_EV_FAILED : RETAIN_EV_GRANTED};

    if (error) {
        t->error = *error;
        ev.busy = error->code == ZKL_EBUSY;
    } else {
        ev.waited = contender_has_waited(holder);
        ev.delayed = t->connection != t->session->connection;
        ev.others = contender_others(holder) == CONTENDER_OTHERS;
        ev.watched = contender_others(holder) == CONTENDER_ALONE;
    }
    turns_step(t, ev);
}

/* Enters the contender, for the caller that is first. */
static void turns_enter(struct turns *t, const struct retain_action *a)
{
    struct contender_spec spec = t->spec;

    spec.payload = turns_first(t)->payload;
    spec.try_only = a->tries;
    spec.watch_children = a->watch;
    spec.watch_own = true;
    spec.news = turns_on_news;
    t->connection = t->session->up ? t->session->connection : 0;
    claim_enter(&t->claim, t->session, &spec, turns_on_decided, t);
}

static void turns_on_timer(void *data)
{
    turns_step(data, (struct retain_event){.kind = RETAIN_EV_TIMER});
}

/* ---- steps ---- */

/* Does what the machine asks for. */
static void turns_do_action(struct turns *t, const struct retain_action *a)
{
    zkl_error busy;

    switch (a->kind) {
    case RETAIN_ACT_TURN:
        turns_give_turn(t, a->turn);
        break;
    case RETAIN_ACT_BUSY: /* that waiter only tries */
        mutex_fill_busy(t->session, t->spec.directory, &busy);
        turns_decide((a->last ? t->waiting.tail : t->waiting.head)->data, NULL, &busy);
        break;
    case RETAIN_ACT_ENTER:
        turns_enter(t, a);
        break;
    case RETAIN_ACT_ABANDON:
        claim_abandon(&t->claim);
        break;
    case RETAIN_ACT_LOOK:
        contender_ask_others(t->claim.holder);
        break;
    case RETAIN_ACT_END:
        contender_set_idle(t->claim.holder, false);
        g_clear_pointer(&t->spare, grant_unref);
        /* The node of a lost tenure goes when the callbacks have returned. If a transaction gives
         * the tenure back, the node goes with that. */
        if (t->over)
            claim_forget(&t->claim);
        else
            claim_release(&t->claim);
        break;
    case RETAIN_ACT_FAIL:
        turns_decide(g_queue_peek_head(&t->waiting), NULL, &t->error);
        break;
    case RETAIN_ACT_ARM:
        timers_arm(t->session->timers, &t->timer, a->at, turns_on_timer, t);
        break;
    }
}

/* Fills in the time, and whether the tenure is surely valid then. */
static void turns_read_clock(const struct turns *t, struct retain_event *ev)
{
    const struct tenure *tenure = t->claim.tenure;

    if (tenure)
        ev->sure = validity_state(&tenure->validity, &ev->now) == ZKL_HELD;
    if (ev->now == 0) /* no tenure, or one that had ended: the clock was not read */
        ev->now = clock_boot();
}

/* Tells the session whether the tenure is idle, by the machine's state after a step. */
static void turns_publish_state(struct turns *t)
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
    if (t->claim.holder)
        contender_set_idle(t->claim.holder, is_idle);
    if (!t->machine.armed)
        timers_cancel(&t->timer);
}

static void turns_step(struct turns *t, struct retain_event ev)
{
    struct retain_actions actions;
    struct steps steps;

    if (!steps_begin(&t->steps, &steps, &ev, sizeof ev))
        return;
    t->refs++;
    do {
        const struct turn_caller *first = turns_first(t);
        if (ev.now == 0)
            turns_read_clock(t, &ev);
        ev.same = first && turns_is_last_owner(t, first);
        retain_step(&t->machine, &ev, &actions);
        for (uint32_t i = 0; i < actions.count; i++)
            turns_do_action(t, &actions.list[i]);
    } while (steps_next(&t->steps, &ev, sizeof ev));
    turns_publish_state(t);
    const bool busy = t->machine.state != RETAIN_NONE, was_busy = t->busy;
    t->busy = busy;
    t->refs += busy;
    t->refs -= was_busy;
    turns_unref(t);
}

/* ---- what callers do ---- */

/* Ends the operation of a caller that waits, with an error. */
static void turns_give_up(void *waiter, int code, const char *text)
{
    struct turn_waiter *w = waiter;
    struct turns *t = w->turns;
    const char *path = session_path(t->session, t->spec.directory);
    struct retain_event ev = {.kind = RETAIN_EV_GAVE_UP, .first = !w->link.prev};
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    t->refs++;
    turns_decide(w, NULL, &why);
    turns_step(t, ev);
    turns_unref(t);
}

static const struct op_ops turns_op_ops = {.abort = turns_give_up};

/* Lets a caller wait for a turn, with which its operation ends. */
static void turns_wait(struct turns *t, const struct turn_caller *caller, zkl_op *op)
{
    struct turn_waiter *w = g_new0(struct turn_waiter, 1);

    op_assign(op, &turns_op_ops, w);
    w->turns = t;
    w->caller = *caller;
    g_ref_string_acquire(w->caller.payload);
    w->op = op;
    w->link.data = w;
    g_queue_push_tail_link(&t->waiting, &w->link);
    turns_step(t, (struct retain_event){.kind = RETAIN_EV_LOCK, .tries = caller->try_only});
}

/* Returns a turn for that owner, and counts it at that path; NULL: the owner cannot have one now,
 * or others wait. */
static zkl_grant *turns_take_turn(struct turns *t, uint64_t owner, struct stats_path *at)
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
    turns_step(t, ev);
    t->taking = NULL;
    zkl_grant *turn = g_steal_pointer(&t->taken);
    if (turn)
        grant_began(turn, at, 0, ev.now);
    return turn;
}

/* Ends the tenure if it is idle. */
static void turns_yield(struct turns *t)
{
    turns_step(t, (struct retain_event){.kind = RETAIN_EV_YIELD});
}

/* Ends a turn, which the owner has given back. If a transaction of the turn is in doubt, the tenure
 * ends, too: the transaction could be applied as long as the node stands. */
static void turns_on_given_back(void *context, zkl_grant *turn, const struct grant_end *end)
{
    struct turns *t = context;
    GQueue *idle = &t->all->idle;
    const bool in_doubt = multi_is_in_doubt(t->claim.tenure->multi_queue);

    grant_forget(turn);
    t->over = !end->owned || end->before;
    if (!t->over)
        t->spare = grant_take_off(t->claim.tenure);
    turns_step(t, (struct retain_event){.kind = RETAIN_EV_UNLOCK,
                                        .now = end->sure ? end->now : 0,
                                        .sure = end->sure,
                                        .must_end = end->last || in_doubt || t->over});
    while (idle->length > turns_most) /* too many are idle: the one that was idle longest ends */
        turns_yield(g_queue_peek_head(idle));
}

static const struct grant_ops turns_grant_ops = {.given_back = turns_on_given_back};

/* Makes the turns of a handle, with one reference. spec describes the contenders, but for payload,
 * try_only, retains and news. The turns take a reference to its directory. config has the machine's
 * settings. */
static struct turns *turns_new(zkl_session *s, const struct contender_spec *spec,
                               const struct retain *config)
{
    struct turns *t = g_new0(struct turns, 1);

    t->refs = 1;
    t->session = s;
    t->all = contenders_of(s);
    t->spec = *spec;
    t->spec.directory = g_ref_string_acquire(spec->directory);
    t->spec.payload = NULL; /* each contender has its own */
    t->spec.retains = true;
    t->machine = *config;
    retain_init(&t->machine);
    t->idle_link.data = t;
    return t;
}

struct tenure *turns_tenure(const struct turns *t)
{
    return t->claim.tenure;
}

/* ---- the handle ---- */

static const char what[] = "mutex";

struct zkl_mutex {
    struct handle handle;      /* the first member */
    struct turns *turns;       /* NULL: the handle does not retain */
    struct local_queue *queue; /* NULL: the handle retains */
};

static zkl_mutex *mutex_of(struct handle *h)
{
    return (zkl_mutex *)h;
}

/* Starts the operation of a call. Each asynchronous call (hold is NULL) is an owner of its own. */
static zkl_op *mutex_start(struct handle *h, const struct hold *hold, bool shared,
                           int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    struct turn_caller caller = {.payload = handle_payload(h),
                                 .owner = hold ? hold->key : 0,
                                 .is_new = !hold,
                                 .try_only = timeout_ms <= 0};
    zkl_mutex *m = mutex_of(h);
    zkl_op *op = op_begin(&h->waiters, timeout_ms, fn, data);

    (void)shared;
    if (op_is_open(op) && m->turns)
        turns_wait(m->turns, &caller, op);
    else if (op_is_open(op))
        local_queue_arrive(m->queue, op, caller.payload, caller.try_only);
    return op;
}

/* Returns a turn on the idle tenure; NULL if the caller would have to wait for one. */
static zkl_grant *mutex_take(struct handle *h, const struct hold *hold)
{
    zkl_mutex *m = mutex_of(h);

    if (!m->turns)
        return NULL;
    session_lock_briefly(h->session);
    zkl_grant *grant = turns_take_turn(m->turns, hold->key, h->waiters.waits.at);
    session_unlock_briefly(h->session);
    return grant;
}

/* Tells the machine that nobody waits, and nobody will come any more. */
static void mutex_close(struct handle *h)
{
    struct turns *t = mutex_of(h)->turns;

    if (t)
        turns_step(t, (struct retain_event){.kind = RETAIN_EV_CLOSE});
}

/* Frees the mutex's own part. */
static void mutex_end(struct handle *h)
{
    zkl_mutex *m = mutex_of(h);

    if (m->turns)
        turns_unref(m->turns);
    else
        local_queue_unref(m->queue);
}

static const struct handle_kind kind = {
    .what = what, .start = mutex_start, .take = mutex_take, .close = mutex_close, .end = mutex_end};

/* ---- new ---- */

int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                  const zkl_mutex_options *options)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    const char *wrong =
        handle_take_options(&o, options, HANDLE_HAS_KEYS | HANDLE_HAS_PEERS | HANDLE_HAS_TURNS);
    int code = handle_check_new("zkl_mutex_new", ret, s, path, wrong);

    if (code)
        return code;
    const struct retain config = {
        .retain_ns = o.retain_ms * CLOCK_MS, .local_turns = turns_local, .fence64 = o.fence64};
    zkl_mutex *m = handle_new(&kind, sizeof *m, s, path, &o);
    session_lock(s);
    struct contender_spec spec = handle_spec(&m->handle);
    spec.rule = o.peer == ZKL_PEER_KAZOO ? RULE_OWN_KAZOO : RULE_LOCK;
    spec.hints = true;
    if (o.retain_ms > 0)
        m->turns = turns_new(s, &spec, &config);
    else
        m->queue = local_queue_new(s, &spec);
    session_unlock(s);
    handle_publish(&m->handle);
    *ret = m;
    return 0;
}

/* ---- the rest of the interface ---- */

static struct handle *mutex_handle_of(zkl_mutex *m)
{
    return m ? &m->handle : NULL;
}

void zkl_mutex_free(zkl_mutex *m)
{
    handle_free(mutex_handle_of(m));
}

int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, const zkl_grant **ret)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_lock(&m->handle, false, timeout_ms, ret);
}

int zkl_mutex_depth(zkl_mutex *m)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_depth(&m->handle);
}

int zkl_mutex_unlock(zkl_mutex *m)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_unlock(&m->handle);
}

int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                         zkl_op **ret)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code
                : handle_lock_async(&m->handle, "zkl_mutex_lock_async", false, timeout_ms, fn, data,
                                    ret);
}

int zkl_mutex_yield(zkl_mutex *m)
{
    int code = handle_check(mutex_handle_of(m), what);

    if (code)
        return code;
    session_lock(m->handle.session);
    if (m->turns)
        turns_yield(m->turns);
    session_unlock(m->handle.session);
    return 0;
}
