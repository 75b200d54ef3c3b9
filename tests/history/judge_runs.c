/* V10: judges the runs of work that is due once a period, by what was found recorded. Each run is
 * found before the next one is recorded, so nothing that was recorded is missing here. */
#include "court.h"

#include <inttypes.h>
#include <zkl/error.h>

#define NS_OF_MS INT64_C(1000000)

enum { CLOCKS_NS = 50000000 }; /* the servers' instants, in ms of their own clock, by ours */

static const event *run_find(const GArray *runs, uint64_t token)
{
    for (guint i = 0; i < runs->len; i++)
        if (g_array_index(runs, event, i).token == token)
            return &g_array_index(runs, event, i);
    return NULL;
}

/* Each that was found, once, in the order in which they began. */
static GArray *runs_recorded(const GArray *events)
{
    GArray *runs = g_array_new(FALSE, FALSE, sizeof(event));

    for (guint i = 0; i < events->len; i++) {
        const event *e = &g_array_index(events, event, i);

        if (e->kind == EV_RUN && !run_find(runs, e->token))
            g_array_append_val(runs, *e);
    }
    return runs;
}

/* What the runner has heard must be what is recorded. */
static void judge_end(struct court *c, const GArray *runs, const event *e)
{
    const bool recorded = run_find(runs, e->token) != NULL;
    const bool unknown = e->value == ZKL_EUNKNOWN;

    c->j->runs.completed += e->value == 0;
    c->j->runs.given_up += e->value == RUN_GIVEN_UP;
    c->j->runs.unknown += unknown;
    c->j->runs.failed += e->value < 0 && !unknown;
    if (e->value == 0 && !recorded)
        court_violate(c, 10, 0, e->ns, "w%d's completed run %" PRIx64 " was overwritten", e->worker,
                      e->token);
    if (e->value != 0 && !unknown && recorded)
        court_violate(c, 10, 0, e->ns, "w%d's run %" PRIx64 " is recorded, yet it ended with %d",
                      e->worker, e->token, (int)e->value);
}

/* When the runner knew that it was recorded; it never knew: never. */
static int64_t run_completed_at(const struct court *c, const event *run)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->kind == EV_ENDED && e->value == 0 && e->token == run->token)
            return e->ns;
    }
    return INT64_MAX;
}

/* Did somebody ask, and hear that none is due, between these instants? */
static bool run_was_denied(const struct court *c, int64_t from, int64_t to)
{
    for (guint i = 0; i < c->h->waits->len; i++) {
        const wait_for *w = &g_array_index(c->h->waits, wait_for, i);

        if (w->spared && w->since >= from && w->end < to)
            return true;
    }
    return false;
}

/* While the run before is still under way, it spares those who wait for it, too. */
static void judge_missed(struct court *c, const event *before, const event *run, int64_t due_ms)
{
    const int64_t begin =
        run->ns + (due_ms + run->value - (int64_t)run->turn) * NS_OF_MS - RUN_SLACK_MS * NS_OF_MS;

    c->j->runs.missed++;
    if (run_was_denied(c, MAX(begin + CLOCKS_NS, run_completed_at(c, before)),
                       begin + RUN_PERIOD_MS * NS_OF_MS))
        court_violate(c, 10, 0, begin, "nobody ran what was due at %" PRId64 ", though one asked",
                      due_ms);
}

/* A run uses up the instants from the one that the run before has recorded to its own. */
static void judge_run(struct court *c, const event *before, const event *run)
{
    const int64_t next = (int64_t)run->turn, begun = next - run->value;
    int64_t due = (int64_t)before->turn;

    if ((next - due) % RUN_PERIOD_MS != 0 || begun + RUN_SLACK_MS < due ||
        begun + RUN_SLACK_MS >= next)
        court_violate(c, 10, 0, run->ns,
                      "the run %" PRIx64 " has no instant of its own: the run before left %" PRId64
                      ", it began at %" PRId64 " and left %" PRId64,
                      run->token, due, begun, next);
    for (; due < next - RUN_PERIOD_MS; due += RUN_PERIOD_MS)
        judge_missed(c, before, run, due);
}

void court_runs(struct court *c)
{
    GArray *runs = runs_recorded(c->in->events);

    for (guint i = 0; i < c->in->events->len; i++)
        if (g_array_index(c->in->events, event, i).kind == EV_ENDED)
            judge_end(c, runs, &g_array_index(c->in->events, event, i));
    for (guint i = 1; i < runs->len; i++)
        judge_run(c, &g_array_index(runs, event, i - 1), &g_array_index(runs, event, i));
    c->j->runs.recorded = runs->len;
    g_array_free(runs, TRUE);
}
