/* Campaigning again and again. Ends of terms are heard as any grant's holder hears of them, on the
 * callback thread: so the next campaign begins, and the node of a lost term goes, when the user's
 * callback has returned. */
#include "election_candidacy.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/lock/grant.h"
#include "lib/lock/release.h"
#include "lib/session/request.h"
#include "lib/session/stats.h"

static void unref(struct election_candidacy *c)
{
    if (--c->refs > 0)
        return;
    election_unref(c->election);
    g_free(c);
}

/* ---- telling ---- */

struct message {
    struct election_candidacy *candidacy;
    zkl_election_event event;
    zkl_grant *grant;
    zkl_error error;
};

static void free_message(struct message *m)
{
    if (m->grant)
        grant_unref(m->grant);
    unref(m->candidacy);
    g_free(m);
}

static void deliver(void *data)
{
    struct message *m = data;
    struct election_candidacy *c = m->candidacy;
    zkl_session *s = c->election->session; /* open as long as there are callbacks */

    c->fn(c->election, m->event, m->grant, m->error.code ? &m->error : NULL, c->data);
    session_lock(s);
    free_message(m);
    session_unlock(s);
}

static void tell(struct election_candidacy *c, zkl_election_event event, zkl_grant *grant,
                 const zkl_error *error)
{
    struct message *m = g_new0(struct message, 1);

    m->candidacy = c;
    m->event = event;
    m->grant = grant ? grant_ref(grant) : NULL;
    if (error)
        m->error = *error;
    c->refs++;
    if (!callbacks_push(c->election->session->callbacks, deliver, m))
        free_message(m);
}

/* ---- events ---- */

static void step(struct election_candidacy *c, struct candidacy_event ev);

static void on_timer(void *data)
{
    step(data, (struct candidacy_event){.kind = CANDIDACY_EV_TIMER});
}

static void on_fired(void *context, bool gone)
{
    (void)gone;
    step(context, (struct candidacy_event){.kind = CANDIDACY_EV_FIRED});
}

static void on_news(void *context, enum contender_news news)
{
    if (news == CONTENDER_ASKED)
        step(context, (struct candidacy_event){.kind = CANDIDACY_EV_REVOKED});
}

static void count(const struct election_candidacy *c, zkl_grant *grant, const zkl_error *error)
{
    zkl_session *s = c->election->session;
    const int64_t now = clock_boot();

    s->stats.waiting--;
    if (grant)
        grant_began(grant, now - c->entered, now);
    else
        stats_failed(s, error->code);
}

static void on_decided(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct election_candidacy *c = context;
    struct candidacy_event ev = {.kind = CANDIDACY_EV_WON};

    c->contender = NULL;
    count(c, grant, error);
    if (grant) {
        c->grant = grant;
        contender_hear(grant_contender(grant), on_news);
    } else {
        c->failure = *error;
        ev.kind = CANDIDACY_EV_FAILED;
        ev.why = error->code == ZKL_EAUTH     ? CANDIDACY_CAUSE_REFUSED
                 : error->code == ZKL_ECLOSED ? CANDIDACY_CAUSE_CLOSED
                                              : CANDIDACY_CAUSE_ATTEMPT;
    }
    step(c, ev);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct election_candidacy *c = r->context;
    struct candidacy_event ev = {.kind = CANDIDACY_EV_UNLISTED, .tag = r->tag};

    if (r->what.watch)
        watch_answered(c->election->session, r, reply, &c->subscription);
    if (reply->rc == STORE_OK) {
        ev.kind = CANDIDACY_EV_LISTED;
        ev.names = (const char *const *)reply->names;
        ev.count = reply->count;
        ev.own = c->grant ? strrchr(grant_full_node(c->grant), '/') + 1 : "";
    } else if (reply->rc == STORE_GONE) {
        ev.kind = CANDIDACY_EV_GONE;
    }
    step(c, ev);
    unref(c);
}

/* The grant's watcher: on the callback thread, without the monitor. */
static void on_change(zkl_grant *grant, zkl_state state, void *data)
{
    static const zkl_election_event events[] = {
        [ZKL_HELD] = ZKL_ELECTION_HELD,
        [ZKL_SUSPECT] = ZKL_ELECTION_SUSPECT,
        [ZKL_LOST] = ZKL_ELECTION_DEPOSED,
        [ZKL_RELEASED] = ZKL_ELECTION_RESIGNED,
    };
    struct election_candidacy *c = data;
    zkl_session *s = c->election->session;

    c->fn(c->election, events[state], grant, NULL, c->data);
    if (state < ZKL_LOST)
        return;
    session_lock(s);
    step(c, (struct candidacy_event){.kind = CANDIDACY_EV_TERM_TOLD, .lost = state == ZKL_LOST});
    bool over = c->over;
    session_unlock(s);
    /* Not by way of the queue: whoever was asked to stop may have been started again. */
    if (over)
        c->fn(c->election, ZKL_ELECTION_STOPPED, NULL, c->why.code ? &c->why : NULL, c->data);
    session_lock(s);
    if (over)
        unref(c);
    unref(c); /* the watcher's */
    session_unlock(s);
}

/* ---- actions ---- */

static void enter(struct election_candidacy *c)
{
    const struct contender_spec spec = election_spec(c->election);

    c->entered = clock_boot();
    c->election->session->stats.waiting++;
    struct contender *entered = contender_enter(c->election->session, &spec, on_decided, c);

    if (c->machine.state == CANDIDACY_QUEUED) /* it was not decided at once */
        c->contender = entered;
}

static void forget(struct election_candidacy *c)
{
    if (c->election->grant == c->grant)
        election_set_grant(c->election, NULL);
    grant_unref(c->grant);
    c->grant = NULL;
}

static void leave(struct election_candidacy *c)
{
    grant_give_back(c->grant);
    forget(c);
}

static void lead(struct election_candidacy *c)
{
    election_set_grant(c->election, c->grant);
    tell(c, ZKL_ELECTION_LEADING, c->grant, NULL);
    c->refs++;
    grant_watch(c->grant, on_change, c);
}

static void list(struct election_candidacy *c, const struct candidacy_action *a)
{
    zkl_election *e = c->election;
    struct request *r = request_new(STORE_LIST, g_strdup(e->directory), on_listed, c);
    bool unwatched;

    r->tag = a->tag;
    c->refs++;
    unwatched = !watch_add(e->session, r, &c->subscription);
    request_send(e->session, r);
    if (unwatched)
        step(c, (struct candidacy_event){.kind = CANDIDACY_EV_UNWATCHED});
}

static zkl_error error_of(const struct election_candidacy *c, enum candidacy_cause cause)
{
    static const int codes[] = {
        [CANDIDACY_CAUSE_LOST] = ZKL_ELOST,
        [CANDIDACY_CAUSE_REFUSED] = ZKL_EAUTH,
        [CANDIDACY_CAUSE_CLOSED] = ZKL_ECLOSED,
    };
    const char *path = election_path(c->election);
    zkl_error error = {.code = 0};

    if (cause == CANDIDACY_CAUSE_ATTEMPT)
        return c->failure;
    if (cause != CANDIDACY_CAUSE_NONE)
        error_fill(&error, codes[cause], path, "%s: %s", path, zkl_strerror(codes[cause]));
    return error;
}

static void stop(struct election_candidacy *c, const struct candidacy_action *a)
{
    timers_cancel(&c->timer);
    if (c->election->candidacy == c)
        c->election->candidacy = NULL;
    c->why = error_of(c, a->cause);
    c->over = a->behind;
    if (a->behind)
        return;
    tell(c, ZKL_ELECTION_STOPPED, NULL, c->why.code ? &c->why : NULL);
    unref(c);
}

static void perform(struct election_candidacy *c, const struct candidacy_action *a)
{
    switch (a->kind) {
    case CANDIDACY_ACT_ENTER:
        enter(c);
        break;
    case CANDIDACY_ACT_ABORT:
        contender_abort(c->contender, ZKL_ECANCELED, "resigned");
        break;
    case CANDIDACY_ACT_LEAVE:
        leave(c);
        break;
    case CANDIDACY_ACT_LEAD:
        lead(c);
        break;
    case CANDIDACY_ACT_RESIGN:
        c->answer = grant_give_back(c->grant) ? 0 : ZKL_ELOST;
        break;
    case CANDIDACY_ACT_FORGET:
        forget(c);
        break;
    case CANDIDACY_ACT_LIST:
        list(c, a);
        break;
    case CANDIDACY_ACT_IGNORE:
        watch_drop(&c->subscription, false);
        timers_cancel(&c->timer);
        break;
    case CANDIDACY_ACT_ARM:
        timers_arm(c->election->session->timers, &c->timer, a->at, on_timer, c);
        break;
    case CANDIDACY_ACT_ASK:
        tell(c, ZKL_ELECTION_ASKED, c->grant, NULL);
        break;
    case CANDIDACY_ACT_FAIL:
        tell(c, ZKL_ELECTION_FAILED, NULL, &c->failure);
        break;
    case CANDIDACY_ACT_NOTE:
        c->election->last = error_of(c, a->cause);
        break;
    case CANDIDACY_ACT_STOP:
        stop(c, a);
        break;
    }
}

static void step(struct election_candidacy *c, struct candidacy_event ev)
{
    const zkl_election *e = c->election;
    struct candidacy_actions actions;

    ev.now = clock_now().boot;
    ev.refused = e->session->refused;
    ev.closing = e->session->closing;
    ev.superseded = e->candidacy && e->candidacy != c;
    ev.watched = c->subscription.watch != NULL;
    ev.owned = c->grant && zkl_grant_state(c->grant) < ZKL_LOST;
    ev.released = c->grant && zkl_grant_state(c->grant) == ZKL_RELEASED;
    c->refs++;
    candidacy_step(&c->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(c, &actions.list[i]);
    unref(c);
}

/* ---- the handle's side ---- */

int election_candidacy_tell(struct election_candidacy *c, enum candidacy_event_kind kind,
                            bool closed, int answer)
{
    c->refs++;
    c->answer = answer;
    step(c, (struct candidacy_event){.kind = kind, .closed = closed});
    answer = c->answer;
    unref(c);
    return answer;
}

void election_candidacy_begin(zkl_election *e, zkl_election_fn fn, void *data)
{
    const zkl_election_options *o = &e->options;
    struct election_candidacy *c = g_new0(struct election_candidacy, 1);

    c->refs = 1;
    c->election = e;
    c->fn = fn;
    c->data = data;
    c->subscription = (struct subscription){.fired = on_fired, .context = c};
    c->machine = (struct candidacy){
        .rule = e->rule, .requeue = o->requeue, .yield = o->yield, .priority = o->priority};
    e->refs++;
    e->candidacy = c;
    on_timer(c);
}
