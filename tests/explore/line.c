#include "line.h"

#include <string.h>

struct line_config line_config;

static const struct {
    const char *text;
    bool fault;
} moves[LINE_MOVES] = {
    [LINE_BEGIN] = {"the next one begins", false},
    [LINE_SERVE] = {"the leader answers", false},
    [LINE_CONNECT] = {"connects", false},
    [LINE_SEND] = {"what was not taken is sent", false},
    [LINE_MISS] = {"what was not taken comes too late for its connection", false},
    [LINE_LAG] = {"a server answers that shows version", false},
    [LINE_DECIDE] = {"the leader takes up a sending without an answer,", false},
    [LINE_TIMEOUT] = {"its time is over: transaction", false},
    [LINE_BREAK] = {"the connection breaks", true},
    [LINE_BUSY] = {"the next sending will not be taken", true},
    [LINE_REFUSE] = {"a change is refused", true},
    [LINE_REFUSE_FENCE] = {"the fence is refused", true},
    [LINE_REFUSE_READ] = {"the read is refused", true},
    [LINE_WRITE] = {"a third party writes", true},
    [LINE_DELETE] = {"a third party deletes the node", true},
    [LINE_EXPIRE] = {"the session ends", true},
    [LINE_LAPSE] = {"the grant is lost", true},
};

const char *const line_broken_texts[LINE_BROKEN_COUNT] = {
    [LINE_WHOLE] = "nothing",
    [LINE_FALSE] = "told applied, and it is not",
    [LINE_AFTER] = "applied, though told that it never will be",
    [LINE_TWICE] = "applied twice",
    [LINE_TOLD] = "told twice",
    [LINE_ORDER] = "applied behind a later one",
    [LINE_UNKNOWN] = "told unknown without need",
    [LINE_RELEASE] = "the end says wrongly whether the node is gone",
    [LINE_VERDICT] = "told a refusal that there was not",
    [LINE_STUCK] = "nothing can happen, but somebody waits",
};

const char *line_move_text(enum line_move kind)
{
    return moves[kind].text;
}

void line_init(void *state)
{
    struct line_state *st = state;

    memset(st, 0, sizeof *st);
    exchange_plain(&st->exchange);
    st->up = st->ready = true;
    st->faults = (uint8_t)line_config.faults;
}

static void fail(struct line_state *st, enum line_broken broken)
{
    if (!st->broken)
        st->broken = (uint8_t)broken;
}

static struct line_tx *present(struct line_state *st)
{
    return &st->txs[st->begun - 1];
}

static bool releases(uint8_t tx)
{
    return line_config.release && tx == line_config.txs - 1;
}

/* ---- the server ---- */

static void write_node(struct line_state *st, uint8_t number)
{
    st->data[++st->version] = number;
}

static void apply(struct line_state *st, const struct line_set *set)
{
    struct line_tx *tx = &st->txs[set->tx];

    write_node(st, set->number);
    if (set->seal)
        return;
    tx->applied++;
    if (tx->applied > 1)
        fail(st, LINE_TWICE);
    if (tx->told && tx->verdict != TX_TOLD_APPLIED && tx->verdict != TX_TOLD_UNKNOWN)
        fail(st, LINE_AFTER);
    for (uint8_t later = set->tx + 1; later < LINE_TXS; later++) {
        if (st->txs[later].applied)
            fail(st, LINE_ORDER);
    }
    st->gone = st->gone || releases(set->tx);
}

static bool is_possible(const struct line_state *st, const struct line_set *set)
{
    return !st->gone && set->version == st->version;
}

/* What can never be applied any more is no part of the state. */
static void forget_late(struct line_state *st)
{
    uint8_t kept = 0;

    for (uint8_t i = 0; i < st->late_count; i++) {
        if (is_possible(st, &st->late[i]))
            st->late[kept++] = st->late[i];
    }
    memset(&st->late[kept], 0, sizeof st->late[0] * (size_t)(LINE_LATE - kept));
    st->late_count = kept;
}

/* ---- the machine and its driver ---- */

/* What has given the grant back leaves no node to be seen by. */
static bool is_excused(struct line_state *st)
{
    return present(st)->excused || st->machine.failures == TRANSACTION_FAILURES ||
           (st->gone && releases(st->begun - 1));
}

static void check_verdict(struct line_state *st, enum transaction_verdict verdict)
{
    struct line_tx *tx = present(st);

    if (verdict == TX_TOLD_APPLIED && !tx->applied)
        fail(st, LINE_FALSE);
    if (verdict != TX_TOLD_APPLIED && verdict != TX_TOLD_UNKNOWN && tx->applied)
        fail(st, LINE_AFTER);
    if (verdict == TX_TOLD_UNKNOWN && !is_excused(st))
        fail(st, LINE_UNKNOWN);
    if (verdict == TX_TOLD_REFUSED && st->machine.rc == STORE_OK)
        fail(st, LINE_VERDICT);
    if (verdict == TX_TOLD_LOST && !st->lost && !st->over && !st->gone)
        fail(st, LINE_VERDICT);
}

static void end(struct line_state *st, bool node_gone)
{
    if (node_gone && !st->gone && !st->over)
        fail(st, LINE_RELEASE);
    if (present(st)->told && present(st)->verdict == TX_TOLD_APPLIED &&
        node_gone != releases(st->begun - 1))
        fail(st, LINE_RELEASE);
    st->lost = st->lost || node_gone;
}

static void tell(struct line_state *st, enum transaction_verdict verdict)
{
    struct line_tx *tx = present(st);

    if (verdict >= TX_ENDED) {
        end(st, verdict == TX_ENDED_GONE);
        return;
    }
    if (tx->told)
        fail(st, LINE_TOLD);
    check_verdict(st, verdict);
    tx->told = true;
    tx->verdict = (uint8_t)verdict;
}

/* A set that is not taken is sent later, on its connection alone. */
static void ask(struct line_state *st, const struct machine_action *a)
{
    st->number = exchange_ask(&st->exchange, a);
    st->asked = a->verb == STORE_GET ? ASKED_READ : a->rest ? ASKED_SEND : ASKED_SEAL;
    if (a->verb == STORE_GET)
        return;
    st->unsent = st->busy;
    st->busy = false;
    st->set = (struct line_set){.tx = st->begun - 1,
                                .number = (uint8_t)transaction_written(&st->machine),
                                .seal = !a->rest,
                                .version = (uint8_t)a->parts[0].version};
}

static void forget_asked(struct line_state *st)
{
    st->asked = ASKED_NOTHING;
    st->unsent = false;
    st->set = (struct line_set){.tx = 0};
    st->number = (struct exchange_request){.question = 0};
}

static void perform(struct line_state *st, const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_TELL) {
        tell(st, (enum transaction_verdict)a->verdict);
    } else if (a->kind == MACHINE_ACT_REQUEST) {
        ask(st, a);
    } else {
        exchange_end(&st->exchange);
        forget_asked(st);
    }
}

/* What is told: of a read, it shows what that number left. */
static void step(struct line_state *st, const struct machine_event *ev, uint32_t number)
{
    const struct transaction_moment now = {.lost = st->lost && !releases(st->begun - 1),
                                           .number = number,
                                           .release = releases(st->begun - 1),
                                           .told = present(st)->told};
    struct machine_actions actions = {.count = 0};

    transaction_step(&st->machine, ev, &now, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(st, &actions.list[i]);
}

static void step_kind(struct line_state *st, enum machine_event_kind kind)
{
    struct machine_event ev = {.kind = kind};

    exchange_tell(&st->exchange, &ev, st->asked == ASKED_NOTHING || st->unsent);
    step(st, &ev, 0);
}

/* The answer to what is asked comes. */
static void answer(struct line_state *st, struct machine_event ev, uint32_t number)
{
    const struct exchange_request asked = st->number;

    ev.kind = MACHINE_EV_ANSWER;
    ev.verb = st->asked == ASKED_READ ? STORE_GET : STORE_MULTI;
    ev.unsent = st->unsent;
    ev.connection = 1;
    forget_asked(st);
    if (exchange_answered(&st->exchange, asked, &ev) == EXCHANGE_HEARD)
        step(st, &ev, number);
}

/* By a server. */
static void reply(struct line_state *st, enum store_rc rc, int failed)
{
    st->ready = true;
    answer(st, (struct machine_event){.rc = rc, .failed = failed}, 0);
}

static void reply_read(struct line_state *st, uint8_t version)
{
    const uint8_t data = st->data[version];

    st->ready = true;
    answer(st, (struct machine_event){.version = version}, data == LINE_FOREIGN ? 0 : data);
}

static void refuse(struct line_state *st, int failed)
{
    present(st)->excused |= failed == 0;
    reply(st, STORE_NOAUTH, failed);
}

/* The driver is answered, and the machine hears of the next session. */
static void end_session(struct line_state *st)
{
    answer(st, (struct machine_event){.rc = STORE_GONE}, 0);
    step_kind(st, MACHINE_EV_SESSION);
}

static void serve(struct line_state *st)
{
    const struct line_set set = st->set;

    if (st->over) {
        end_session(st);
    } else if (st->gone) {
        reply(st, STORE_NONODE, 0);
    } else if (st->asked == ASKED_READ) {
        reply_read(st, st->version);
    } else if (set.version != st->version) {
        reply(st, STORE_BADVERSION, 0);
    } else {
        apply(st, &set);
        reply(st, STORE_OK, 0);
    }
}

/* ---- what can happen ---- */

/* What has waited when the session ended hears of that, too. */
static void begin(struct line_state *st)
{
    const struct machine_event ev = {.kind = MACHINE_EV_BEGIN, .connection = st->up && st->ready};

    st->begun++;
    step(st, &ev, 0);
    if (st->over)
        end_session(st);
}

/* As the driver has it: before its turn it is told at once. */
static void time_out(struct line_state *st, uint8_t at)
{
    st->txs[at].excused = true;
    if (at < st->begun) {
        step_kind(st, MACHINE_EV_STOP);
    } else {
        st->txs[at].told = true;
        st->txs[at].verdict = TX_TOLD_LATE;
    }
}

static void lose_answer(struct line_state *st)
{
    answer(st, (struct machine_event){.rc = STORE_UNKNOWN}, 0);
}

/* What is asked of the node is asked again on the next connection; a set is lost. */
static void break_connection(struct line_state *st)
{
    const bool set = st->asked == ASKED_SEND || st->asked == ASKED_SEAL;

    st->up = st->ready = false;
    if (set && !st->unsent)
        st->late[st->late_count++] = st->set;
    if (set)
        lose_answer(st);
}

/* There is another one. */
static void miss(struct line_state *st)
{
    st->ready = false;
    lose_answer(st);
}

static void lag(struct line_state *st, uint8_t version)
{
    present(st)->excused = true;
    reply_read(st, version);
}

static void decide(struct line_state *st, uint8_t at)
{
    const struct line_set set = st->late[at];

    st->late[at] = (struct line_set){.version = LINE_FOREIGN};
    apply(st, &set);
}

/* From here on anything may be unknown. */
static void strike(struct line_state *st, enum line_move kind)
{
    for (int i = 0; i < LINE_TXS; i++)
        st->txs[i].excused = true;
    if (kind == LINE_WRITE)
        write_node(st, LINE_FOREIGN);
    st->gone = st->gone || kind == LINE_DELETE || kind == LINE_EXPIRE;
    st->over = st->over || kind == LINE_EXPIRE;
    st->ready = st->ready && kind != LINE_EXPIRE; /* none is, in the next session */
    st->lost = st->lost || kind == LINE_LAPSE;
}

void line_do(void *state, struct breadth_step s)
{
    struct line_state *st = state;
    const enum line_move kind = (enum line_move)s.kind;

    st->faults -= moves[kind].fault;
    if (kind == LINE_BEGIN)
        begin(st);
    else if (kind == LINE_SERVE)
        serve(st);
    else if (kind == LINE_CONNECT)
        st->up = true;
    else if (kind == LINE_SEND)
        st->unsent = false;
    else if (kind == LINE_MISS)
        miss(st);
    else if (kind == LINE_LAG)
        lag(st, s.at);
    else if (kind == LINE_DECIDE)
        decide(st, s.at);
    else if (kind == LINE_TIMEOUT)
        time_out(st, s.at);
    else if (kind == LINE_BREAK)
        break_connection(st);
    else if (kind == LINE_BUSY)
        st->busy = true;
    else if (kind == LINE_REFUSE || kind == LINE_REFUSE_FENCE)
        refuse(st, kind == LINE_REFUSE);
    else if (kind == LINE_REFUSE_READ)
        refuse(st, 0);
    else
        strike(st, kind);
    forget_late(st);
    st->number = exchange_plain_request(&st->exchange, st->number);
    exchange_plain(&st->exchange);
}

/* ---- which of it ---- */

static bool is_fresh(const struct line_state *st)
{
    return st->up && !st->over && !st->gone && st->version + 1 < LINE_VERSIONS;
}

static bool may_happen(const struct line_state *st, enum line_move kind)
{
    const bool idle = st->machine.state == TX_IDLE, asked = st->asked != ASKED_NOTHING;
    const bool set = !st->unsent && (st->asked == ASKED_SEND || st->asked == ASKED_SEAL);
    const bool current = is_fresh(st) && set && st->set.version == st->version;

    if (moves[kind].fault && st->faults == 0)
        return false;
    switch (kind) {
    case LINE_BEGIN:
        return idle && st->begun < line_config.txs;
    case LINE_SERVE:
        return asked && ((st->up && !st->unsent) || st->over);
    case LINE_CONNECT:
        return !st->up && !st->over;
    case LINE_SEND:
    case LINE_MISS:
        return st->unsent && !st->over;
    case LINE_BREAK:
        return st->up && !st->over && st->late_count < LINE_LATE;
    case LINE_BUSY:
        return !st->busy;
    case LINE_REFUSE:
        return current && st->asked == ASKED_SEND;
    case LINE_REFUSE_FENCE:
        return current;
    case LINE_REFUSE_READ:
        return is_fresh(st) && st->asked == ASKED_READ;
    case LINE_WRITE:
    case LINE_DELETE:
        return !st->gone && st->version + 1 < LINE_VERSIONS;
    case LINE_EXPIRE:
        return !st->over;
    case LINE_LAPSE:
        return !st->lost;
    default:
        return false;
    }
}

int line_list(const void *state, struct breadth_step *steps)
{
    const struct line_state *st = state;
    int n = 0;

    for (uint8_t kind = 0; kind < LINE_MOVES; kind++) {
        if (may_happen(st, (enum line_move)kind))
            steps[n++] = (struct breadth_step){kind, 0};
    }
    for (uint8_t i = 0; i < st->late_count; i++)
        steps[n++] = (struct breadth_step){LINE_DECIDE, i};
    for (uint8_t i = 0; i < line_config.txs; i++) {
        if (!st->txs[i].told)
            steps[n++] = (struct breadth_step){LINE_TIMEOUT, i};
    }
    for (uint8_t v = 0; line_config.lag && v < st->version; v++) {
        if (st->up && !st->over && st->asked == ASKED_READ)
            steps[n++] = (struct breadth_step){LINE_LAG, v};
    }
    return n;
}

int line_check_end(const void *state)
{
    const struct line_state *st = state;

    if (st->machine.state != TX_IDLE || st->begun < line_config.txs)
        return LINE_STUCK;
    for (int i = 0; i < line_config.txs; i++) {
        if (!st->txs[i].told)
            return LINE_STUCK;
    }
    return LINE_WHOLE;
}
