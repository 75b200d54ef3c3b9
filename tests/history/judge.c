#include "court.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* What takes longer than this has not happened at all. */
#define TOO_LATE (60 * INT64_C(1000000000))

const hold *court_nth(const struct court *c, guint i)
{
    return &g_array_index(c->h->list, hold, i);
}

bool court_is_later(uint64_t token, uint64_t turn, uint64_t than, uint64_t than_turn)
{
    return token != than ? token > than : turn > than_turn;
}

int court_path_of(const struct court *c, uint64_t token)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(c->path_of, &token)) - 1;
}

void court_violate(struct court *c, int number, int path, int64_t at, const char *format, ...)
{
    violation v = {.number = number, .path = path, .at = at};
    va_list ap;

    va_start(ap, format);
    v.text = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_array_append_val(c->j->violations, v);
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

/* ---- V3: the line ---- */

static const hold *next_hold(const struct court *c, int pid, int64_t after)
{
    for (guint i = 0; i < c->h->list->len; i++)
        if (court_nth(c, i)->pid == pid && court_nth(c, i)->start > after)
            return court_nth(c, i);
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
            court_violate(c, 3, n->path, n->start,
                          "w%d stood in line with token %" PRIx64 ", and got %" PRIx64, n->worker,
                          e->token, n->token);
    }
}

/* ---- V5, V6 ---- */

static void judge_service(struct court *c)
{
    for (guint i = 0; i < c->h->waits->len; i++) {
        const wait_for *w = &g_array_index(c->h->waits, wait_for, i);

        if (w->served) {
            struct judged_kind *of = &c->j->of[w->claim.kind];

            of->longest_wait = MAX(of->longest_wait, w->end - w->since);
            c->j->longest_wait = MAX(c->j->longest_wait, w->end - w->since);
        }
        if (w->end != INT64_MAX)
            continue;
        c->j->unserved++;
        court_violate(c, 5, w->path, w->since, "w%d was never served", w->worker);
    }
    if (c->in->nodes_left > 0)
        court_violate(c, 6, -1, 0, "%d nodes are left", c->in->nodes_left);
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
        court_violate(c, 7, n->path, n->told_at, "w%d was told LOST %.0f ms late", n->worker,
                      MS(late));
}

static void judge_word(struct court *c, const hold *n)
{
    bool lost = n->how == HOLD_LOST || n->owed;

    c->j->losses += lost;
    c->j->kills += n->how == HOLD_KILLED;
    c->j->third_party += n->third_party != INT64_MAX;
    if (n->after > 0)
        court_violate(c, 7, n->path, n->told_at, "w%d was told more after LOST", n->worker);
    if (n->told > 0)
        judge_lateness(c, n);
    if (n->how == HOLD_KILLED)
        return;
    if (n->how == HOLD_OPEN)
        court_violate(c, 0, n->path, n->start, "w%d's hold has no end", n->worker);
    if (lost && n->told == 0 && !died_untold(c, n))
        court_violate(c, 7, n->path, n->end, "w%d lost its grant and was never told", n->worker);
    if (!lost && n->told > 0)
        court_violate(c, 7, n->path, n->told_at, "w%d was told LOST, yet its unlock was well",
                      n->worker);
}

static void judge_calls(struct court *c)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        c->j->refused += e->kind == EV_REFUSED;
        if (e->worker >= c->in->workers)
            court_violate(c, 0, -1, e->ns, "there is no w%d", e->worker);
        if (e->kind == EV_ERROR ||
            (e->kind == EV_DEAD && !court_was_killed(c->in->events, e->pid, e->ns)))
            court_violate(c, 0, -1, e->ns, "w%d: %s %" PRId64, e->worker,
                          e->kind == EV_DEAD ? "ended badly, wait status" : "a call answered",
                          e->value);
    }
}

/* ---- V9: what a session counted is what its process recorded ----
 *
 * The counts are its last events but for the callbacks that were still to come, so those that were
 * killed have none. */

/* What one process's session counted, and what the process recorded. */
struct tally {
    int64_t counted[COUNTED], recorded[COUNTED];
    unsigned said; /* bit n: its session counted n */
};

static bool is_count_of_grants(const event *e)
{
    return e->kind == EV_COUNTED && e->token == COUNTED_GRANTS;
}

static void tally_event(struct tally *t, const event *e)
{
    if (e->kind == EV_GRANT) {
        t->recorded[COUNTED_GRANTS]++;
        t->recorded[COUNTED_WAITS]++;
        t->recorded[COUNTED_HOLDS]++;
    } else if (e->kind == EV_TOLD && e->value > 0 && e->value < COUNTED_WAITS) {
        t->recorded[e->value]++;
    } else if (e->kind == EV_COUNTED && e->token < COUNTED) {
        t->counted[e->token] = e->value;
        t->said |= 1u << e->token;
    }
}

static struct tally tally_of(const struct court *c, int pid)
{
    struct tally t = {.said = 1u << ZKL_LOSS_FORKED}; /* which is never counted */

    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (e->pid == pid)
            tally_event(&t, e);
    }
    return t;
}

static void compare_counts(struct court *c, const event *end, const struct tally *t)
{
    if (t->said != (1u << COUNTED) - 1)
        court_violate(c, 9, -1, end->ns, "w%d said only %x of what its session counted",
                      end->worker, t->said);
    for (int of = 0; of < COUNTED; of++) {
        c->j->counted[of] += t->counted[of];
        c->j->recorded[of] += t->recorded[of];
        if (t->counted[of] != t->recorded[of])
            court_violate(c, 9, -1, end->ns,
                          "w%d's session counted %" PRId64 " of sort %d, recorded are %" PRId64,
                          end->worker, t->counted[of], of, t->recorded[of]);
    }
}

static void judge_counts(struct court *c)
{
    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = &g_array_index(c->in->events, event, i);

        if (!is_count_of_grants(e))
            continue;
        const struct tally t = tally_of(c, e->pid);
        c->j->sessions++;
        compare_counts(c, e, &t);
    }
}

/* ---- all of it ---- */

static void judge_all(struct court *c)
{
    court_exclusion(c);
    court_registers(c);
    judge_line(c);
    judge_service(c);
    for (guint i = 0; i < c->h->list->len; i++) {
        judge_word(c, court_nth(c, i));
        c->j->of[court_nth(c, i)->claim.kind].grants++;
    }
    judge_calls(c);
    judge_counts(c);
    court_runs(c);
    if (c->h->ends > 0)
        court_violate(c, 0, -1, 0, "%u times something was given up that was not held", c->h->ends);
    if (c->in->garbled)
        court_violate(c, 0, -1, 0, "the history has lines that make no sense");
    if (c->j->grants == 0)
        court_violate(c, 5, -1, 0, "nothing was ever granted");
}

/* Tokens are of one ensemble: no two paths have the same. */
static GHashTable *paths_by_token(const holds *h)
{
    GHashTable *by = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = 0; i < h->list->len; i++) {
        hold *n = &g_array_index(h->list, hold, i);

        for (int p = 0; p < n->parts; p++)
            g_hash_table_insert(by, &n->part[p].token, GINT_TO_POINTER(n->part[p].path + 1));
    }
    return by;
}

judgement *judge(const judge_input *in)
{
    judgement *j = g_new0(judgement, 1);
    holds *h = holds_new(in->events, in->paths, in->look);
    struct court c = {.in = in, .h = h, .j = j, .path_of = paths_by_token(h)};

    j->violations = g_array_new(FALSE, TRUE, sizeof(violation));
    j->nodes_left = in->nodes_left;
    j->grants = h->list->len;
    judge_all(&c);
    g_hash_table_destroy(c.path_of);
    holds_free(h);
    return j;
}

bool judgement_passes(const judgement *j)
{
    return j->violations->len == 0;
}

guint judgement_count(const judgement *j, int number)
{
    guint count = 0;

    for (guint i = 0; i < j->violations->len; i++)
        count += g_array_index(j->violations, violation, i).number == number;
    return count;
}

const char *judge_promise(int number)
{
    static const char *const promises[VERDICTS] = {
        "the history makes sense, no call failed",
        "V1 no two owners at once, no permit too many, no number twice",
        "V2 no grant before another's deadline",
        "V3 tokens rise, and turns of a token",
        "V4 the register took nothing stale and lost nothing",
        "V5 everyone alive was served",
        "V6 no node is left",
        "V7 each loss was told once",
        "V8 all paths or none, a number for each permit",
        "V9 the sessions' counts are what was recorded",
        "V10 one run at most for each due instant, and one where a call was answered",
    };

    return promises[number];
}

void judgement_free(judgement *j)
{
    for (guint i = 0; j && i < j->violations->len; i++)
        g_free(g_array_index(j->violations, violation, i).text);
    if (j)
        g_array_free(j->violations, TRUE);
    g_free(j);
}

/* ---- what is told of it ---- */

enum { AROUND_MS = 2500, LINES = 60 };

static void print_event(const event *e, int64_t origin)
{
    printf("      %+10.3f ms  w%-2d %-7d %-8s %-14" PRId64 " %" PRIx64 ".%" PRIu64 "\n",
           (double)(e->ns - origin) / 1e6, e->worker, e->pid, history_kind_name(e->kind), e->value,
           e->token, e->turn);
}

/* What was known about that path, and about the servers, just before and after. */
static void print_around(const judge_input *in, const violation *v)
{
    int64_t from = v->at - AROUND_MS * INT64_C(1000000), to = v->at + AROUND_MS * INT64_C(400000);
    guint left = LINES;

    for (guint i = 0; i < in->events->len && left > 0; i++) {
        const event *e = &g_array_index(in->events, event, i);

        if (e->ns < from || e->ns > to ||
            (e->worker >= 0 && v->path >= 0 &&
             !(claimed_paths(in->events, in->paths, e->worker) >> v->path & 1)))
            continue;
        print_event(e, v->at);
        left--;
    }
}

void judgement_explain(const judgement *j, const judge_input *in, guint most)
{
    for (guint i = 0; i < j->violations->len && i < most; i++) {
        const violation *v = &g_array_index(j->violations, violation, i);

        printf("  VIOLATION of V%d on path %d: %s\n", v->number, v->path, v->text);
        if (v->at != 0)
            print_around(in, v);
    }
    if (j->violations->len > most)
        printf("  and %u more violations\n", j->violations->len - most);
}
