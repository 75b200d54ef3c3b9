/* One step of an attempt: its recipe hears of an event, and what it asks for then is done, here or
 * by another file of the driver. */
#include "contender_state.h"
#include "grant.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/probes.h"
#include "lib/session/flush.h"
#include "lib/session/incarnation.h"
#include "local_queue.h"
#include "locks.h"

static void detach_grant(struct contender *c)
{
    if (!c->grant)
        return;
    grant_detach(c->grant);
    grant_unref(c->grant);
    c->grant = NULL;
}

/* The attempt is over: nothing may call back into it but answers under way, which hold it. */
static void retire(struct contender *c)
{
    zkl_session *s = c->session;

    c->retired = true;
    if (c->head) {
        timers_cancel(&c->head->timer);
        watch_drop(&c->head->own_subscription, true);
        watch_drop(&c->head->children_subscription, true);
        watch_drop(&c->head->limit_subscription, false);
    }
    watch_drop(&c->predecessor_subscription, false);
    detach_grant(c);
    contender_tell(c, CONTENDER_ENDED);
    s->orphans -= c->orphan;
    if (c->leaves)
        flush_left(s);
    admission_leave(c);
    contender_unref(c);
    incarnation_retired(s);
}

/* ---- the recipe's verdicts ---- */

static void on_told(void *data)
{
    struct contender *c = data;
    zkl_session *s = c->session;

    session_lock(s);
    contender_release(c);
    contender_unref(c);
    session_unlock(s);
}

static void on_timer(void *data);

/* A node that may still stand goes when the callbacks have returned, so that what they stop is
 * stopped before another is granted; but a callback that hangs holds it up one timeout at most. */
static void lose(struct contender *c, enum loss loss)
{
    zkl_session *s = c->session;
    const zkl_loss before = grant_told_loss(c->grant); /* by its deadline */

    /* RELEASED by a transaction, with its node; or the program has closed the session. */
    if (!c->idle && grant_told_state(c->grant) != ZKL_RELEASED && loss != LOSS_CLOSED)
        log_line(s->log, ZKL_LOG_WARN, "lost", zkl_grant_node(c->grant), "%s: lost: %s",
                 grant_full_node(c->grant), zkl_strloss(before ? before : (zkl_loss)loss));
    c->refs++;
    if (grant_lose(c->grant, loss, on_told, c)) {
        timers_arm(s->timers, &contender_head(c)->timer,
                   clock_now().boot + s->timeout_ms * CLOCK_MS, on_timer, c);
    } else {
        c->refs--;
        c->release_next = true;
    }
    detach_grant(c);
    contender_tell(c, CONTENDER_ENDED);
}

/* Looked for again, and gone with the session as soon as nothing is held. */
static void note_orphan(struct contender *c)
{
    zkl_session *s = c->session;

    if (!c->orphan) {
        s->orphans++;
        log_line(
            s->log, ZKL_LOG_ERROR, "list-refused", session_path(s, admission_path(c->admission)),
            "%s: cannot list it, and a node of ours may be there", admission_path(c->admission));
    }
    c->orphan = true;
    incarnation_purge(s);
}

/* What the action asks of the store. */
static void ask(struct contender *c, const struct action *a)
{
    switch (a->kind) {
    case ACT_PARENTS:
    case ACT_RESET:
    case ACT_READ_LIMIT:
    case ACT_READ_HINT:
    case ACT_SET_HINT:
        contender_ask_directory(c, a);
        break;
    case ACT_LIST:
        contender_ask_list(c, a);
        break;
    case ACT_DELETE_SPARE:
    case ACT_DELETE_ALL:
        contender_delete_listed(c, a->kind == ACT_DELETE_SPARE);
        break;
    default:
        contender_ask_node(c, a);
    }
}

/* What was granted in the same step may have been given back at once: a timer would outlive it. */
static void arm(struct contender *c, int64_t ms)
{
    if (c->retired)
        return;
    timers_arm(c->session->timers, &contender_head(c)->timer, clock_now().boot + ms * CLOCK_MS,
               on_timer, c);
}

static void perform(struct contender *c, const struct action *a)
{
    switch (a->kind) {
    case ACT_GRANT:
        contender_tell_granted(c);
        break;
    case ACT_ADMIT:
        admission_enter(c);
        break;
    case ACT_REVOKE:
        lose(c, a->loss);
        break;
    case ACT_OTHERS:
        contender_tell_others(c, a->others);
        break;
    case ACT_ASKED:
        contender_tell_asked(c);
        break;
    case ACT_FAIL:
        contender_tell_failed(c, a);
        break;
    case ACT_ARM:
        arm(c, a->number);
        break;
    case ACT_ORPHAN:
        note_orphan(c);
        break;
    case ACT_TOUCH:
        contender_touch(c);
        break;
    case ACT_UNWATCH_LIMIT:
        watch_drop(&c->head->limit_subscription, false);
        break;
    default:
        ask(c, a);
    }
}

/* A deadline matters to holders and to whoever lacks nothing else: of thousands that wait, none is
 * stepped for each proof. */
static void note_deadline(struct contender *c)
{
    bool by_deadline = c->grant || c->machine.state == ST_CLAIMING;

    if (!by_deadline && !c->head)
        return;
    struct head_state *h = contender_head(c);
    GQueue *all = &admission_locks(c->admission)->by_deadline;
    if (by_deadline && !h->by_deadline)
        g_queue_push_tail_link(all, &h->deadline_link);
    else if (!by_deadline && h->by_deadline)
        g_queue_unlink(all, &h->deadline_link);
    h->by_deadline = by_deadline;
}

void contender_step(struct contender *c, struct event *ev)
{
    zkl_session *s = c->session;
    struct actions actions;
    const bool waited = c->machine.state == ST_WAITING;

    ev->session = s->id;
    ev->connection = s->connection;
    ev->timeout_ms = s->timeout_ms;
    ev->in_time = proofs_deadline(&s->proofs, clock_now()) == DEADLINE_LASTING;
    c->refs++;
    attempt_step(&c->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(c, &actions.list[i]);
    if (c->release_next) {
        c->release_next = false;
        contender_step(c, &(struct event){.kind = EV_RELEASE});
    }
    if (c->machine.state == ST_LEAVING && !c->leaves) {
        c->leaves = true;
        flush_leaves(s);
    }
    if (c->machine.state == ST_DONE && !c->retired)
        retire(c);
    if (c->machine.state == ST_WAITING && !waited) {
        PROBE(4, queued, admission_path(c->admission), s->id, (const char *)c->id, c->number);
        contender_tell(c, CONTENDER_WAITS);
    }
    note_deadline(c);
    admission_passed(c);
    contender_unref(c);
}

void contender_step_kind(struct contender *c, enum event_kind kind)
{
    contender_step(c, &(struct event){.kind = kind});
}

static void on_timer(void *data)
{
    struct contender *c = data;

    contender_step_kind(c, c->machine.state == ST_LAPSED ? EV_RELEASE : EV_TIMER);
}

static void on_own_fired(void *context, bool gone)
{
    contender_step(context, &(struct event){.kind = EV_OWN_FIRED, .gone = gone});
}

static void on_children_fired(void *context, bool gone)
{
    (void)gone;
    contender_step_kind(context, EV_CHILDREN_FIRED);
}

static void on_limit_fired(void *context, bool gone)
{
    (void)gone;
    contender_step_kind(context, EV_LIMIT_FIRED);
}

struct head_state *contender_head(struct contender *c)
{
    if (!c->head) {
        c->head = g_new0(struct head_state, 1);
        c->head->own_subscription = (struct subscription){.fired = on_own_fired, .context = c};
        c->head->children_subscription =
            (struct subscription){.fired = on_children_fired, .context = c};
        c->head->limit_subscription = (struct subscription){.fired = on_limit_fired, .context = c};
        c->head->deadline_link.data = c;
    }
    return c->head;
}

/* ---- what is asked of it by who began it ---- */

int contender_ahead(const struct contender *c)
{
    enum attempt_state state = c->machine.state;

    if (state == ST_PROVING || state == ST_CLAIMING || state == ST_HOLDING)
        return 0;
    return c->machine.ahead > 0 ? (int)c->machine.ahead : -1;
}

char *contender_own_node(const struct contender *c)
{
    return c->machine.has_node ? contender_node(c) : NULL;
}

void contender_abort(struct contender *c, int code, const char *text)
{
    const char *path = session_path(c->session, admission_path(c->admission));
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    c->refs++;
    c->why = &why;
    contender_step(c, &(struct event){.kind = EV_ABORT, .error = ATTEMPT_ABORTED});
    c->why = NULL;
    contender_recall(c);
    contender_unref(c);
}

static void tell_nobody(void *context, zkl_grant *grant, const zkl_error *error)
{
    (void)context;
    (void)grant;
    (void)error;
}

void contender_abandon(struct contender *c)
{
    c->decided = tell_nobody;
    contender_forget(c);
    contender_abort(c, ZKL_ECANCELED, zkl_strerror(ZKL_ECANCELED));
}

void contender_look(struct contender *c)
{
    contender_step_kind(c, EV_LOOK);
}

void contender_hear(struct contender *c, contender_news_fn news)
{
    contender_head(c)->news = news;
}

void contender_heed(struct contender *c)
{
    contender_step_kind(c, EV_HEED);
}

void contender_release(struct contender *c)
{
    contender_step_kind(c, EV_RELEASE);
}

void contender_lapse(struct contender *c)
{
    contender_step_kind(c, EV_LAPSED);
}

void contender_vanished(struct contender *c)
{
    on_own_fired(c, true);
}
