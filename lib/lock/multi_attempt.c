#include "multi_attempt.h"

#include "lib/base/error.h"
#include "lib/base/steps.h"
#include "lib/contender/claim.h"

/* What belongs to one path. */
struct part {
    struct multi_attempt *attempt;
    struct multi_path path;
    struct claim claim;
    zkl_error *error; /* of the contender that failed; NULL: none has */
};

struct multi_attempt {
    unsigned refs; /* until it is done, and each step */
    struct multi_lock machine;
    struct multi_lock_path places[MULTI_LOCK_PATHS];
    zkl_session *session;
    struct contender_spec spec;
    grant_decided decided;
    void *context;
    zkl_grant *grant;     /* the user's, with a reference of ours; NULL: not granted */
    const zkl_error *why; /* inside multi_attempt_abort() */
    struct steps *steps;  /* NULL: it is in none */
    struct part part[];   /* in order */
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

static void multi_attempt_step(struct multi_attempt *a, struct multi_lock_event ev);

/* The machine tells by the entry whether the path was left since. */
static void multi_attempt_step_part(struct part *p, enum multi_lock_event_kind kind)
{
    struct multi_attempt *a = p->attempt;
    const uint32_t at = (uint32_t)(p - a->part);

    multi_attempt_step(
        a, (struct multi_lock_event){.kind = kind, .path = at, .entry = a->places[at].entry});
}

/* ---- what contenders tell ---- */

static void multi_attempt_on_news(void *context, enum contender_news news)
{
    if (news == CONTENDER_WAITS)
        multi_attempt_step_part(context, MULTI_LOCK_EV_WAITS);
    else if (news == CONTENDER_ENDED)
        multi_attempt_step_part(context, MULTI_LOCK_EV_LOST);
}

static void multi_attempt_on_decided(void *context, const zkl_error *error)
{
    struct part *p = context;

    if (!error) {
        contender_set_idle(p->claim.holder, true);
        multi_attempt_step_part(p, MULTI_LOCK_EV_GRANTED);
    } else {
        g_free(p->error);
        p->error = g_memdup2(error, sizeof *error);
        multi_attempt_step_part(p, MULTI_LOCK_EV_FAILED);
    }
}

/* ---- what the machine asks ---- */

static void multi_attempt_enter(struct multi_attempt *a, struct part *p)
{
    struct contender_spec spec = a->spec;

    p->claim.until_gone = true; /* nobody uses it before all are granted */
    spec.directory = p->path.directory;
    spec.news = multi_attempt_on_news;
    claim_enter(&p->claim, a->session, &spec, multi_attempt_on_decided, p);
}

/* The grant is given back. node_gone: it is lost instead, and the node of the path that the user
 * gave first is known to be gone. */
static void multi_attempt_on_let_go(void *context, bool node_gone)
{
    struct multi_attempt *a = context;

    for (uint32_t i = 0; i < a->machine.count; i++) {
        struct part *p = &a->part[i];
        if (node_gone && p->path.given == 0 && p->claim.holder) {
            contender_node_gone(p->claim.holder);
            return;
        }
    }
    multi_attempt_step(a, (struct multi_lock_event){.kind = MULTI_LOCK_EV_RELEASE});
}

static const struct grant_ops multi_attempt_grant = {.let_go = multi_attempt_on_let_go};

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

/* A lock is lost, and with it the grant. The nodes of the others go when the callbacks
 * have returned. The news are those that the caller's contenders would tell. */
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

static void multi_attempt_perform(struct multi_attempt *a, const struct multi_lock_event *ev,
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

/* From now on nobody knows it. */
static void multi_attempt_end(struct multi_attempt *a)
{
    if (a->grant) {
        grant_forget(a->grant);
        grant_unref(a->grant);
    }
    a->grant = NULL;
    multi_attempt_unref(a);
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
            multi_attempt_perform(a, &ev, &actions.list[i]);
    } while (steps_next(&a->steps, &ev, sizeof ev));
    if (a->machine.state == MULTI_LOCK_DONE && !was_done)
        multi_attempt_end(a);
    multi_attempt_unref(a);
}

/* ---- what the caller does ---- */

struct multi_attempt *multi_attempt_new(zkl_session *s, const struct contender_spec *spec,
                                        const struct multi_path *paths, uint32_t count,
                                        grant_decided decided, void *context)
{
    struct multi_attempt *a = g_malloc0(sizeof(struct multi_attempt) + count * sizeof(struct part));

    a->refs = 1;
    a->machine.count = count;
    /* Leases are taken under a lock, which alone refuses other tries. */
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

/* The error names the path that it waits for. */
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
