#include "handle.h"

#include "recipes/back_off.h"

struct handle_config handle_config;

const char *const handle_broken_texts[HANDLE_BROKEN_COUNT] = {
    [HANDLE_WHOLE] = "nothing",
    [HANDLE_ATTEMPTS] = "two attempts at a time, or an attempt beside a grant",
    [HANDLE_INVALID] = "leads without a valid grant, or twice by one",
    [HANDLE_LEAK] = "something is left behind, or used when it is gone",
    [HANDLE_ORDER] = "told what cannot come then",
    [HANDLE_FAILURE] = "a failed attempt is not told once",
    [HANDLE_PAUSE] = "backs off for too short or too long",
    [HANDLE_ASKED] = "asked to step down without a reason, or not asked",
    [HANDLE_FINALLY] = "an attempt of which nothing can come",
    [HANDLE_STUCK] = "nothing can happen, but somebody waits",
};

void handle_fail(struct handle_state *st, enum handle_broken broken)
{
    if (!st->broken)
        st->broken = (uint8_t)broken;
}

static void require(struct handle_state *st, bool holds, enum handle_broken broken)
{
    if (!holds)
        handle_fail(st, broken);
}

void handle_push(struct handle_state *st, uint8_t at, enum handle_message what)
{
    st->message[st->messages].of = at;
    st->message[st->messages++].what = (uint8_t)what;
}

void handle_changed(struct handle_state *st)
{
    for (uint8_t i = 0; i < st->begun; i++) {
        if (st->c[i].watch == WATCH_SET)
            st->c[i].watch = WATCH_FIRING;
    }
}

/* ---- the driver, as lib/election/election.c ---- */

static void enter(struct handle_state *st, struct handle_candidacy *c)
{
    for (uint8_t i = 0; i < st->begun; i++)
        require(st, !st->c[i].attempt && st->c[i].grant != GRANT_OWNED, HANDLE_ATTEMPTS);
    require(st, c->grant == GRANT_NONE, HANDLE_ATTEMPTS);
    require(st, !st->refused && !st->closing, HANDLE_FINALLY);
    c->attempt = true;
    st->ahead = st->rival;
}

static void abort_attempt(struct handle_state *st, struct handle_candidacy *c)
{
    require(st, c->attempt, HANDLE_LEAK);
    c->attempt = false;
    c->aborted = true;
}

static void leave(struct handle_state *st, struct handle_candidacy *c)
{
    require(st, c->grant != GRANT_NONE && !c->led, HANDLE_LEAK);
    if (c->grant == GRANT_OWNED)
        handle_changed(st);
    c->grant = GRANT_NONE;
}

static void lead(struct handle_state *st, uint8_t at)
{
    struct handle_candidacy *c = &st->c[at];

    require(st, c->grant == GRANT_OWNED && !c->led, HANDLE_INVALID);
    c->led = true;
    handle_push(st, at, MESSAGE_LEADING);
}

static void resign(struct handle_state *st, uint8_t at)
{
    struct handle_candidacy *c = &st->c[at];

    require(st, c->grant != GRANT_NONE && c->led, HANDLE_LEAK);
    if (c->grant != GRANT_OWNED)
        return;
    c->grant = GRANT_RELEASED;
    handle_push(st, at, MESSAGE_RELEASED);
    handle_changed(st);
}

static void forget(struct handle_state *st, struct handle_candidacy *c)
{
    require(st, c->led && (c->grant == GRANT_LOST || c->grant == GRANT_RELEASED), HANDLE_LEAK);
    c->grant = GRANT_NONE;
    c->led = false;
}

static void list(struct handle_state *st, uint8_t at, const struct machine_action *a)
{
    struct handle_candidacy *c = &st->c[at];
    const struct exchange_request r = exchange_ask(&c->exchange, a);

    require(st, c->grant != GRANT_NONE, HANDLE_LEAK);
    if (st->unwatched && a->watch) {
        st->unwatched = false;
        c->unwatched = true;
        return;
    }
    if (st->closing || st->refused)
        return; /* nobody hears of what is answered then */
    c->list[c->lists++] = r;
    if (a->watch)
        c->watch = WATCH_ASKED;
}

static void arm(struct handle_state *st, struct handle_candidacy *c, int64_t delay)
{
    if (c->machine.state == CANDIDACY_PAUSED)
        require(st,
                delay >= BACK_OFF_FIRST_MS * INT64_C(1000000) &&
                    delay <= BACK_OFF_LAST_MS * INT64_C(1000000),
                HANDLE_PAUSE);
    c->armed = true;
}

static void ask(struct handle_state *st, uint8_t at)
{
    const struct handle_candidacy *c = &st->c[at];

    require(st, c->grant == GRANT_OWNED && c->machine.yield && c->seen_higher, HANDLE_ASKED);
    handle_push(st, at, MESSAGE_ASKED);
}

static void stop(struct handle_state *st, uint8_t at, bool behind)
{
    struct handle_candidacy *c = &st->c[at];

    require(st, !c->attempt && c->grant == GRANT_NONE && c->watch == WATCH_NONE && !c->armed,
            HANDLE_LEAK);
    if (at == st->begun - 1)
        st->present = false;
    c->over = behind;
    if (!behind)
        handle_push(st, at, MESSAGE_STOPPED);
}

static bool is_superseded(const struct handle_state *st, uint8_t at)
{
    return st->present && at != st->begun - 1;
}

static void told(struct handle_state *st, uint8_t at, const struct machine_action *a)
{
    struct handle_candidacy *c = &st->c[at];

    switch ((enum candidacy_tell)a->verdict) {
    case CANDIDACY_ENTER:
        enter(st, c);
        break;
    case CANDIDACY_ABORT:
        abort_attempt(st, c);
        break;
    case CANDIDACY_LEAVE:
        leave(st, c);
        break;
    case CANDIDACY_LEAD:
        lead(st, at);
        break;
    case CANDIDACY_RESIGN:
        resign(st, at);
        break;
    case CANDIDACY_FORGET:
        forget(st, c);
        break;
    case CANDIDACY_ASK:
        ask(st, at);
        break;
    case CANDIDACY_FAIL:
        handle_push(st, at, MESSAGE_FAILED);
        break;
    case CANDIDACY_NOTE:
        require(st, !is_superseded(st, at), HANDLE_ORDER);
        break;
    case CANDIDACY_STOP:
    case CANDIDACY_STOP_BEHIND:
        stop(st, at, a->verdict == CANDIDACY_STOP_BEHIND);
        break;
    }
}

static void perform(struct handle_state *st, uint8_t at, const struct machine_action *a)
{
    struct handle_candidacy *c = &st->c[at];

    if (a->kind == MACHINE_ACT_REQUEST) {
        list(st, at, a);
    } else if (a->kind == MACHINE_ACT_END) {
        exchange_end(&c->exchange);
        c->watch = WATCH_NONE;
        c->armed = false;
    } else if (a->kind == MACHINE_ACT_ARM) {
        arm(st, c, a->at);
    } else {
        told(st, at, a);
    }
}

/* What has happened in the step is heard behind it. */
void handle_step(struct handle_state *st, uint8_t at, struct machine_event ev,
                 struct candidacy_moment moment)
{
    struct handle_candidacy *c = &st->c[at];
    struct machine_actions actions = {.count = 0};

    moment.refused = st->refused;
    moment.closing = st->closing;
    moment.superseded = is_superseded(st, at);
    moment.owned = c->grant == GRANT_OWNED;
    moment.released = c->grant == GRANT_RELEASED;
    candidacy_step(&c->machine, &ev, &moment, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(st, at, &actions.list[i]);
    if (c->unwatched) {
        c->unwatched = false;
        handle_step(st, at, (struct machine_event){.kind = MACHINE_EV_ANSWER, .rc = STORE_LIMIT},
                    moment);
    }
    if (c->aborted) {
        c->aborted = false;
        moment.why = CANDIDACY_CAUSE_ATTEMPT;
        handle_step(st, at, (struct machine_event){.kind = CANDIDACY_EV_FAILED}, moment);
    }
}

/* ---- at the end ---- */

static bool may_rest(const struct handle_state *st, const struct handle_candidacy *c)
{
    switch (c->machine.state) {
    case CANDIDACY_OVER:
        return c->told == TOLD_STOPPED;
    case CANDIDACY_QUEUED:
        return c->attempt && st->ahead;
    case CANDIDACY_LEADING:
        return c->grant == GRANT_OWNED && c->told == TOLD_LEADING;
    default:
        return false;
    }
}

int handle_check_end(const void *state)
{
    const struct handle_state *st = state;

    for (uint8_t i = 0; i < st->begun; i++) {
        const struct handle_candidacy *c = &st->c[i];
        const bool present = st->present && i == st->begun - 1;
        if (!may_rest(st, c) || (c->machine.state != CANDIDACY_OVER && !present))
            return HANDLE_STUCK;
        if (c->machine.state == CANDIDACY_LEADING && st->rival && c->machine.yield && st->higher)
            return HANDLE_ASKED;
    }
    return HANDLE_WHOLE;
}
