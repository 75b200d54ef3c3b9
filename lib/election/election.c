/* An election: its handle and its term, a campaign, a started election, its leader and observers of
 * it. At most one way to a term is under way: a campaign, or a candidacy, which campaigns again and
 * again.
 *
 * A candidacy is told the end of a term as any holder of a grant does, on the callback thread. So
 * the next campaign begins, and the node of a lost term is deleted, after the user's callback has
 * returned. An observer asks who is first, watches that candidate and what it proclaims, and asks
 * again when any of this changes. recipes/candidacy.h and observe.h decide.
 *
 * The monitor guards all members that are not set at the start. Functions of the interface, those
 * that callbacks_push() is given or that call the user, and those that take the monitor, or check
 * arguments before, are called without it. All others are called with it held, even .free and .same
 * of a message. */
#include <stdio.h>
#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/contender/contender.h"
#include "lib/grant/grant.h"
#include "lib/lock/op.h"
#include "lib/queue/children_watch.h"
#include "lib/queue/queue.h"
#include "lib/session/participant.h"
#include "recipes/candidacy.h"
#include "recipes/name.h"
#include "recipes/observe.h"
#include "recipes/payload.h"
#include "recipes/rule.h"

enum { ID_MAX_BYTES = 1024, PROCLAIM_MAX = 64 * 1024 };

struct zkl_election {
    int refs; /* of the user, and of all that will still call back */
    zkl_session *session;
    char *directory; /* GRefString, with chroot */
    char *id;        /* GRefString; NULL: the handle has no candidate, and only observes */
    zkl_election_options options;
    enum rule rule;
    /* at most one of these is under way: */
    struct campaign *campaign;
    struct election_candidacy *candidacy;
    zkl_grant *grant; /* a reference: the grant of the present term, or of one that has ended and
                         was not forgotten yet */
    uint64_t terms;
    zkl_error last;
    struct op_queue waiters;
    GQueue observers; /* of struct observer */
    GList link;       /* in election_list.list */
};

/* Returns the path as the user sees it. */
static const char *election_path(const zkl_election *e)
{
    return session_path(e->session, e->directory);
}

/* Returns 0, or the error with which every function of the interface begins. candidate: the handle
 * must have one. */
static int election_check(const zkl_election *e, bool candidate)
{
    int code;

    if (!e)
        return error_set(ZKL_EINVAL, NULL, "the election is NULL");
    code = session_check(e->session);
    if (!code && candidate && !e->id)
        code = error_set(ZKL_EINVAL, election_path(e), "%s: this handle has no candidate_id",
                         election_path(e));
    return code;
}

/* The caller has another reference to the session. */
static void election_unref(zkl_election *e)
{
    if (--e->refs > 0)
        return;
    op_queue_clear(&e->waiters);
    session_unref(e->session);
    g_ref_string_release(e->directory);
    if (e->id)
        g_ref_string_release(e->id);
    g_free(e);
}

static struct contender_spec election_spec(const zkl_election *e)
{
    return (struct contender_spec){.directory = e->directory,
                                   .payload = e->id,
                                   .parents = e->options.parents,
                                   .rule = e->rule,
                                   .rank = e->options.priority};
}

/* ---- the term: one at a time ---- */

/* Begins a term with that grant, and takes a reference to it; NULL: ends the last term. */
static void election_set_grant(zkl_election *e, zkl_grant *grant)
{
    if (e->grant)
        grant_unref(e->grant);
    e->grant = grant ? grant_ref(grant) : NULL;
    if (grant)
        e->terms++;
}

static bool election_leads(const zkl_election *e)
{
    return e->grant && zkl_grant_state(e->grant) < ZKL_LOST;
}

/* Stores in *ret why the term ended, if there was one. */
static void election_blame_end(const zkl_election *e, zkl_error *ret)
{
    const char *path = election_path(e);

    if (e->grant && zkl_grant_state(e->grant) == ZKL_LOST)
        error_fill(ret, ZKL_ELOST, path, "%s: %s", path, zkl_strerror(ZKL_ELOST));
    else if (e->grant)
        *ret = (zkl_error){.code = 0};
}

/* Forgets a term that has ended, but for its error, when a campaign begins. */
static void election_forget(zkl_election *e)
{
    election_blame_end(e, &e->last);
    election_set_grant(e, NULL);
}

/* ---- a campaign ---- */

/* A campaign, from the call until it is concluded; its election has it until then. */
struct campaign {
    zkl_election *election;
    zkl_op *op;
    zkl_error end; /* .code not 0: the campaign was ended for this, even if it has won since */
    zkl_acquired_fn fn;
    void *data;
};

static int election_begin_campaign(struct campaign *c, int64_t timeout_ms, zkl_acquired_fn done)
{
    zkl_election *e = c->election;
    struct contender_spec spec = election_spec(e);

    if (e->campaign || e->candidacy)
        return error_set(ZKL_EBUSY, election_path(e), "%s: this handle is already campaigning",
                         election_path(e));
    c->op = op_start(&e->waiters, &spec, timeout_ms, done, c);
    if (!c->op)
        return ZKL_ECLOSED;
    election_forget(e);
    e->campaign = c;
    e->refs++;
    return 0;
}

/* Ends the campaign. What it has won becomes the election's term; but if the campaign was ended
 * before, the grant is given back. Returns the grant; or NULL, and *error says why. */
static zkl_grant *election_conclude(struct campaign *c, zkl_grant *grant, zkl_error *error)
{
    zkl_election *e = c->election;

    e->campaign = NULL;
    if (grant && c->end.code) {
        grant_give_back(grant, false);
        grant_unref(grant);
        grant = NULL;
        *error = c->end;
    }
    if (grant)
        election_set_grant(e, grant);
    else
        e->last = error->code == ZKL_ECANCELED ? (zkl_error){.code = 0} : *error;
    return grant;
}

/* Returns another reference to the grant of the present term; NULL: there is no term. */
static zkl_grant *election_ref_grant(const zkl_election *e)
{
    return election_leads(e) ? grant_ref(e->grant) : NULL;
}

/* Campaigns, and waits until the campaign is won or over. The monitor is held before and after.
 * Others may end the campaign, but the operation lives until it is over. */
static int election_wait_won(struct campaign *c, int64_t timeout_ms, zkl_grant **ret)
{
    zkl_error error = {.code = 0};
    int code = election_begin_campaign(c, timeout_ms, NULL);

    if (code)
        return code;
    code = op_wait(c->op, ret);
    if (code)
        zkl_last_error(&error);
    *ret = election_conclude(c, code ? NULL : *ret, &error);
    op_unref(c->op);
    election_unref(c->election);
    return *ret ? 0 : error_keep(&error);
}

int zkl_election_campaign(zkl_election *e, int64_t timeout_ms, zkl_grant **ret)
{
    struct campaign c = {.election = e};
    int code = election_check(e, true);
    zkl_grant *grant;

    if (code)
        return code;
    /* another thread may free the handle, which ends the campaign, and then the session, before
     * this returns */
    zkl_session *s = session_ref(e->session);
    session_lock(s);
    grant = election_ref_grant(e);
    if (!grant && callbacks_inside())
        code = error_set(ZKL_EDEADLK, election_path(e),
                         "%s: campaigning would wait inside a callback", election_path(e));
    else if (!grant)
        code = election_wait_won(&c, timeout_ms, &grant);
    if (!code && ret)
        grant_own(*ret = grant);
    else if (!code)
        grant_unref(grant); /* the election has a reference of its own */
    session_unlock(s);
    session_unref(s);
    return code;
}

/* ---- a campaign without waiting ---- */

static void election_tell_campaign(struct campaign *c, zkl_grant *grant, const zkl_error *error)
{
    zkl_session *s = c->election->session; /* open as long as there are callbacks */

    c->fn(grant, error, c->data);
    session_lock(s);
    election_unref(c->election);
    session_unlock(s);
    g_free(c);
}

static void election_on_done(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct campaign *c = data;
    zkl_session *s = c->election->session;
    zkl_error error = {.code = 0};

    if (err)
        error = *err;
    session_lock(s);
    grant = election_conclude(c, grant, &error);
    session_unlock(s);
    election_tell_campaign(c, grant, grant ? NULL : &error);
}

/* A campaign of an election that leads already: it is told another reference to the same grant. */
struct leading {
    struct campaign *campaign;
    zkl_grant *grant;
};

/* Tells the campaign the grant; or that it was canceled, if the user has resigned since. */
static void election_deliver_leading(void *data)
{
    struct leading *l = data;
    const char *path = election_path(l->campaign->election);
    zkl_error error = {.code = 0};

    if (zkl_grant_state(l->grant) == ZKL_RELEASED) {
        error_fill(&error, ZKL_ECANCELED, path, "%s: resigned", path);
        grant_unref(l->grant);
        l->grant = NULL;
    }
    election_tell_campaign(l->campaign, l->grant, l->grant ? NULL : &error);
    g_free(l);
}

static int election_tell_leading(struct campaign *c, zkl_grant *grant)
{
    struct leading *l = g_new(struct leading, 1);

    *l = (struct leading){c, grant};
    grant_own(grant);
    if (callbacks_push(c->election->session->callbacks, election_deliver_leading, l)) {
        c->election->refs++;
        return 0;
    }
    grant_unref(grant);
    g_free(l);
    return error_set(ZKL_ECLOSED, NULL, "the session was closed");
}

int zkl_election_campaign_async(zkl_election *e, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                zkl_op **ret)
{
    int code = election_check(e, true);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_campaign_async: fn is NULL");
    struct campaign *c = g_new0(struct campaign, 1);
    *c = (struct campaign){.election = e, .fn = fn, .data = data};
    session_lock(e->session);
    zkl_grant *grant = election_ref_grant(e);
    code = grant ? election_tell_leading(c, grant)
                 : election_begin_campaign(c, timeout_ms, election_on_done);
    zkl_op *op = c->op;
    session_unlock(e->session);
    if (code)
        g_free(c);
    else if (ret)
        *ret = op;
    else
        zkl_op_free(op);
    return code;
}

/* ---- proclaiming ---- */

/* Returns a reference to the term's grant. Returns NULL if there is no term: *ret_code and the
 * thread's last error say why. */
static zkl_grant *election_ref_term(zkl_election *e, int *ret_code)
{
    zkl_grant *grant = NULL;

    session_lock(e->session);
    if (election_leads(e))
        grant = grant_ref(e->grant);
    *ret_code = grant                                               ? 0
                : e->grant && zkl_grant_state(e->grant) == ZKL_LOST ? ZKL_ELOST
                                                                    : ZKL_EPERM;
    session_unlock(e->session);
    if (!grant)
        error_set(*ret_code, election_path(e), "%s: this candidate does not lead",
                  election_path(e));
    return grant;
}

static int election_proclaim(zkl_election *e, const void *data, size_t size, int64_t timeout_ms,
                             zkl_multi_fn fn, void *fn_data)
{
    char head[32];
    int code = election_check(e, true);

    if (code)
        return code;
    if (size > 0 && !data)
        return error_set(ZKL_EINVAL, election_path(e), "data is NULL and size is not 0");
    if (size > PROCLAIM_MAX)
        return error_set(ZKL_ELIMIT, election_path(e), "more than %d bytes to proclaim",
                         PROCLAIM_MAX);
    zkl_grant *grant = election_ref_term(e, &code);
    if (!grant)
        return code;
    GByteArray *bytes = g_byte_array_new();
    int length = snprintf(head, sizeof head, "%" G_GUINT64_FORMAT "\n", zkl_grant_token(grant));
    g_byte_array_append(bytes, (const guint8 *)head, (guint)length);
    if (size > 0)
        g_byte_array_append(bytes, data, (guint)size);
    const zkl_change change = {.kind = ZKL_CHANGE_SET,
                               .version = -1,
                               .path = election_path(e),
                               .data = bytes->data,
                               .size = bytes->len};
    code = fn ? zkl_grant_multi_async(grant, &change, 1, 0, timeout_ms, fn, fn_data)
              : zkl_grant_multi(grant, &change, 1, 0, timeout_ms);
    g_byte_array_unref(bytes);
    grant_unref(grant);
    return code;
}

int zkl_election_proclaim(zkl_election *e, const void *data, size_t size, int64_t timeout_ms)
{
    return election_proclaim(e, data, size, timeout_ms, NULL, NULL);
}

int zkl_election_proclaim_async(zkl_election *e, const void *data, size_t size, int64_t timeout_ms,
                                zkl_multi_fn fn, void *fn_data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_election_proclaim_async: fn is NULL");
    return election_proclaim(e, data, size, timeout_ms, fn, fn_data);
}

/* ---- a candidacy ---- */

/* What zkl_election_start() begins: it campaigns again and again. */
struct election_candidacy {
    struct driver driver; /* messages and the grant's watcher have a reference, and one lasts until
                             it is over */
    struct candidacy machine;
    zkl_election *election;
    zkl_election_fn fn;
    void *data;
    struct contender *contender; /* QUEUED */
    struct contender *holder;    /* it holds .grant's tenure; NULL: none, or its end was told */
    zkl_grant *grant;            /* CHECKING to STOPPING: a reference */
    struct stats_waits waits;    /* of the last attempt to enter */
    int64_t entered;             /* CLOCK_BOOTTIME, ns: when that attempt began */
    bool closed;                 /* the session is closed */
    zkl_error failure;           /* why the last attempt failed */
    zkl_error why;               /* why it is over; .code 0: the user has stopped it */
    bool over;                   /* it is over; the user is told so after the end of the term */
    int answer;                  /* what the user's call under way returns */
};

static void candidacy_free(struct driver *d)
{
    struct election_candidacy *c = DRIVER_OWNER(d, struct election_candidacy);

    driver_clear(d);
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
    driver_unref(&m->candidacy->driver);
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
    driver_ref(&c->driver);
    if (!callbacks_push(c->election->session->callbacks, candidacy_deliver, m))
        candidacy_free_message(m);
}

/* ---- events ---- */

static void candidacy_on_news(void *context, enum contender_news news)
{
    struct election_candidacy *c = context;

    if (news == CONTENDER_ENDED)
        c->holder = NULL;
    else if (news == CONTENDER_ASKED)
        driver_hear(&c->driver, CANDIDACY_EV_REVOKED);
}

static void candidacy_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct election_candidacy *c = context;
    zkl_grant *grant = tenure ? grant_new_on(tenure) : NULL;

    c->contender = NULL;
    op_count(c->election->session, &c->waits, c->entered, 0, grant, error);
    stats_waits_remove(c->election->session, &c->waits);
    if (grant) {
        c->grant = grant;
        c->holder = contender_of(tenure);
        contender_set_news(c->holder, candidacy_on_news);
    } else {
        c->failure = *error;
    }
    driver_hear(&c->driver, grant ? CANDIDACY_EV_WON : CANDIDACY_EV_FAILED);
}

/* Tells the user what becomes of the grant. The grant calls it on the callback thread, without the
 * monitor. */
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
    driver_hear(&c->driver, CANDIDACY_EV_TERM_TOLD);
    bool over = c->over;
    session_unlock(s);
    /* told here: in the queue of callbacks, events of a candidacy that was started since may come
     * first */
    if (over)
        c->fn(c->election, ZKL_ELECTION_STOPPED, NULL, c->why.code ? &c->why : NULL, c->data);
    session_lock(s);
    if (over)
        driver_unref(&c->driver);
    driver_unref(&c->driver); /* the reference of the watcher */
    session_unlock(s);
}

/* ---- actions ---- */

static void candidacy_contend(struct election_candidacy *c)
{
    const struct contender_spec spec = election_spec(c->election);

    c->entered = clock_boot();
    stats_waits_add(c->election->session, &c->waits, c->election->directory);
    stats_wait_begin(c->election->session, &c->waits, c->entered);
    contender_enter(&c->contender, c->election->session, &spec, candidacy_on_decided, c);
}

/* Forgets the term. If a transaction gives the grant back, the contender holds until that is
 * applied: so it may outlast the candidacy. */
static void candidacy_forget(struct election_candidacy *c)
{
    if (c->holder)
        contender_forget(c->holder);
    c->holder = NULL;
    if (c->election->grant == c->grant)
        election_set_grant(c->election, NULL);
    grant_unref(c->grant);
    c->grant = NULL;
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
                               bool after_term)
{
    if (c->election->candidacy == c)
        c->election->candidacy = NULL;
    c->why = candidacy_error(c, cause);
    c->over = after_term;
    if (after_term)
        return;
    candidacy_push(c, ZKL_ELECTION_STOPPED, NULL, c->why.code ? &c->why : NULL);
    driver_unref(&c->driver);
}

static void candidacy_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct election_candidacy *c = DRIVER_OWNER(d, struct election_candidacy);
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
        election_set_grant(c->election, c->grant);
        candidacy_push(c, ZKL_ELECTION_LEADING, c->grant, NULL);
        driver_ref(d); /* until candidacy_on_change() is told the end */
        grant_watch(c->grant, candidacy_on_change, c);
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
    case CANDIDACY_STOP_AT_ONCE:
        candidacy_end_with(c, cause, a->verdict == CANDIDACY_STOP_AT_ONCE);
        break;
    }
}

/* ---- the driver ---- */

static void candidacy_driver_step(struct driver *d, const struct machine_event *ev,
                                  struct machine_actions *out)
{
    struct election_candidacy *c = DRIVER_OWNER(d, struct election_candidacy);
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
    return g_strdup(DRIVER_OWNER(d, struct election_candidacy)->election->directory);
}

static const struct driver_ops candidacy_driver = {.step = candidacy_driver_step,
                                                   .path = candidacy_path,
                                                   .on_verdict = candidacy_on_verdict,
                                                   .free = candidacy_free};

/* ---- the handle's side ---- */

/* Gives the machine an event of the user's, YIELD or STOP; closed: the session is closed. Returns
 * answer: 0, or ZKL_ELOST. But if the machine gives the grant back, it returns what that returned.
 */
static int candidacy_answer(struct election_candidacy *c, unsigned kind, bool closed, int answer)
{
    driver_ref(&c->driver);
    c->answer = answer;
    c->closed = closed;
    driver_hear(&c->driver, kind);
    answer = c->answer;
    driver_unref(&c->driver);
    return answer;
}

/* ---- a started election ---- */

/* Makes the candidacy, and begins its first attempt. Returns 0 or a code. */
static int election_begin_candidacy(zkl_election *e, zkl_election_fn fn, void *data)
{
    const zkl_election_options *o = &e->options;

    if (e->session->closing)
        return ZKL_ECLOSED;
    if (e->candidacy || e->campaign || election_leads(e))
        return ZKL_EBUSY;
    election_forget(e);
    struct election_candidacy *c = g_new0(struct election_candidacy, 1);
    c->election = e;
    c->fn = fn;
    c->data = data;
    c->machine = (struct candidacy){
        .rule = e->rule, .once = o->once, .yield = o->yield, .priority = o->priority};
    driver_init(&c->driver, &candidacy_driver, e->session, STORE_PERSISTENT);
    e->refs++;
    e->candidacy = c;
    driver_hear(&c->driver, MACHINE_EV_BEGIN);
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
    code = election_begin_candidacy(e, fn, data);
    session_unlock(e->session);
    if (code)
        error_set(code, election_path(e), "%s: %s", election_path(e),
                  code == ZKL_EBUSY ? "already campaigning or leading" : zkl_strerror(code));
    return code;
}

/* Tells the candidacy that the session has ended. over: no other session follows. */
static void election_tell_session(zkl_election *e, bool over)
{
    if (e->candidacy)
        driver_hear(&e->candidacy->driver, over ? MACHINE_EV_OVER : MACHINE_EV_SESSION);
}

/* Ends the candidacy, and its term if it has one. The handle may then get another candidacy, even
 * if the end of this term is still to be told. closed: the session is closed, and the user did not
 * ask for the end. Returns 0, or ZKL_ELOST if the term had been lost. */
static int election_stop_candidacy(zkl_election *e, bool closed)
{
    struct election_candidacy *c = e->candidacy;

    e->candidacy = NULL;
    return candidacy_answer(c, MACHINE_EV_STOP, closed, 0);
}

/* Gives the term back. The user is told its end as that of any term, and the next campaign
 * follows. */
int zkl_election_yield(zkl_election *e)
{
    int code = election_check(e, true);

    if (code)
        return code;
    session_lock(e->session);
    code = e->candidacy ? candidacy_answer(e->candidacy, CANDIDACY_EV_YIELD, false, ZKL_EPERM)
                        : ZKL_EPERM;
    session_unlock(e->session);
    if (code)
        error_set(code, election_path(e), "%s: %s", election_path(e),
                  code == ZKL_EPERM ? "not leading in a started election" : "the term was lost");
    return code;
}

/* ---- an observer ---- */

struct observer {
    struct children_watch watch; /* the first member */
    enum rule rule;              /* the rule of the candidates */
    zkl_leader_fn fn;
    void *data;
    struct observing machine;
    char *first;        /* the name of the first candidate in the newest list; NULL: none */
    char *node, *id;    /* of the candidate that is read, or was last */
    char *told_node;    /* the node of the leader that was told last */
    GBytes *proclaimed; /* what was read last; NULL: nothing was proclaimed, or it is not known */
    GBytes *told_data;  /* what was told with the last leader; NULL: nothing */
};

static void observer_free(struct children_watch *cw)
{
    struct observer *o = (struct observer *)cw;

    g_clear_pointer(&o->told_data, g_bytes_unref);
    g_clear_pointer(&o->proclaimed, g_bytes_unref);
    g_free(o->first);
    g_free(o->node);
    g_free(o->told_node);
    g_free(o->id);
    g_free(o);
}

/* ---- telling ---- */

struct observer_message {
    struct children_watch_message base;
    uint64_t token;
    char *id, *node;
    GBytes *data;
};

static void observer_free_message(struct children_watch_message *base)
{
    struct observer_message *m = (struct observer_message *)base;

    if (m->data)
        g_bytes_unref(m->data);
    g_free(m->id);
    g_free(m->node);
    g_free(m);
}

static void observer_call(struct children_watch_message *base)
{
    const struct observer_message *m = (struct observer_message *)base;
    const struct observer *o = (struct observer *)base->watch;
    zkl_leader leader = {.token = m->token, .id = m->id, .node = m->node};

    if (m->data)
        leader.data = g_bytes_get_data(m->data, &leader.size);
    if (m->data && !leader.data)
        leader.data = ""; /* proclaimed, but empty */
    o->fn(&leader, o->data);
}

static bool observer_same(const struct children_watch_message *a,
                          const struct children_watch_message *b)
{
    const struct observer_message *x = (const struct observer_message *)a,
                                  *y = (const struct observer_message *)b;

    return x->token == y->token && !x->data == !y->data &&
           (!x->data || g_bytes_equal(x->data, y->data));
}

static void observer_push(struct observer *o, bool leads)
{
    struct observer_message *m = g_new0(struct observer_message, 1);

    m->base.call = observer_call;
    m->base.free = observer_free_message;
    m->base.same = observer_same;
    m->token = leads ? o->machine.token : 0;
    m->id = g_strdup(leads ? o->id : "");
    m->node = g_strdup(leads ? o->node : "");
    m->data = leads && o->told_data ? g_bytes_ref(o->told_data) : NULL;
    children_watch_tell_last(&o->watch, &m->base);
}

static struct observer *observer_of(struct driver *d)
{
    return (struct observer *)children_watch_of(d);
}

static void observer_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct observer *o = observer_of(d);
    const bool leads = a->verdict != OBSERVING_TELL_NOBODY;

    if (a->verdict < CHILDREN_TELL_OWN) {
        children_watch_log(&o->watch, (enum children_tell)a->verdict);
        return;
    }
    g_clear_pointer(&o->told_data, g_bytes_unref);
    if (a->verdict == OBSERVING_TELL_PROCLAIMED && o->proclaimed)
        o->told_data = g_bytes_ref(o->proclaimed);
    if (leads) {
        g_free(o->told_node);
        o->told_node = g_strdup(o->node);
    }
    observer_push(o, leads);
}

/* ---- steps ---- */

static bool observer_is_used_up(const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    return rule_exhausted(child.number);
}

/* Stores what an answer shows: what was proclaimed, who is first, and the id of that candidate. */
static void observer_store_answer(struct observer *o, const struct machine_event *ev)
{
    const char *data = ev->data ? ev->data : "";
    uint64_t token;
    size_t at, length;

    if (ev->node == OBSERVING_DATA && (ev->rc == STORE_OK || ev->rc == STORE_NONODE)) {
        g_clear_pointer(&o->proclaimed, g_bytes_unref);
        if (ev->rc == STORE_OK && observe_data(data, ev->length, &token, &at))
            o->proclaimed = g_bytes_new(data + at, ev->length - at);
    } else if (ev->verb == STORE_LIST && ev->rc == STORE_OK) {
        g_free(o->first);
        o->first = g_strdup(queue_first(ev->names, (int)ev->count, o->rule));
    } else if (ev->node == OBSERVING_FIRST && ev->rc == STORE_OK) {
        length = payload_of_child(o->node, ev->data, ev->length, ev->version);
        g_free(o->id);
        o->id = g_utf8_make_valid(data, (gssize)length);
    }
}

static void observer_step(struct driver *d, const struct machine_event *ev,
                          struct machine_actions *out)
{
    struct observer *o = observer_of(d);

    if (ev->kind == MACHINE_EV_ANSWER)
        observer_store_answer(o, ev);
    const bool same = o->proclaimed && o->told_data ? g_bytes_equal(o->proclaimed, o->told_data)
                                                    : o->proclaimed == o->told_data;
    const struct observing_moment moment = {.children = children_watch_moment(&o->watch),
                                            .patience =
                                                session_patience_ms(o->watch.session) * CLOCK_MS,
                                            .some = o->first != NULL,
                                            .used_up = o->first && observer_is_used_up(o->first),
                                            .other_node = g_strcmp0(o->node, o->told_node) != 0,
                                            .told_any = o->told_data != NULL,
                                            .same = same};

    observing_step(&o->machine, ev, &moment, out);
}

static char *observer_path(struct driver *d, unsigned node)
{
    const struct observer *o = observer_of(d);

    return node == OBSERVING_FIRST ? g_strconcat(o->watch.directory, "/", o->node, NULL)
                                   : g_strdup(o->watch.directory);
}

static void observer_name(struct driver *d, unsigned node)
{
    struct observer *o = observer_of(d);

    (void)node;
    g_free(o->node);
    o->node = g_strdup(o->first);
}

static const struct children_watch_kind observer_kind = {
    .driver = {.step = observer_step,
               .path = observer_path,
               .name = observer_name,
               .on_verdict = observer_on_verdict,
               .free = children_watch_free},
    .doing = "looking for the leader",
    .free = observer_free};

/* ---- the leader: asked for once, and observed ---- */

static int election_copy_leader(const zkl_election *e, const zkl_contender *leader, char *buf,
                                size_t size, uint64_t *ret_token)
{
    const char *path = election_path(e);

    if (!leader)
        return error_set(ZKL_ENOENT, path, "%s: nobody leads", path);
    if (ret_token)
        *ret_token = leader->token;
    if (strlen(leader->owner) >= size)
        return error_set(ZKL_ERANGE, path, "%s: the leader's id has %zu bytes", path,
                         strlen(leader->owner));
    strcpy(buf, leader->owner);
    return 0;
}

int zkl_election_leader(zkl_election *e, char *buf, size_t size, uint64_t *ret_token)
{
    int code = election_check(e, false);
    zkl_queue *queue;

    if (code)
        return code;
    zkl_session *s = e->session;
    const struct queue_wish wish = {.first = e->rule};
    if (!buf && size > 0)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_leader: buf is NULL");
    session_lock(s);
    e->refs++; /* the user may free the election while the queue is read */
    session_unlock(s);
    code = queue_read(&queue, s, e->directory, &wish, 0);
    if (code == 0) {
        code = election_copy_leader(e, zkl_queue_get(queue, 0), buf, size, ret_token);
        zkl_queue_free(queue);
    }
    session_ref(s); /* the election may have the last reference */
    session_lock(s);
    election_unref(e);
    session_unlock(s);
    session_unref(s);
    return code;
}

int zkl_election_watch(zkl_watch **ret, zkl_election *e, zkl_leader_fn fn, void *data)
{
    int code = election_check(e, false);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_watch: fn is NULL");
    session_lock(e->session);
    if (e->session->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct observer *o = g_new0(struct observer, 1);
        o->rule = e->rule;
        o->fn = fn;
        o->data = data;
        children_watch_init(&o->watch, e->session, e->directory, &observer_kind, &e->observers);
        if (ret)
            *ret = children_watch_handle(&o->watch);
        children_watch_begin(&o->watch);
    }
    session_unlock(e->session);
    return code;
}

/* ---- all elections of a session that are not freed ---- */

struct election_list {
    struct participant participant;
    GQueue list;
};

static void election_list_on_up(struct participant *p)
{
    for (GList *l = ((struct election_list *)p)->list.head; l; l = l->next)
        drivers_hear(&((zkl_election *)l->data)->observers, MACHINE_EV_BEGIN);
}

/* Makes the observers accept older data, since the servers' data have gone back. */
static void election_list_on_rewound(struct participant *p)
{
    for (GList *l = ((struct election_list *)p)->list.head; l; l = l->next) {
        const zkl_election *e = l->data;
        for (GList *o = e->observers.head; o; o = o->next)
            observing_rewind(&observer_of(o->data)->machine);
    }
}

static void election_list_on_replaced(struct participant *p)
{
    for (GList *l = ((struct election_list *)p)->list.head; l; l = l->next)
        election_tell_session(l->data, false);
}

static void election_list_on_refused(struct participant *p)
{
    for (GList *l = ((struct election_list *)p)->list.head; l; l = l->next)
        election_tell_session(l->data, true);
}

/* Ends the candidacies and observers. Campaigns are told by their contenders that the session is
 * closed. */
static void election_list_on_closed(struct participant *p)
{
    for (GList *l = ((struct election_list *)p)->list.head; l; l = l->next) {
        zkl_election *e = l->data;
        if (e->candidacy)
            election_stop_candidacy(e, true);
        children_watch_stop_all(&e->observers);
    }
}

static const struct participant_ops participant = {
    .on = {[NEWS_UP] = election_list_on_up,
           [NEWS_REPLACED] = election_list_on_replaced,
           [NEWS_REWOUND] = election_list_on_rewound,
           [NEWS_REFUSED] = election_list_on_refused,
           [NEWS_CLOSED] = election_list_on_closed}};

static GQueue *election_list_of(zkl_session *s)
{
    contenders_of(s); /* the contenders join the session first, so campaigns are told its end before
                         their elections do */
    return &((struct election_list *)participant_of(s, &participant, sizeof(struct election_list)))
                ->list;
}

/* ---- beginning and ending ---- */

static const char *election_check_options(const zkl_election_options *o)
{
    if ((unsigned)o->layout > ZKL_LAYOUT_KAZOO)
        return "layout is none of zkl_layout";
    if (o->layout == ZKL_LAYOUT_KAZOO && o->priority > 0)
        return "kazoo's layout has no priorities";
    if (o->parents != ZKL_PARENTS_CONTAINER && o->parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    if ((o->once | o->yield) & ~1)
        return "once and yield must be 0 or 1";
    if (o->priority < 0 || o->priority > NAME_PRIORITY_MAX)
        return "priority must be 0 to 999";
    return NULL;
}

static const char *election_check_id(const char *id)
{
    if (id && strnlen(id, ID_MAX_BYTES + 1) > ID_MAX_BYTES)
        return "it is longer than 1024 bytes";
    if (id && !g_utf8_validate(id, -1, NULL))
        return "it is not UTF-8";
    return NULL;
}

static zkl_election *election_new(zkl_session *s, const char *path, const char *id,
                                  const zkl_election_options *o)
{
    zkl_election *e = g_new0(zkl_election, 1);

    e->refs = 1;
    e->session = session_ref(s);
    e->directory = path_full(s->chroot, path);
    e->id = id ? g_ref_string_new(id) : NULL;
    e->options = *o;
    e->rule = o->layout == ZKL_LAYOUT_LATCH   ? RULE_LATCH
              : o->layout == ZKL_LAYOUT_KAZOO ? RULE_OWN_KAZOO
                                              : RULE_SELECTOR;
    e->link.data = e;
    op_queue_init(&e->waiters, s, e->directory);
    return e;
}

int zkl_election_new(zkl_election **ret, zkl_session *s, const char *path, const char *candidate_id,
                     const zkl_election_options *options)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    int code = session_check(s);
    const char *wrong;

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_election_new: ret is NULL");
    if ((wrong = options_take(&o, offsetof(zkl_election_options, reserved), options)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if ((code = path_error(s->chroot, path)))
        return code;
    if ((wrong = election_check_id(candidate_id)))
        return error_set(ZKL_EINVAL, path, "candidate_id: %s", wrong);
    if ((wrong = election_check_options(&o)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        *ret = election_new(s, path, candidate_id, &o);
        g_queue_push_tail_link(election_list_of(s), &(*ret)->link);
    }
    session_unlock(s);
    return code;
}

/* Ends the term, or the way to one, if there is either. Returns 0; ZKL_ELOST if the term was lost;
 * ZKL_EPERM if there was neither. */
static int election_give_up(zkl_election *e, int code, const char *text)
{
    const char *path = election_path(e);
    int answer = ZKL_EPERM;

    if (e->candidacy)
        answer = election_stop_candidacy(e, false);
    if (e->campaign) {
        error_fill(&e->campaign->end, code, path, "%s: %s", path, text);
        op_abort(e->campaign->op, code, text);
        answer = 0;
    }
    if (e->grant) {
        zkl_state state = zkl_grant_state(e->grant);
        if (state < ZKL_LOST && grant_give_back(e->grant, false))
            answer = 0;
        else if (state != ZKL_RELEASED)
            answer = ZKL_ELOST;
        election_forget(e);
    }
    return answer;
}

int zkl_election_resign(zkl_election *e)
{
    int code = election_check(e, true);
    const char *path;

    if (code)
        return code;
    path = election_path(e);
    session_lock(e->session);
    code = election_give_up(e, ZKL_ECANCELED, "resigned");
    session_unlock(e->session);
    if (code)
        error_set(code, path, "%s: %s", path,
                  code == ZKL_ELOST ? "the term was lost" : "neither leading nor campaigning");
    return code;
}

void zkl_election_free(zkl_election *e)
{
    zkl_session *s;

    if (!e || fork_is_child(e->session->generation))
        return;
    s = session_ref(e->session);
    session_lock(s);
    g_queue_unlink(election_list_of(s), &e->link);
    election_give_up(e, ZKL_ECLOSED, "the election was freed");
    children_watch_stop_all(&e->observers);
    election_unref(e);
    session_unlock(s);
    session_unref(s);
}

/* ---- asking ---- */

/* The size in the first version. Later members come after it. */
#define STATUS_LEAST (offsetof(zkl_election_status, reserved) + sizeof(int))

static void election_describe(const zkl_election *e, zkl_election_status *ret)
{
    const struct election_candidacy *c = e->candidacy;

    ret->ahead = -1;
    ret->terms = e->terms;
    ret->last = e->last;
    if (election_leads(e)) {
        ret->candidacy = ZKL_CANDIDACY_LEADING;
        ret->token = zkl_grant_token(e->grant);
    } else if (c) {
        const enum candidacy_state state = c->machine.state;
        ret->candidacy = state == CANDIDACY_PAUSED ? ZKL_CANDIDACY_PAUSED : ZKL_CANDIDACY_QUEUED;
        if (c->contender)
            ret->ahead = contender_ahead(c->contender);
        else if (state == CANDIDACY_CHECKING || state == CANDIDACY_PASSING)
            ret->ahead = 0;
    } else if (e->campaign) {
        ret->candidacy = ZKL_CANDIDACY_QUEUED;
        ret->ahead = op_ahead(e->campaign->op);
    } else {
        election_blame_end(e, &ret->last);
    }
}

int zkl_election_get_status(zkl_election *e, zkl_election_status *ret)
{
    zkl_election_status status = {.size = 0};
    int code = election_check(e, false);

    if (code)
        return code;
    session_lock(e->session);
    election_describe(e, &status);
    session_unlock(e->session);
    const char *wrong = options_give(ret, &status, sizeof status, STATUS_LEAST);
    return wrong ? error_set(ZKL_EINVAL, election_path(e), "zkl_election_get_status: %s", wrong)
                 : 0;
}
