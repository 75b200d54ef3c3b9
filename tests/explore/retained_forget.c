/* What makes no difference is no part of the state. */
#include <string.h>

#include "retained.h"

/* ---- times ---- */

/* Not where nobody asks, nor that it was longer ago than anybody asks. */
static void keep(int64_t *at, bool matters, int64_t most)
{
    if (!matters)
        *at = 0;
    else if (*at != 0 && *at < RETAINED_NOW - most)
        *at = RETAINED_NOW - most;
}

static void forget_time(struct retained_handle *h)
{
    struct retain *m = &h->machine;
    struct payoff *p = &m->payoff;
    const bool used = m->state == RETAIN_TURN || m->state == RETAIN_IDLE;

    keep(&m->first, used && retained_config.guard, RETAIN_GATE_NS + 1);
    keep(&m->used, m->state == RETAIN_IDLE, RETAINED_IDLE);
    keep(&m->heard, m->wanted, RETAIN_GATE_NS + 1);
    keep(&p->asked, retained_config.guard && (m->looking || m->state == RETAIN_ENTERING),
         2 * RETAINED_IDLE);
    keep(&p->kept_from, p->kept_from != 0, retained_config.guard ? 2 * RETAINED_IDLE : 0);
    if (!retained_config.guard)
        p->alone_ns = p->finds = 0;
    if (p->off_until <= RETAINED_NOW)
        p->off_until = 0;
    if (!h->armed || h->due < -RETAINED_IDLE)
        h->due = h->armed ? -RETAINED_IDLE : 0;
}

static void forget_handle(struct retained_handle *h)
{
    bool over = h->machine.state == RETAIN_NONE && h->waiting == 0;

    forget_time(h);
    if (h->phase == PHASE_NONE)
        h->tries = false;
    for (int i = 0; i < RETAINED_CALLERS; i++)
        over = over && h->left[i] == 0;
    if (!retained_config.fence64 || over)
        h->owner = 0;
    if (!over)
        return;
    memset(&h->machine, 0, sizeof h->machine);
    h->armed = h->alone = h->closed = false;
    h->due = 0;
}

/* ---- messages ---- */

static bool is_coming(const struct retained_handle *h, uint8_t generation)
{
    for (uint8_t i = 0; i < h->requests; i++) {
        if (h->request[i].what == REQUEST_CREATE && h->request[i].generation == generation)
            return true;
    }
    return false;
}

/* Lists and answers of an attempt that is over, and deletes of what is gone. */
static bool is_idle_talk(const struct retained_state *st, uint8_t h, const struct retained_wire *w)
{
    const struct retained_handle *handle = &st->h[h];

    if (w->what == REQUEST_CREATE)
        return false;
    if (w->what == REQUEST_DELETE)
        return retained_find(st, h, w->generation) < 0 && !is_coming(handle, w->generation);
    return w->generation != handle->generation || handle->phase == PHASE_NONE;
}

static uint8_t forget_wires(const struct retained_state *st, uint8_t h, struct retained_wire *wires,
                            uint8_t count)
{
    uint8_t kept = 0;

    for (uint8_t i = 0; i < count; i++) {
        if (!is_idle_talk(st, h, &wires[i]))
            wires[kept++] = wires[i];
    }
    memset(&wires[kept], 0, sizeof wires[0] * (size_t)(count - kept));
    return kept;
}

/* ---- who is who ---- */

static unsigned rank(const struct retained_handle *h, uint8_t caller)
{
    for (uint8_t i = 0; i < h->waiting; i++) {
        if (h->line[i] == caller)
            return i;
    }
    return RETAINED_CALLERS + h->caller[caller] * 16U + h->left[caller];
}

static void swap(uint8_t *a, uint8_t *b)
{
    const uint8_t c = *a;

    *a = *b;
    *b = c;
}

static void swap_callers(struct retained_handle *h, uint8_t a, uint8_t b)
{
    swap(&h->caller[a], &h->caller[b]);
    swap(&h->left[a], &h->left[b]);
    for (uint8_t i = 0; i < h->waiting; i++) {
        if (h->line[i] == a || h->line[i] == b)
            h->line[i] = h->line[i] == a ? b : a;
    }
    if (h->owner == a + 1 || h->owner == b + 1)
        h->owner = (uint8_t)(h->owner == a + 1 ? b + 1 : a + 1);
}

/* Callers differ by what they do, not by number. */
static void sort_callers(struct retained_handle *h)
{
    for (uint8_t i = 1; i < retained_config.callers; i++) {
        for (uint8_t k = i; k > 0 && rank(h, k) < rank(h, (uint8_t)(k - 1)); k--)
            swap_callers(h, k, (uint8_t)(k - 1));
    }
}

struct names {
    uint8_t of[RETAINED_NODES + RETAINED_REQUESTS + RETAINED_ANSWERS], count;
};

static uint8_t name_anew(struct names *names, uint8_t generation)
{
    uint8_t i = 0;

    while (i < names->count && names->of[i] != generation)
        i++;
    if (i == names->count)
        names->of[names->count++] = generation;
    return (uint8_t)(i + 1);
}

/* So do attempts: the present one is the first. */
static void name_attempts(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];
    struct names names = {.count = 0};

    if (handle->phase == PHASE_NONE)
        handle->generation = 0;
    handle->generation = name_anew(&names, handle->generation);
    for (uint8_t i = 0; i < st->nodes; i++) {
        if (st->node[i].owner == h)
            st->node[i].generation = name_anew(&names, st->node[i].generation);
    }
    for (uint8_t i = 0; i < handle->requests; i++)
        handle->request[i].generation = name_anew(&names, handle->request[i].generation);
    for (uint8_t i = 0; i < handle->answers; i++)
        handle->answer[i].generation = name_anew(&names, handle->answer[i].generation);
}

/* It matters only which turn is the first, and that the next one is more. */
static void forget_turns(struct retained_state *st, uint8_t h)
{
    struct retain *m = &st->h[h].machine;
    const int own = retained_find(st, h, st->h[h].generation);

    if (retained_config.guard || m->turn < 2 || own < 0)
        return;
    st->node[own].served = (uint8_t)(st->node[own].served - (m->turn - 1));
    m->turn = 1;
}

/* Handles, too, so in a trace they may change places. */
static void sort_handles(struct retained_state *st)
{
    struct retained_handle first;

    if (retained_config.handles < 2 || memcmp(&st->h[0], &st->h[1], sizeof first) <= 0)
        return;
    memcpy(&first, &st->h[0], sizeof first);
    memcpy(&st->h[0], &st->h[1], sizeof first);
    memcpy(&st->h[1], &first, sizeof first);
    for (uint8_t i = 0; i < st->nodes; i++) {
        if (st->node[i].owner != RETAINED_FOREIGNER)
            st->node[i].owner = 1 - st->node[i].owner;
    }
}

void retained_forget(struct retained_state *st)
{
    for (uint8_t i = 0; i < retained_config.handles; i++) {
        struct retained_handle *h = &st->h[i];
        h->requests = forget_wires(st, i, h->request, h->requests);
        h->answers = forget_wires(st, i, h->answer, h->answers);
        name_attempts(st, i);
        forget_turns(st, i);
        forget_handle(h);
        sort_callers(h);
    }
    sort_handles(st);
}
