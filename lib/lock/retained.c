/* Steps the machine of a handle that retains, and does what it asks. */
#include "retained.h"

#include "lib/base/error.h"
#include "lib/grant/multi.h"

guint retained_most = RETAINED_MOST;
uint32_t retained_local_turns = RETAINED_LOCAL_TURNS;

struct turn_waiter {
    struct retained *retained;
    struct turn_caller caller;
    grant_decided decided;
    void *context;
    GList link;
};

struct retained {
    unsigned refs; /* the handle's, and one while it has a node, an attempt or who waits */
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
    const struct turn_caller *taking; /* in retained_take(): its caller, who waits in no queue */
    zkl_grant *taken;                 /* what it gets */
    struct timer timer;
    GList idle_link; /* in the session's list */
    GArray *pending; /* of struct retain_event: while another is being stepped */
    bool stepping;
    bool over; /* the tenure ends without our doing */
    bool listed_idle;
    bool busy; /* has the second reference */
};

struct tenure *retained_tenure(const struct retained *r)
{
    return r->tenure;
}

void retained_unref(struct retained *r)
{
    if (--r->refs > 0)
        return;
    timers_cancel(&r->timer);
    g_array_unref(r->pending);
    g_ref_string_release(r->spec.directory);
    g_free(r);
}

static const struct grant_ops retained_turns;

/* Gives the machine an event and does what it asks. */
static void retained_step(struct retained *r, struct retain_event *ev);

/* ---- callers that wait ---- */

static void retained_decide(struct turn_waiter *w, zkl_grant *turn, const zkl_error *error)
{
    struct retained *r = w->retained;

    g_queue_unlink(&r->waiting, &w->link);
    w->retained = NULL;
    w->decided(w->context, turn, error);
    g_ref_string_release(w->caller.payload);
    g_free(w);
}

static void retained_refuse(struct retained *r, GList *link)
{
    const char *path = session_path(r->session, r->spec.directory);
    zkl_error e;

    error_fill(&e, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
    retained_decide(link->data, NULL, &e);
}

static bool retained_is_last_owner(const struct retained *r, const struct turn_caller *caller)
{
    return !caller->is_new && !r->was_new && caller->owner == r->owner;
}

/* The caller that is first; NULL: nobody waits. */
static const struct turn_caller *retained_first(const struct retained *r)
{
    const GList *head = r->waiting.head;

    if (r->taking)
        return r->taking;
    return head ? &((const struct turn_waiter *)head->data)->caller : NULL;
}

static void retained_give_turn(struct retained *r, uint64_t number)
{
    const struct turn_caller *caller = retained_first(r);
    zkl_grant *turn = grant_new_turn(r->tenure, r->spare, number, &retained_turns, r);

    r->spare = NULL;
    r->owner = caller->owner;
    r->was_new = caller->is_new;
    if (r->taking)
        r->taken = turn;
    else
        retained_decide(g_queue_peek_head(&r->waiting), turn, NULL);
}

/* ---- contenders ---- */

static void retained_drop_tenure(struct retained *r)
{
    if (r->spare)
        grant_unref(r->spare);
    tenure_unref(r->tenure);
    r->spare = NULL;
    r->tenure = NULL;
    r->holder = NULL;
    r->over = false;
}

static void retained_on_news(void *context, enum contender_news news)
{
    struct retained *r = context;
    struct retain_event ev = {.kind = RETAIN_EV_LOOKED};

    switch (news) {
    case CONTENDER_PROVED:
        ev.kind = RETAIN_EV_PROVED;
        break;
    case CONTENDER_ENDED:
        retained_drop_tenure(r);
        ev.kind = RETAIN_EV_ENDED;
        break;
    case CONTENDER_OTHERS:
        ev.kind = r->machine.looking ? RETAIN_EV_LOOKED : RETAIN_EV_RIVAL;
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
    retained_step(r, &ev);
}

static void retained_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct retained *r = context;
    struct retain_event ev = {.kind = RETAIN_EV_FAILED};

    r->attempt = NULL;
    if (tenure) {
        r->tenure = tenure;
        r->holder = contender_of(tenure);
        ev.kind = RETAIN_EV_GRANTED;
        ev.waited = contender_has_waited(r->holder);
        ev.delayed = r->connection != r->session->connection;
        ev.others = contender_others(r->holder) == CONTENDER_OTHERS;
        ev.watched = contender_others(r->holder) == CONTENDER_ALONE;
    } else {
        r->error = *error;
        ev.busy = error->code == ZKL_EBUSY;
    }
    retained_step(r, &ev);
}

static void retained_enter(struct retained *r, const struct retain_action *a)
{
    struct contender_spec spec = r->spec;

    spec.payload = retained_first(r)->payload;
    spec.try_only = a->tries;
    spec.watch_children = a->watch;
    spec.heeds = true;
    spec.news = retained_on_news;
    r->connection = r->session->up ? r->session->connection : 0;
    contender_enter(&r->attempt, r->session, &spec, retained_on_decided, r);
}

/* One that was lost ends by itself, when the callbacks are through; and one that a transaction is
 * giving back, with that. */
static void retained_end_tenure(struct retained *r)
{
    struct contender *c = r->holder;
    const bool over = r->over;

    contender_forget(c);
    contender_set_idle(c, false);
    retained_drop_tenure(r);
    if (!over)
        contender_release(c);
}

static void retained_on_timer(void *data)
{
    retained_step(data, &(struct retain_event){.kind = RETAIN_EV_TIMER});
}

/* ---- steps ---- */

static void retained_perform(struct retained *r, const struct retain_action *a)
{
    switch (a->kind) {
    case RETAIN_ACT_TURN:
        retained_give_turn(r, a->turn);
        break;
    case RETAIN_ACT_BUSY:
        retained_refuse(r, a->last ? r->waiting.tail : r->waiting.head);
        break;
    case RETAIN_ACT_ENTER:
        retained_enter(r, a);
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
        retained_end_tenure(r);
        break;
    case RETAIN_ACT_FAIL:
        retained_decide(g_queue_peek_head(&r->waiting), NULL, &r->error);
        break;
    case RETAIN_ACT_ARM:
        timers_arm(r->session->timers, &r->timer, a->at, retained_on_timer, r);
        break;
    }
}

static void retained_read_clock(const struct retained *r, struct retain_event *ev)
{
    if (r->tenure)
        ev->sure = validity_state(&r->tenure->validity, &ev->now) == ZKL_HELD;
    if (ev->now == 0)
        ev->now = clock_boot();
}

static void retained_step_once(struct retained *r, struct retain_event *ev)
{
    const struct turn_caller *first = retained_first(r);
    struct retain_actions actions;

    if (ev->now == 0)
        retained_read_clock(r, ev);
    ev->same = first && retained_is_last_owner(r, first);
    retain_step(&r->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        retained_perform(r, &actions.list[i]);
}

/* What the machine has come to, where others see it. */
static void retained_show(struct retained *r)
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
static void retained_step(struct retained *r, struct retain_event *ev)
{
    if (r->stepping) {
        g_array_append_vals(r->pending, ev, 1);
        return;
    }
    r->refs++;
    r->stepping = true;
    retained_step_once(r, ev);
    for (guint i = 0; i < r->pending->len; i++) {
        struct retain_event next = g_array_index(r->pending, struct retain_event, i);
        retained_step_once(r, &next);
    }
    if (r->pending->len > 0)
        g_array_set_size(r->pending, 0);
    r->stepping = false;
    retained_show(r);
    const bool busy = r->machine.state != RETAIN_NONE, was_busy = r->busy;
    r->busy = busy;
    r->refs += busy;
    r->refs -= was_busy;
    retained_unref(r);
}

/* ---- what callers do ---- */

void retained_wait(struct turn_waiter **ret, struct retained *r, const struct turn_caller *caller,
                   grant_decided decided, void *context)
{
    struct turn_waiter *w = g_new0(struct turn_waiter, 1);

    *ret = w;
    w->retained = r;
    w->caller = *caller;
    g_ref_string_acquire(w->caller.payload);
    w->decided = decided;
    w->context = context;
    w->link.data = w;
    g_queue_push_tail_link(&r->waiting, &w->link);
    retained_step(r, &(struct retain_event){.kind = RETAIN_EV_LOCK, .tries = caller->tries});
}

zkl_grant *retained_take(struct retained *r, uint64_t owner)
{
    struct retain_event ev = {.kind = RETAIN_EV_LOCK};
    const struct turn_caller caller = {.owner = owner};
    const struct retain *m = &r->machine;

    if (m->state != RETAIN_IDLE || m->waiting > 0 ||
        (m->fence64 && !retained_is_last_owner(r, &caller)))
        return NULL;
    retained_read_clock(r, &ev);
    if (!ev.sure)
        return NULL;
    r->taking = &caller;
    retained_step(r, &ev);
    r->taking = NULL;
    zkl_grant *turn = g_steal_pointer(&r->taken);
    if (turn)
        grant_began(turn, 0, ev.now);
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
    retained_decide(w, NULL, &why);
    retained_step(r, &ev);
    retained_unref(r);
}

/* The tenures that were idle longest go first, of all of the session. */
static void retained_shed(struct contenders *all)
{
    GQueue *idle = &all->idle;

    while (idle->length > retained_most)
        retained_yield(g_queue_peek_head(idle));
}

/* The turn is over. Where a transaction of it is not decided yet, or never will be, that may be
 * applied as long as the node stands. */
static void retained_on_given_back(void *context, zkl_grant *turn, const struct grant_end *end)
{
    struct retained *r = context;
    struct contenders *all = r->all;
    const bool in_doubt = multi_line_is_in_doubt(r->tenure->line);

    grant_forget(turn);
    r->over = !end->owned || end->before;
    if (!r->over)
        r->spare = grant_take_off(r->tenure);
    retained_step(r, &(struct retain_event){.kind = RETAIN_EV_UNLOCK,
                                            .now = end->sure ? end->now : 0,
                                            .sure = end->sure,
                                            .must_end = end->last || in_doubt || r->over});
    retained_shed(all);
}

static const struct grant_ops retained_turns = {.given_back = retained_on_given_back};

void retained_yield(struct retained *r)
{
    retained_step(r, &(struct retain_event){.kind = RETAIN_EV_YIELD});
}

void retained_close(struct retained *r)
{
    retained_step(r, &(struct retain_event){.kind = RETAIN_EV_CLOSE});
}

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
    r->spec.retains = true;
    r->pending = g_array_new(FALSE, FALSE, sizeof(struct retain_event));
    r->idle_link.data = r;
    r->all = contenders_of(s);
    return r;
}
