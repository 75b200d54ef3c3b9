/* One turn of a worker: it waits, looks whether it still may, acts, and gives back. */
#include "worker.h"

#include "parts.h"
#include "register.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 1,  /* between two looks at the grant */
    MOVED_MS = 3, /* so much must the deadline have moved on to be recorded again */
    NAP_MS = 6,   /* at most, between the check and the act */
    ACT_MS = 5,   /* between two acts, on average */
    SHORT_HOLD_MS = 15,
    LONG_HOLD = 20,          /* one in so many may last longer */
    LAST_MS = 20,            /* at most, the hold after the last order */
    READERS = 60,            /* per cent of the turns */
    REGISTER_FAILURE = -1000 /* beside the library's codes */
};

void worker_record(const struct worker *w, event_kind kind, int64_t value)
{
    const event e = {history_now(), w->id, getpid(), kind, value, w->token, w->turn};

    history_add_event(w->record, &e);
}

static void pause_ms(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

/* Waits so long for an order, and takes it. */
void worker_listen_ms(struct worker *w, int ms)
{
    struct pollfd in = {.fd = w->ended ? -1 : STDIN_FILENO, .events = POLLIN};
    char byte;

    if (poll(&in, 1, ms) <= 0 || !in.revents)
        return;
    if (read(STDIN_FILENO, &byte, 1) == 1)
        w->next = true;
    else
        w->ended = true;
}

static void changed(const zkl_grant *grant, zkl_state state, void *data)
{
    static const event_kind kinds[] = {
        [ZKL_HELD] = EV_HELD, [ZKL_SUSPECT] = EV_SUSPECT, [ZKL_LOST] = EV_TOLD};
    const struct worker *w = data;

    if (state == ZKL_RELEASED)
        return;
    const event e = {.ns = history_now(),
                     .worker = w->id,
                     .pid = getpid(),
                     .kind = kinds[state],
                     .value = zkl_grant_loss(grant),
                     .token = zkl_grant_token(grant),
                     .turn = zkl_grant_turn(grant)};

    history_add_event(w->record, &e);
}

static void record_seen(struct worker *w)
{
    const int64_t left = (w->until - w->seen) / 1000000;
    const event e = {w->seen, w->id, getpid(), EV_SEEN, left, w->token, w->turn};

    history_add_event(w->record, &e);
    w->recorded = w->until;
}

/* May it act? Stamped before the look: what is valid then was valid at the stamp, and its remaining
 * time counts from later still. */
static bool look(struct worker *w)
{
    int64_t now = history_now(), left = zkl_grant_remaining_ms(w->grant);

    if (left == 0)
        return false;
    w->seen = now;
    w->until = now + left * 1000000;
    if (w->until > w->recorded + MOVED_MS * 1000000)
        record_seen(w);
    return true;
}

struct act {
    struct worker *w;
    struct register_use use;
};

static void on_used(enum register_answer answer, int64_t value, void *data)
{
    const struct act *a = data;
    const event e = {.ns = history_now(),
                     .worker = a->w->id,
                     .pid = getpid(),
                     .kind = answer == REGISTER_REFUSED ? EV_REFUSED
                             : a->use.reads             ? EV_READ
                                                        : EV_WRITE,
                     .value = value,
                     .token = a->use.token,
                     .turn = a->use.turn};

    history_add_event(a->w->record, &e);
}

int worker_path(const struct worker *w, int nth)
{
    int path = -1;

    for (int i = 0; i <= nth && (i == 0 || path >= 0); i++)
        path = g_bit_nth_lsf((gulong)w->paths, path);
    return path;
}

/* Checks, and acts a moment later: what no lock can prevent, and the register must. Permits are for
 * what several do at once: there is no register for that. */
static void act(struct worker *w)
{
    if (!look(w) || w->claim.permits > 0)
        return;
    pause_ms(g_rand_int_range(w->rand, 0, NAP_MS + 1));
    const int nth = g_rand_int_range(w->rand, 0, (gint)w->parts);
    struct act a = {w, {w->part[nth].token, w->turn, w->claim.kind == CLAIM_READ}};
    char *file = g_strdup_printf("%s/register.%d", w->dir, worker_path(w, nth));
    if (register_use(file, &a.use, on_used, &a) == REGISTER_FAILED)
        worker_record(w, EV_ERROR, REGISTER_FAILURE);
    g_free(file);
}

/* Permits are two or so. */
static void draw_claim(struct worker *w)
{
    claim *c = &w->claim;

    *c = (claim){.paths = (unsigned)w->paths};
    if (w->takes == TURN_SEVERAL)
        c->kind = CLAIM_SEVERAL;
    if (w->takes == TURN_RWLOCK)
        c->kind = g_rand_int_range(w->rand, 0, 100) < READERS ? CLAIM_READ : CLAIM_WRITE;
    if (w->takes != TURN_PERMITS && w->takes != TURN_NUMBERED)
        return;
    c->kind = w->takes == TURN_PERMITS ? CLAIM_PERMITS : CLAIM_NUMBERED;
    c->permits = g_rand_int_range(w->rand, 1, TURN_LIMIT);
    c->limit = TURN_LIMIT;
}

/* What else the grant says. */
static void record_more(struct worker *w)
{
    uint64_t mask = 0;

    worker_record(w, EV_OWNER, zkl_grant_session_id(w->grant));
    w->parts = parts_of(w->grant, w->part, CLAIM_PARTS_MAX);
    g_assert(w->parts <= CLAIM_PARTS_MAX);
    for (size_t i = 0; i < w->parts; i++) {
        const zkl_part *part = &w->part[i];
        if (part->slot >= 0)
            mask |= UINT64_C(1) << part->slot;
        else if (i > 0)
            worker_record(w, EV_PART, (int64_t)part->token);
    }
    if (mask != 0)
        worker_record(w, EV_NUMBERS, (int64_t)mask);
}

bool worker_acquire(struct worker *w)
{
    int err;

    w->next = false;
    draw_claim(w);
    worker_record(w, EV_WANT, claim_pack(&w->claim));
    err = turn_take(&w->source, &w->claim, &w->grant);
    if (err != 0) {
        worker_record(w, EV_ERROR, err);
        return false;
    }
    w->seen = history_now();
    w->token = zkl_grant_token(w->grant);
    w->turn = zkl_grant_turn(w->grant);
    int64_t left = zkl_grant_remaining_ms(w->grant);
    w->until = w->recorded = w->seen + left * 1000000;
    const event e = {w->seen, w->id, getpid(), EV_GRANT, left, w->token, w->turn};
    history_add_event(w->record, &e);
    record_more(w);
    err = zkl_grant_on_change(w->grant, changed, w);
    if (err != 0)
        worker_record(w, EV_ERROR, err);
    return true;
}

/* Mostly short, now and then long. */
static int draw_hold_ms(struct worker *w)
{
    int most = w->hold_max_ms;

    if (g_rand_int_range(w->rand, 0, LONG_HOLD) > 0)
        most = MIN(most, MAX(w->hold_min_ms, SHORT_HOLD_MS));
    return w->hold_min_ms == most ? most : g_rand_int_range(w->rand, w->hold_min_ms, most);
}

/* Works until its time is over, it is told to end, or the lock is lost; true in the last case. */
bool worker_hold(struct worker *w)
{
    int64_t begun = history_now();
    int ms = draw_hold_ms(w);

    while (look(w) || zkl_grant_state(w->grant) != ZKL_LOST) {
        if (w->ended)
            ms = MIN(ms, LAST_MS);
        if (w->next || history_now() - begun >= ms * INT64_C(1000000))
            return false;
        if (g_rand_int_range(w->rand, 0, ACT_MS) == 0)
            act(w);
        worker_listen_ms(w, LOOK_MS);
    }
    return true;
}

void worker_leave(struct worker *w, bool lost)
{
    int err;

    record_seen(w);
    worker_record(w, lost ? EV_LOST : EV_RELEASE, 0);
    err = turn_give(&w->source);
    w->grant = NULL;
    if (err == ZKL_ELOST)
        worker_record(w, EV_ELOST, 0);
    else if (err != 0)
        worker_record(w, EV_ERROR, err);
}
