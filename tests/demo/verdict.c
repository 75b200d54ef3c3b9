#include "verdict.h"

#include <inttypes.h>

void verdict_reason(verdict *v, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    g_ptr_array_add(v->reasons, g_strdup_vprintf(format, ap));
    va_end(ap);
}

static const tenure *nth(const verdict *v, guint i)
{
    return &g_array_index(v->t->list, tenure, i);
}

/* Two of different workers intersect when the later begins before the earlier ends. The list is in
 * grant order, so whoever comes later began later. */
static void count_overlaps(verdict *v)
{
    for (guint i = 0; i < v->t->list->len; i++) {
        const tenure *a = nth(v, i);

        for (guint j = i + 1; j < v->t->list->len && nth(v, j)->start < a->end; j++)
            if (nth(v, j)->worker != a->worker)
                v->overlaps++;
    }
    if (v->overlaps > 0)
        verdict_reason(v, "%u pairs of grants overlap", v->overlaps);
}

static void check_tokens(verdict *v)
{
    v->grants = v->t->list->len;
    for (guint i = 1; i < v->grants; i++)
        if (nth(v, i)->token <= nth(v, i - 1)->token)
            v->falls++;
    if (v->grants == 0)
        verdict_reason(v, "nothing was ever granted");
    if (v->falls > 0)
        verdict_reason(v, "%u grants have a token that is not above the one before", v->falls);
}

/* Two witnesses, and the worse one counts: the number in the file, and the values written. Without
 * a loss the n-th write says n. */
static void count_lost(verdict *v, const verdict_input *in)
{
    int64_t highest = 0, repeated = 0;

    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->kind != EV_WRITE)
            continue;
        v->acknowledged++;
        if (e->value <= highest)
            repeated++;
        else
            highest = e->value;
    }
    v->lost = MAX(v->acknowledged - in->number, repeated);
    if (v->lost > 0)
        verdict_reason(v, "%" PRId64 " acknowledged increments are lost", v->lost);
    if (in->number > v->acknowledged)
        verdict_reason(v, "the file says %" PRId64 ", more than the %" PRId64 " acknowledged",
                       in->number, v->acknowledged);
    if (v->acknowledged != v->expected)
        verdict_reason(v, "%" PRId64 " of %" PRId64 " increments were made", v->acknowledged,
                       v->expected);
}

static void check_tenures(verdict *v)
{
    guint endless = 0, twice = 0;

    for (guint i = 0; i < v->t->list->len; i++) {
        if (nth(v, i)->how == END_NONE)
            endless++;
        if (nth(v, i)->writes > 1)
            twice++;
    }
    if (endless > 0)
        verdict_reason(v, "%u grants have no recorded end", endless);
    if (twice > 0)
        verdict_reason(v, "%u grants were written under more than once", twice);
    if (v->t->strays > 0)
        verdict_reason(v, "%u increments were written without a grant", v->t->strays);
}

static void count_stats(verdict *v, const verdict_input *in)
{
    guint errors = 0;

    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);
        worker_stats *s = &v->stats[e->worker];

        s->grants += e->kind == EV_GRANT;
        s->writes += e->kind == EV_WRITE;
        s->losses += e->kind == EV_LOST;
        s->errors += e->kind == EV_ERROR;
        errors += e->kind == EV_ERROR;
    }
    for (guint i = 0; i < v->t->waits->len; i++) {
        const wait_span *w = &g_array_index(v->t->waits, wait_span, i);
        worker_stats *s = &v->stats[w->worker];

        s->longest_wait = MAX(s->longest_wait, w->end - w->start);
    }
    if (errors > 0)
        verdict_reason(v, "%u calls of the library failed", errors);
}

/* Only the worker that was meant to die may end badly, once. */
static void check_ends(verdict *v, const verdict_input *in)
{
    int killed = 0;

    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->kind == EV_KILL)
            killed = e->pid;
        if (e->kind == EV_DEAD && e->pid != killed)
            verdict_reason(v, "w%d ended badly, wait status %" PRId64, e->worker + 1, e->value);
    }
}

/* Events about workers that do not exist would be counted nowhere. */
static bool workers_known(const verdict_input *in)
{
    for (guint i = 0; i < in->events->len; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->worker < 0 || e->worker >= in->workers)
            return false;
    }
    return true;
}

verdict *verdict_new(const verdict_input *in)
{
    GArray *none = g_array_new(FALSE, FALSE, sizeof(event));
    verdict_input known = *in;
    verdict *v = g_new0(verdict, 1);

    v->reasons = g_ptr_array_new_with_free_func(g_free);
    v->stats = g_new0(worker_stats, (gsize)in->workers);
    v->expected = (int64_t)in->workers * in->increments;
    if (!workers_known(in)) {
        verdict_reason(v, "the history speaks of a worker that does not exist");
        known.events = none;
    }
    v->t = tenures_new(known.events);
    count_lost(v, &known);
    count_overlaps(v);
    check_tokens(v);
    check_tenures(v);
    count_stats(v, &known);
    check_ends(v, &known);
    verdict_faults(v, &known);
    v->pass = v->reasons->len == 0;
    g_array_free(none, TRUE);
    return v;
}

void verdict_free(verdict *v)
{
    if (!v)
        return;
    tenures_free(v->t);
    g_free(v->stats);
    g_ptr_array_free(v->reasons, TRUE);
    g_free(v);
}
