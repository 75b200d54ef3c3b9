#include <stdlib.h>

#include "grant.h"
#include "lib/base/error.h"
#include "lib/session/denial.h"
#include "numbered_state.h"
#include "release.h"

static void end_restart(struct numbered *n);

uint32_t numbered_permits(const struct numbered *n)
{
    return (uint32_t)abs(n->spec.rank);
}

void numbered_unref(struct numbered *n)
{
    if (--n->refs > 0)
        return;
    g_ref_string_release(n->spec.directory);
    g_ref_string_release(n->spec.payload);
    g_rc_box_release(n->spec.limit);
    g_ptr_array_unref(n->before);
    g_array_unref(n->used);
    g_free(n->numbers);
    g_free(n);
}

/* ---- what becomes of it ---- */

static void decide(struct numbered *n, const zkl_error *error)
{
    const contender_decided decided = n->decided;
    zkl_grant *grant = n->grant;

    n->decided = NULL;
    n->grant = NULL;
    end_restart(n);
    watch_drop(&n->subscription, false);
    if (grant && grant_contender(grant))
        contender_forget(grant_contender(grant));
    if (grant && error) {
        grant_give_back(grant);
        grant_unref(grant);
        grant = NULL;
    }
    decided(n->context, grant, error);
    numbered_unref(n);
}

void numbered_fail(struct numbered *n, int code)
{
    const char *path = session_path(n->session, n->spec.directory);
    zkl_error e;

    denial_fill(n->session, &e, code, path);
    decide(n, &e);
}

char *numbered_text(const struct numbered *n)
{
    GString *text = g_string_new(n->spec.payload);

    g_string_append(text, NUMBERING_WORDS);
    for (uint32_t i = 0; i < numbered_permits(n); i++)
        g_string_append_printf(text, " %d", n->numbers[i]);
    if (n->ceiling > 0)
        g_string_append_printf(text, NUMBERING_CEILING "%d", n->ceiling);
    return g_string_free(text, FALSE);
}

static void succeed(struct numbered *n)
{
    char *payload = numbered_text(n);

    grant_set_slots(n->grant, n->numbers, numbered_permits(n), payload);
    g_free(payload);
    decide(n, NULL);
}

static void begin(struct numbered *n)
{
    n->entering = true;
    numbered_step(n, &(struct numbering_event){.kind = NUMBERING_EV_BEGIN});
    n->entering = false;
}

static void on_refused(void *data)
{
    const struct numbered *n = data;

    numbered_fail(data, n->denied ? ZKL_EACCES : ZKL_EPROTO);
}

/* A request may be refused as it is sent. */
static void fail_as_refused(struct numbered *n)
{
    if (n->entering)
        timers_arm(n->session->timers, &n->timer, clock_now().boot, on_refused, n);
    else
        on_refused(n);
}

static void on_admitted(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct numbered *n = context;

    n->contender = NULL;
    n->grant = grant;
    n->answered = true;
    n->chosen = false;
    n->machine = (struct numbering){.state = NUMBERING_IDLE, .tag = n->machine.tag + 1};
    if (error)
        decide(n, error);
    else
        begin(n);
}

static void enter(struct numbered *n);

static void end_restart(struct numbered *n)
{
    if (n->restarting)
        local_callers_remove(&n->callers);
    n->restarting = false;
    timers_cancel(&n->timer);
}

static void on_restart(void *data)
{
    end_restart(data);
    enter(data);
}

static void on_session_end(void *context, const zkl_error *why)
{
    decide(context, why);
}

static void restart(struct numbered *n)
{
    n->restarting = true;
    local_callers_add(&locks_of(n->session)->local_callers, &n->callers, on_session_end, n);
    timers_arm(n->session->timers, &n->timer, clock_now().boot, on_restart, n);
}

/* Not from within the contender that ends. */
static void on_news(void *context, enum contender_news news)
{
    struct numbered *n = context;

    if (news != CONTENDER_ENDED || !n->grant || !n->decided)
        return;
    numbered_step(n, &(struct numbering_event){.kind = NUMBERING_EV_END});
    grant_unref(n->grant);
    n->grant = NULL;
    if (n->session->closing)
        numbered_fail(n, ZKL_ECLOSED);
    else if (n->session->refused)
        numbered_fail(n, ZKL_EAUTH);
    else
        restart(n);
}

static void enter(struct numbered *n)
{
    n->refs++;
    n->answered = false;
    struct contender *c = contender_enter(n->session, &n->spec, on_admitted, n);
    if (!n->answered)
        n->contender = c;
    numbered_unref(n);
}

const struct contender *numbered_waiting(const struct numbered *n)
{
    return n->contender;
}

/* A try waits for no holder, but for numbers that are about to be chosen, until its time is up. */
static bool waits_for_numbers(const struct numbered *n, int code)
{
    return code == ZKL_EUNREACHABLE && n->session->up && n->machine.state == NUMBERING_WAITING;
}

void numbered_abort(struct numbered *n, int code, const char *text)
{
    const char *path = session_path(n->session, n->spec.directory);
    zkl_error why;

    if (n->contender) {
        contender_abort(n->contender, code, text);
        return;
    }
    if (waits_for_numbers(n, code))
        error_fill(&why, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
    else
        error_fill(&why, code, path, "%s: %s", path, text);
    numbered_step(n, &(struct numbering_event){.kind = NUMBERING_EV_END});
    decide(n, &why);
}

static void perform(struct numbered *n, const struct numbering_action *a)
{
    switch (a->kind) {
    case NUMBERING_ACT_LIST:
    case NUMBERING_ACT_OWN:
    case NUMBERING_ACT_LOOK:
    case NUMBERING_ACT_READ:
    case NUMBERING_ACT_WATCH:
    case NUMBERING_ACT_WRITE:
        numbered_ask(n, a);
        break;
    case NUMBERING_ACT_UNWATCH:
        watch_drop(&n->subscription, false);
        break;
    case NUMBERING_ACT_DONE:
        succeed(n);
        break;
    case NUMBERING_ACT_VANISHED:
        if (grant_contender(n->grant))
            contender_vanished(grant_contender(n->grant));
        break;
    case NUMBERING_ACT_FAIL:
        fail_as_refused(n);
        break;
    }
}

void numbered_step(struct numbered *n, const struct numbering_event *ev)
{
    struct numbering_actions actions;

    n->refs++;
    numbering_step(&n->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(n, &actions.list[i]);
    numbered_unref(n);
}

struct numbered *numbered_enter(zkl_session *s, const struct contender_spec *spec,
                                contender_decided decided, void *context)
{
    struct numbered *n = g_new0(struct numbered, 1);

    n->session = s;
    n->refs = 1;
    n->spec = *spec;
    n->spec.directory = g_ref_string_acquire(spec->directory);
    n->spec.payload = g_ref_string_acquire(spec->payload);
    n->spec.limit = g_rc_box_acquire(spec->limit);
    n->spec.news = on_news;
    n->decided = decided;
    n->context = context;
    n->before = g_ptr_array_new_with_free_func(g_free);
    n->used = g_array_new(FALSE, TRUE, sizeof(int32_t));
    n->numbers = g_new0(int32_t, numbered_permits(n));
    n->subscription = (struct subscription){.fired = numbered_fired, .context = n};
    enter(n);
    return n;
}
