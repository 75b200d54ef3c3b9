/* Every interleaving of two or three fenced transactions of one grant and a few faults, breadth
 * first: one node with a version and its data, a connection that breaks, sendings without an answer
 * that are applied later or never, reads that show what was, a third party.
 * usage: transactions [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/machine.h"
#include "recipes/transaction.h"

enum {
    LINE_TXS = 3,
    LINE_VERSIONS = 16,
    LINE_LATE = 8,
    LINE_FOREIGN = 0xff /* in the data */
};

enum line_move {
    LINE_BEGIN,
    LINE_SERVE,
    LINE_CONNECT,
    LINE_SEND,
    LINE_MISS,
    LINE_LAG,     /* .at: the version that the reader shows */
    LINE_DECIDE,  /* .at: which of the sendings without an answer */
    LINE_TIMEOUT, /* .at: of which transaction */
    LINE_BREAK,
    LINE_BUSY,
    LINE_REFUSE,
    LINE_REFUSE_FENCE,
    LINE_REFUSE_READ,
    LINE_WRITE,
    LINE_DELETE,
    LINE_EXPIRE,
    LINE_LOSS,
    LINE_MOVES
};

enum line_asked { ASKED_NOTHING, ASKED_SEND, ASKED_SEAL, ASKED_READ };

/* A set on its way. */
struct line_set {
    uint8_t tx, number;
    bool seal;
    uint8_t version;
};

struct line_tx {
    bool told;
    uint8_t verdict; /* .told */
    uint8_t applied; /* how often */
    bool excused;    /* it may be told unknown */
};

struct line_state {
    struct transaction machine;
    struct exchange exchange;
    struct exchange_request number; /* of what is asked */
    struct line_tx txs[LINE_TXS];
    uint8_t begun; /* so many; the last of them is the present one, unless the machine is idle */
    uint8_t asked; /* enum line_asked */
    struct line_set set;
    bool unsent; /* it is asked, and was not taken yet */
    bool up, ready, busy;
    bool over, lost, gone;
    uint8_t version;
    uint8_t data[LINE_VERSIONS]; /* the number that made each version */
    uint8_t late_count;
    struct line_set late[LINE_LATE];
    uint8_t faults;
};

struct line_config {
    int txs;
    bool release; /* the last one gives the grant back */
};

static const struct line_config *config;

static const struct breadth_kind moves[LINE_MOVES] = {
    [LINE_BEGIN] = {"the next one begins", FAIR, 1},
    [LINE_SERVE] = {"the leader answers", FAIR, 1},
    [LINE_CONNECT] = {"connects", FAIR, 1},
    [LINE_SEND] = {"what was not taken is sent", FAIR, 1},
    [LINE_MISS] = {"what was not taken comes too late for its connection", FAIR, 1},
    [LINE_LAG] = {"a server answers that shows version", PERHAPS, LINE_VERSIONS},
    [LINE_DECIDE] = {"the leader takes up a sending without an answer,", PERHAPS, LINE_LATE},
    [LINE_TIMEOUT] = {"its time is over: transaction", PERHAPS, LINE_TXS},
    [LINE_BREAK] = {"the connection breaks", FAULT, 1},
    [LINE_BUSY] = {"the next sending will not be taken", FAULT, 1},
    [LINE_REFUSE] = {"a change is refused", FAULT, 1},
    [LINE_REFUSE_FENCE] = {"the fence is refused", FAULT, 1},
    [LINE_REFUSE_READ] = {"the read is refused", FAULT, 1},
    [LINE_WRITE] = {"a third party writes", FAULT, 1},
    [LINE_DELETE] = {"a third party deletes the node", FAULT, 1},
    [LINE_EXPIRE] = {"the session ends", FAULT, 1},
    [LINE_LOSS] = {"the grant is lost", FAULT, 1},
};

static void init(void *state, const void *data)
{
    struct line_state *st = state;

    config = data;
    exchange_plain(&st->exchange);
    st->up = st->ready = true;
}

static struct line_tx *present(struct line_state *st)
{
    return &st->txs[st->begun - 1];
}

static bool releases(uint8_t tx)
{
    return config->release && tx == config->txs - 1;
}

/* ---- the server ---- */

static void write_node(struct line_state *st, uint8_t number)
{
    st->data[++st->version] = number;
}

static bool may_be_applied(unsigned verdict)
{
    return verdict == TX_TOLD_APPLIED || verdict == TX_TOLD_UNKNOWN;
}

static void apply(struct line_state *st, const struct line_set *set)
{
    struct line_tx *tx = &st->txs[set->tx];

    write_node(st, set->number);
    if (set->seal)
        return;
    tx->applied++;
    breadth_require(tx->applied == 1, "applied twice");
    breadth_require(!tx->told || may_be_applied(tx->verdict),
                    "applied, though told that it never will be");
    for (uint8_t later = set->tx + 1; later < LINE_TXS; later++)
        breadth_require(!st->txs[later].applied, "applied behind a later one");
    st->gone = st->gone || releases(set->tx);
}

static bool is_possible(const struct line_state *st, const struct line_set *set)
{
    return !st->gone && set->version == st->version;
}

/* What can never be applied any more is no part of the state. */
static void forget_late(struct line_state *st)
{
    for (int i = st->late_count; i-- > 0;) {
        if (!is_possible(st, &st->late[i]))
            flat_remove(st->late, &st->late_count, sizeof st->late[0], i);
    }
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

    breadth_require(verdict != TX_TOLD_APPLIED || tx->applied, "told applied, and it is not");
    breadth_require(may_be_applied(verdict) || !tx->applied,
                    "applied, though told that it never will be");
    breadth_require(verdict != TX_TOLD_UNKNOWN || is_excused(st), "told unknown without need");
    breadth_require(verdict != TX_TOLD_REFUSED || st->machine.rc != STORE_OK,
                    "told a refusal that there was not");
    breadth_require(verdict != TX_TOLD_LOST || st->lost || st->over || st->gone,
                    "told a refusal that there was not");
}

static void note_end(struct line_state *st, bool node_gone)
{
    const bool applied = present(st)->told && present(st)->verdict == TX_TOLD_APPLIED;

    breadth_require((!node_gone || st->gone || st->over) &&
                        (!applied || node_gone == releases(st->begun - 1)),
                    "the end says wrongly whether the node is gone");
    st->lost = st->lost || node_gone;
}

static void tell(struct line_state *st, enum transaction_verdict verdict)
{
    struct line_tx *tx = present(st);

    if (verdict >= TX_ENDED) {
        note_end(st, verdict == TX_ENDED_GONE);
        return;
    }
    breadth_require(!tx->told, "told twice");
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

    exchange_set_unsent(&st->exchange, &ev, st->asked == ASKED_NOTHING || st->unsent);
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
        flat_push(st->late, &st->late_count, LINE_LATE, sizeof st->set, &st->set);
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
    st->lost = st->lost || kind == LINE_LOSS;
}

static void take(void *state, struct move move)
{
    struct line_state *st = state;
    const enum line_move kind = (enum line_move)move.kind;

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
        lag(st, move.at);
    else if (kind == LINE_DECIDE)
        decide(st, move.at);
    else if (kind == LINE_TIMEOUT)
        time_out(st, move.at);
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

static bool may(const void *state, struct move move)
{
    const struct line_state *st = state;
    const bool idle = st->machine.state == TX_IDLE, asked = st->asked != ASKED_NOTHING;
    const bool set = !st->unsent && (st->asked == ASKED_SEND || st->asked == ASKED_SEAL);
    const bool current = is_fresh(st) && set && st->set.version == st->version;

    switch (move.kind) {
    case LINE_BEGIN:
        return idle && st->begun < config->txs;
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
    case LINE_LOSS:
        return !st->lost;
    case LINE_LAG:
        return move.at < st->version && st->up && !st->over && st->asked == ASKED_READ;
    case LINE_DECIDE:
        return move.at < st->late_count;
    default:
        return move.at < config->txs && !st->txs[move.at].told;
    }
}

static const char *check_end(const void *state)
{
    const struct line_state *st = state;

    if (st->machine.state != TX_IDLE || st->begun < config->txs)
        return "nothing can happen, but somebody waits";
    for (int i = 0; i < config->txs; i++) {
        if (!st->txs[i].told)
            return "nothing can happen, but somebody waits";
    }
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(line_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"one", ALWAYS, 6, CONFIG(.txs = 1)},
    {"two", ALWAYS, 4, CONFIG(.txs = 2)},
    {"two, the last gives back", ALWAYS, 4, CONFIG(.txs = 2, .release = true)},
    {"three", ALWAYS, 3, CONFIG(.txs = 3)},
    {"one", SOAK, 8, CONFIG(.txs = 1)},
    {"two", SOAK, 6, CONFIG(.txs = 2)},
    {"three", SOAK, 5, CONFIG(.txs = 3)},
    {"three, the last gives back", SOAK, 4, CONFIG(.txs = 3, .release = true)},
};

static void print(const void *state)
{
    const struct line_state *st = state;

    printf(" transaction %d %s for %d, node %d%s", st->begun,
           transaction_state_name(st->machine.state), st->machine.asked, st->version,
           st->up ? "" : ", down");
}

static const char *state_name(int state)
{
    return transaction_state_name((enum transaction_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct line_state), .machine = offsetof(struct line_state, machine.state),
        .machines = 1, .states = TX_COUNT};

    return breadth_main(&world, argc, argv);
}
