/* Campaigning again and again. Ends of terms are heard as any grant's holder hears of them, on the
 * callback thread: so the next campaign begins, and the node of a lost term goes, when the user's
 * callback has returned. */
#include "election_bid.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/lock/grant.h"
#include "lib/lock/release.h"

void bid_unref(struct bid *bid)
{
    if (--bid->refs > 0)
        return;
    election_unref(bid->election);
    g_free(bid);
}

/* ---- telling ---- */

struct message {
    struct bid *bid;
    zkl_election_event event;
    zkl_grant *grant;
    zkl_error error;
};

static void free_message(struct message *m)
{
    if (m->grant)
        grant_unref(m->grant);
    bid_unref(m->bid);
    g_free(m);
}

static void deliver(void *data)
{
    struct message *m = data;
    struct bid *bid = m->bid;
    zkl_session *s = bid->election->session; /* open as long as there are callbacks */

    bid->fn(bid->election, m->event, m->grant, m->error.code ? &m->error : NULL, bid->data);
    session_lock(s);
    free_message(m);
    session_unlock(s);
}

void bid_tell(struct bid *bid, zkl_election_event event, zkl_grant *grant, const zkl_error *error)
{
    struct message *m = g_new0(struct message, 1);

    m->bid = bid;
    m->event = event;
    m->grant = grant ? grant_ref(grant) : NULL;
    if (error)
        m->error = *error;
    bid->refs++;
    if (!callbacks_push(bid->election->session->callbacks, deliver, m))
        free_message(m);
}

/* ---- ends ---- */

/* What is left is to tell that it STOPPED, and to give up its own reference. */
static void end(struct bid *bid)
{
    bid->state = BID_OVER;
    timers_cancel(&bid->timer);
    if (bid->election->bid == bid)
        bid->election->bid = NULL;
}

static void over(struct bid *bid)
{
    end(bid);
    bid_tell(bid, ZKL_ELECTION_STOPPED, NULL, bid->why.code ? &bid->why : NULL);
    bid_unref(bid);
}

static void blame(struct bid *bid, int code)
{
    const char *path = election_path(bid->election);

    error_fill(&bid->why, code, path, "%s: %s", path, zkl_strerror(code));
}

static void drop_grant(struct bid *bid)
{
    if (bid->election->grant == bid->grant)
        election_set_grant(bid->election, NULL);
    grant_unref(bid->grant);
    bid->grant = NULL;
}

/* ---- campaigning ---- */

static void enter(void *data);

static void failed(struct bid *bid, const zkl_error *error)
{
    bid->election->last = *error;
    if (error->code == ZKL_EAUTH || error->code == ZKL_ECLOSED) {
        bid->why = *error;
        over(bid);
        return;
    }
    bid_tell(bid, ZKL_ELECTION_FAILED, NULL, error);
    bid->state = BID_PAUSED;
    timers_arm_again(bid->election->session->timers, &bid->timer, &bid->pause_ms, enter, bid);
}

static void on_decided(void *owner, zkl_grant *grant, const zkl_error *error)
{
    struct bid *bid = owner;

    bid->contender = NULL;
    if (bid->state == BID_OVER) /* it was aborted */
        return;
    if (!grant) {
        failed(bid, error);
        return;
    }
    bid->grant = grant;
    tenure_won(bid);
}

static void enter(void *data)
{
    struct bid *bid = data;
    zkl_session *s = bid->election->session;
    const struct contender_spec spec = election_spec(bid->election);

    if (s->refused) {
        blame(bid, ZKL_EAUTH);
        bid->election->last = bid->why;
        over(bid);
        return;
    }
    bid->state = BID_QUEUED;
    struct contender *c = contender_enter(s, &spec, on_decided, bid);
    if (bid->state == BID_QUEUED)
        bid->contender = c;
}

static void pass(void *data)
{
    struct bid *bid = data;

    grant_give_back(bid->grant);
    drop_grant(bid);
    enter(bid);
}

/* Not at once: this may be called in the middle of a contender's step, or of a session's end. */
void bid_pass(struct bid *bid)
{
    tenure_end(bid);
    timers_arm(bid->election->session->timers, &bid->timer, clock_now().boot, pass, bid);
}

/* ---- terms ---- */

/* False: there will be no other. */
static bool end_term(struct bid *bid, bool lost)
{
    zkl_election *e = bid->election;
    const char *path = election_path(e);
    zkl_error why = {.code = 0};

    tenure_end(bid);
    drop_grant(bid);
    if (lost)
        error_fill(&why, ZKL_ELOST, path, "%s: %s", path, zkl_strerror(ZKL_ELOST));
    if (!e->bid || e->bid == bid) /* it may have been stopped, and another begun */
        e->last = why;
    if (!bid->stopping && !e->session->closing && e->options.requeue) {
        enter(bid);
        return true;
    }
    if (!bid->stopping && e->session->closing)
        blame(bid, ZKL_ECLOSED);
    else if (!bid->stopping)
        bid->why = why;
    end(bid);
    return false;
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
    struct bid *bid = data;
    zkl_session *s = bid->election->session;

    bid->fn(bid->election, events[state], grant, NULL, bid->data);
    if (state < ZKL_LOST)
        return;
    session_lock(s);
    bool goes_on = end_term(bid, state == ZKL_LOST);
    session_unlock(s);
    /* Not by way of the queue: whoever was asked to stop may have been started again. */
    if (!goes_on)
        bid->fn(bid->election, ZKL_ELECTION_STOPPED, NULL, bid->why.code ? &bid->why : NULL,
                bid->data);
    session_lock(s);
    if (!goes_on)
        bid_unref(bid);
    bid_unref(bid); /* the watcher's */
    session_unlock(s);
}

void bid_lead(struct bid *bid)
{
    bid->state = BID_LEADING;
    bid->pause_ms = 0;
    election_set_grant(bid->election, bid->grant);
    bid_tell(bid, ZKL_ELECTION_LEADING, bid->grant, NULL);
    bid->refs++;
    grant_watch(bid->grant, on_change, bid);
    tenure_begin(bid);
}

/* ---- the handle's side ---- */

/* The contender tells of its end while the bid is over already. */
static void leave_queue(struct bid *bid)
{
    struct contender *c = bid->contender;

    bid->state = BID_OVER;
    bid->contender = NULL;
    contender_abort(c, ZKL_ECANCELED, "resigned");
}

bool bid_stop(struct bid *bid, int code)
{
    bid->election->bid = NULL;
    if (code)
        blame(bid, code);
    if (bid->state == BID_LEADING) { /* its end is to be told first */
        bid->stopping = true;
        return grant_give_back(bid->grant);
    }
    if (bid->state != BID_PAUSED)
        bid->election->last = bid->why;
    if (bid->state == BID_QUEUED)
        leave_queue(bid);
    if (bid->state == BID_CHECKING) {
        tenure_end(bid);
        grant_give_back(bid->grant);
        drop_grant(bid);
    }
    over(bid);
    return true;
}

void bid_describe(const struct bid *bid, zkl_election_status *ret)
{
    ret->candidacy = bid->state == BID_PAUSED ? ZKL_CANDIDACY_PAUSED : ZKL_CANDIDACY_QUEUED;
    if (bid->contender)
        ret->ahead = contender_ahead(bid->contender);
    else if (bid->state == BID_CHECKING)
        ret->ahead = 0;
}

static int start(zkl_election *e, zkl_election_fn fn, void *data)
{
    if (e->session->closing)
        return ZKL_ECLOSED;
    if (e->bid || e->campaign || election_leads(e))
        return ZKL_EBUSY;
    struct bid *bid = g_new0(struct bid, 1);
    bid->refs = 1;
    bid->election = e;
    bid->fn = fn;
    bid->data = data;
    election_forget(e);
    e->refs++;
    e->bid = bid;
    enter(bid);
    return 0;
}

int zkl_election_start(zkl_election *e, zkl_election_fn fn, void *data)
{
    int code = election_check(e, true);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_start: fn is NULL");
    session_lock(e->session);
    code = start(e, fn, data);
    session_unlock(e->session);
    if (code)
        error_set(code, election_path(e), "%s: %s", election_path(e),
                  code == ZKL_EBUSY ? "already campaigning or leading" : zkl_strerror(code));
    return code;
}

/* Its end is heard of as any, and a new campaign follows. */
static int yield(const zkl_election *e)
{
    const struct bid *bid = e->bid;

    if (!bid || bid->state != BID_LEADING || zkl_grant_state(bid->grant) == ZKL_RELEASED)
        return ZKL_EPERM;
    return grant_give_back(bid->grant) ? 0 : ZKL_ELOST;
}

int zkl_election_yield(zkl_election *e)
{
    int code = election_check(e, true);

    if (code)
        return code;
    session_lock(e->session);
    code = yield(e);
    session_unlock(e->session);
    if (code)
        error_set(code, election_path(e), "%s: %s", election_path(e),
                  code == ZKL_EPERM ? "not leading in a started election" : "the term was lost");
    return code;
}
