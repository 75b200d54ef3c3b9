/* One term at a time, and what a leader proclaims. */
#include <stdio.h>
#include <string.h>

#include "election_state.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/lock/grant.h"
#include "lib/lock/release.h"

enum { PROCLAIM_MAX = 64 * 1024 };

/* From the call until its completion begins; its election has it that long. */
struct campaign {
    zkl_election *election;
    zkl_op *op;
    zkl_error end; /* .code not 0: why it was ended, whatever was won meanwhile */
    zkl_acquired_fn fn;
    void *data;
};

void campaign_abort(struct campaign *c, int code, const char *text)
{
    const char *path = election_path(c->election);

    error_fill(&c->end, code, path, "%s: %s", path, text);
    op_abort(c->op, code, text);
}

int campaign_ahead(const struct campaign *c)
{
    return op_ahead(c->op);
}

static int begin(struct campaign *c, int64_t timeout_ms, zkl_acquired_fn done)
{
    zkl_election *e = c->election;
    struct contender_spec spec = election_spec(e);

    if (e->campaign || e->candidacy)
        return error_set(ZKL_EBUSY, election_path(e), "%s: this handle is already campaigning",
                         election_path(e));
    c->op = op_start(e->session, &spec, timeout_ms, done, c, &e->waiters);
    if (!c->op)
        return ZKL_ECLOSED;
    election_forget(e);
    e->campaign = c;
    e->refs++;
    return 0;
}

/* What was won becomes the election's term, or goes back. *error is filled without a grant. */
static zkl_grant *conclude(struct campaign *c, zkl_grant *grant, zkl_error *error)
{
    zkl_election *e = c->election;

    e->campaign = NULL;
    if (grant && c->end.code) {
        grant_give_back(grant);
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

static zkl_grant *another_reference(const zkl_election *e)
{
    return election_leads(e) ? grant_ref(e->grant) : NULL;
}

/* Waits, with the monitor held before and after. */
static int wait_won(struct campaign *c, int64_t timeout_ms, zkl_grant **ret)
{
    zkl_session *s = c->election->session;
    zkl_error error = {.code = 0};
    int code = begin(c, timeout_ms, NULL);

    if (code)
        return code;
    session_unlock(s);
    code = op_wait(c->op, ret);
    if (code)
        zkl_last_error(&error);
    session_lock(s);
    *ret = conclude(c, code ? NULL : *ret, &error);
    zkl_op_free(c->op);
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
    zkl_session *s = session_ref(e->session); /* freeing the handle ends it, and may come first */
    session_lock(s);
    grant = another_reference(e);
    if (!grant && callbacks_inside())
        code = error_set(ZKL_EDEADLK, election_path(e),
                         "%s: campaigning would wait inside a callback", election_path(e));
    else if (!grant)
        code = wait_won(&c, timeout_ms, &grant);
    if (!code && ret)
        *ret = grant;
    else if (!code)
        grant_unref(grant); /* the election has one */
    session_unlock(s);
    session_unref(s);
    return code;
}

/* ---- without waiting ---- */

static void finish(struct campaign *c, zkl_grant *grant, const zkl_error *error)
{
    zkl_session *s = c->election->session; /* open as long as there are callbacks */

    c->fn(grant, error, c->data);
    session_lock(s);
    election_unref(c->election);
    session_unlock(s);
    g_free(c);
}

static void on_done(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct campaign *c = data;
    zkl_session *s = c->election->session;
    zkl_error error = {.code = 0};

    if (err)
        error = *err;
    session_lock(s);
    grant = conclude(c, grant, &error);
    session_unlock(s);
    finish(c, grant, grant ? NULL : &error);
}

/* It leads already: what is told is another reference to the same grant. */
struct leading {
    struct campaign *campaign;
    zkl_grant *grant;
};

/* As with any campaign, who gave the term up before is not told that it leads. */
static void deliver_leading(void *data)
{
    struct leading *l = data;
    const char *path = election_path(l->campaign->election);
    zkl_error error = {.code = 0};

    if (zkl_grant_state(l->grant) == ZKL_RELEASED) {
        error_fill(&error, ZKL_ECANCELED, path, "%s: resigned", path);
        grant_unref(l->grant);
        l->grant = NULL;
    }
    finish(l->campaign, l->grant, l->grant ? NULL : &error);
    g_free(l);
}

static int tell_leading(struct campaign *c, zkl_grant *grant)
{
    struct leading *l = g_new(struct leading, 1);

    *l = (struct leading){c, grant};
    if (callbacks_push(c->election->session->callbacks, deliver_leading, l)) {
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
    zkl_grant *grant = another_reference(e);
    code = grant ? tell_leading(c, grant) : begin(c, timeout_ms, on_done);
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

/* A reference to the term's grant; NULL: the thread's last error says why. */
static zkl_grant *take_term(zkl_election *e, int *ret_code)
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

static int proclaim(zkl_election *e, const void *data, size_t size, int64_t timeout_ms,
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
    zkl_grant *grant = take_term(e, &code);
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
    return proclaim(e, data, size, timeout_ms, NULL, NULL);
}

int zkl_election_proclaim_async(zkl_election *e, const void *data, size_t size, int64_t timeout_ms,
                                zkl_multi_fn fn, void *fn_data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_election_proclaim_async: fn is NULL");
    return proclaim(e, data, size, timeout_ms, fn, fn_data);
}
