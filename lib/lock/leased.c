#include "leased.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/driver.h"
#include "multi_attempt.h"
#include "recipes/leasing.h"
#include "recipes/name.h"

/* The lock, or the lease; or several leases. */
struct part {
    struct leased *leased;
    char *directory;                /* GRefString */
    struct contender *contender;    /* NULL: none, or decided */
    struct multi_attempt *several;  /* instead; NULL: none, or it has ended */
    struct contender *holder;       /* of what was granted; NULL: nothing was granted, or its end
                                       was heard, or several are held */
    struct tenure *tenure;          /* ours; NULL: none, or it is several */
    zkl_grant *grant;               /* of several, ours; NULL: none */
    unsigned granted, failed, lost; /* what leasing.h hears of it */
};

struct leased {
    struct driver driver; /* of a session that outlives it */
    struct contender_spec spec;
    uint32_t permits;      /* so many leases are taken */
    grant_decided decided; /* NULL: it was called */
    void *context;
    int refs; /* until it is decided, each check under way, each step */
    struct leasing machine;
    struct part lock, lease;
    zkl_error why; /* of what failed last */
};

static void leased_unref(struct leased *l)
{
    if (--l->refs > 0)
        return;
    driver_clear(&l->driver);
    g_ref_string_release(l->lock.directory);
    g_ref_string_release(l->lease.directory);
    g_ref_string_release(l->spec.directory);
    g_ref_string_release(l->spec.payload);
    g_free(l);
}

static void leased_hear(struct leased *l, unsigned kind)
{
    driver_hear(&l->driver, (struct machine_event){.kind = kind});
}

/* ---- what contenders tell ---- */

static void leased_drop(struct part *p)
{
    g_clear_pointer(&p->tenure, tenure_unref);
    g_clear_pointer(&p->grant, grant_unref);
}

static void leased_on_news(void *context, enum contender_news news)
{
    struct part *p = context;

    if (news != CONTENDER_ENDED)
        return;
    p->holder = NULL;
    p->several = NULL;
    leased_drop(p);
    leased_hear(p->leased, p->lost);
}

static void leased_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct part *p = context;

    p->contender = NULL;
    if (error) {
        p->leased->why = *error;
        leased_hear(p->leased, p->failed);
        return;
    }
    p->tenure = tenure;
    p->holder = contender_of(tenure);
    contender_set_idle(p->holder, true);
    leased_hear(p->leased, p->granted);
}

/* They are told even when they are left: then nobody wants to know. */
static void leased_on_several(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct part *p = context;

    if (!p->several)
        return;
    if (error) {
        p->leased->why = *error;
        p->several = NULL;
    }
    p->grant = grant;
    leased_hear(p->leased, grant ? p->granted : p->failed);
}

/* ---- what the machine asks ---- */

/* The parent of both is heard of where it matters: in the check. */
static void leased_enter_lock(struct leased *l)
{
    struct contender_spec spec = {.directory = l->lock.directory,
                                  .payload = l->spec.payload,
                                  .parents = l->spec.parents,
                                  .rule = RULE_SELECTOR,
                                  .try_only = l->spec.try_only,
                                  .hints = true,
                                  .news = leased_on_news};

    contender_enter(&l->lock.contender, l->driver.session, &spec, leased_on_decided, &l->lock);
}

static void leased_enter_lease(struct leased *l)
{
    struct contender_spec spec = l->spec;

    spec.directory = l->lease.directory;
    spec.news = leased_on_news;
    contender_enter(&l->lease.contender, l->driver.session, &spec, leased_on_decided, &l->lease);
}

/* One contender per permit. None queues behind another, so all nodes exist while any waits. */
static void leased_enter_leases(struct leased *l)
{
    struct multi_path paths[MULTI_LOCK_PATHS];
    struct part *p = &l->lease;
    struct contender_spec spec = l->spec;

    spec.news = leased_on_news;
    for (uint32_t i = 0; i < l->permits; i++)
        paths[i] = (struct multi_path){.directory = p->directory, .given = i};
    multi_attempt_begin(&p->several, l->driver.session, &spec, paths, l->permits, leased_on_several,
                        p);
}

/* Nothing of it is heard any more. */
static void leased_leave(struct part *p)
{
    struct contender *c = g_steal_pointer(&p->contender), *holder = g_steal_pointer(&p->holder);
    struct multi_attempt *several = g_steal_pointer(&p->several);

    if (several)
        multi_attempt_forget(several);
    if (several && p->grant)
        grant_give_back(p->grant, false);
    else if (several)
        multi_attempt_abort(several, ZKL_ECANCELED, zkl_strerror(ZKL_ECANCELED));
    leased_drop(p);
    if (c)
        contender_abandon(c);
    if (!holder)
        return;
    contender_forget(holder);
    contender_release(holder);
}

static struct leased *leased_driven(struct driver *d)
{
    return DRIVER_OWNER(d, struct leased);
}

/* Another layout's contenders are children of the path itself. */
static bool leased_finds_mixed(struct leased *l, const struct machine_event *ev)
{
    const char *path = session_path(l->driver.session, l->spec.directory);
    struct child child;

    for (size_t i = 0; i < ev->count; i++) {
        name_parse(ev->names[i], strlen(ev->names[i]), &child);
        if (child.kind == CHILD_FOREIGN)
            continue;
        char *text = layout_incompatible(ev->names[i]);
        error_fill(&l->why, ZKL_ELAYOUT, path, "%s: %s", path, text);
        g_free(text);
        return true;
    }
    return false;
}

static void leased_step(struct driver *d, const struct machine_event *ev,
                        struct machine_actions *out)
{
    struct leased *l = leased_driven(d);
    struct leasing_moment m = {.now = clock_now().boot};

    m.mixed = ev->kind == MACHINE_EV_ANSWER && leased_finds_mixed(l, ev);
    leasing_step(&l->machine, ev, &m, out);
}

static char *leased_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(leased_driven(d)->spec.directory);
}

static void leased_decide(struct leased *l, zkl_grant *grant, const zkl_error *error)
{
    const grant_decided decided = l->decided;

    l->decided = NULL;
    decided(l->context, grant, error);
    leased_unref(l);
}

static void leased_give(struct leased *l)
{
    struct tenure *tenure = g_steal_pointer(&l->lease.tenure);
    zkl_grant *grant = tenure ? grant_new_on(tenure) : g_steal_pointer(&l->lease.grant);
    struct contender *holder = g_steal_pointer(&l->lease.holder);

    if (l->lease.several)
        multi_attempt_forget(g_steal_pointer(&l->lease.several));
    if (holder) {
        contender_forget(holder);
        contender_set_idle(holder, false);
    }
    leased_decide(l, grant, NULL);
}

static void leased_fail(struct leased *l, const struct machine_action *a)
{
    zkl_session *s = l->driver.session;

    if (a->why == LEASING_CAUSE_REFUSED)
        denial_fill(s, &l->why, call_error(a->rc), session_path(s, l->spec.directory));
    leased_decide(l, NULL, &l->why);
}

static void leased_tell(struct driver *d, const struct machine_action *a)
{
    struct leased *l = leased_driven(d);

    switch ((enum leasing_verdict)a->verdict) {
    case LEASING_LOCK:
        leased_enter_lock(l);
        break;
    case LEASING_UNLOCK:
        leased_leave(&l->lock);
        break;
    case LEASING_LEASE:
        if (l->permits > 1)
            leased_enter_leases(l);
        else
            leased_enter_lease(l);
        break;
    case LEASING_LEAVE:
        leased_leave(&l->lease);
        break;
    case LEASING_GRANT:
        leased_give(l);
        break;
    case LEASING_FAIL:
        leased_fail(l, a);
        break;
    }
}

static void leased_ref_driven(struct driver *d)
{
    leased_driven(d)->refs++;
}

static void leased_unref_driven(struct driver *d)
{
    leased_unref(leased_driven(d));
}

static const struct driver_ops leased_driver = {.step = leased_step,
                                                .path = leased_path,
                                                .tell = leased_tell,
                                                .ref = leased_ref_driven,
                                                .unref = leased_unref_driven};

/* ---- what the caller does ---- */

void leased_abort(struct leased *l, int code, const char *text)
{
    const char *path = session_path(l->driver.session, l->spec.directory);

    error_fill(&l->why, code, path, "%s: %s", path, text);
    leased_hear(l, MACHINE_EV_STOP);
}

static char *leased_child(const char *path, const char *name)
{
    char *child = g_strconcat(path, name, NULL), *shared = g_ref_string_new(child);

    g_free(child);
    return shared;
}

static struct leased *leased_new(zkl_session *s, const struct contender_spec *spec)
{
    struct leased *l = g_new0(struct leased, 1);

    driver_init(&l->driver, &leased_driver, s, STORE_PERSISTENT);
    l->refs = 1;
    l->spec = *spec;
    l->permits = (uint32_t)spec->rank;
    l->spec.rank = 1;
    g_ref_string_acquire(l->spec.directory);
    g_ref_string_acquire(l->spec.payload);
    l->lock = (struct part){.leased = l,
                            .directory = leased_child(spec->directory, "/locks"),
                            .granted = LEASING_EV_LOCKED,
                            .failed = LEASING_EV_LOCK_FAILED,
                            .lost = LEASING_EV_LOCK_LOST};
    l->lease = (struct part){.leased = l,
                             .directory = leased_child(spec->directory, "/leases"),
                             .granted = LEASING_EV_LEASED,
                             .failed = LEASING_EV_LEASE_FAILED,
                             .lost = LEASING_EV_LEASE_LOST};
    return l;
}

void leased_enter(struct leased **ret, zkl_session *s, const struct contender_spec *spec,
                  grant_decided decided, void *context)
{
    struct leased *l = leased_new(s, spec);

    *ret = l;
    l->decided = decided;
    l->context = context;
    if (spec->rank > spec->leases)
        leased_abort(l, ZKL_ELIMIT, "more permits than the limit");
    else
        leased_hear(l, MACHINE_EV_BEGIN);
}
