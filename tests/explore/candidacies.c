/* Every interleaving of a started election's candidacies and a few faults, breadth first: the user
 * stops, yields and starts again at any time, callbacks come late, attempts, lists and watches are
 * as lib/election/election.c has them, and there is one rival. usage: candidacies [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/back_off.h"
#include "recipes/candidacy.h"
#include "recipes/machine.h"

enum { HANDLE_CANDIDACIES = 2, HANDLE_LISTS = 3, HANDLE_MESSAGES = 8 };

enum handle_move {
    HANDLE_TIMER,
    HANDLE_WIN,
    HANDLE_LISTED,
    HANDLE_FIRE,
    HANDLE_NOTICE,
    HANDLE_OBEY,
    HANDLE_DELIVER,
    HANDLE_CONNECT,
    HANDLE_YIELD,
    HANDLE_RESIGN,
    HANDLE_START,
    HANDLE_RIVAL,
    HANDLE_HIGHER,
    HANDLE_LEAVES,
    HANDLE_FAIL,
    HANDLE_UNLISTED,
    HANDLE_UNWATCHED,
    HANDLE_LAPSE,
    HANDLE_DELETE,
    HANDLE_EXPIRE,
    HANDLE_BREAK,
    HANDLE_REFUSE,
    HANDLE_CLOSE,
    HANDLE_MOVES
};

enum handle_grant { GRANT_NONE, GRANT_OWNED, GRANT_LOST, GRANT_RELEASED };
enum handle_watch { WATCH_NONE, WATCH_ASKED, WATCH_SET, WATCH_FIRING };
enum handle_told { TOLD_NOTHING, TOLD_LEADING, TOLD_ASKED, TOLD_STOPPED };
enum handle_message {
    MESSAGE_LEADING = 1,
    MESSAGE_ASKED,
    MESSAGE_FAILED,
    MESSAGE_STOPPED,
    MESSAGE_LOST,
    MESSAGE_RELEASED
};

struct handle_candidacy {
    struct candidacy machine;
    struct exchange exchange;
    bool attempt;               /* one is under way */
    bool led;                   /* so the grant's end is told */
    bool unnoticed;             /* the end of the grant has not been pushed to the callbacks yet */
    bool over;                  /* to be told behind the end of the term */
    uint8_t grant, watch, told; /* enum handle_… */
    bool seen_higher;           /* in the last list of this term */
    uint8_t lists;
    struct exchange_request list[HANDLE_LISTS];
    bool armed;
    bool aborted, unwatched; /* in this step: it hears of that behind it */
};

struct handle_told_of {
    uint8_t of, what; /* enum handle_message */
};

struct handle_state {
    struct handle_candidacy c[HANDLE_CANDIDACIES];
    uint8_t begun; /* so many candidacies */
    bool present;  /* the handle has the last of them */
    uint8_t messages;
    struct handle_told_of message[HANDLE_MESSAGES];
    bool rival, higher, ahead;
    bool up, closing, refused, unwatched;
    uint8_t arrivals, starts, faults; /* left */
};

struct handle_config {
    struct candidacy machine;
    int arrivals, starts;
};

static const struct handle_config *config;

static const struct breadth_kind moves[HANDLE_MOVES] = {
    [HANDLE_TIMER] = {"the timer", FAIR, HANDLE_CANDIDACIES},
    [HANDLE_WIN] = {"the attempt wins", FAIR, HANDLE_CANDIDACIES},
    [HANDLE_LISTED] = {"a list comes", FAIR, HANDLE_CANDIDACIES},
    [HANDLE_FIRE] = {"the watch fires", FAIR, HANDLE_CANDIDACIES},
    [HANDLE_NOTICE] = {"the loss is noticed", FAIR, HANDLE_CANDIDACIES},
    [HANDLE_OBEY] = {"the user steps down", FAIR, HANDLE_CANDIDACIES},
    [HANDLE_DELIVER] = {"a callback is called", FAIR, 1},
    [HANDLE_CONNECT] = {"connects", FAIR, 1},
    [HANDLE_YIELD] = {"the user yields", PERHAPS, 1},
    [HANDLE_RESIGN] = {"the user resigns", PERHAPS, 1},
    [HANDLE_START] = {"the user starts again", PERHAPS, 1},
    [HANDLE_RIVAL] = {"a rival comes", PERHAPS, 1},
    [HANDLE_HIGHER] = {"a rival of higher priority comes", PERHAPS, 1},
    [HANDLE_LEAVES] = {"the rival leaves", PERHAPS, 1},
    [HANDLE_FAIL] = {"the attempt fails, as of an incompatible layout", FAULT, HANDLE_CANDIDACIES},
    [HANDLE_UNLISTED] = {"the list is refused", FAULT, HANDLE_CANDIDACIES},
    [HANDLE_UNWATCHED] = {"the next watch will be one too many", FAULT, 1},
    [HANDLE_LAPSE] = {"the grant's deadline passes", FAULT, HANDLE_CANDIDACIES},
    [HANDLE_DELETE] = {"an administrator deletes the node", FAULT, HANDLE_CANDIDACIES},
    [HANDLE_EXPIRE] = {"the session is replaced", FAULT, 1},
    [HANDLE_BREAK] = {"the connection breaks", FAULT, 1},
    [HANDLE_REFUSE] = {"the credentials are refused", FAULT, 1},
    [HANDLE_CLOSE] = {"the session is closed", FAULT, 1},
};

static void push(struct handle_state *st, uint8_t at, enum handle_message what)
{
    const struct handle_told_of m = {.of = at, .what = (uint8_t)what};

    flat_push(st->message, &st->messages, HANDLE_MESSAGES, sizeof m, &m);
}

/* Watches of it fire. */
static void change_line(struct handle_state *st)
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
        breadth_require(!st->c[i].attempt && st->c[i].grant != GRANT_OWNED,
                        "two attempts at a time, or an attempt beside a grant");
    breadth_require(c->grant == GRANT_NONE, "two attempts at a time, or an attempt beside a grant");
    breadth_require(!st->refused && !st->closing, "an attempt of which nothing can come");
    c->attempt = true;
    st->ahead = st->rival;
}

static void abort_attempt(struct handle_candidacy *c)
{
    breadth_require(c->attempt, "aborts an attempt that is not under way");
    c->attempt = false;
    c->aborted = true;
}

static void leave(struct handle_state *st, struct handle_candidacy *c)
{
    breadth_require(c->grant != GRANT_NONE && !c->led, "leaves what it does not have, or leads by");
    if (c->grant == GRANT_OWNED)
        change_line(st);
    c->grant = GRANT_NONE;
}

static void lead(struct handle_state *st, uint8_t at)
{
    struct handle_candidacy *c = &st->c[at];

    breadth_require(c->grant == GRANT_OWNED && !c->led,
                    "leads without a valid grant, or twice by one");
    c->led = true;
    push(st, at, MESSAGE_LEADING);
}

static void resign(struct handle_state *st, uint8_t at)
{
    struct handle_candidacy *c = &st->c[at];

    breadth_require(c->grant != GRANT_NONE && c->led, "resigns without a term");
    if (c->grant != GRANT_OWNED)
        return;
    c->grant = GRANT_RELEASED;
    push(st, at, MESSAGE_RELEASED);
    change_line(st);
}

static void forget_grant(struct handle_candidacy *c)
{
    breadth_require(c->led && (c->grant == GRANT_LOST || c->grant == GRANT_RELEASED),
                    "forgets a grant that has not ended");
    c->grant = GRANT_NONE;
    c->led = false;
}

static void list(struct handle_state *st, uint8_t at, const struct machine_action *a)
{
    struct handle_candidacy *c = &st->c[at];
    const struct exchange_request r = exchange_ask(&c->exchange, a);

    breadth_require(c->grant != GRANT_NONE, "lists the line without a grant");
    if (st->unwatched && a->watch) {
        st->unwatched = false;
        c->unwatched = true;
        return;
    }
    if (st->closing || st->refused)
        return; /* nobody hears of what is answered then */
    flat_push(c->list, &c->lists, HANDLE_LISTS, sizeof r, &r);
    if (a->watch)
        c->watch = WATCH_ASKED;
}

static void arm(struct handle_candidacy *c, int64_t delay)
{
    if (c->machine.state == CANDIDACY_PAUSED)
        breadth_require(delay >= BACK_OFF_FIRST_MS * INT64_C(1000000) &&
                            delay <= BACK_OFF_LAST_MS * INT64_C(1000000),
                        "backs off for too short or too long");
    c->armed = true;
}

static void ask(struct handle_state *st, uint8_t at)
{
    const struct handle_candidacy *c = &st->c[at];

    breadth_require(c->grant == GRANT_OWNED && c->machine.yield && c->seen_higher,
                    "asked to step down without a reason, or not asked");
    push(st, at, MESSAGE_ASKED);
}

static void end_candidacy(struct handle_state *st, uint8_t at, bool behind)
{
    struct handle_candidacy *c = &st->c[at];

    breadth_require(!c->attempt && c->grant == GRANT_NONE && c->watch == WATCH_NONE && !c->armed,
                    "something is left behind");
    if (at == st->begun - 1)
        st->present = false;
    c->over = behind;
    if (!behind)
        push(st, at, MESSAGE_STOPPED);
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
        abort_attempt(c);
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
        forget_grant(c);
        break;
    case CANDIDACY_ASK:
        ask(st, at);
        break;
    case CANDIDACY_FAIL:
        push(st, at, MESSAGE_FAILED);
        break;
    case CANDIDACY_NOTE:
        breadth_require(!is_superseded(st, at), "told what cannot come then");
        break;
    case CANDIDACY_STOP:
    case CANDIDACY_STOP_AT_ONCE:
        end_candidacy(st, at, a->verdict == CANDIDACY_STOP_AT_ONCE);
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
        arm(c, a->at);
    } else {
        told(st, at, a);
    }
}

/* What has happened in the step is heard behind it. */
static void step(struct handle_state *st, uint8_t at, struct machine_event ev,
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
        step(st, at, (struct machine_event){.kind = MACHINE_EV_ANSWER, .rc = STORE_LIMIT}, moment);
    }
    if (c->aborted) {
        c->aborted = false;
        moment.why = CANDIDACY_CAUSE_ATTEMPT;
        step(st, at, (struct machine_event){.kind = CANDIDACY_EV_FAILED}, moment);
    }
}

static void step_kind(struct handle_state *st, uint8_t at, unsigned kind)
{
    step(st, at, (struct machine_event){.kind = kind}, (struct candidacy_moment){.now = 0});
}

static void start(struct handle_state *st)
{
    const uint8_t at = st->begun++;

    st->c[at].machine = config->machine;
    st->present = true;
    step_kind(st, at, MACHINE_EV_BEGIN);
}

static void init(void *state, const void *data)
{
    struct handle_state *st = state;

    config = data;
    st->up = true;
    st->arrivals = (uint8_t)config->arrivals;
    st->starts = (uint8_t)config->starts;
    start(st);
}

/* ---- answers ---- */

static void win(struct handle_state *st, uint8_t at)
{
    struct handle_candidacy *c = &st->c[at];

    c->attempt = false;
    c->grant = GRANT_OWNED;
    c->seen_higher = false;
    step_kind(st, at, CANDIDACY_EV_WON);
}

/* Once: by the end of it, or by another word. */
static void fail_attempt(struct handle_state *st, uint8_t at, enum candidacy_cause why)
{
    const uint8_t messages = st->messages;

    st->c[at].attempt = false;
    step(st, at, (struct machine_event){.kind = CANDIDACY_EV_FAILED},
         (struct candidacy_moment){.why = why});
    breadth_require(st->messages == messages + 1, "a failed attempt is not told once");
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
    step(st, at, ev, moment);
}

/* ---- callbacks ---- */

static void hear(struct handle_state *st, uint8_t at, enum handle_message what)
{
    static const struct {
        uint32_t from; /* a bit for each enum handle_told */
        enum handle_told to;
    } order[] = {
        [MESSAGE_LEADING] = {1U << TOLD_NOTHING, TOLD_LEADING},
        [MESSAGE_ASKED] = {1U << TOLD_LEADING, TOLD_ASKED},
        [MESSAGE_FAILED] = {1U << TOLD_NOTHING, TOLD_NOTHING},
        [MESSAGE_STOPPED] = {1U << TOLD_NOTHING, TOLD_STOPPED},
        [MESSAGE_LOST] = {1U << TOLD_LEADING | 1U << TOLD_ASKED, TOLD_NOTHING},
        [MESSAGE_RELEASED] = {1U << TOLD_LEADING | 1U << TOLD_ASKED, TOLD_NOTHING},
    };

    breadth_require(order[what].from >> st->c[at].told & 1U, "told what cannot come then");
    st->c[at].told = (uint8_t)order[what].to;
}

static void deliver(struct handle_state *st)
{
    const uint8_t at = st->message[0].of;
    const enum handle_message what = (enum handle_message)st->message[0].what;

    flat_remove(st->message, &st->messages, sizeof st->message[0], 0);
    hear(st, at, what);
    if (what != MESSAGE_LOST && what != MESSAGE_RELEASED)
        return;
    step(st, at, (struct machine_event){.kind = CANDIDACY_EV_TERM_TOLD},
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
    push(st, at, MESSAGE_LOST);
}

static void delete_node(struct handle_state *st, uint8_t at)
{
    lose(&st->c[at]);
    if (st->c[at].unnoticed)
        notice(st, at);
    change_line(st);
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
        step_kind(st, st->begun - 1, kind);
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
    step(st, st->begun - 1, (struct machine_event){.kind = MACHINE_EV_STOP},
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
    change_line(st);
}

/* ---- what happens ---- */

static void happen_to(struct handle_state *st, uint8_t at, enum handle_move kind)
{
    struct handle_candidacy *c = &st->c[at];

    if (kind == HANDLE_TIMER) {
        c->armed = false;
        step_kind(st, at, MACHINE_EV_TIMER);
    } else if (kind == HANDLE_WIN) {
        win(st, at);
    } else if (kind == HANDLE_LISTED || kind == HANDLE_UNLISTED) {
        answer_list(st, at, kind);
    } else if (kind == HANDLE_FIRE) {
        c->watch = WATCH_NONE;
        step_kind(st, at, MACHINE_EV_FIRED);
    } else if (kind == HANDLE_NOTICE) {
        notice(st, at);
    } else if (kind == HANDLE_OBEY) {
        step_kind(st, at, CANDIDACY_EV_YIELD);
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
        step_kind(st, st->begun - 1, CANDIDACY_EV_YIELD);
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

static void take(void *state, struct move move)
{
    struct handle_state *st = state;
    const enum handle_move kind = (enum handle_move)move.kind;

    if (moves[kind].ats > 1)
        happen_to(st, move.at, kind);
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
        return !st->rival && st->arrivals > 0 && config->machine.yield;
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

/* Callbacks that are due come first when they are many. */
static bool may(const void *state, struct move move)
{
    const struct handle_state *st = state;

    if (move.kind == HANDLE_DELIVER)
        return st->messages > 0;
    if (st->messages > HANDLE_MESSAGES - 4 || move.at >= st->begun)
        return false;
    return moves[move.kind].ats > 1 ? may_happen_to(st, move.at, (enum handle_move)move.kind)
                                    : may_happen(st, (enum handle_move)move.kind);
}

static const char *check_end(const void *state)
{
    const struct handle_state *st = state;

    for (uint8_t i = 0; i < st->begun; i++) {
        const struct handle_candidacy *c = &st->c[i];
        const bool present = st->present && i == st->begun - 1;
        if (!may_rest(st, c) || (c->machine.state != CANDIDACY_OVER && !present))
            return "nothing can happen, but somebody waits";
        if (c->machine.state == CANDIDACY_LEADING && st->rival && c->machine.yield && st->higher)
            return "asked to step down without a reason, or not asked";
    }
    return NULL;
}

/* ---- the program ---- */

#define LATCH .rule = RULE_LATCH, .priority = 3
#define YIELD .yield = true

#define CONFIG(...) BREADTH_CONFIG(handle_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"again and again", ALWAYS, 4, CONFIG(.machine = {LATCH}, .arrivals = 1, .starts = 1)},
    {"attempts that fail", ALWAYS, 9, CONFIG(.machine = {LATCH})},
    {"to a higher priority", ALWAYS, 4, CONFIG(.machine = {LATCH, YIELD}, .arrivals = 1)},
    {"to two of them", ALWAYS, 3, CONFIG(.machine = {LATCH, YIELD}, .arrivals = 2)},
    {"started again", ALWAYS, 2, CONFIG(.machine = {LATCH, YIELD}, .arrivals = 1, .starts = 1)},
    {"again and again", SOAK, 6, CONFIG(.machine = {LATCH}, .arrivals = 2, .starts = 1)},
    {"started again", SOAK, 3, CONFIG(.machine = {LATCH, YIELD}, .arrivals = 1, .starts = 1)},
    {"to two of them", SOAK, 5, CONFIG(.machine = {LATCH, YIELD}, .arrivals = 2)},
};

static void print(const void *state)
{
    const struct handle_state *st = state;

    for (uint8_t i = 0; i < st->begun; i++)
        printf(" %s, grant %d,", candidacy_state_name(st->c[i].machine.state), st->c[i].grant);
    printf(" %d messages%s%s", st->messages, st->rival ? ", a rival" : "", st->up ? "" : ", down");
}

static const char *state_name(int state)
{
    return candidacy_state_name((enum candidacy_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct handle_state),
        .machine = offsetof(struct handle_state, c[0].machine.state),
        .stride = sizeof(struct handle_candidacy), .machines = HANDLE_CANDIDACIES,
        .states = CANDIDACY_STATES};

    return breadth_main(&world, argc, argv);
}
