#include <string.h>

#include "flat.h"
#include "retained.h"

struct retained_config retained_config;

static const struct {
    const char *text;
    bool fault;
    uint8_t each; /* of each handle 1, of each caller 2 */
} moves[RETAINED_MOVES] = {
    [RETAINED_SERVE] = {"the server does what was sent", false, 1},
    [RETAINED_DELIVER] = {"an answer or event comes", false, 1},
    [RETAINED_TIMER] = {"the timer", false, 1},
    [RETAINED_END_TOLD] = {"the end of the node is told", false, 1},
    [RETAINED_DOUBT] = {"the session is in doubt", false, 1},
    [RETAINED_CONNECT] = {"connects", false, 1},
    [RETAINED_PROVE] = {"the doubt is over", false, 1},
    [RETAINED_FOREIGN_GRANT] = {"the foreigner has it", false, 0},
    [RETAINED_FOREIGN_LEAVE] = {"the foreigner leaves", false, 0},
    [RETAINED_UNLOCK] = {"unlocks", false, 2},
    [RETAINED_LOCK] = {"locks", false, 2},
    [RETAINED_TRY] = {"tries", false, 2},
    [RETAINED_GIVE_UP] = {"gives up", false, 2},
    [RETAINED_UNLOCK_END] = {"unlocks what cannot go on", false, 2},
    [RETAINED_IDLE_TIMER] = {"the timer, in doubt", false, 1},
    [RETAINED_YIELD] = {"yields", false, 1},
    [RETAINED_CLOSE] = {"is closed", false, 1},
    [RETAINED_LAPSE] = {"the deadline passes", false, 1},
    [RETAINED_EXPIRE] = {"the session expires", false, 1},
    [RETAINED_FOREIGN_COME] = {"the foreigner comes", false, 0},
    [RETAINED_TICKS] = {"time passes", false, 0},
    [RETAINED_BREAK] = {"the connection breaks", true, 1},
    [RETAINED_FAIL] = {"the attempt fails", true, 1},
    [RETAINED_UNLOOKED] = {"the list is refused", true, 1},
    [RETAINED_DELETE] = {"an administrator deletes the node", true, 1},
};

const char *retained_move_text(enum retained_move kind)
{
    return moves[kind].text;
}

void retained_init(void *state)
{
    struct retained_state *st = state;

    memset(st, 0, sizeof *st);
    st->arrivals = (uint8_t)retained_config.arrivals;
    st->ticks = (uint8_t)retained_config.ticks;
    st->faults = (uint8_t)retained_config.faults;
    for (uint8_t i = 0; i < RETAINED_HANDLES; i++) {
        struct retained_handle *h = &st->h[i];
        h->up = true;
        h->machine.retain_ns = RETAINED_IDLE;
        h->machine.local_turns = retained_config.local_turns;
        h->machine.fence64 = retained_config.fence64;
        for (int k = 0; i < retained_config.handles && k < retained_config.callers; k++)
            h->left[k] = (uint8_t)retained_config.locks;
    }
}

/* ---- time ---- */

static void pass(int64_t *at, int64_t by)
{
    if (*at > 0)
        *at -= by;
}

static void advance(struct retained_state *st, int64_t by)
{
    for (uint8_t i = 0; i < RETAINED_HANDLES; i++) {
        struct retained_handle *h = &st->h[i];
        pass(&h->machine.first, by);
        pass(&h->machine.used, by);
        pass(&h->machine.heard, by);
        pass(&h->machine.payoff.asked, by);
        pass(&h->machine.payoff.kept_from, by);
        pass(&h->machine.payoff.off_until, by);
        h->due -= h->armed ? by : 0;
        h->late = h->late || (h->heard && by > RETAIN_GATE_NS);
    }
}

/* ---- what happens ---- */

static void step(struct retained_state *st, uint8_t h, enum retain_event_kind kind)
{
    retained_step(st, h, (struct retain_event){.kind = kind});
}

static void lock(struct retained_state *st, uint8_t h, uint8_t caller, bool tries)
{
    struct retained_handle *handle = &st->h[h];

    handle->left[caller]--;
    handle->caller[caller] = tries ? CALLER_TRIES : CALLER_WAITS;
    handle->line[handle->waiting++] = caller;
    retained_step(st, h, (struct retain_event){.kind = RETAIN_EV_LOCK, .tries = tries});
}

static void give_up(struct retained_state *st, uint8_t h, uint8_t caller)
{
    struct retained_handle *handle = &st->h[h];
    uint8_t at = 0;

    while (handle->line[at] != caller)
        at++;
    flat_remove(handle->line, &handle->waiting, 1, at);
    handle->caller[caller] = CALLER_OUT;
    retained_step(st, h, (struct retain_event){.kind = RETAIN_EV_GAVE_UP, .first = at == 0});
}

static void unlock(struct retained_state *st, uint8_t h, uint8_t caller, bool must_end)
{
    struct retained_handle *handle = &st->h[h];
    const uint8_t was = handle->caller[caller];

    handle->caller[caller] = CALLER_OUT;
    if (was == CALLER_STALE)
        return;
    must_end = must_end || was == CALLER_LOST;
    retained_step(st, h, (struct retain_event){.kind = RETAIN_EV_UNLOCK, .must_end = must_end});
    retained_require(st, !must_end || handle->phase != PHASE_SPAN, RETAINED_SPENT);
}

static void timer(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    if (handle->machine.state == RETAIN_IDLE && handle->due > 0)
        advance(st, handle->due);
    handle->armed = false;
    step(st, h, RETAIN_EV_TIMER);
}

static void close_handle(struct retained_state *st, uint8_t h)
{
    memset(st->h[h].left, 0, sizeof st->h[h].left);
    st->h[h].closed = true;
    step(st, h, RETAIN_EV_CLOSE);
}

static void lapse(struct retained_handle *h)
{
    h->lapsed = true;
    if (h->phase != PHASE_SPAN)
        return;
    h->dead = true;
    retained_lose_turn(h);
}

static void prove(struct retained_state *st, uint8_t h)
{
    st->h[h].doubt = st->h[h].lapsed = false;
    step(st, h, RETAIN_EV_PROVED);
}

/* Its owner hears so, if it knows of that node. */
static void delete_node(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];
    struct retained_wire *w = &handle->answer[handle->answers++];

    w->what = EVENT_GONE;
    w->generation = handle->generation;
    handle->deleted = true;
    retained_remove(st, (uint8_t)retained_find(st, h, handle->generation));
}

static void happen_to(struct retained_state *st, uint8_t h, enum retained_move kind)
{
    struct retained_handle *handle = &st->h[h];

    if (kind == RETAINED_SERVE)
        retained_serve(st, h);
    else if (kind == RETAINED_DELIVER || kind == RETAINED_UNLOOKED)
        retained_deliver(st, h, kind == RETAINED_UNLOOKED);
    else if (kind == RETAINED_TIMER || kind == RETAINED_IDLE_TIMER)
        timer(st, h);
    else if (kind == RETAINED_END_TOLD)
        retained_end_told(st, h);
    else if (kind == RETAINED_DOUBT)
        handle->doubt = true;
    else if (kind == RETAINED_CONNECT)
        handle->up = true;
    else if (kind == RETAINED_PROVE)
        prove(st, h);
    else if (kind == RETAINED_YIELD)
        step(st, h, RETAIN_EV_YIELD);
    else if (kind == RETAINED_CLOSE)
        close_handle(st, h);
    else if (kind == RETAINED_LAPSE)
        lapse(handle);
    else if (kind == RETAINED_EXPIRE)
        retained_expire(st, h);
    else if (kind == RETAINED_BREAK)
        retained_break(handle);
    else if (kind == RETAINED_FAIL)
        retained_fail(st, h, false);
    else
        delete_node(st, h);
}

static void happen(struct retained_state *st, enum retained_move kind)
{
    if (kind == RETAINED_FOREIGN_GRANT) {
        st->foreign_holds = true;
    } else if (kind == RETAINED_FOREIGN_LEAVE) {
        st->foreign = st->foreign_holds = false;
        retained_remove(st, (uint8_t)retained_find(st, RETAINED_FOREIGNER, 0));
    } else if (kind == RETAINED_FOREIGN_COME) {
        retained_foreign_come(st);
    } else {
        st->ticks--;
        advance(st, RETAINED_TICK);
    }
}

void retained_do(void *state, struct breadth_step s)
{
    struct retained_state *st = state;
    const enum retained_move kind = (enum retained_move)s.kind;
    const uint8_t h = s.at / RETAINED_CALLERS, caller = s.at % RETAINED_CALLERS;

    st->faults -= moves[kind].fault;
    if (kind == RETAINED_LOCK || kind == RETAINED_TRY)
        lock(st, h, caller, kind == RETAINED_TRY);
    else if (kind == RETAINED_UNLOCK || kind == RETAINED_UNLOCK_END)
        unlock(st, h, caller, kind == RETAINED_UNLOCK_END);
    else if (kind == RETAINED_GIVE_UP)
        give_up(st, h, caller);
    else if (moves[kind].each)
        happen_to(st, s.at, kind);
    else
        happen(st, kind);
    retained_check(st);
    retained_forget(st);
}

/* ---- which of it ---- */

static bool may_call(const struct retained_handle *h, uint8_t caller, enum retained_move kind)
{
    const uint8_t is = h->caller[caller];
    const bool room = h->requests + h->answers < RETAINED_REQUESTS - 2;

    switch (kind) {
    case RETAINED_LOCK:
        return is == CALLER_OUT && h->left[caller] > 0 && room;
    case RETAINED_TRY:
        return is == CALLER_OUT && h->left[caller] > 0 && room && retained_config.tries;
    case RETAINED_GIVE_UP:
        return (is == CALLER_WAITS || is == CALLER_TRIES) && room && retained_config.ends;
    case RETAINED_UNLOCK:
        return is == CALLER_HAS || is == CALLER_LOST || is == CALLER_STALE;
    default:
        return is == CALLER_HAS && retained_config.ends;
    }
}

static bool may_close(const struct retained_handle *h)
{
    return retained_config.ends && !h->closed && h->waiting == 0 && h->machine.retain_ns > 0;
}

static bool may_time(const struct retained_handle *h, bool in_doubt)
{
    const bool waits = h->machine.state == RETAIN_IDLE && h->waiting > 0;

    return h->armed && !retained_config.forever && waits == in_doubt;
}

static bool may_happen_to(const struct retained_state *st, uint8_t at, enum retained_move kind)
{
    const struct retained_handle *h = &st->h[at];

    switch (kind) {
    case RETAINED_SERVE:
        return h->up && h->requests > 0;
    case RETAINED_DELIVER:
        return h->up && h->answers > 0 && (!retained_is_grant(h) || retained_is_sure(h));
    case RETAINED_TIMER:
        return may_time(h, false);
    case RETAINED_IDLE_TIMER:
        return may_time(h, true);
    case RETAINED_END_TOLD:
        return h->dead;
    case RETAINED_DOUBT:
        return !h->up && !h->doubt;
    case RETAINED_CONNECT:
        return !h->up;
    case RETAINED_PROVE:
        return h->up && (h->doubt || h->lapsed);
    case RETAINED_YIELD:
        return retained_config.ends && h->machine.state == RETAIN_IDLE;
    case RETAINED_CLOSE:
        return may_close(h);
    case RETAINED_LAPSE:
        return (h->doubt || !h->up) && !h->lapsed;
    case RETAINED_EXPIRE:
        return !h->up && h->lapsed;
    case RETAINED_BREAK:
        return h->up;
    case RETAINED_FAIL:
        return h->phase == PHASE_ATTEMPT;
    case RETAINED_UNLOOKED:
        return h->up && h->answers > 0 && h->answer[0].what == ANSWER_LOOKED && h->looking;
    default:
        return h->phase != PHASE_NONE && h->answers < RETAINED_ANSWERS - 3 &&
               retained_find(st, at, h->generation) >= 0;
    }
}

static bool may_happen(const struct retained_state *st, enum retained_move kind)
{
    switch (kind) {
    case RETAINED_FOREIGN_GRANT:
        return st->foreign && !st->foreign_holds && st->node[0].owner == RETAINED_FOREIGNER;
    case RETAINED_FOREIGN_LEAVE:
        return st->foreign_holds;
    case RETAINED_FOREIGN_COME:
        return !st->foreign && st->arrivals > 0;
    default:
        return st->ticks > 0;
    }
}

static int list_each(const struct retained_state *st, enum retained_move kind, uint8_t h,
                     struct breadth_step *steps)
{
    int n = 0;

    for (uint8_t k = 0; moves[kind].each == 2 && k < retained_config.callers; k++) {
        if (may_call(&st->h[h], k, kind))
            steps[n++] = (struct breadth_step){(uint8_t)kind, (uint8_t)(h * RETAINED_CALLERS + k)};
    }
    if (moves[kind].each == 1 && may_happen_to(st, h, kind))
        steps[n++] = (struct breadth_step){(uint8_t)kind, h};
    return n;
}

int retained_list(const void *state, struct breadth_step *steps)
{
    const struct retained_state *st = state;
    int n = 0;

    for (uint8_t kind = 0; kind < RETAINED_MOVES; kind++) {
        if (moves[kind].fault && st->faults == 0)
            continue;
        for (uint8_t h = 0; moves[kind].each && h < retained_config.handles; h++)
            n += list_each(st, (enum retained_move)kind, h, &steps[n]);
        if (!moves[kind].each && may_happen(st, (enum retained_move)kind))
            steps[n++] = (struct breadth_step){kind, 0};
    }
    return n;
}
