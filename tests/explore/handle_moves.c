#include <string.h>

#include "flat.h"
#include "handle.h"

static const struct {
    const char *text;
    bool fault;
    bool each; /* of each candidacy */
} moves[HANDLE_MOVES] = {
    [HANDLE_TIMER] = {"the timer", false, true},
    [HANDLE_WIN] = {"the attempt wins", false, true},
    [HANDLE_LISTED] = {"a list comes", false, true},
    [HANDLE_FIRE] = {"the watch fires", false, true},
    [HANDLE_NOTICE] = {"the loss is noticed", false, true},
    [HANDLE_OBEY] = {"the user steps down", false, true},
    [HANDLE_DELIVER] = {"a callback is called", false, false},
    [HANDLE_CONNECT] = {"connects", false, false},
    [HANDLE_YIELD] = {"the user yields", false, false},
    [HANDLE_RESIGN] = {"the user resigns", false, false},
    [HANDLE_START] = {"the user starts again", false, false},
    [HANDLE_RIVAL] = {"a rival comes", false, false},
    [HANDLE_HIGHER] = {"a rival of higher priority comes", false, false},
    [HANDLE_LEAVES] = {"the rival leaves", false, false},
    [HANDLE_FAIL] = {"the attempt fails", true, true},
    [HANDLE_UNLISTED] = {"the list is refused", true, true},
    [HANDLE_UNWATCHED] = {"the next watch will be one too many", true, false},
    [HANDLE_LAPSE] = {"the grant's deadline passes", true, true},
    [HANDLE_DELETE] = {"an administrator deletes the node", true, true},
    [HANDLE_EXPIRE] = {"the session is replaced", true, false},
    [HANDLE_BREAK] = {"the connection breaks", true, false},
    [HANDLE_REFUSE] = {"the credentials are refused", true, false},
    [HANDLE_CLOSE] = {"the session is closed", true, false},
};

const char *handle_move_text(enum handle_move kind)
{
    return moves[kind].text;
}

static void step(struct handle_state *st, uint8_t at, unsigned kind)
{
    handle_step(st, at, (struct machine_event){.kind = kind}, (struct candidacy_moment){.now = 0});
}

static void start(struct handle_state *st)
{
    const uint8_t at = st->begun++;

    st->c[at].machine = handle_config.machine;
    st->present = true;
    step(st, at, MACHINE_EV_BEGIN);
}

void handle_init(void *state)
{
    struct handle_state *st = state;

    memset(st, 0, sizeof *st);
    st->up = true;
    st->arrivals = (uint8_t)handle_config.arrivals;
    st->starts = (uint8_t)handle_config.starts;
    st->faults = (uint8_t)handle_config.faults;
    start(st);
}

/* ---- answers ---- */

static void win(struct handle_state *st, uint8_t at)
{
    struct handle_candidacy *c = &st->c[at];

    c->attempt = false;
    c->grant = GRANT_OWNED;
    c->seen_higher = false;
    step(st, at, CANDIDACY_EV_WON);
}

/* Once: by the end of it, or by another word. */
static void fail_attempt(struct handle_state *st, uint8_t at, enum candidacy_cause why)
{
    const uint8_t messages = st->messages;

    st->c[at].attempt = false;
    handle_step(st, at, (struct machine_event){.kind = CANDIDACY_EV_FAILED},
                (struct candidacy_moment){.why = why});
    if (st->messages != messages + 1)
        handle_fail(st, HANDLE_FAILURE);
}

/* The watch is left by the newest list alone: those before it were ignored. */
static void answer_list(struct handle_state *st, uint8_t at, enum handle_move kind)
{
    static const char own[] = "_c_a-p003-latch-0000000005";
    static const char higher[] = "_c_b-p004-latch-0000000006";
    static const char lower[] = "_c_b-p002-latch-0000000006";
    const char *names[] = {own, st->higher ? higher : lower};
    struct handle_candidacy *c = &st->c[at];
    const struct exchange_request r = c->list[0];
    const struct machine_event ev = {.kind = MACHINE_EV_ANSWER,
                                     .rc = kind == HANDLE_LISTED ? STORE_OK : STORE_NOAUTH};
    const struct candidacy_moment moment = {.names = names, .count = st->rival ? 2 : 1, .own = own};

    flat_remove(c->list, &c->lists, sizeof r, 0);
    if (c->watch == WATCH_ASKED && c->lists == 0)
        c->watch = ev.rc == STORE_OK ? WATCH_SET : WATCH_NONE;
    if (exchange_answered(&c->exchange, r, &ev) != EXCHANGE_HEARD)
        return;
    if (ev.rc == STORE_OK)
        c->seen_higher = st->higher;
    handle_step(st, at, ev, moment);
}

/* ---- callbacks ---- */

static void hear(struct handle_state *st, uint8_t at, enum handle_message what)
{
    static const struct {
        uint32_t from; /* a bit for each enum handle_told */
        enum handle_told to;
    } may[] = {
        [MESSAGE_LEADING] = {1U << TOLD_NOTHING, TOLD_LEADING},
        [MESSAGE_ASKED] = {1U << TOLD_LEADING, TOLD_ASKED},
        [MESSAGE_FAILED] = {1U << TOLD_NOTHING, TOLD_NOTHING},
        [MESSAGE_STOPPED] = {1U << TOLD_NOTHING, TOLD_STOPPED},
        [MESSAGE_LOST] = {1U << TOLD_LEADING | 1U << TOLD_ASKED, TOLD_NOTHING},
        [MESSAGE_RELEASED] = {1U << TOLD_LEADING | 1U << TOLD_ASKED, TOLD_NOTHING},
    };

    if (!(may[what].from >> st->c[at].told & 1U))
        handle_fail(st, HANDLE_ORDER);
    st->c[at].told = (uint8_t)may[what].to;
}

static void deliver(struct handle_state *st)
{
    const uint8_t at = st->message[0].of;
    const enum handle_message what = (enum handle_message)st->message[0].what;

    flat_remove(st->message, &st->messages, sizeof st->message[0], 0);
    hear(st, at, what);
    if (what != MESSAGE_LOST && what != MESSAGE_RELEASED)
        return;
    handle_step(st, at, (struct machine_event){.kind = CANDIDACY_EV_TERM_TOLD},
                (struct candidacy_moment){.lost = what == MESSAGE_LOST});
    if (st->c[at].over)
        hear(st, at, MESSAGE_STOPPED);
}

/* ---- losses ---- */

static void lose(struct handle_candidacy *c)
{
    if (c->grant != GRANT_OWNED)
        return;
    c->grant = GRANT_LOST;
    c->unnoticed = c->led;
}

static void notice(struct handle_state *st, uint8_t at)
{
    st->c[at].unnoticed = false;
    handle_push(st, at, MESSAGE_LOST);
}

static void delete_node(struct handle_state *st, uint8_t at)
{
    lose(&st->c[at]);
    if (st->c[at].unnoticed)
        notice(st, at);
    handle_changed(st);
}

/* Attempts are in line anew, behind all others. */
static void end_session(struct handle_state *st)
{
    st->ahead = st->rival;
    for (uint8_t i = 0; i < st->begun; i++) {
        struct handle_candidacy *c = &st->c[i];
        lose(c);
        c->watch = WATCH_NONE;
        c->lists = 0;
    }
}

static void hear_of_end(struct handle_state *st, enum machine_event_kind kind)
{
    if (st->present)
        step(st, st->begun - 1, kind);
}

static void fail_attempts(struct handle_state *st, enum candidacy_cause why)
{
    for (uint8_t i = 0; i < st->begun; i++) {
        if (st->c[i].attempt)
            fail_attempt(st, i, why);
    }
}

static void stop(struct handle_state *st, bool closed)
{
    st->present = false;
    handle_step(st, st->begun - 1, (struct machine_event){.kind = MACHINE_EV_STOP},
                (struct candidacy_moment){.closed = closed});
}

static void close_session(struct handle_state *st)
{
    st->closing = true;
    fail_attempts(st, CANDIDACY_CAUSE_CLOSED);
    if (st->present)
        stop(st, true);
    end_session(st);
}

static void rival(struct handle_state *st, bool comes, bool higher)
{
    st->arrivals -= comes;
    st->rival = comes;
    st->higher = higher;
    st->ahead = false;
    handle_changed(st);
}

/* ---- what happens ---- */

static void happen_to(struct handle_state *st, uint8_t at, enum handle_move kind)
{
    struct handle_candidacy *c = &st->c[at];

    if (kind == HANDLE_TIMER) {
        c->armed = false;
        step(st, at, MACHINE_EV_TIMER);
    } else if (kind == HANDLE_WIN) {
        win(st, at);
    } else if (kind == HANDLE_LISTED || kind == HANDLE_UNLISTED) {
        answer_list(st, at, kind);
    } else if (kind == HANDLE_FIRE) {
        c->watch = WATCH_NONE;
        step(st, at, MACHINE_EV_FIRED);
    } else if (kind == HANDLE_NOTICE) {
        notice(st, at);
    } else if (kind == HANDLE_OBEY) {
        step(st, at, CANDIDACY_EV_YIELD);
    } else if (kind == HANDLE_FAIL) {
        fail_attempt(st, at, CANDIDACY_CAUSE_ATTEMPT);
    } else if (kind == HANDLE_LAPSE) {
        lose(c);
    } else {
        delete_node(st, at);
    }
}

static void happen(struct handle_state *st, enum handle_move kind)
{
    if (kind == HANDLE_DELIVER) {
        deliver(st);
    } else if (kind == HANDLE_CONNECT || kind == HANDLE_BREAK) {
        st->up = kind == HANDLE_CONNECT;
    } else if (kind == HANDLE_YIELD) {
        step(st, st->begun - 1, CANDIDACY_EV_YIELD);
    } else if (kind == HANDLE_RESIGN) {
        stop(st, false);
    } else if (kind == HANDLE_START) {
        st->starts--;
        start(st);
    } else if (kind == HANDLE_UNWATCHED) {
        st->unwatched = true;
    } else if (kind == HANDLE_EXPIRE) {
        end_session(st);
        hear_of_end(st, MACHINE_EV_SESSION);
    } else if (kind == HANDLE_REFUSE) {
        st->refused = true;
        end_session(st);
        fail_attempts(st, CANDIDACY_CAUSE_REFUSED);
        hear_of_end(st, MACHINE_EV_OVER);
    } else if (kind == HANDLE_CLOSE) {
        close_session(st);
    } else {
        rival(st, kind != HANDLE_LEAVES, kind == HANDLE_HIGHER);
    }
}

/* What makes no difference is no part of the state: by how many lists one is stale, and what was on
 * the way to an end that was told. It is always 0 o'clock, since only the timer's delay matters. */
static void forget_lists(struct handle_candidacy *c)
{
    for (uint8_t k = 0; k < c->lists; k++)
        c->list[k] = exchange_plain_request(&c->exchange, c->list[k]);
    exchange_plain(&c->exchange);
    if (c->grant == GRANT_NONE)
        c->seen_higher = false;
}

static void forget(struct handle_candidacy *c)
{
    forget_lists(c);
    if (c->told == TOLD_STOPPED && c->lists == 0)
        c->machine = (struct candidacy){.state = c->machine.state};
}

void handle_do(void *state, struct breadth_step s)
{
    struct handle_state *st = state;
    const enum handle_move kind = (enum handle_move)s.kind;

    st->faults -= moves[kind].fault;
    if (moves[kind].each)
        happen_to(st, s.at, kind);
    else
        happen(st, kind);
    for (uint8_t i = 0; i < st->begun; i++)
        forget(&st->c[i]);
}

/* ---- which of it ---- */

static bool may_happen_to(const struct handle_state *st, uint8_t at, enum handle_move kind)
{
    const struct handle_candidacy *c = &st->c[at];
    const bool answers = st->up && !st->closing && !st->refused;

    switch (kind) {
    case HANDLE_TIMER:
        return c->armed && c->lists < HANDLE_LISTS;
    case HANDLE_WIN:
        for (uint8_t i = 0; i < st->begun; i++) {
            if (st->c[i].grant == GRANT_OWNED)
                return false;
        }
        return c->attempt && answers && !st->ahead && c->lists < HANDLE_LISTS;
    case HANDLE_FAIL:
        return c->attempt;
    case HANDLE_LISTED:
    case HANDLE_UNLISTED:
        return c->lists > 0 && answers;
    case HANDLE_FIRE:
        return c->watch == WATCH_FIRING && st->up && c->lists < HANDLE_LISTS;
    case HANDLE_NOTICE:
        return c->unnoticed;
    case HANDLE_OBEY:
        return c->told == TOLD_ASKED && c->grant == GRANT_OWNED && st->present &&
               at == st->begun - 1;
    case HANDLE_LAPSE:
    case HANDLE_DELETE:
        return c->grant == GRANT_OWNED;
    default:
        return false;
    }
}

static bool may_happen(const struct handle_state *st, enum handle_move kind)
{
    const struct handle_candidacy *c = &st->c[st->begun - 1];

    switch (kind) {
    case HANDLE_CONNECT:
        return !st->up && !st->closing;
    case HANDLE_BREAK:
        return st->up && !st->closing;
    case HANDLE_YIELD:
        return st->present && c->grant != GRANT_NONE;
    case HANDLE_RESIGN:
        return st->present;
    case HANDLE_START:
        return !st->present && !st->closing && st->starts > 0 && st->begun < HANDLE_CANDIDACIES;
    case HANDLE_RIVAL:
        return !st->rival && st->arrivals > 0;
    case HANDLE_HIGHER:
        return !st->rival && st->arrivals > 0 && handle_config.machine.yield;
    case HANDLE_LEAVES:
        return st->rival;
    case HANDLE_UNWATCHED:
        return !st->unwatched && c->machine.state != CANDIDACY_OVER;
    case HANDLE_EXPIRE:
    case HANDLE_REFUSE:
    case HANDLE_CLOSE:
        return !st->closing && !st->refused;
    default:
        return false;
    }
}

int handle_moves(const void *state, struct breadth_step *steps)
{
    const struct handle_state *st = state;
    const bool full = st->messages > HANDLE_MESSAGES - 4;
    int n = 0;

    if (st->messages > 0)
        steps[n++] = (struct breadth_step){HANDLE_DELIVER, 0};
    for (uint8_t kind = 0; kind < HANDLE_MOVES && !full; kind++) {
        if (moves[kind].fault && st->faults == 0)
            continue;
        for (uint8_t i = 0; moves[kind].each && i < st->begun; i++) {
            if (may_happen_to(st, i, (enum handle_move)kind))
                steps[n++] = (struct breadth_step){kind, i};
        }
        if (!moves[kind].each && may_happen(st, (enum handle_move)kind))
            steps[n++] = (struct breadth_step){kind, 0};
    }
    return n;
}
