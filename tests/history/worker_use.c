/* One turn of a worker: it waits, looks whether it still may, acts, and gives back. */
#include "worker.h"

#include "parts.h"
#include "register.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 1,  /* between two looks at the grant */
    MOVED_MS = 3, /* so much must the deadline have moved on to be recorded again */
    NAP_MS = 6,   /* at most, between the check and the act */
    ACT_MS = 5,   /* between two acts, on average */
    SHORT_HOLD_MS = 15,
    LONG_HOLD = 20,           /* one in so many may last longer */
    LAST_MS = 20,             /* at most, the hold after the last order */
    READERS = 60,             /* per cent of the turns */
    FIRE_MS = 500,            /* at most, from the beginning of a period to the call for its run */
    GIVES_UP = 8,             /* one in so many runs */
    REGISTER_FAILURE = -1000, /* beside the library's codes */
    NUMBER_FAILURE = -1001
};

static void record_at(const struct worker *w, int64_t ns, event_kind kind, int64_t value)
{
    const event e = {ns, w->o.id, getpid(), kind, value, w->token, w->turn};

    history_add_event(w->record, &e);
}

void worker_record(const struct worker *w, event_kind kind, int64_t value)
{
    record_at(w, history_now(), kind, value);
}

static void pause_ms(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

static void changed(const zkl_grant *grant, zkl_state state, void *data)
{
    static const event_kind kinds[] = {
        [ZKL_HELD] = EV_HELD, [ZKL_SUSPECT] = EV_SUSPECT, [ZKL_LOST] = EV_TOLD};
    const struct worker *w = data;

    if (state == ZKL_RELEASED)
        return;
    const event e = {.ns = history_now(),
                     .worker = w->o.id,
                     .pid = getpid(),
                     .kind = kinds[state],
                     .value = zkl_grant_loss(grant),
                     .token = zkl_grant_token(grant),
                     .turn = zkl_grant_turn(grant)};

    history_add_event(w->record, &e);
}

static void record_seen(struct worker *w)
{
    record_at(w, w->seen, EV_SEEN, (w->until - w->seen) / 1000000);
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

/* May it not act any more, for good? Each look is recorded, for others must respect it. */
static bool is_lost(struct worker *w)
{
    return w->grant && !w->o.careless && !look(w) && zkl_grant_state(w->grant) == ZKL_LOST;
}

struct act {
    struct worker *w;
    struct register_use use;
};

static void on_used(enum register_answer answer, int64_t value, void *data)
{
    const struct act *a = data;
    const event e = {.ns = history_now(),
                     .worker = a->w->o.id,
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
        path = g_bit_nth_lsf((gulong)w->o.paths, path);
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
    char *file = g_strdup_printf("%s/register.%d", w->o.dir, worker_path(w, nth));
    if (register_use(file, &a.use, on_used, &a) == REGISTER_FAILED)
        worker_record(w, EV_ERROR, REGISTER_FAILURE);
    g_free(file);
}

/* Permits are two or so. */
static void draw_claim(struct worker *w)
{
    claim *c = &w->claim;

    *c = (claim){.paths = (unsigned)w->o.paths};
    if (w->o.takes == TURN_SEVERAL)
        c->kind = CLAIM_SEVERAL;
    if (w->o.takes == TURN_ONCE)
        c->kind = CLAIM_ONCE;
    if (w->o.takes == TURN_RWLOCK)
        c->kind = g_rand_int_range(w->rand, 0, 100) < READERS ? CLAIM_READ : CLAIM_WRITE;
    if (w->o.takes != TURN_PERMITS && w->o.takes != TURN_NUMBERED)
        return;
    c->kind = w->o.takes == TURN_PERMITS ? CLAIM_PERMITS : CLAIM_NUMBERED;
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

/* As cron would, on several hosts whose clocks are not quite the same. */
static void await_fire(struct worker *w)
{
    const int64_t period = RUN_PERIOD_MS * INT64_C(1000000), ms = 1000000;

    w->fired = MAX(w->fired + 1, history_now() / period + (w->fired == 0));
    const int64_t at = w->fired * period + g_rand_int_range(w->rand, 0, FIRE_MS) * ms;
    for (int64_t now; !w->told.ended && (now = history_now()) < at;)
        worker_listen_ms(w, (int)((at - now) / ms) + 1);
}

/* Each run is found by the next one before that is recorded, and the last by all in the end. */
void worker_look_at_run(struct worker *w)
{
    zkl_once_run *run = NULL;
    const int err = zkl_once_done(w->source.once, ZKL_FOREVER, &run);

    if (err != 0 && err != ZKL_ENOENT)
        worker_record(w, EV_ERROR, err);
    if (err != 0)
        return;
    const event e = {.ns = history_now() - (g_get_real_time() - run->begun_ms * 1000) * 1000,
                     .worker = w->o.id,
                     .pid = getpid(),
                     .kind = EV_RUN,
                     .value = run->due_ms - run->begun_ms,
                     .token = run->token,
                     .turn = (uint64_t)run->due_ms};
    history_add_event(w->record, &e);
    zkl_once_run_free(run);
}

bool worker_acquire(struct worker *w)
{
    int err;

    worker_listen_ms(w, 0);
    w->told.next = false; /* that was for the turn before */
    draw_claim(w);
    if (w->o.takes == TURN_ONCE)
        await_fire(w);
    worker_record(w, EV_WANT, claim_pack(&w->claim));
    err = turn_take(&w->source, &w->claim, &w->grant);
    w->spared = w->o.takes == TURN_ONCE && err == ZKL_EEXIST;
    if (err != 0) {
        worker_record(w, w->spared ? EV_SPARED : EV_ERROR, err);
        return w->spared;
    }
    w->seen = history_now();
    if (!w->grant) {
        w->token++; /* nobody hands out rising ones */
        worker_record(w, EV_GRANT, 0);
        return true;
    }
    w->token = zkl_grant_token(w->grant);
    w->turn = zkl_grant_turn(w->grant);
    int64_t left = zkl_grant_remaining_ms(w->grant);
    w->until = w->recorded = w->seen + left * 1000000;
    record_at(w, w->seen, EV_GRANT, left);
    record_more(w);
    err = zkl_grant_on_change(w->grant, changed, w);
    if (err != 0)
        worker_record(w, EV_ERROR, err);
    return true;
}

/* Mostly short, now and then long. */
static int draw_hold_ms(struct worker *w)
{
    int most = w->o.hold_max_ms;

    if (g_rand_int_range(w->rand, 0, LONG_HOLD) > 0)
        most = MIN(most, MAX(w->o.hold_min_ms, SHORT_HOLD_MS));
    return w->o.hold_min_ms == most ? most : g_rand_int_range(w->rand, w->o.hold_min_ms, most);
}

/* Works until its time is over, it is told to end, or the lock is lost; true in the last case. */
static bool use_register(struct worker *w)
{
    int64_t begun = history_now();
    int ms = draw_hold_ms(w);

    if (w->o.takes == TURN_ONCE)
        worker_look_at_run(w);
    while (!is_lost(w)) {
        if (w->told.ended)
            ms = MIN(ms, LAST_MS);
        if (w->told.next || history_now() - begun >= ms * INT64_C(1000000))
            return false;
        if (g_rand_int_range(w->rand, 0, ACT_MS) == 0)
            act(w);
        worker_listen_ms(w, LOOK_MS);
    }
    return true;
}

/* ---- the number ---- */

/* After others tried to unlock it: is the lock still ours, for us and for the server? */
static void check_intact(struct worker *w)
{
    const zkl_contender *head;
    char *path = g_strdup_printf("%s/%d", w->o.root, worker_path(w, 0));
    zkl_queue *q = NULL;
    int err = zkl_queue_read(&q, w->session, path, NULL, ZKL_FOREVER);

    g_free(path);
    if (err != 0) {
        worker_record(w, EV_ERROR, err);
        return;
    }
    head = zkl_queue_get(q, 0);
    const bool ok = head && head->token == w->token &&
                    head->session_id == zkl_grant_session_id(w->grant) &&
                    zkl_grant_state(w->grant) == ZKL_HELD;
    zkl_queue_free(q);
    worker_record(w, ok ? EV_INTACT : EV_BROKEN, 0);
}

/* Works on until it may go on, is killed, or the lock is lost. */
static void hold_on(struct worker *w)
{
    worker_listen_ms(w, 0);
    if (!w->told.held)
        return;
    worker_record(w, EV_HOLD, 0);
    while (w->told.held && !w->told.ended && !is_lost(w))
        worker_listen_ms(w, LOOK_MS);
    if (w->told.check && w->grant)
        check_intact(w);
}

/* A worker that is stopped between the last look and the write may come too late, whatever the lock
 * does. So its intention is recorded before the look. */
static bool may_write(struct worker *w, int64_t number)
{
    if (is_lost(w))
        return false;
    worker_record(w, EV_GO, number);
    if (!w->grant || w->o.careless)
        return true;
    if (look(w) && w->until - w->seen >= w->o.margin_ms * INT64_C(1000000))
        return true;
    if (!is_lost(w))
        worker_record(w, EV_SKIP, number);
    return false;
}

static bool write_next(struct worker *w, const char *file, int64_t number)
{
    if (!number_write(file, number, w->token))
        return false;
    worker_record(w, EV_WRITE, number);
    w->done = w->o.todo > 0 && --w->o.todo == 0;
    return true;
}

/* Reads, works and writes back: what loses increments when two do it at once. */
static bool use_number(struct worker *w)
{
    char *file = g_strdup_printf("%s/number", w->o.dir);
    bool lost = false;
    int64_t number;
    uint64_t last;
    bool ok = number_read(file, &number, &last);

    if (ok) {
        pause_ms(g_rand_int_range(w->rand, w->o.hold_min_ms, w->o.hold_max_ms + 1));
        hold_on(w);
        if (may_write(w, number))
            ok = write_next(w, file, number + 1);
        else
            lost = is_lost(w);
    }
    if (!ok)
        worker_record(w, EV_ERROR, NUMBER_FAILURE);
    g_free(file);
    return lost;
}

bool worker_hold(struct worker *w)
{
    static bool (*const roles[])(struct worker * w) = {
        [WORKER_AT_REGISTER] = use_register,
        [WORKER_AT_NUMBER] = use_number,
    };

    return roles[w->o.role](w);
}

void worker_leave(struct worker *w, bool lost)
{
    int err;

    if (w->grant) {
        look(w);
        record_seen(w);
    }
    worker_record(w, lost ? EV_LOST : EV_RELEASE, 0);
    w->source.gives_up = !w->told.ended && g_rand_int_range(w->rand, 0, GIVES_UP) == 0;
    err = turn_give(&w->source);
    if (w->o.takes == TURN_ONCE)
        worker_record(w, EV_ENDED, w->source.recorded);
    w->grant = NULL;
    if (err == ZKL_ELOST)
        worker_record(w, EV_ELOST, 0);
    else if (err != 0)
        worker_record(w, EV_ERROR, err);
}
