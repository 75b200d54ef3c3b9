/* Judges what several owners may believe to be theirs at one time. */
#include "court.h"

#include <inttypes.h>

static bool is_semaphore(const hold *h)
{
    return h->claim.kind == CLAIM_PERMITS || h->claim.kind == CLAIM_NUMBERED;
}

/* What still binds others when somebody is granted something at that instant: nothing, the word of
 * a library that promised it (V2), the belief of who was seen to own it later (V1). A grant that
 * was over when it was first looked at bound nobody. */
static int bond(const hold *a, int64_t third_party, int64_t at)
{
    if (a->seen == 0 || at >= third_party)
        return 0;
    if (at < a->seen)
        return 1;
    return a->how != HOLD_RELEASED && at < MIN(a->until, a->third_party) ? 2 : 0;
}

/* Whether a third party had taken b's node before b began, and a came after that node: b had not
 * heard of it. */
static bool is_outlived_by(const hold *b, const hold *a, int path)
{
    const hold_part *had = hold_at(b, path), *next = hold_at(a, path);

    return had && next && had->third_party <= b->start &&
           court_is_later(next->token, a->turn, had->token, b->turn);
}

/* ---- paths: one owner after the other, but for readers ---- */

static void compare_tokens(struct court *c, int path, const hold *a, const hold *b)
{
    const uint64_t had = hold_at(a, path)->token, got = hold_at(b, path)->token;

    if (had == 0 || got == 0)
        return;
    if (!court_is_later(got, b->turn, had, a->turn)) {
        c->fell = true;
        court_violate(c, 3, path, b->start,
                      "w%d got token %" PRIx64 ".%" PRIu64 " after w%d had %" PRIx64 ".%" PRIu64,
                      b->worker, got, b->turn, a->worker, had, a->turn);
    }
    if (got == had && b->pid != a->pid)
        court_violate(c, 3, path, b->start, "w%d got a turn of w%d's token %" PRIx64, b->worker,
                      a->worker, had);
}

/* b was granted behind a. */
static void compare(struct court *c, int path, const hold *a, const hold *b)
{
    const int bound = a->pid == b->pid ? 0 : bond(a, hold_at(a, path)->third_party, b->start);

    if (a->claim.kind == CLAIM_READ && b->claim.kind == CLAIM_READ)
        return;
    if (is_outlived_by(b, a, path))
        return;
    compare_tokens(c, path, a, b);
    if (bound == 1) {
        c->j->overlaps++;
        court_violate(c, 1, path, b->start,
                      "w%d was granted %.3f ms before w%d last saw itself own", b->worker,
                      MS(a->seen - b->start), a->worker);
    } else if (bound == 2) {
        court_violate(c, 2, path, b->start, "w%d was granted %.3f ms before w%d's deadline",
                      b->worker, MS(a->until - b->start), a->worker);
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

/* Measures how long the next grant after an owner took. A claim that needs more than this owner's
 * end is no measure. */
static void measure(struct court *c, const hold *a, const hold *b)
{
    if (b->claim.kind != CLAIM_LOCK && b->claim.kind != CLAIM_ONCE)
        return;
    if (a->how == HOLD_RELEASED)
        measure_unused(c, b->start - MAX(a->end, b->want));
    if (a->how == HOLD_RELEASED || a->third_party != INT64_MAX)
        return;
    int64_t took = b->start - MAX(a->until, b->want);
    c->j->successions++;
    c->j->slow_successions += took > c->in->service_ns;
    c->j->worst_succession = MAX(c->j->worst_succession, took);
}

static void judge_path(struct court *c, int path)
{
    GPtrArray *before = g_ptr_array_new();

    for (guint i = 0; i < c->h->list->len; i++) {
        const hold *b = court_nth(c, i);

        if (!hold_at(b, path) || is_semaphore(b) || b->seen == 0)
            continue;
        c->fell = false;
        for (guint k = 0; k < before->len; k++)
            compare(c, path, before->pdata[k], b);
        c->j->falls += c->fell;
        if (before->len > 0)
            measure(c, before->pdata[before->len - 1], b);
        g_ptr_array_add(before, (gpointer)b);
    }
    g_ptr_array_free(before, TRUE);
}

static void count_readers(struct court *c, const hold *b)
{
    guint count = 1;

    if (b->claim.kind != CLAIM_READ)
        return;
    for (guint i = 0; i < c->h->list->len; i++) {
        const hold *a = court_nth(c, i);

        if (a == b || a->start > b->start || a->path != b->path || a->claim.kind != CLAIM_READ)
            continue;
        count += bond(a, INT64_MAX, b->start) == 1;
    }
    c->j->readers = MAX(c->j->readers, count);
}

/* ---- permits: no more than there are, no number twice ---- */

/* How many there are when b has been granted, its own with them: of those who saw themselves own
 * some later, or also of those who were promised some. */
static int permits_bound(const struct court *c, const hold *b, int weakest)
{
    int sum = b->claim.permits;

    for (guint i = 0; i < c->h->list->len; i++) {
        const hold *a = court_nth(c, i);
        const int bound = bond(a, a->third_party, b->start);

        if (a == b || a->start > b->start || a->path != b->path || a->pid == b->pid)
            continue;
        if (is_outlived_by(b, a, b->path))
            continue;
        sum += bound > 0 && bound <= weakest ? a->claim.permits : 0;
    }
    return sum;
}

static void judge_permits(struct court *c, const hold *b)
{
    const int believed = permits_bound(c, b, 1), promised = permits_bound(c, b, 2);

    c->j->permits = MAX(c->j->permits, (guint)believed);
    if (believed > b->claim.limit) {
        c->j->overlaps++;
        court_violate(c, 1, b->path, b->start, "w%d made them %d permits of %d", b->worker,
                      believed, b->claim.limit);
    } else if (promised > b->claim.limit) {
        court_violate(c, 2, b->path, b->start, "w%d made them %d permits of %d before a deadline",
                      b->worker, promised, b->claim.limit);
    }
}

static void judge_numbers(struct court *c, const hold *b)
{
    for (guint i = 0; i < c->h->list->len && b->numbers != 0; i++) {
        const hold *a = court_nth(c, i);
        const int bound = bond(a, a->third_party, b->start);

        if (a->start > b->start || a->path != b->path || a->pid == b->pid || bound == 0)
            continue;
        if (is_outlived_by(b, a, b->path))
            continue;
        if (a->numbers & b->numbers)
            court_violate(c, bound, b->path, b->start, "w%d and w%d have numbers %" PRIx64,
                          a->worker, b->worker, a->numbers & b->numbers);
    }
}

/* ---- all that was asked for ---- */

static int count_bits(uint64_t bits)
{
    int count = 0;

    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

static void judge_whole(struct court *c, const hold *b)
{
    bool whole = true;

    if (b->how == HOLD_KILLED) /* perhaps before it could say what it has */
        return;
    for (int p = 0; p < b->parts; p++)
        whole = whole && b->part[p].token != 0;
    if (!whole)
        court_violate(c, 8, b->path, b->start, "w%d has not got all paths", b->worker);
    if (b->claim.kind != CLAIM_NUMBERED)
        return;
    if (count_bits(b->numbers) != b->claim.permits || b->numbers >> b->claim.limit != 0)
        court_violate(c, 8, b->path, b->start, "w%d has numbers %" PRIx64 " for %d permits of %d",
                      b->worker, b->numbers, b->claim.permits, b->claim.limit);
}

void court_exclusion(struct court *c)
{
    for (int path = 0; path < CLAIM_PATHS_MAX; path++)
        judge_path(c, path);
    for (guint i = 0; i < c->h->list->len; i++) {
        const hold *b = court_nth(c, i);

        c->j->turns += b->turn > 0 && b->seen > 0;
        judge_whole(c, b);
        count_readers(c, b);
        if (is_semaphore(b) && b->seen > 0) {
            judge_permits(c, b);
            judge_numbers(c, b);
        }
    }
}
