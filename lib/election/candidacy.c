/* Campaigns again and again. The candidacy hears of the end of a term as any holder of a grant
 * does, on the callback thread. So the next campaign begins, and the node of a lost term goes,
 * after the user's callback has returned. */
#include "candidacy.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/grant/grant.h"
#include "lib/session/driver.h"
#include "lib/session/stats.h"
#include "recipes/candidacy.h"

struct election_candidacy {
    int refs; /* its own until it is over, each message, each request, its grant's watcher */
    struct driver driver;
    struct candidacy machine;
    zkl_election *election;
    zkl_election_fn fn;
    void *data;
    struct contender *contender; /* QUEUED */
    zkl_grant *grant;            /* CHECKING to STOPPING: a reference */
    int64_t entered;             /* CLOCK_BOOTTIME ns: the last attempt */
    bool closed;                 /* it stops because the session is closed */
    zkl_error failure;           /* of the last attempt */
    zkl_error why;               /* it is over; .code 0: it was asked to */
    bool over;                   /* to be told behind the end of the term */
    int answer;                  /* to the user's call under way */
};

static void candidacy_unref(struct election_candidacy *c)
{
    if (--c->refs > 0)
        return;
    driver_clear(&c->driver);
    election_unref(c->election);
    g_free(c);
}

/* ---- telling ---- */

struct candidacy_message {
    struct election_candidacy *candidacy;
    zkl_election_event event;
    zkl_grant *grant;
    zkl_error error;
};

static void candidacy_free_message(struct candidacy_message *m)
{
    if (m->grant)
        grant_unref(m->grant);
    candidacy_unref(m->candidacy);
    g_free(m);
}

static void candidacy_deliver(void *data)
{
    struct candidacy_message *m = data;
    struct election_candidacy *c = m->candidacy;
    zkl_session *s = c->election->session; /* open as long as there are callbacks */

    c->fn(c->election, m->event, m->grant, m->error.code ? &m->error : NULL, c->data);
    session_lock(s);
    candidacy_free_message(m);
    session_unlock(s);
}

static void candidacy_push(struct election_candidacy *c, zkl_election_event event, zkl_grant *grant,
                           const zkl_error *error)
{
    struct candidacy_message *m = g_new0(struct candidacy_message, 1);

    m->candidacy = c;
    m->event = event;
    m->grant = grant ? grant_ref(grant) : NULL;
    if (error)
        m->error = *error;
    c->refs++;
    if (!callbacks_push(c->election->session->callbacks, candidacy_deliver, m))
        candidacy_free_message(m);
}

/* ---- events ---- */

static void candidacy_hear(struct election_candidacy *c, unsigned kind)
{
    driver_hear(&c->driver, (struct machine_event){.kind = kind});
}

static void candidacy_on_news(void *context, enum contender_news news)
{
    if (news == CONTENDER_ASKED)
        candidacy_hear(context, CANDIDACY_EV_REVOKED);
}

static void candidacy_count(const struct election_candidacy *c, zkl_grant *grant,
                            const zkl_error *error)
{
    zkl_session *s = c->election->session;
    const int64_t now = clock_boot();

    s->stats.waiting--;
    if (grant)
        grant_began(grant, now - c->entered, now);
    else
        stats_failed(s, error->code);
}

static void candidacy_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct election_candidacy *c = context;
    zkl_grant *grant = tenure ? grant_new_on(tenure) : NULL;

    c->contender = NULL;
    candidacy_count(c, grant, error);
    if (grant) {
        c->grant = grant;
        contender_hear(contender_of(tenure), candidacy_on_news);
    } else {
        c->failure = *error;
    }
    candidacy_hear(c, grant ? CANDIDACY_EV_WON : CANDIDACY_EV_FAILED);
}

/* The grant's watcher: on the callback thread, without the monitor. */
static void candidacy_on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    static const zkl_election_event events[] = {
        [ZKL_HELD] = ZKL_ELECTION_HELD,
        [ZKL_SUSPECT] = ZKL_ELECTION_SUSPECT,
        [ZKL_LOST] = ZKL_ELECTION_LOST,
        [ZKL_RELEASED] = ZKL_ELECTION_RESIGNED,
    };
    struct election_candidacy *c = data;
    zkl_session *s = c->election->session;

    c->fn(c->election, events[state], grant, NULL, c->data);
    if (state < ZKL_LOST)
        return;
    session_lock(s);
    candidacy_hear(c, CANDIDACY_EV_TERM_TOLD);
    bool over = c->over;
    session_unlock(s);
    /* Not by way of the queue: a candidate that was asked to stop may have been started again. */
    if (over)
        c->fn(c->election, ZKL_ELECTION_STOPPED, NULL, c->why.code ? &c->why : NULL, c->data);
    session_lock(s);
    if (over)
        candidacy_unref(c);
    candidacy_unref(c); /* the watcher's */
    session_unlock(s);
}

/* ---- actions ---- */

static void candidacy_contend(struct election_candidacy *c)
{
    const struct contender_spec spec = election_spec(c->election);

    c->entered = clock_boot();
    c->election->session->stats.waiting++;
    contender_enter(&c->contender, c->election->session, &spec, candidacy_on_decided, c);
}

static void candidacy_forget(struct election_candidacy *c)
{
    if (c->election->grant == c->grant)
        election_set_grant(c->election, NULL);
    grant_unref(c->grant);
    c->grant = NULL;
}

static void candidacy_begin_term(struct election_candidacy *c)
{
    election_set_grant(c->election, c->grant);
    candidacy_push(c, ZKL_ELECTION_LEADING, c->grant, NULL);
    c->refs++;
    grant_watch(c->grant, candidacy_on_change, c);
}

static zkl_error candidacy_error(const struct election_candidacy *c, enum candidacy_cause cause)
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

static void candidacy_end_with(struct election_candidacy *c, enum candidacy_cause cause,
                               bool behind)
{
    if (c->election->candidacy == c)
        c->election->candidacy = NULL;
    c->why = candidacy_error(c, cause);
    c->over = behind;
    if (behind)
        return;
    candidacy_push(c, ZKL_ELECTION_STOPPED, NULL, c->why.code ? &c->why : NULL);
    candidacy_unref(c);
}

static struct election_candidacy *candidacy_of(struct driver *d)
{
    return DRIVER_OWNER(d, struct election_candidacy);
}

static void candidacy_do(struct driver *d, const struct machine_action *a)
{
    struct election_candidacy *c = candidacy_of(d);
    const enum candidacy_cause cause = (enum candidacy_cause)a->why;

    switch ((enum candidacy_tell)a->verdict) {
    case CANDIDACY_ENTER:
        candidacy_contend(c);
        break;
    case CANDIDACY_ABORT:
        contender_abort(c->contender, ZKL_ECANCELED, "resigned");
        break;
    case CANDIDACY_LEAVE:
        grant_give_back(c->grant, false);
        candidacy_forget(c);
        break;
    case CANDIDACY_LEAD:
        candidacy_begin_term(c);
        break;
    case CANDIDACY_RESIGN:
        c->answer = grant_give_back(c->grant, false) ? 0 : ZKL_ELOST;
        break;
    case CANDIDACY_FORGET:
        candidacy_forget(c);
        break;
    case CANDIDACY_ASK:
        candidacy_push(c, ZKL_ELECTION_ASKED, c->grant, NULL);
        break;
    case CANDIDACY_FAIL:
        candidacy_push(c, ZKL_ELECTION_FAILED, NULL, &c->failure);
        break;
    case CANDIDACY_NOTE:
        c->election->last = candidacy_error(c, cause);
        break;
    case CANDIDACY_STOP:
    case CANDIDACY_STOP_BEHIND:
        candidacy_end_with(c, cause, a->verdict == CANDIDACY_STOP_BEHIND);
        break;
    }
}

/* ---- the driver ---- */

static void candidacy_driver_step(struct driver *d, const struct machine_event *ev,
                                  struct machine_actions *out)
{
    struct election_candidacy *c = candidacy_of(d);
    const zkl_election *e = c->election;
    const zkl_state state = c->grant ? zkl_grant_state(c->grant) : ZKL_LOST;
    const struct candidacy_moment moment = {
        .now = clock_now().boot,
        .refused = e->session->refused,
        .closing = e->session->closing,
        .superseded = e->candidacy && e->candidacy != c,
        .owned = c->grant && state < ZKL_LOST,
        .released = c->grant && state == ZKL_RELEASED,
        .why = c->failure.code == ZKL_EAUTH     ? CANDIDACY_CAUSE_REFUSED
               : c->failure.code == ZKL_ECLOSED ? CANDIDACY_CAUSE_CLOSED
                                                : CANDIDACY_CAUSE_ATTEMPT,
        .lost = state == ZKL_LOST,
        .closed = c->closed,
        .names = ev->names,
        .count = ev->count,
        .own = c->grant ? strrchr(grant_full_node(c->grant), '/') + 1 : ""};

    candidacy_step(&c->machine, ev, &moment, out);
}

static char *candidacy_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(candidacy_of(d)->election->directory);
}

static void candidacy_driver_ref(struct driver *d)
{
    candidacy_of(d)->refs++;
}

static void candidacy_driver_unref(struct driver *d)
{
    candidacy_unref(candidacy_of(d));
}

static const struct driver_ops candidacy_driver = {.step = candidacy_driver_step,
                                                   .path = candidacy_path,
                                                   .tell = candidacy_do,
                                                   .ref = candidacy_driver_ref,
                                                   .unref = candidacy_driver_unref};

/* ---- the handle's side ---- */

int election_candidacy_tell(struct election_candidacy *c, unsigned kind, bool closed, int answer)
{
    c->refs++;
    c->answer = answer;
    c->closed = closed;
    candidacy_hear(c, kind);
    answer = c->answer;
    candidacy_unref(c);
    return answer;
}

void election_candidacy_session(struct election_candidacy *c, bool over)
{
    candidacy_hear(c, over ? MACHINE_EV_OVER : MACHINE_EV_SESSION);
}

void election_candidacy_begin(zkl_election *e, zkl_election_fn fn, void *data)
{
    const zkl_election_options *o = &e->options;
    struct election_candidacy *c = g_new0(struct election_candidacy, 1);

    c->refs = 1;
    c->election = e;
    c->fn = fn;
    c->data = data;
    c->machine = (struct candidacy){
        .rule = e->rule, .once = o->once, .yield = o->yield, .priority = o->priority};
    driver_init(&c->driver, &candidacy_driver, e->session, STORE_PERSISTENT);
    e->refs++;
    e->candidacy = c;
    candidacy_hear(c, MACHINE_EV_BEGIN);
}

void election_candidacy_describe(const struct election_candidacy *c, zkl_election_status *ret)
{
    const enum candidacy_state state = c->machine.state;

    ret->candidacy = state == CANDIDACY_PAUSED ? ZKL_CANDIDACY_PAUSED : ZKL_CANDIDACY_QUEUED;
    if (c->contender)
        ret->ahead = contender_ahead(c->contender);
    else if (state == CANDIDACY_CHECKING || state == CANDIDACY_PASSING)
        ret->ahead = 0;
}
