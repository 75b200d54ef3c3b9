/* Steps the machine of a handle that retains, and does what it asks. */
#include "lib/base/error.h"
#include "retained_state.h"

void retained_unref(struct retained *r)
{
    if (--r->refs > 0)
        return;
    timers_cancel(&r->timer);
    local_callers_remove(&r->callers);
    g_array_unref(r->pending);
    g_ref_string_release(r->spec.directory);
    g_free(r);
}

/* ---- who waits ---- */

void retained_decide(struct turn_waiter *w, zkl_grant *turn, const zkl_error *error)
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
    retained_decide(link->data, NULL, &e);
}

bool retained_is_last_owner(const struct retained *r, const struct turn_caller *caller)
{
    return !caller->is_new && !r->was_new && caller->owner == r->owner;
}

static void give_turn(struct retained *r, uint64_t number)
{
    struct turn_waiter *w = g_queue_peek_head(&r->waiting);

    zkl_grant *turn = grant_new_turn(r->span, r->spare, number, &retained_turns, r);

    r->spare = NULL;
    r->owner = w->caller.owner;
    r->was_new = w->caller.is_new;
    retained_decide(w, turn, NULL);
}

/* ---- contenders ---- */

static void drop_span(struct retained *r)
{
    if (r->spare)
        grant_unref(r->spare);
    tenure_unref(r->span);
    r->spare = NULL;
    r->span = NULL;
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
    retained_step(r, ev);
}

static void on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct retained *r = context;
    struct retain_event ev = {.kind = RETAIN_EV_FAILED};

    r->attempt = NULL;
    r->entering = false;
    if (tenure) {
        r->span = tenure;
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
    retained_step(r, ev);
}

/* Told before it returns, it is over. */
static void enter(struct retained *r, const struct retain_action *a)
{
    const struct turn_waiter *first = g_queue_peek_head(&r->waiting);
    struct contender_spec spec = r->spec;

    spec.payload = first->caller.payload;
    spec.try_only = a->tries;
    spec.watch_children = a->watch;
    spec.heeds = true;
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
    retained_step(data, (struct retain_event){.kind = RETAIN_EV_TIMER});
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
        retained_decide(g_queue_peek_head(&r->waiting), NULL, &r->error);
        break;
    case RETAIN_ACT_ARM:
        timers_arm(r->session->timers, &r->timer, a->at, on_timer, r);
        break;
    }
}

void retained_read_clock(const struct retained *r, struct retain_event *ev)
{
    if (r->span)
        ev->sure = validity_state(&r->span->validity, &ev->now) == ZKL_HELD;
    if (ev->now == 0)
        ev->now = clock_boot();
}

static void step_once(struct retained *r, struct retain_event *ev)
{
    const struct turn_waiter *first = g_queue_peek_head(&r->waiting);
    struct retain_actions actions;

    if (ev->now == 0)
        retained_read_clock(r, ev);
    ev->same = first && retained_is_last_owner(r, &first->caller);
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
void retained_step(struct retained *r, struct retain_event ev)
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
    if (r->pending->len > 0)
        g_array_set_size(r->pending, 0);
    r->stepping = false;
    show(r);
    const bool busy = r->machine.state != RETAIN_NONE, was_busy = r->busy;
    r->busy = busy;
    r->refs += busy;
    r->refs -= was_busy;
    retained_unref(r);
}
