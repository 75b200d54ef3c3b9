/* The judge of all histories says whether the lock behaved. What is here asks whether the run was
 * what the demo is to show: a fault that missed proves nothing, so it fails the verdict. */
#include "verdict.h"

#include <inttypes.h>

static void G_GNUC_PRINTF(2, 3) add_reason(verdict *v, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    g_ptr_array_add(v->reasons, g_strdup_vprintf(format, ap));
    va_end(ap);
}

/* ---- the lock ---- */

/* How this promise was broken first; NULL: at no instant. */
static const violation *first_violation(const judgement *j, int number)
{
    const violation *first = NULL;

    for (guint i = 0; i < j->violations->len; i++) {
        const violation *x = &g_array_index(j->violations, violation, i);

        if (x->number == number && x->at > 0 && (!first || x->at < first->at))
            first = x;
    }
    return first;
}

static void judge_lock(verdict *v, const verdict_input *in)
{
    const judge_input all = {.events = in->events,
                             .workers = in->workers,
                             .paths = 1,
                             .look = !in->unsafe,
                             .end = &in->end,
                             .garbled = in->garbled,
                             .service_ns = INT64_MAX,
                             .idle_ns = INT64_MAX};

    v->j = judge(&all);
    for (int number = 0; number < VERDICTS; number++) {
        const violation *first = first_violation(v->j, number);
        char *when = first ? g_strdup_printf(", first at T+%.2f s (%s)",
                                             (double)(first->at - v->t0) / 1e9, first->text)
                           : g_strdup("");

        if (judgement_count(v->j, number) > 0)
            add_reason(v, "not so, %u times%s: %s", judgement_count(v->j, number), when,
                       judge_promise(number));
        g_free(when);
    }
}

/* ---- the work ---- */

static void judge_work(verdict *v, const verdict_input *in)
{
    const guint expected = (guint)(in->workers * in->increments);
    guint twice = 0;

    if (v->j->number.increments != expected)
        add_reason(v, "%u of %u increments were made", v->j->number.increments, expected);
    for (guint i = 0; i < v->h->list->len; i++)
        twice += g_array_index(v->h->list, hold, i).writes > 1;
    if (twice > 0)
        add_reason(v, "%u grants were written under more than once", twice);
}

static void count_stats(verdict *v, const verdict_input *in)
{
    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->worker < 0 || e->worker >= in->workers)
            continue;
        v->stats[e->worker].grants += e->kind == EV_GRANT;
        v->stats[e->worker].writes += e->kind == EV_WRITE;
        v->stats[e->worker].errors += e->kind == EV_ERROR;
    }
    for (guint i = 0; i < v->h->waits->len; i++) {
        const wait_for *w = &g_array_index(v->h->waits, wait_for, i);

        if (w->served && w->worker < in->workers)
            v->stats[w->worker].longest_wait =
                MAX(v->stats[w->worker].longest_wait, w->end - w->since);
    }
}

static void find_ends(verdict *v, const verdict_input *in)
{
    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->kind == EV_WANT && v->t0 == 0)
            v->t0 = e->ns;
        v->t1 = e->ns;
    }
}

/* ---- the faults ---- */

static const event *find(const GArray *events, event_kind kind, int64_t after, int worker)
{
    for (guint i = 0; i < events->len; i++) {
        const event *e = &g_array_index(events, event, i);

        if (e->kind == kind && e->ns >= after && (worker < 0 || e->worker == worker))
            return e;
    }
    return NULL;
}

static int64_t time_of(const event *e)
{
    return e ? e->ns : 0;
}

static void fill_kill(verdict *v, const verdict_input *in)
{
    const event *e = find(in->events, EV_KILL, 0, -1);
    const hold *held, *next;
    kill_fault *k = &v->kill;

    if (!e)
        return;
    k->at = e->ns;
    k->worker = e->worker;
    k->pid = e->pid;
    k->dead = time_of(find(in->events, EV_DEAD, e->ns, e->worker));
    held = holds_during(v->h, e->worker, e->ns);
    if (held && held->pid == e->pid && held->how == HOLD_KILLED && held->writes == 0) {
        k->held = true;
        k->token = held->token;
    }
    next = holds_next(v->h, e->ns, e->worker);
    if (next) {
        k->next = next->start;
        k->next_token = next->token;
    }
}

static void judge_kill(verdict *v)
{
    const kill_fault *k = &v->kill;

    if (!k->at)
        add_reason(v, "no worker was killed");
    else if (!k->held)
        add_reason(v, "w%d was killed, but not while it held", k->worker + 1);
    else if (!k->next)
        add_reason(v, "nobody was granted the lock after w%d was killed", k->worker + 1);
}

static void fill_after_cut(verdict *v, const verdict_input *in)
{
    cut_fault *c = &v->cut;
    const hold *next = holds_next(v->h, c->at, c->worker);
    const event *back;

    if (next) {
        c->next = next->start;
        c->next_token = next->token;
    }
    c->thaw = time_of(find(in->events, EV_THAW, c->at, c->worker));
    back = c->thaw ? find(in->events, EV_GRANT, c->thaw, c->worker) : NULL;
    if (back) {
        c->back = back->ns;
        c->back_token = back->token;
    }
}

static void fill_cut(verdict *v, const verdict_input *in)
{
    const event *e = find(in->events, EV_CUT, 0, -1), *wrote;
    cut_fault *c = &v->cut;
    const hold *held;

    if (!e)
        return;
    c->at = e->ns;
    c->worker = e->worker;
    held = holds_during(v->h, e->worker, e->ns);
    if (held) {
        c->held = true;
        c->token = held->token;
        c->suspect = held->suspect_at;
        c->told = held->told_at;
        c->lost = held->how == HOLD_LOST ? held->end : 0;
        wrote = find(in->events, EV_WRITE, e->ns, e->worker);
        c->wrote = wrote && wrote->token == held->token;
    }
    fill_after_cut(v, in);
}

static void judge_cut(verdict *v)
{
    const cut_fault *c = &v->cut;
    int w = c->worker + 1;

    if (!c->at) {
        add_reason(v, "no worker was cut off");
        return;
    }
    if (!c->held)
        add_reason(v, "w%d was cut off, but not while it held", w);
    if (!c->lost)
        add_reason(v, "w%d was cut off and never told that it had lost the lock", w);
    if (c->wrote)
        add_reason(v, "w%d wrote after it was cut off", w);
    if (!c->next)
        add_reason(v, "nobody was granted the lock after w%d was cut off", w);
    if (!c->thaw || !c->back)
        add_reason(v, "w%d did not take part again", w);
}

static void fill_foreign(verdict *v, const verdict_input *in)
{
    foreign_fault *f = &v->foreign;
    const event *asked = NULL;
    const hold *held;

    f->holder = -1;
    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->kind == EV_HOLD && f->tries == 0)
            asked = e;
        if (e->kind != EV_DENIED && e->kind != EV_ALLOWED)
            continue;
        if (f->tries++ == 0) {
            f->at = e->ns;
            f->holder = asked ? asked->worker : -1;
        }
        f->refused += e->kind == EV_DENIED;
        held = f->holder < 0 ? NULL : holds_during(v->h, f->holder, e->ns);
        f->by_thread += held && e->worker == f->holder;
        f->by_process += held && e->worker != f->holder;
    }
    held = f->at && f->holder >= 0 ? holds_during(v->h, f->holder, f->at) : NULL;
    if (held) {
        const event *e = find(in->events, EV_INTACT, f->at, f->holder);

        f->intact = e && e->token == held->token && e->ns < held->end && held->how == HOLD_RELEASED;
    }
}

static void judge_foreign(verdict *v)
{
    const foreign_fault *f = &v->foreign;

    if (f->tries == 0) {
        add_reason(v, "nobody tried to unlock another's lock");
        return;
    }
    if (f->refused < f->tries)
        add_reason(v, "%u of %u foreign unlocks were not refused", f->tries - f->refused, f->tries);
    if (f->by_thread == 0)
        add_reason(v, "no second thread of a holder tried to unlock");
    if (f->by_process == 0)
        add_reason(v, "no other process tried to unlock a held lock");
    if (!f->intact)
        add_reason(v, "the holder did not come through the foreign unlocks untouched");
}

verdict *verdict_new(const verdict_input *in)
{
    verdict *v = g_new0(verdict, 1);

    v->reasons = g_ptr_array_new_with_free_func(g_free);
    v->stats = g_new0(worker_stats, (gsize)in->workers);
    v->h = holds_new(in->events, 1, !in->unsafe);
    find_ends(v, in);
    judge_lock(v, in);
    judge_work(v, in);
    count_stats(v, in);
    fill_kill(v, in);
    judge_kill(v);
    fill_cut(v, in);
    judge_cut(v);
    fill_foreign(v, in);
    judge_foreign(v);
    v->pass = v->reasons->len == 0;
    return v;
}

void verdict_free(verdict *v)
{
    if (!v)
        return;
    judgement_free(v->j);
    holds_free(v->h);
    g_free(v->stats);
    g_ptr_array_free(v->reasons, TRUE);
    g_free(v);
}
