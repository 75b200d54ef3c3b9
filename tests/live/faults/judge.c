#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>

/* What takes longer than this has not happened at all. */
#define TOO_LATE (60 * INT64_C(1000000000))

#define MS(ns) ((double)(ns) / 1e6)

struct court {
    const judge_input *in;
    holds *h;
    judgement *j;
};

G_GNUC_PRINTF(5, 6)
static void violate(struct court *c, int number, int path, int64_t at, const char *format, ...)
{
    violation v = {.number = number, .path = path, .at = at};
    va_list ap;

    va_start(ap, format);
    v.text = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_array_append_val(c->j->violations, v);
}

static const hold *nth(const struct court *c, guint i)
{
    return &g_array_index(c->h->list, hold, i);
}

/* How much of this stretch the process was stopped. */
static int64_t stopped_within(const struct court *c, int pid, int64_t from, int64_t to)
{
    int64_t sum = 0, since = 0;

    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->pid != pid || (e->kind != EV_STOP && e->kind != EV_GOON))
            continue;
        if (e->kind == EV_STOP)
            since = e->ns;
        else
            sum += MAX(0, MIN(e->ns, to) - MAX(since, from));
    }
    return sum;
}

/* ---- V1, V2, V3: one owner after the other ---- */

static bool is_later(uint64_t token, uint64_t turn, uint64_t than, uint64_t than_turn)
{
    return token != than ? token > than : turn > than_turn;
}

static void compare(struct court *c, const hold *a, const hold *b)
{
    if (!is_later(b->token, b->turn, a->token, a->turn))
        violate(c, 3, b->path, b->start,
                "w%d got token %" PRIx64 ".%" PRIu64 " after w%d had %" PRIx64 ".%" PRIu64,
                b->worker, b->token, b->turn, a->worker, a->token, a->turn);
    if (b->token == a->token && b->pid != a->pid)
        violate(c, 3, b->path, b->start, "w%d got a turn of w%d's token %" PRIx64, b->worker,
                a->worker, a->token);
    if (a->pid == b->pid || b->start >= a->third_party)
        return;
    if (b->start < a->seen) {
        c->j->overlaps++;
        violate(c, 1, b->path, b->start, "w%d was granted %.3f ms before w%d last saw itself own",
                b->worker, MS(a->seen - b->start), a->worker);
    } else if (a->how != HOLD_RELEASED && b->start < a->until) {
        violate(c, 2, b->path, b->start, "w%d was granted %.3f ms before w%d's deadline", b->worker,
                MS(a->until - b->start), a->worker);
    }
}

/* The owner may have retained it. What the servers, or the next one's own connection, suffered
 * meanwhile is in it, too: so it is no verdict. */
static void measure_unused(struct court *c, int64_t unused)
{
    c->j->longest_unused = MAX(c->j->longest_unused, unused);
    c->j->unused_share = (double)c->j->longest_unused / (double)c->in->idle_ns;
    c->j->slow_unused += unused > c->in->idle_ns;
}

/* The next grant after an owner: how long it took. */
static void measure(struct court *c, const hold *a, const hold *b)
{
    if (a->how == HOLD_RELEASED)
        measure_unused(c, b->start - MAX(a->end, b->want));
    if (a->how == HOLD_RELEASED || a->third_party != INT64_MAX)
        return;
    int64_t took = b->start - MAX(a->until, b->want);
    c->j->successions++;
    c->j->slow_successions += took > c->in->service_ns;
    c->j->worst_succession = MAX(c->j->worst_succession, took);
}

/* Each with the one before is enough: who overlaps an earlier one overlaps all between. A grant
 * that was over when it was first looked at bound nobody. */
static void judge_path(struct court *c, int path)
{
    const hold *before = NULL;

    for (guint i = 0; i < c->h->list->len; i++) {
        const hold *b = nth(c, i);

        if (b->path != path || b->seen == 0)
            continue;
        c->j->turns += b->turn > 0;
        if (before) {
            compare(c, before, b);
            measure(c, before, b);
        }
        before = b;
    }
}

static const hold *next_hold(const struct court *c, int pid, int64_t after)
{
    for (guint i = 0; i < c->h->list->len; i++)
        if (nth(c, i)->pid == pid && nth(c, i)->start > after)
            return nth(c, i);
    return NULL;
}

/* With the rise of tokens this is first come, first served. */
static void judge_line(struct court *c)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);
        const hold *n = e->kind == EV_LINE ? next_hold(c, e->pid, e->ns) : NULL;

        if (!n || n->session != e->value)
            continue;
        c->j->kept += n->token == e->token;
        if (n->token != e->token)
            violate(c, 3, n->path, n->start,
                    "w%d stood in line with token %" PRIx64 ", and got %" PRIx64, n->worker,
                    e->token, n->token);
    }
}

/* ---- V4: the register ---- */

static void judge_register(struct court *c, int path)
{
    uint64_t before = 0, turn = 0;
    int64_t writes = 0;

    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->worker < 0 || e->worker % c->in->paths != path)
            continue;
        c->j->refused += e->kind == EV_REFUSED;
        if (e->kind != EV_WRITE)
            continue;
        if (is_later(before, turn, e->token, e->turn))
            violate(c, 4, path, e->ns,
                    "token %" PRIx64 ".%" PRIu64 " was accepted below %" PRIx64 ".%" PRIu64,
                    e->token, e->turn, before, turn);
        if (e->value <= writes) /* who is killed may leave a number unrecorded */
            violate(c, 4, path, e->ns, "write %" PRId64 " comes after write %" PRId64, e->value,
                    writes);
        writes = e->value;
        before = e->token;
        turn = e->turn;
    }
}

/* ---- V5, V6 ---- */

static void judge_service(struct court *c)
{
    for (guint i = 0; i < c->h->waits->len; i++) {
        const wait_for *w = &g_array_index(c->h->waits, wait_for, i);

        if (w->served)
            c->j->longest_wait = MAX(c->j->longest_wait, w->end - w->since);
        if (w->end != INT64_MAX)
            continue;
        c->j->unserved++;
        violate(c, 5, w->path, w->since, "w%d was never served", w->worker);
    }
    if (c->in->nodes_left > 0)
        violate(c, 6, -1, 0, "%d nodes are left", c->in->nodes_left);
}

/* ---- V7: being told ---- */

/* How long after the deadline that was, in time in which the process ran. */
static int64_t lateness(const struct court *c, const hold *n, int64_t at)
{
    int64_t due = MAX(n->until, n->start);

    return at > due ? at - due - stopped_within(c, n->pid, due, at) : at - due;
}

/* Killed when it was not too late yet. */
static bool died_untold(const struct court *c, const hold *n)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->pid == n->pid && e->kind == EV_KILL)
            return lateness(c, n, e->ns) <= TOO_LATE;
    }
    return false;
}

static void judge_lateness(struct court *c, const hold *n)
{
    int64_t late = lateness(c, n, n->told_at);

    c->j->latest_told = MAX(c->j->latest_told, late);
    if (late > TOO_LATE)
        violate(c, 7, n->path, n->told_at, "w%d was told LOST %.0f ms late", n->worker, MS(late));
}

static void judge_word(struct court *c, const hold *n)
{
    bool lost = n->how == HOLD_LOST || n->owed;

    c->j->losses += lost;
    c->j->kills += n->how == HOLD_KILLED;
    c->j->third_party += n->third_party != INT64_MAX;
    if (n->after > 0)
        violate(c, 7, n->path, n->told_at, "w%d was told more after LOST", n->worker);
    if (n->told > 0)
        judge_lateness(c, n);
    if (n->how == HOLD_KILLED)
        return;
    if (n->how == HOLD_OPEN)
        violate(c, 0, n->path, n->start, "w%d's hold has no end", n->worker);
    if (lost && n->told == 0 && !died_untold(c, n))
        violate(c, 7, n->path, n->end, "w%d lost its grant and was never told", n->worker);
    if (!lost && n->told > 0)
        violate(c, 7, n->path, n->told_at, "w%d was told LOST, yet its unlock was well", n->worker);
}

static void judge_calls(struct court *c)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->kind == EV_ERROR || e->kind == EV_DEAD)
            violate(c, 0, e->worker % c->in->paths, e->ns, "w%d: %s %" PRId64, e->worker,
                    e->kind == EV_DEAD ? "ended badly, wait status" : "a call answered", e->value);
    }
}

judgement *judge(const judge_input *in)
{
    judgement *j = g_new0(judgement, 1);
    struct court c = {in, holds_new(in->events, in->paths), j};

    j->violations = g_array_new(FALSE, TRUE, sizeof(violation));
    j->nodes_left = in->nodes_left;
    j->grants = c.h->list->len;
    for (int path = 0; path < in->paths; path++) {
        judge_path(&c, path);
        judge_register(&c, path);
    }
    judge_line(&c);
    judge_service(&c);
    for (guint i = 0; i < c.h->list->len; i++)
        judge_word(&c, nth(&c, i));
    judge_calls(&c);
    if (in->garbled)
        violate(&c, 0, -1, 0, "the history has lines that make no sense");
    if (j->grants == 0)
        violate(&c, 5, -1, 0, "nothing was ever granted");
    holds_free(c.h);
    return j;
}

bool judgement_passes(const judgement *j)
{
    return j->violations->len == 0;
}

void judgement_free(judgement *j)
{
    for (guint i = 0; j && i < j->violations->len; i++)
        g_free(g_array_index(j->violations, violation, i).text);
    if (j)
        g_array_free(j->violations, TRUE);
    g_free(j);
}
