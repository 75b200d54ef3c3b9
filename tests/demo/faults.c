/* Did each fault really happen, and did the lock behave? A fault that missed proves nothing, so it
 * fails the verdict. */
#include "verdict.h"

#define MS(ns) ((double)(ns) / 1e6)

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
    const tenure *held, *next;
    kill_fault *k = &v->kill;

    if (!e)
        return;
    k->at = e->ns;
    k->worker = e->worker;
    k->pid = e->pid;
    k->dead = time_of(find(in->events, EV_DEAD, e->ns, e->worker));
    held = tenures_at(v->t, e->worker, e->ns);
    if (held && held->pid == e->pid && held->how == END_DEAD && held->writes == 0) {
        k->held = true;
        k->token = held->token;
    }
    next = tenures_next(v->t, e->ns, e->worker);
    if (next) {
        k->next = next->start;
        k->next_token = next->token;
    }
}

static void judge_kill(verdict *v)
{
    const kill_fault *k = &v->kill;

    if (!k->at)
        verdict_reason(v, "no worker was killed");
    else if (!k->held)
        verdict_reason(v, "w%d was killed, but not while it held", k->worker + 1);
    else if (!k->next)
        verdict_reason(v, "nobody was granted the lock after w%d was killed", k->worker + 1);
}

static void fill_after_cut(verdict *v, const verdict_input *in)
{
    cut_fault *c = &v->cut;
    const tenure *next = tenures_next(v->t, c->at, c->worker);
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
    const tenure *held;

    if (!e)
        return;
    c->at = e->ns;
    c->worker = e->worker;
    held = tenures_at(v->t, e->worker, e->ns);
    if (held) {
        c->held = true;
        c->token = held->token;
        c->suspect = held->suspect;
        c->told = held->told;
        c->lost = held->how == END_LOST ? held->end : 0;
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
        verdict_reason(v, "no worker was cut off");
        return;
    }
    if (!c->held)
        verdict_reason(v, "w%d was cut off, but not while it held", w);
    if (!c->lost)
        verdict_reason(v, "w%d was cut off and never told that it had lost the lock", w);
    if (c->lost && !c->told)
        verdict_reason(v, "w%d saw LOST, but no callback came", w);
    if (c->wrote)
        verdict_reason(v, "w%d wrote after it was cut off", w);
    if (!c->next)
        verdict_reason(v, "nobody was granted the lock after w%d was cut off", w);
    if (c->lost && c->next && c->next < c->lost)
        verdict_reason(v, "w%d was told LOST %.0f ms after another's grant", w,
                       MS(c->lost - c->next));
    if (!c->thaw || !c->back)
        verdict_reason(v, "w%d did not take part again", w);
}

static void fill_foreign(verdict *v, const verdict_input *in)
{
    foreign_fault *f = &v->foreign;
    const event *hold = NULL;
    const tenure *held;

    f->holder = -1;
    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->kind == EV_HOLD && f->tries == 0)
            hold = e;
        if (e->kind != EV_DENIED && e->kind != EV_ALLOWED)
            continue;
        if (f->tries++ == 0) {
            f->at = e->ns;
            f->holder = hold ? hold->worker : -1;
        }
        f->refused += e->kind == EV_DENIED;
        held = f->holder < 0 ? NULL : tenures_at(v->t, f->holder, e->ns);
        f->by_thread += held && e->worker == f->holder;
        f->by_process += held && e->worker != f->holder;
    }
    held = f->at && f->holder >= 0 ? tenures_at(v->t, f->holder, f->at) : NULL;
    if (held) {
        const event *e = find(in->events, EV_INTACT, f->at, f->holder);

        f->intact = e && e->token == held->token && e->ns < held->end && held->how == END_RELEASE;
    }
}

static void judge_foreign(verdict *v)
{
    const foreign_fault *f = &v->foreign;

    if (f->tries == 0) {
        verdict_reason(v, "nobody tried to unlock another's lock");
        return;
    }
    if (f->refused < f->tries)
        verdict_reason(v, "%u of %u foreign unlocks were not refused", f->tries - f->refused,
                       f->tries);
    if (f->by_thread == 0)
        verdict_reason(v, "no second thread of a holder tried to unlock");
    if (f->by_process == 0)
        verdict_reason(v, "no other process tried to unlock a held lock");
    if (!f->intact)
        verdict_reason(v, "the holder did not come through the foreign unlocks untouched");
}

void verdict_faults(verdict *v, const verdict_input *in)
{
    fill_kill(v, in);
    judge_kill(v);
    fill_cut(v, in);
    judge_cut(v);
    fill_foreign(v, in);
    judge_foreign(v);
}
