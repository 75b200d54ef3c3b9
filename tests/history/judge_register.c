/* V4: judges the uses of a number by what was found, written and shown for it. */
#include "court.h"

#include <inttypes.h>

/* What was accepted so far. */
struct level {
    uint64_t token, turn; /* the highest */
    int64_t number;       /* the last */
};

enum { STALE = 1, BEHIND = 2 };

/* What is wrong with the next use that was accepted. A read leaves no token. */
static unsigned raise_level(struct level *l, const event *e)
{
    const bool writes = e->kind == EV_WRITE;
    unsigned wrong = e->value < l->number + writes ? BEHIND : 0;

    if (court_is_later(l->token, l->turn, e->token, e->turn)) {
        wrong |= STALE;
    } else if (e->kind != EV_READ) {
        l->token = e->token;
        l->turn = e->turn;
    }
    l->number = e->value;
    return wrong;
}

static const event *nth_event(const GArray *events, guint i)
{
    return &g_array_index(events, event, i);
}

/* ---- registers that are followed while they are used: each path has one ---- */

/* A killed process may leave a number unrecorded. */
static void judge_use(struct court *c, int path, struct level *l, const event *e)
{
    const struct level before = *l;
    const unsigned wrong = raise_level(l, e);

    if (wrong & STALE)
        court_violate(c, 4, path, e->ns,
                      "token %" PRIx64 ".%" PRIu64 " was accepted below %" PRIx64 ".%" PRIu64,
                      e->token, e->turn, before.token, before.turn);
    if (wrong & BEHIND)
        court_violate(c, 4, path, e->ns, "%s %" PRId64 " comes after write %" PRId64,
                      e->kind == EV_READ ? "the read of" : "write", e->value, before.number);
}

/* The token of a grant of several paths says which register it is. */
static void judge_registers(struct court *c)
{
    struct level levels[CLAIM_PATHS_MAX] = {0};

    for (guint i = 0; i < c->in->events->len; i++) {
        const event *e = nth_event(c->in->events, i);
        const int path = court_path_of(c, e->token);

        if (path >= 0 && (e->kind == EV_WRITE || e->kind == EV_READ))
            judge_use(c, path, &levels[path], e);
    }
}

/* ---- a number whose end is known: its uses are put in its own order, so no clock is asked ---- */

/* What a process does to a number, or around that. */
#define ACTS                                                                                       \
    (EV_BIT(EV_WANT) | EV_BIT(EV_GRANT) | EV_BIT(EV_READ) | EV_BIT(EV_BEGIN) | EV_BIT(EV_GO) |     \
     EV_BIT(EV_SKIP) | EV_BIT(EV_WRITE) | EV_BIT(EV_RELEASE) | EV_BIT(EV_LOST))

/* The next act of the process of event i; NULL: that was its last. */
static const event *next_act(const GArray *events, guint i)
{
    const int pid = nth_event(events, i)->pid;

    while (++i < events->len)
        if (nth_event(events, i)->pid == pid && (EV_BIT(nth_event(events, i)->kind) & ACTS) != 0)
            return nth_event(events, i);
    return NULL;
}

bool register_refused(const GArray *events, guint i)
{
    const event *next = nth_event(events, i)->kind == EV_BEGIN ? next_act(events, i) : NULL;

    return next && next->kind != EV_WRITE;
}

bool court_was_killed(const GArray *events, int pid, int64_t by)
{
    for (guint i = 0; i < events->len; i++) {
        const event *e = nth_event(events, i);

        if (e->kind == EV_KILL && e->pid == pid && e->ns <= by)
            return true;
    }
    return false;
}

/* Whether a killed process's last word was that it would write this number. The intention is
 * recorded before the write and the end after it, so a kill in between leaves the question open
 * whether it was written. The number answers it: it went on from there, or another wrote the same
 * and that one's end is recorded. */
static bool was_meant(const GArray *events, int64_t number)
{
    for (guint i = 0; i < events->len; i++) {
        const event *e = nth_event(events, i);

        if ((e->kind == EV_BEGIN || e->kind == EV_GO) && e->value + 1 == number &&
            court_was_killed(events, e->pid, INT64_MAX) && !next_act(events, i))
            return true;
    }
    return false;
}

/* These numbers were never recorded. */
static void settle(const GArray *events, int64_t from, int64_t to, struct register_judgement *ret)
{
    for (; from < to; from++) {
        if (was_meant(events, from))
            ret->kept++;
        else
            ret->made_up++;
    }
}

/* A number is read after it was written; several may read the same. */
static gint by_number(gconstpointer a, gconstpointer b)
{
    const event *x = *(const event *const *)a, *y = *(const event *const *)b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind == EV_WRITE ? -1 : 1;
    return court_is_later(x->token, x->turn, y->token, y->turn) -
           court_is_later(y->token, y->turn, x->token, x->turn);
}

static GPtrArray *accepted_by_number(const GArray *events)
{
    GPtrArray *accepted = g_ptr_array_new();

    for (guint i = 0; i < events->len; i++)
        if (nth_event(events, i)->kind == EV_BEGIN || nth_event(events, i)->kind == EV_WRITE)
            g_ptr_array_add(accepted, (gpointer)nth_event(events, i));
    g_ptr_array_sort(accepted, by_number);
    return accepted;
}

void judge_register(const GArray *events, const struct register_end *end,
                    struct register_judgement *ret)
{
    GPtrArray *accepted = accepted_by_number(events);
    struct level level = {0};
    int64_t next = 1;

    *ret = (struct register_judgement){0};
    for (guint i = 0; i < accepted->len; i++) {
        const event *e = accepted->pdata[i];
        const unsigned wrong = raise_level(&level, e);

        const bool lost = wrong & BEHIND || (e->kind == EV_WRITE && e->value > end->number);

        ret->stale += (wrong & STALE) != 0;
        ret->lost += lost;
        ret->increments += e->kind == EV_WRITE;
        ret->turns += e->kind == EV_WRITE && e->turn > 0;
        if (lost || e->kind != EV_WRITE)
            continue;
        settle(events, next, e->value, ret);
        next = e->value + 1;
    }
    settle(events, next, end->number + 1, ret);
    ret->stale += court_is_later(level.token, level.turn, end->token, end->turn);
    g_ptr_array_free(accepted, TRUE);
}

static void judge_number(struct court *c)
{
    struct register_judgement *r = &c->j->number;

    judge_register(c->in->events, c->in->end, r);
    if (r->lost + r->made_up > 0)
        court_violate(c, 4, 0, 0, "%u increments are lost, and %u are nobody's", r->lost,
                      r->made_up);
    if (r->stale > 0)
        court_violate(c, 4, 0, 0, "%u were accepted behind a higher token", r->stale);
}

void court_registers(struct court *c)
{
    if (c->in->end)
        judge_number(c);
    else
        judge_registers(c);
    if (c->h->strays > 0)
        court_violate(c, 4, -1, 0, "%u writes were made without a grant", c->h->strays);
}
