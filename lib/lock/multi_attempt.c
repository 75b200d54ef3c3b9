#include "multi_attempt.h"

#include "lib/base/error.h"
#include "lib/base/steps.h"
#include "lib/contender/claim.h"

/* What the attempt has at one path. */
struct multi_part {
    struct multi_attempt *attempt;
    struct multi_path path;
    struct claim claim;
    zkl_error *error; /* why the contender failed; NULL: it has not */
};

struct multi_attempt {
    unsigned refs; /* one until the machine is done, and one during a step */
    struct multi_lock machine;
    struct multi_lock_path places[MULTI_LOCK_PATHS];
    zkl_session *session;
    struct contender_spec spec;
    grant_decided decided;
    void *context;
    zkl_grant *grant;         /* the user's, with a reference of ours; NULL: not granted */
    const zkl_error *why;     /* why multi_attempt_abort() ends it; set during that call alone */
    struct steps *steps;      /* NULL: the machine is in no step */
    struct multi_part part[]; /* sorted by path */
};

static void multi_attempt_unref(struct multi_attempt *a)
{
    if (--a->refs > 0)
        return;
    for (uint32_t i = 0; i < a->machine.count; i++) {
        g_free(a->part[i].error);
        g_ref_string_release(a->part[i].path.directory);
    }
    g_ref_string_release(a->spec.payload);
    g_free(a);
}

/* Steps the machine by an event, and then by those that come in the midst of that step. */
static void multi_attempt_step(struct multi_attempt *a, struct multi_lock_event ev);

/* Steps the machine by an event at one path. The event names the path's present entry: so the
 * machine knows if it has left the path since. */
static void multi_attempt_step_part(struct multi_part *p, enum multi_lock_event_kind kind)
{
    struct multi_attempt *a = p->attempt;
    const uint32_t at = (uint32_t)(p - a->part);

    multi_attempt_step(
        a, (struct multi_lock_event){.kind = kind, .path = at, .entry = a->places[at].entry});
}

/* ---- what contenders tell ---- */

/* Tells the machine that a contender waits for others, or has lost its lock. */
static void multi_attempt_on_news(void *context, enum contender_news news)
{
    if (news == CONTENDER_WAITS)
        multi_attempt_step_part(context, MULTI_LOCK_EV_WAITS);
    else if (news == CONTENDER_ENDED)
        multi_attempt_step_part(context, MULTI_LOCK_EV_LOST);
}

static void multi_attempt_on_decided(void *context, const zkl_error *error)
{
    struct multi_part *p = context;

    if (!error) {
        contender_set_idle(p->claim.holder, true); /* until all are granted */
        multi_attempt_step_part(p, MULTI_LOCK_EV_GRANTED);
    } else {
        g_free(p->error);
        p->error = g_memdup2(error, sizeof *error);
        multi_attempt_step_part(p, MULTI_LOCK_EV_FAILED);
    }
}

/* ---- what the machine asks ---- */

/* Enters a contender at one path. */
static void multi_attempt_enter(struct multi_attempt *a, struct multi_part *p)
{
    struct contender_spec spec = a->spec;

    p->claim.until_gone = true; /* nobody uses this lock before those at all paths are granted */
    spec.directory = p->path.directory;
    spec.news = multi_attempt_on_news;
    claim_enter(&p->claim, a->session, &spec, multi_attempt_on_decided, p);
}

/* Releases the locks at all paths, because the grant was given back. If node_gone, a transaction
 * has found that its fence is gone, which is the node at the path that the user gave first. This
 * lock is lost, and all others with it. */
static void multi_attempt_on_let_go(void *context, bool node_gone)
{
    struct multi_attempt *a = context;

    for (uint32_t i = 0; i < a->machine.count; i++) {
        struct multi_part *p = &a->part[i];
        if (node_gone && p->path.given == 0 && p->claim.holder) {
            contender_node_gone(p->claim.holder);
            return;
        }
    }
    multi_attempt_step(a, (struct multi_lock_event){.kind = MULTI_LOCK_EV_RELEASE});
}

static const struct grant_ops multi_attempt_grant = {.let_go = multi_attempt_on_let_go};

/* Makes the grant on the tenures at all paths, in the order in which the user gave these. */
static void multi_attempt_give(struct multi_attempt *a)
{
    struct tenure *tenures[MULTI_LOCK_PATHS];

    for (uint32_t i = 0; i < a->machine.count; i++) {
        struct claim *c = &a->part[i].claim;
        tenures[a->part[i].path.given] = c->tenure;
        c->until_gone = false;
        if (c->holder)
            contender_set_idle(c->holder, false);
    }
    a->grant = grant_ref(grant_new(tenures, a->machine.count, &multi_attempt_grant, a));
    a->decided(a->context, a->grant, NULL);
}

/* Ends the grant because the lock at one path is lost. The other locks are lost, too: their nodes
 * go when the callbacks have returned. Then tells it as a contender of the caller's would. */
static void multi_attempt_lose(struct multi_attempt *a)
{
    for (uint32_t i = 0; i < a->machine.count; i++) {
        struct contender *holder = a->part[i].claim.holder;
        claim_forget(&a->part[i].claim);
        if (holder)
            contender_lose(holder);
    }
    if (a->spec.news)
        a->spec.news(a->context, CONTENDER_ENDED);
}

/* Does what the machine asks for after that event. */
static void multi_attempt_do_action(struct multi_attempt *a, const struct multi_lock_event *ev,
                                    const struct multi_lock_action *act)
{
    switch (act->kind) {
    case MULTI_LOCK_ACT_ENTER:
        multi_attempt_enter(a, &a->part[act->path]);
        break;
    case MULTI_LOCK_ACT_LEAVE:
        claim_leave(&a->part[act->path].claim);
        break;
    case MULTI_LOCK_ACT_GRANT:
        multi_attempt_give(a);
        break;
    case MULTI_LOCK_ACT_LOSE:
        multi_attempt_lose(a);
        break;
    case MULTI_LOCK_ACT_FAIL:
        a->decided(a->context, NULL,
                   ev->kind == MULTI_LOCK_EV_ABORT ? a->why : a->part[ev->path].error);
        break;
    }
}

static void multi_attempt_step(struct multi_attempt *a, struct multi_lock_event ev)
{
    const bool was_done = a->machine.state == MULTI_LOCK_DONE;
    struct multi_lock_actions actions;
    struct steps steps;

    if (!steps_begin(&a->steps, &steps, &ev, sizeof ev))
        return;
    a->refs++;
    do {
        multi_lock_step(&a->machine, a->places, &ev, &actions);
        for (uint32_t i = 0; i < actions.count; i++)
            multi_attempt_do_action(a, &ev, &actions.list[i]);
    } while (steps_next(&a->steps, &ev, sizeof ev));
    if (a->machine.state == MULTI_LOCK_DONE && !was_done) {
        if (a->grant) {
            grant_forget(a->grant);
            grant_unref(a->grant);
        }
        a->grant = NULL;
        multi_attempt_unref(a);
    }
    multi_attempt_unref(a);
}

/* ---- what the caller does ---- */

struct multi_attempt *multi_attempt_new(zkl_session *s, const struct contender_spec *spec,
                                        const struct multi_path *paths, uint32_t count,
                                        grant_decided decided, void *context)
{
    struct multi_attempt *a =
        g_malloc0(sizeof(struct multi_attempt) + count * sizeof(struct multi_part));

    a->refs = 1;
    a->machine.count = count;
    /* A try enters a path when it holds all before it, so that one of several tries wins. Leases
     * are entered together: they are taken under a lock, which alone refuses other tries. */
    a->machine.one_by_one = spec->try_only && spec->rule != RULE_LEASE;
    multi_lock_init(&a->machine, a->places);
    a->session = s;
    a->spec = *spec;
    g_ref_string_acquire(a->spec.payload);
    a->decided = decided;
    a->context = context;
    for (uint32_t i = 0; i < count; i++) {
        a->part[i].attempt = a;
        a->part[i].path = paths[i];
        g_ref_string_acquire(paths[i].directory);
    }
    return a;
}

void multi_attempt_begin(struct multi_attempt *a)
{
    multi_attempt_step(a, (struct multi_lock_event){.kind = MULTI_LOCK_EV_BEGIN});
}

/* The error names the path for which the attempt waits. */
void multi_attempt_abort(struct multi_attempt *a, int code, const char *text)
{
    const uint32_t front = multi_lock_front(&a->machine, a->places);
    const char *path = session_path(a->session, a->part[front].path.directory);
    zkl_error why;

    error_fill(&why, code, path, "%s: %s", path, text);
    a->why = &why;
    multi_attempt_step(a, (struct multi_lock_event){.kind = MULTI_LOCK_EV_ABORT});
}

void multi_attempt_forget(struct multi_attempt *a)
{
    a->spec.news = NULL;
}

struct contender *multi_attempt_waiting(const struct multi_attempt *a)
{
    const uint32_t front = multi_lock_front(&a->machine, a->places);

    return front < a->machine.count ? a->part[front].claim.contender : NULL;
}
