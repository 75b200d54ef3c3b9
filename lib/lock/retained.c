#include "retained.h"

#include "grant.h"
#include "lib/base/error.h"
#include "locks.h"
#include "turn.h"

struct turn_waiter {
    struct retained *retained;
    struct turn_caller caller;
    contender_decided decided;
    void *context;
    GList link;
};

struct retained {
    unsigned refs; /* the handle's, and one while it has a node, an attempt or who waits */
    struct retain machine;
    zkl_session *session;
    struct locks *all; /* of the session */
    struct contender_spec spec;
    struct contender *attempt; /* NULL: none, or decided */
    struct contender *holder;  /* of the span; NULL: none */
    zkl_grant *span;           /* ours, with the holder */
    zkl_grant *spare;          /* the last turn, to be used again */
    uint64_t owner;            /* of the last turn, if it may come again */
    bool was_new;              /* it may not */
    zkl_error error;           /* the attempt's */
    uint32_t connection;       /* that the attempt began on; 0: none */
    GQueue waiting;            /* of struct turn_waiter */
    struct timer timer;
    GList link, idle_link;    /* in the session's lists */
    struct turn_waiter quick; /* of retained_take() */
    GArray *pending;          /* of struct retain_event: while another is being stepped */
    bool stepping;
    bool over; /* the span ends without our doing */
    bool listed_idle;
    bool busy;     /* has the second reference */
    bool entering; /* in contender_enter() */
};

static void step(struct retained *r, struct retain_event ev);

struct retained *retained_new(zkl_session *s, const struct contender_spec *spec,
                              const struct retain *config)
{
    struct retained *r = g_new0(struct retained, 1);

    r->refs = 1;
    r->machine = *config;
    retain_init(&r->machine);
    r->session = s;
    r->spec = *spec;
    r->spec.directory = g_ref_string_acquire(spec->directory);
    r->spec.payload = NULL; /* of each contender its own */
    r->pending = g_array_new(FALSE, FALSE, sizeof(struct retain_event));
    r->link.data = r->idle_link.data = r;
    r->all = locks_of(s);
    g_queue_push_tail_link(&r->all->retained, &r->link);
    return r;
}

void retained_unref(struct retained *r)
{
    if (--r->refs > 0)
        return;
    timers_cancel(&r->timer);
    g_queue_unlink(&r->all->retained, &r->link);
    g_array_unref(r->pending);
    g_ref_string_release(r->spec.directory);
    g_free(r);
}

/* ---- who waits ---- */

static void decide(struct turn_waiter *w, zkl_grant *turn, const zkl_error *error)
{
    struct retained *r = w->retained;

    g_queue_unlink(&r->waiting, &w->link);
    w->retained = NULL;
    w->decided(w->context, turn, error);
    if (w == &r->quick)
        return;
    g_ref_string_release(w->caller.payload);
    g_free(w);
}

static void refuse(struct retained *r, GList *link)
{
    const char *path = session_path(r->session, r->spec.directory);
    zkl_error e;

    error_fill(&e, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
    decide(link->data, NULL, &e);
}

static bool is_last_owner(const struct retained *r, const struct turn_caller *caller)
{
    return !caller->is_new && !r->was_new && caller->owner == r->owner;
}

static void give_turn(struct retained *r, uint64_t number)
{
    struct turn_waiter *w = g_queue_peek_head(&r->waiting);

    zkl_grant *turn = turn_begin(r->span, r->spare, r, number);

    r->spare = NULL;
    r->owner = w->caller.owner;
    r->was_new = w->caller.is_new;
    decide(w, turn, NULL);
}

/* ---- contenders ---- */

static void drop_span(struct retained *r)
{
    if (r->spare)
        grant_unref(r->spare);
    grant_unref(r->span);
    r->spare = r->span = NULL;
    r->holder = NULL;
    r->over = false;
}

static void on_news(void *context, enum contender_news news)
{
    struct retained *r = context;
    struct retain_event ev = {.kind = RETAIN_EV_LOOKED};

    switch (news) {
    case CONTENDER_PROVED:
        ev.kind = RETAIN_EV_PROVED;
        break;
    case CONTENDER_ENDED:
        drop_span(r);
        ev.kind = RETAIN_EV_ENDED;
        break;
    case CONTENDER_OTHERS:
        ev.kind = r->machine.looking ? RETAIN_EV_LOOKED : RETAIN_EV_RIVAL;
        ev.others = true;
        break;
    case CONTENDER_ALONE:
        ev.watched = true;
        break;
    case CONTENDER_UNKNOWN:
        break;
    }
    step(r, ev);
}

static void on_decided(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct retained *r = context;
    struct retain_event ev = {.kind = RETAIN_EV_FAILED};

    r->attempt = NULL;
    r->entering = false;
    if (grant) {
        r->span = grant;
        r->holder = grant_contender(grant);
        ev.kind = RETAIN_EV_GRANTED;
        ev.waited = contender_has_waited(r->holder);
        ev.delayed = r->connection != r->session->connection;
        ev.others = contender_others(r->holder) == CONTENDER_OTHERS;
        ev.watched = contender_others(r->holder) == CONTENDER_ALONE;
    } else {
        r->error = *error;
        ev.busy = error->code == ZKL_EBUSY;
    }
    step(r, ev);
}

/* Told before it returns, it is over. */
static void enter(struct retained *r, const struct retain_action *a)
{
    const struct turn_waiter *first = g_queue_peek_head(&r->waiting);
    struct contender_spec spec = r->spec;

    spec.payload = first->caller.payload;
    spec.try_only = a->tries;
    spec.watch_children = a->watch;
    spec.news = on_news;
    r->entering = true;
    r->connection = r->session->up ? r->session->connection : 0;
    struct contender *c = contender_enter(r->session, &spec, on_decided, r);
    if (r->entering)
        r->attempt = c;
    r->entering = false;
}

/* One that was lost ends by itself, when the callbacks are through; and one that a transaction is
 * giving back, with that. */
static void end_span(struct retained *r)
{
    struct contender *c = r->holder;
    const bool over = r->over;

    contender_forget(c);
    contender_set_idle(c, false);
    drop_span(r);
    if (!over)
        contender_release(c);
}

static void on_timer(void *data)
{
    step(data, (struct retain_event){.kind = RETAIN_EV_TIMER});
}

/* ---- steps ---- */

static void perform(struct retained *r, const struct retain_action *a)
{
    switch (a->kind) {
    case RETAIN_ACT_TURN:
        give_turn(r, a->turn);
        break;
    case RETAIN_ACT_BUSY:
        refuse(r, a->last ? r->waiting.tail : r->waiting.head);
        break;
    case RETAIN_ACT_ENTER:
        enter(r, a);
        break;
    case RETAIN_ACT_ABANDON:
        if (r->attempt)
            contender_abandon(r->attempt);
        r->attempt = NULL;
        break;
    case RETAIN_ACT_LOOK:
        contender_look(r->holder);
        break;
    case RETAIN_ACT_END:
        end_span(r);
        break;
    case RETAIN_ACT_FAIL:
        decide(g_queue_peek_head(&r->waiting), NULL, &r->error);
        break;
    case RETAIN_ACT_ARM:
        timers_arm(r->session->timers, &r->timer, a->at, on_timer, r);
        break;
    }
}

static void read_clock(const struct retained *r, struct retain_event *ev)
{
    if (r->span)
        ev->sure = turn_span_state(r->span, &ev->now) == ZKL_HELD;
    else
        ev->now = clock_boot();
}

static void step_once(struct retained *r, struct retain_event *ev)
{
    const struct turn_waiter *first = g_queue_peek_head(&r->waiting);
    struct retain_actions actions;

    if (ev->now == 0)
        read_clock(r, ev);
    ev->same = first && is_last_owner(r, &first->caller);
    retain_step(&r->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(r, &actions.list[i]);
}

/* What the machine has come to, where others see it. */
static void show(struct retained *r)
{
    GQueue *idle = &r->all->idle;
    const bool is_idle = r->machine.state == RETAIN_IDLE, was_idle = r->listed_idle;

    if (is_idle != was_idle) {
        if (is_idle)
            g_queue_push_tail_link(idle, &r->idle_link);
        else
            g_queue_unlink(idle, &r->idle_link);
        r->listed_idle = is_idle;
    }
    if (r->holder)
        contender_set_idle(r->holder, is_idle);
    if (!r->machine.armed)
        timers_cancel(&r->timer);
}

/* Events that come out of a step wait for its end. */
static void step(struct retained *r, struct retain_event ev)
{
    if (r->stepping) {
        g_array_append_val(r->pending, ev);
        return;
    }
    r->refs++;
    r->stepping = true;
    step_once(r, &ev);
    for (guint i = 0; i < r->pending->len; i++) {
        ev = g_array_index(r->pending, struct retain_event, i);
        step_once(r, &ev);
    }
    g_array_set_size(r->pending, 0);
    r->stepping = false;
    show(r);
    const bool busy = r->machine.state != RETAIN_NONE, was_busy = r->busy;
    r->busy = busy;
    r->refs += busy;
    r->refs -= was_busy;
    retained_unref(r);
}

/* ---- for callers ---- */

struct turn_waiter *retained_wait(struct retained *r, const struct turn_caller *caller,
                                  contender_decided decided, void *context)
{
    struct turn_waiter *w = g_new0(struct turn_waiter, 1);

    w->retained = r;
    w->caller = *caller;
    g_ref_string_acquire(w->caller.payload);
    w->decided = decided;
    w->context = context;
    w->link.data = w;
    g_queue_push_tail_link(&r->waiting, &w->link);
    step(r, (struct retain_event){.kind = RETAIN_EV_LOCK, .tries = caller->tries});
    return w;
}

static void take(void *context, zkl_grant *turn, const zkl_error *error)
{
    zkl_grant **ret = context;

    (void)error;
    *ret = turn;
}

zkl_grant *retained_take(struct retained *r, uint64_t owner)
{
    struct retain_event ev = {.kind = RETAIN_EV_LOCK};
    const struct turn_caller caller = {.owner = owner};
    const struct retain *m = &r->machine;
    zkl_grant *turn = NULL;

    if (m->state != RETAIN_IDLE || m->waiting > 0 || (m->fence64 && !is_last_owner(r, &caller)))
        return NULL;
    read_clock(r, &ev);
    if (!ev.sure)
        return NULL;
    r->quick = (struct turn_waiter){
        .retained = r, .caller = caller, .decided = take, .context = &turn, .link.data = &r->quick};
    g_queue_push_tail_link(&r->waiting, &r->quick.link);
    step(r, ev);
    return turn;
}

void retained_give_up(struct turn_waiter *w, int code, const char *text)
{
    struct retained *r = w->retained;
    const char *path = session_path(r->session, r->spec.directory);
    struct retain_event ev = {.kind = RETAIN_EV_GAVE_UP, .first = !w->link.prev};
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    r->refs++;
    decide(w, NULL, &why);
    step(r, ev);
    retained_unref(r);
}

/* Of all idle spans of the session the oldest go first. */
static void shed(struct locks *all)
{
    GQueue *idle = &all->idle;

    while (idle->length > all->participant.session->retain_max)
        retained_yield(g_queue_peek_head(idle));
}

bool retained_give_back(struct retained *r, zkl_grant *turn, bool last)
{
    const struct turn_end end = turn_end(turn);
    struct locks *all = r->all;

    r->spare = end.spare;
    r->over = !end.spare;
    step(r, (struct retain_event){.kind = RETAIN_EV_UNLOCK,
                                  .now = end.now,
                                  .sure = end.now > 0,
                                  .must_end = last || end.in_doubt || !end.spare});
    shed(all);
    return end.owned;
}

void retained_yield(struct retained *r)
{
    step(r, (struct retain_event){.kind = RETAIN_EV_YIELD});
}

void retained_close(struct retained *r)
{
    step(r, (struct retain_event){.kind = RETAIN_EV_CLOSE});
}

void retained_abort(struct retained *r, const zkl_error *why)
{
    r->refs++;
    while (!g_queue_is_empty(&r->waiting))
        retained_give_up(g_queue_peek_head(&r->waiting), why->code, why->text);
    retained_unref(r);
}
