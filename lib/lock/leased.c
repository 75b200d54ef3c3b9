#include "leased.h"

#include <string.h>

#include "grant.h"
#include "lib/base/error.h"
#include "lib/session/denial.h"
#include "lib/session/request.h"
#include "local_callers.h"
#include "locks.h"
#include "multi_attempt.h"
#include "recipes/leasing.h"
#include "recipes/name.h"
#include "release.h"

/* The lock or the lease; of several leases their whole. */
struct part {
    struct leased *leased;
    char *directory;               /* GRefString */
    struct contender *contender;   /* NULL: none, or decided */
    struct multi_attempt *several; /* instead; NULL: none, or decided */
    struct contender *holder;      /* of what was granted; NULL: none, or its end was heard, or it
                                      is a whole */
    zkl_grant *grant;              /* ours; NULL: none */
    bool entering;                 /* it may be decided before its pointer is known */
    enum leasing_event_kind granted, failed, lost;
};

struct leased {
    zkl_session *session; /* which outlives it */
    struct contender_spec spec;
    uint32_t permits;          /* so many leases are taken */
    contender_decided decided; /* NULL: it was called */
    void *context;
    int refs; /* until it is decided, each check under way, each step */
    struct leasing machine;
    struct part lock, lease;
    zkl_error why;                /* of what failed last */
    struct timer timer;           /* to begin again */
    struct local_callers callers; /* of the session's, until it is decided */
};

static void leased_unref(struct leased *l)
{
    if (--l->refs > 0)
        return;
    g_ref_string_release(l->lock.directory);
    g_ref_string_release(l->lease.directory);
    g_ref_string_release(l->spec.directory);
    g_ref_string_release(l->spec.payload);
    g_free(l);
}

static void step(struct leased *l, const struct leasing_event *ev);

static void step_kind(struct leased *l, enum leasing_event_kind kind)
{
    step(l, &(struct leasing_event){.kind = kind});
}

/* ---- what contenders tell ---- */

static void drop_grant(struct part *p)
{
    if (p->grant)
        grant_unref(p->grant);
    p->grant = NULL;
}

static void on_news(void *context, enum contender_news news)
{
    struct part *p = context;

    if (news != CONTENDER_ENDED)
        return;
    p->holder = NULL;
    drop_grant(p);
    step_kind(p->leased, p->lost);
}

static void on_decided(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct part *p = context;

    p->contender = NULL;
    p->entering = false;
    if (error) {
        p->leased->why = *error;
        step_kind(p->leased, p->failed);
        return;
    }
    p->grant = grant;
    p->holder = grant_contender(grant);
    contender_set_idle(p->holder, true);
    step_kind(p->leased, p->granted);
}

/* Also when they are left: then nobody wants to know. */
static void on_several_decided(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct part *p = context;

    if (!p->several && !p->entering)
        return;
    p->several = NULL;
    p->entering = false;
    if (error)
        p->leased->why = *error;
    p->grant = grant;
    step_kind(p->leased, grant ? p->granted : p->failed);
}

/* ---- what the machine asks ---- */

static void enter(struct part *p, const struct contender_spec *spec)
{
    p->entering = true;
    struct contender *c = contender_enter(p->leased->session, spec, on_decided, p);
    if (p->entering)
        p->contender = c;
    p->entering = false;
}

/* The parent of both is heard of where it matters: in the check. */
static void enter_lock(struct leased *l)
{
    struct contender_spec spec = {.directory = l->lock.directory,
                                  .payload = l->spec.payload,
                                  .parents = l->spec.parents,
                                  .rule = RULE_SELECTOR,
                                  .try_only = l->spec.try_only,
                                  .hints = true,
                                  .news = on_news};

    enter(&l->lock, &spec);
}

static void enter_lease(struct leased *l)
{
    struct contender_spec spec = l->spec;

    spec.directory = l->lease.directory;
    spec.news = on_news;
    enter(&l->lease, &spec);
}

/* A contender each: none of them is behind another, so that all stand while one waits. */
static void enter_leases(struct leased *l)
{
    struct multi_path paths[MULTI_LOCK_PATHS];
    struct part *p = &l->lease;

    for (uint32_t i = 0; i < l->permits; i++)
        paths[i] = (struct multi_path){.directory = p->directory, .given = i};
    p->entering = true;
    struct multi_attempt *several =
        multi_attempt_begin(l->session, &l->spec, paths, l->permits, on_several_decided, p);
    if (p->entering)
        p->several = several;
    p->entering = false;
}

/* Nothing of it is heard any more. */
static void leave(struct part *p)
{
    struct contender *c = g_steal_pointer(&p->contender), *holder = g_steal_pointer(&p->holder);
    struct multi_attempt *several = g_steal_pointer(&p->several);

    if (p->grant && !holder)
        grant_give_back(p->grant);
    drop_grant(p);
    if (c)
        contender_abandon(c);
    if (several)
        multi_attempt_abort(several, ZKL_ECANCELED, zkl_strerror(ZKL_ECANCELED));
    if (!holder)
        return;
    contender_forget(holder);
    contender_release(holder);
}

/* Another layout's contenders are children of the path itself. */
static enum leasing_answer check(struct leased *l, const struct store_reply *reply)
{
    const char *path = session_path(l->session, l->spec.directory);
    const int code = reply->rc == STORE_NOAUTH ? ZKL_EACCES : ZKL_EPROTO;
    struct child child;

    if (reply->rc == STORE_NONODE)
        return LEASING_GONE;
    if (reply->rc != STORE_OK) {
        denial_fill(l->session, &l->why, code, path);
        return LEASING_REFUSED;
    }
    for (int i = 0; i < reply->count; i++) {
        name_parse(reply->names[i], strlen(reply->names[i]), &child);
        if (child.kind == CHILD_FOREIGN)
            continue;
        char *text = layout_incompatible(reply->names[i]);
        error_fill(&l->why, ZKL_ELAYOUT, path, "%s: %s", path, text);
        g_free(text);
        return LEASING_MIXED;
    }
    return LEASING_ALONE;
}

/* Of a single one its contender tells. */
static bool are_leases_lost(const struct leased *l, const struct store_reply *reply)
{
    return l->permits > 1 && l->machine.state == LEASING_CHECKING &&
           (reply->rc == STORE_GONE || zkl_grant_state(l->lease.grant) == ZKL_LOST);
}

static void on_checked(struct request *r, const struct store_reply *reply)
{
    struct leased *l = r->context;
    const bool current = l->decided && r->tag == l->machine.tag;

    if (current && are_leases_lost(l, reply)) {
        leave(&l->lease);
        step_kind(l, LEASING_EV_LEASE_LOST);
    } else if (current && reply->rc != STORE_GONE) {
        step(l, &(struct leasing_event){
                    .kind = LEASING_EV_CHECKED, .answer = check(l, reply), .tag = r->tag});
    }
    leased_unref(l);
}

static void ask_check(struct leased *l, uint32_t tag)
{
    struct request *r = request_new(STORE_LIST, g_strdup(l->spec.directory), on_checked, l);

    l->refs++;
    r->tag = tag;
    request_send(l->session, r);
}

static void on_restart(void *data)
{
    step_kind(data, LEASING_EV_BEGIN);
}

static void decide(struct leased *l, zkl_grant *grant, const zkl_error *error)
{
    const contender_decided decided = l->decided;

    l->decided = NULL;
    timers_cancel(&l->timer);
    local_callers_remove(&l->callers);
    decided(l->context, grant, error);
    leased_unref(l);
}

static void give(struct leased *l)
{
    zkl_grant *grant = g_steal_pointer(&l->lease.grant);
    struct contender *holder = g_steal_pointer(&l->lease.holder);

    if (holder) {
        contender_forget(holder);
        contender_set_idle(holder, false);
    }
    decide(l, grant, NULL);
}

static void perform(struct leased *l, const struct leasing_action *a)
{
    switch (a->kind) {
    case LEASING_ACT_LOCK:
        enter_lock(l);
        break;
    case LEASING_ACT_UNLOCK:
        leave(&l->lock);
        break;
    case LEASING_ACT_LEASE:
        if (l->permits > 1)
            enter_leases(l);
        else
            enter_lease(l);
        break;
    case LEASING_ACT_LEAVE:
        leave(&l->lease);
        break;
    case LEASING_ACT_CHECK:
        ask_check(l, a->tag);
        break;
    case LEASING_ACT_RESTART: /* not from within the contender that ends */
        timers_arm(l->session->timers, &l->timer, clock_now().boot, on_restart, l);
        break;
    case LEASING_ACT_GRANT:
        give(l);
        break;
    case LEASING_ACT_FAIL:
        decide(l, NULL, &l->why);
        break;
    }
}

static void step(struct leased *l, const struct leasing_event *ev)
{
    struct leasing_actions actions;

    l->refs++;
    leasing_step(&l->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(l, &actions.list[i]);
    leased_unref(l);
}

/* ---- what the caller does ---- */

void leased_abort(struct leased *l, int code, const char *text)
{
    const char *path = session_path(l->session, l->spec.directory);

    error_fill(&l->why, code, path, "%s: %s", path, text);
    step_kind(l, LEASING_EV_ABORT);
}

/* Before its contenders are told, which would enter again. */
static void on_session_end(void *context, const zkl_error *why)
{
    leased_abort(context, why->code, why->text);
}

static char *child_path(const char *path, const char *name)
{
    char *child = g_strconcat(path, name, NULL), *shared = g_ref_string_new(child);

    g_free(child);
    return shared;
}

static struct leased *leased_new(zkl_session *s, const struct contender_spec *spec)
{
    struct leased *l = g_new0(struct leased, 1);

    l->session = s;
    l->refs = 1;
    l->spec = *spec;
    l->permits = (uint32_t)spec->rank;
    l->spec.rank = 1;
    g_ref_string_acquire(l->spec.directory);
    g_ref_string_acquire(l->spec.payload);
    l->lock = (struct part){.leased = l,
                            .directory = child_path(spec->directory, "/locks"),
                            .granted = LEASING_EV_LOCKED,
                            .failed = LEASING_EV_LOCK_FAILED,
                            .lost = LEASING_EV_LOCK_LOST};
    l->lease = (struct part){.leased = l,
                             .directory = child_path(spec->directory, "/leases"),
                             .granted = LEASING_EV_LEASED,
                             .failed = LEASING_EV_LEASE_FAILED,
                             .lost = LEASING_EV_LEASE_LOST};
    return l;
}

struct leased *leased_enter(zkl_session *s, const struct contender_spec *spec,
                            contender_decided decided, void *context)
{
    struct leased *l = leased_new(s, spec);

    l->decided = decided;
    l->context = context;
    local_callers_add(&locks_of(s)->local_callers, &l->callers, on_session_end, l);
    if (spec->rank > spec->leases)
        leased_abort(l, ZKL_ELIMIT, "more permits than the limit");
    else
        step_kind(l, LEASING_EV_BEGIN);
    return l;
}
