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

/* ---- the machine and its driver, as lib/lock/multi_exchange.c ---- */

static void step(struct line_state *st, struct transaction_event ev);

/* What has given the grant back leaves no node to be seen by. */
static bool is_excused(struct line_state *st)
{
    return present(st)->excused || st->machine.failures == TRANSACTION_FAILURES ||
           (st->gone && releases(st->begun - 1));
}

static void check_verdict(struct line_state *st, const struct transaction_action *a)
{
    struct line_tx *tx = present(st);

    if (a->verdict == TX_TOLD_APPLIED && !tx->applied)
        fail(st, LINE_FALSE);
    if (a->verdict != TX_TOLD_APPLIED && a->verdict != TX_TOLD_UNKNOWN && tx->applied)
        fail(st, LINE_AFTER);
    if (a->verdict == TX_TOLD_UNKNOWN && !is_excused(st))
        fail(st, LINE_UNKNOWN);
    if (a->verdict == TX_TOLD_REFUSED && a->error == 0)
        fail(st, LINE_VERDICT);
    if (a->verdict == TX_TOLD_LOST && !st->lost && !st->over && !st->gone)
        fail(st, LINE_VERDICT);
}

static void tell(struct line_state *st, const struct transaction_action *a)
{
    struct line_tx *tx = present(st);

    if (tx->told)
        fail(st, LINE_TOLD);
    check_verdict(st, a);
    tx->told = true;
    tx->verdict = (uint8_t)a->verdict;
}

static void end(struct line_state *st, const struct transaction_action *a)
{
    if (a->node_gone && !st->gone && !st->over)
        fail(st, LINE_RELEASE);
    if (present(st)->told && present(st)->verdict == TX_TOLD_APPLIED &&
        a->node_gone != releases(st->begun - 1))
        fail(st, LINE_RELEASE);
    st->lost = st->lost || a->node_gone;
}

static void ask(struct line_state *st, const struct transaction_action *a)
{
    const bool seal = a->kind == TX_ACT_SEAL;

    if (!st->up || st->busy) {
        st->busy = false;
        step(st, (struct transaction_event){.kind = TX_EV_UNSENT});
        return;
    }
    st->asked = seal ? ASKED_SEAL : ASKED_SEND;
    st->set = (struct line_set){.tx = st->begun - 1,
                                .number = (uint8_t)a->number,
                                .seal = seal,
                                .version = (uint8_t)a->version};
}

static void step(struct line_state *st, struct transaction_event ev)
{
    struct transaction_actions actions;

    ev.over = st->over;
    ev.lost = st->lost && !releases(st->begun - 1);
    ev.ready = st->up && st->ready;
    transaction_step(&st->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct transaction_action *a = &actions.list[i];
        if (a->kind == TX_ACT_TELL)
            tell(st, a);
        else if (a->kind == TX_ACT_END)
            end(st, a);
        else if (a->kind == TX_ACT_READ)
            st->asked = ASKED_READ;
        else
            ask(st, a);
    }
}

/* The answer to what is asked comes. */
static void answer(struct line_state *st, struct transaction_event ev)
{
    st->asked = ASKED_NOTHING;
    st->set = (struct line_set){.tx = 0};
    st->ready = true;
    step(st, ev);
}

static void answer_kind(struct line_state *st, enum transaction_event_kind kind)
{
    answer(st, (struct transaction_event){.kind = kind});
}

static void answer_read(struct line_state *st, uint8_t version)
{
    const uint8_t data = st->data[version];
    const bool strange = data == LINE_FOREIGN;

    answer(st, (struct transaction_event){
                   .kind = TX_EV_READ, .version = version, .number = strange ? 0 : data});
}

static void refuse(struct line_state *st, enum transaction_event_kind kind, int failed)
{
    if (failed == 0 && kind != TX_EV_OUTDATED)
        present(st)->excused = true;
    answer(st, (struct transaction_event){.kind = kind, .error = LINE_ERROR, .failed = failed});
}

static void serve(struct line_state *st)
{
    const struct line_set set = st->set;

    if (st->over) {
        answer_kind(st, TX_EV_GONE);
    } else if (st->gone) {
        answer_kind(st, TX_EV_NO_NODE);
    } else if (st->asked == ASKED_READ) {
        answer_read(st, st->version);
    } else if (set.version != st->version) {
        refuse(st, TX_EV_OUTDATED, 0);
    } else {
        apply(st, &set);
        answer_kind(st, TX_EV_APPLIED);
    }
}

/* ---- what can happen ---- */

static void begin(struct line_state *st)
{
    const struct line_tx *tx = &st->txs[st->begun++];

    step(st, (struct transaction_event){
                 .kind = TX_EV_BEGIN, .release = releases(st->begun - 1), .told = tx->told});
}

/* As the driver has it: before its turn it is told at once. */
static void time_out(struct line_state *st, uint8_t at)
{
    st->txs[at].excused = true;
    if (at < st->begun) {
        step(st, (struct transaction_event){.kind = TX_EV_TIMEOUT});
    } else {
        st->txs[at].told = true;
        st->txs[at].verdict = TX_TOLD_LATE;
    }
}

/* What is asked of the node is asked again on the next connection; a set is lost. */
static void break_connection(struct line_state *st)
{
    const struct line_set set = st->set;
    const bool lost = st->asked == ASKED_SEND || st->asked == ASKED_SEAL;

    st->up = st->ready = false;
    if (!lost)
        return;
    st->late[st->late_count++] = set;
    answer_kind(st, TX_EV_LOST);
    st->ready = false;
}

static void lag(struct line_state *st, uint8_t version)
{
    present(st)->excused = true;
    answer_read(st, version);
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
        refuse(st, TX_EV_REFUSED, kind == LINE_REFUSE);
    else if (kind == LINE_REFUSE_READ)
        refuse(st, TX_EV_UNREAD, 0);
    else
        strike(st, kind);
    forget_late(st);
}

/* ---- which of it ---- */

static bool is_fresh(const struct line_state *st)
{
    return st->up && !st->over && !st->gone && st->version + 1 < LINE_VERSIONS;
}

static bool may_happen(const struct line_state *st, enum line_move kind)
{
    const bool idle = st->machine.state == TX_IDLE, asked = st->asked != ASKED_NOTHING;
    const bool set = st->asked == ASKED_SEND || st->asked == ASKED_SEAL;
    const bool current = is_fresh(st) && set && st->set.version == st->version;

    if (moves[kind].fault && st->faults == 0)
        return false;
    switch (kind) {
    case LINE_BEGIN:
        return idle && st->begun < line_config.txs;
    case LINE_SERVE:
        return asked && (st->up || st->over);
    case LINE_CONNECT:
        return !st->up && !st->over;
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
