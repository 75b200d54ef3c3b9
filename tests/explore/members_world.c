#include "members_world.h"

#include <string.h>

#include "flat.h"

struct group_config group_config;

static const struct {
    const char *text;
    bool fault;
} moves[GROUP_MOVES] = {
    [GROUP_SERVE] = {"the server takes up a request of", false},
    [GROUP_DELIVER] = {"an answer or event reaches", false},
    [GROUP_BEGIN] = {"joins", false},
    [GROUP_TIMER] = {"tries again", false},
    [GROUP_PROVE] = {"proves its session", false},
    [GROUP_EXPIRE] = {"the server ends session", false},
    [GROUP_REPLACE] = {"hears that its session has expired", false},
    [GROUP_LEAVE] = {"leaves", false},
    [GROUP_UPDATE] = {"has other data", false},
    [GROUP_BREAK] = {"the connection breaks of", true},
    [GROUP_LATE] = {"a late request is applied of session", false},
    [GROUP_LAPSE] = {"the deadline passes of", true},
    [GROUP_ABANDON] = {"opens another session", true},
    [GROUP_CRASH] = {"crashes", true},
    [GROUP_REFUSE] = {"the server refuses a create of", true},
    [GROUP_DELETE] = {"an administrator deletes the node", true},
};

const char *const group_broken_texts[GROUP_BROKEN_COUNT] = {
    [GROUP_WHOLE] = "nothing",
    [GROUP_BELIEVED] = "believes in a node that is not there, or is another's",
    [GROUP_ROBBED] = "a node was deleted by another session than its own",
    [GROUP_OLD] = "older data were written",
    [GROUP_REMAINS] = "a node stands of one that has left",
    [GROUP_STUCK] = "nothing can happen, and one is not in who could be, or in who has left",
    [GROUP_FULL] = "the world is too small",
};

const char *group_move_text(enum group_move kind)
{
    return moves[kind].text;
}

static bool open_session(struct group_state *st, int at)
{
    for (int i = 1; i < GROUP_SESSIONS; i++) {
        if (st->s[i].process == 0) {
            st->s[i].process = (uint8_t)(at + 1);
            st->p[at].session = (uint8_t)i;
            st->p[at].valid = true;
            return true;
        }
    }
    return false;
}

void group_init(void *state)
{
    struct group_state *st = state;

    memset(st, 0, sizeof *st);
    st->faults = (uint8_t)group_config.faults;
    for (int i = 0; i < group_config.processes; i++) {
        st->p[i].updates = (uint8_t)group_config.updates;
        exchange_plain(&st->p[i].exchange);
        open_session(st, i);
    }
}

/* ---- the driver ---- */

static void ignore(struct group_process *p)
{
    uint8_t kept = 0;

    p->watches = false;
    for (uint8_t i = 0; i < p->heard; i++)
        if (p->hear[i].kind != MACHINE_EV_FIRED)
            p->hear[kept++] = p->hear[i];
    memset(&p->hear[kept], 0, sizeof p->hear[0] * (size_t)(p->heard - kept));
    p->heard = kept;
}

static void ask(struct group_state *st, int at, const struct machine_action *a)
{
    struct group_process *p = &st->p[at];
    const bool passes = a->version == INT32_MAX;
    const struct exchange_request number = exchange_ask(&p->exchange, a);

    if (p->asked == GROUP_ASKED)
        group_fail(st, GROUP_FULL);
    else
        p->ask[p->asked++] = (struct group_ask){.verb = (uint8_t)a->verb,
                                                .watch = a->watch,
                                                .passes = passes,
                                                .gen = (uint8_t)p->machine.wanted,
                                                .version = passes ? 0 : (uint8_t)a->version,
                                                .number = number};
}

static void step(struct group_state *st, int at, struct machine_event ev, bool same)
{
    struct group_process *p = &st->p[at];
    const struct member_moment moment = {.valid = p->valid, .same = same};
    struct machine_actions actions = {.count = 0};

    member_step(&p->machine, &ev, &moment, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct machine_action *a = &actions.list[i];
        if (a->kind == MACHINE_ACT_REQUEST)
            ask(st, at, a);
        if (a->kind == MACHINE_ACT_UNWATCH || a->kind == MACHINE_ACT_END)
            ignore(p);
        if (a->kind == MACHINE_ACT_END)
            exchange_end(&p->exchange);
    }
}

static void step_kind(struct group_state *st, int at, unsigned kind)
{
    step(st, at, (struct machine_event){.kind = kind}, false);
}

/* While a read is under way that leaves a watch, the watch does not fire. */
static bool is_read_again(const struct group_process *p)
{
    for (int i = 0; i < p->asked; i++)
        if (p->ask[i].watch)
            return true;
    for (int i = 0; i < p->heard; i++)
        if (p->hear[i].ask.watch)
            return true;
    return false;
}

static void deliver(struct group_state *st, int at)
{
    struct group_process *p = &st->p[at];
    const struct group_heard h = p->hear[0];

    const struct machine_event ev = {.kind = h.kind,
                                     .rc = (enum store_rc)h.rc,
                                     .verb = (enum store_kind)h.ask.verb,
                                     .slot = (uint8_t)h.ask.number.slot,
                                     .gone = h.gone,
                                     .version = h.version,
                                     .czxid = h.czxid,
                                     .own = h.own};

    flat_remove(p->hear, &p->heard, sizeof h, 0);
    if (h.kind == MACHINE_EV_FIRED
            ? is_read_again(p)
            : exchange_answered(&p->exchange, h.ask.number, &ev) != EXCHANGE_HEARD)
        return;
    step(st, at, ev, h.gen == p->machine.wanted);
}

/* ---- connections and sessions ---- */

static bool is_once(const struct group_ask *a)
{
    return group_is_write(a) && a->verb != STORE_CREATE;
}

static void put_late(struct group_state *st, int session, const struct group_ask *a)
{
    struct group_session *s = &st->s[session];

    if (group_is_write(a) && s->late < GROUP_ASKED)
        s->writes[s->late++] = *a;
}

static struct group_heard unknown(const struct group_ask *a)
{
    return (struct group_heard){.kind = MACHINE_EV_ANSWER, .rc = STORE_UNKNOWN, .ask = *a};
}

/* What was not answered is asked again, in order, but what is asked once; what the server had not
 * taken up it may still. Events stay: the watches are set again, and tell what was missed. */
static void break_connection(struct group_state *st, int at)
{
    struct group_process *p = &st->p[at];
    struct group_ask again[GROUP_ASKED + GROUP_HEARD];
    struct group_heard kept[GROUP_HEARD];
    uint8_t asked = 0, heard = 0;

    memset(again, 0, sizeof again);
    memset(kept, 0, sizeof kept);
    for (int i = 0; i < p->heard; i++) {
        const struct group_heard *h = &p->hear[i];
        if (h->kind != MACHINE_EV_ANSWER)
            kept[heard++] = *h;
        else if (is_once(&h->ask))
            kept[heard++] = unknown(&h->ask);
        else
            again[asked++] = h->ask;
    }
    for (int i = 0; i < p->asked; i++) {
        put_late(st, p->session, &p->ask[i]);
        if (!is_once(&p->ask[i]))
            again[asked++] = p->ask[i];
        else if (heard < GROUP_HEARD)
            kept[heard++] = unknown(&p->ask[i]);
    }
    if (asked > GROUP_ASKED)
        group_fail(st, GROUP_FULL);
    memcpy(p->ask, again, sizeof p->ask);
    memcpy(p->hear, kept, sizeof p->hear);
    p->asked = asked > GROUP_ASKED ? GROUP_ASKED : asked;
    p->heard = heard;
}

static void drop_all(struct group_process *p)
{
    memset(p->ask, 0, sizeof p->ask);
    memset(p->hear, 0, sizeof p->hear);
    p->asked = p->heard = 0;
    p->watches = false;
}

static void replace(struct group_state *st, int at)
{
    drop_all(&st->p[at]);
    st->p[at].valid = false; /* nothing is proved between the two */
    step_kind(st, at, MACHINE_EV_SESSION);
    open_session(st, at);
    step_kind(st, at, MEMBER_EV_STANDING);
}

static void leave_behind(struct group_state *st, int at)
{
    const struct group_process *p = &st->p[at];

    for (int i = 0; i < p->asked; i++)
        put_late(st, p->session, &p->ask[i]);
}

static void crash(struct group_state *st, int at)
{
    struct group_process *p = &st->p[at];
    const uint8_t session = p->session;

    leave_behind(st, at);
    memset(p, 0, sizeof *p);
    p->crashed = true;
    p->session = session;
}

/* ---- moves ---- */

static void take(struct group_state *st, struct breadth_step by)
{
    struct group_process *p = &st->p[by.at < GROUP_PROCESSES ? by.at : 0];

    switch (by.kind) {
    case GROUP_SERVE:
    case GROUP_REFUSE:
        group_serve(st, by.at, by.kind == GROUP_REFUSE);
        break;
    case GROUP_DELIVER:
        deliver(st, by.at);
        break;
    case GROUP_BEGIN:
        p->begun = true;
        step_kind(st, by.at, MACHINE_EV_BEGIN);
        break;
    case GROUP_TIMER:
        step_kind(st, by.at, MACHINE_EV_TIMER);
        break;
    case GROUP_PROVE:
    case GROUP_LAPSE:
        p->valid = by.kind == GROUP_PROVE;
        step_kind(st, by.at, MEMBER_EV_STANDING);
        break;
    case GROUP_EXPIRE:
        group_end_session(st, by.at);
        break;
    case GROUP_REPLACE:
        replace(st, by.at);
        break;
    case GROUP_LEAVE:
        p->left = true;
        step_kind(st, by.at, MEMBER_EV_LEAVE);
        break;
    case GROUP_UPDATE:
        p->updates--;
        step_kind(st, by.at, MEMBER_EV_UPDATE);
        break;
    case GROUP_BREAK:
        break_connection(st, by.at);
        break;
    case GROUP_LATE:
        group_apply_late(st, by.at);
        break;
    case GROUP_ABANDON:
        leave_behind(st, by.at);
        replace(st, by.at);
        break;
    case GROUP_CRASH:
        crash(st, by.at);
        break;
    default:
        st->administered = true;
        group_remove(st);
        break;
    }
}

static bool has_room(const struct group_state *st)
{
    return st->s[GROUP_SESSIONS - 1].process == 0;
}

/* Nobody keeps it, or its process believes in it no more. */
static bool may_expire(const struct group_state *st, int session)
{
    const struct group_session *s = &st->s[session];
    const struct group_process *p = &st->p[s->process ? s->process - 1 : 0];

    if (s->process == 0 || s->ended)
        return false;
    return p->crashed || p->session != session || (!p->valid && has_room(st));
}

static bool is_possible_to(const struct group_state *st, enum group_move kind, int at)
{
    const struct group_process *p = &st->p[at];
    const bool alive = !st->s[p->session].ended, in = p->begun && p->machine.state != MEMBER_OVER;

    switch (kind) {
    case GROUP_SERVE:
        return p->asked > 0 && alive;
    case GROUP_DELIVER:
        return p->heard > 0;
    case GROUP_BEGIN:
        return !p->begun;
    case GROUP_TIMER:
        return p->machine.state == MEMBER_BACKED_OFF;
    case GROUP_PROVE:
        return !p->valid && alive;
    case GROUP_REPLACE:
        return !alive && p->heard == 0 && has_room(st);
    case GROUP_LEAVE:
        return in && group_config.leaves && !p->left;
    case GROUP_UPDATE:
        return in && p->updates > 0;
    case GROUP_BREAK:
        return p->asked + p->heard > 0 && alive;
    case GROUP_LAPSE:
        return p->begun && p->valid;
    case GROUP_ABANDON:
        return in && alive && has_room(st);
    case GROUP_CRASH:
        return p->begun;
    case GROUP_REFUSE:
        return p->asked > 0 && alive && p->ask[0].verb == STORE_CREATE;
    default:
        return false;
    }
}

int group_list_moves(const void *state, struct breadth_step *steps)
{
    const struct group_state *st = state;
    int count = 0;

    for (uint8_t kind = 0; kind < GROUP_MOVES; kind++) {
        if (moves[kind].fault && st->faults == 0)
            continue;
        if (kind == GROUP_DELETE && group_config.administrator && st->owner)
            steps[count++] = (struct breadth_step){kind, 0};
        for (uint8_t at = 0; at < group_config.processes; at++)
            if (!st->p[at].crashed && is_possible_to(st, kind, at))
                steps[count++] = (struct breadth_step){kind, at};
        for (uint8_t s = 1; s < GROUP_SESSIONS; s++)
            if ((kind == GROUP_EXPIRE && may_expire(st, s)) ||
                (kind == GROUP_LATE && st->s[s].late > 0 && !st->s[s].ended))
                steps[count++] = (struct breadth_step){kind, s};
    }
    return count;
}

/* ---- numbers: only their order matters, and of tags, whether they are the present ones ---- */

static void collect(struct group_state *st, struct flat_numbers *all)
{
    flat_add(all, &st->zxid);
    flat_add(all, &st->czxid);
    for (int i = 0; i < GROUP_PROCESSES; i++) {
        struct group_process *p = &st->p[i];
        flat_add(all, &p->machine.czxid);
        flat_add(all, &p->machine.told_czxid);
        flat_add(all, &p->machine.told_busy);
        for (int k = 0; k < p->heard; k++)
            flat_add(all, &p->hear[k].czxid);
    }
}

static void rank(struct group_state *st)
{
    struct flat_numbers all = {.count = 0};

    collect(st, &all);
    flat_rank(&all);
}

/* The machine ignores the answer to a set that it no longer waits for. */
static struct exchange_request renumbered(const struct group_process *p, struct exchange_request r)
{
    r = exchange_plain_request(&p->exchange, r);
    r.question = r.slot == MEMBER_SLOT_SET && !p->machine.sets ? 0 : r.question;
    return r;
}

static void renumber(struct group_process *p)
{
    for (int i = 0; i < p->asked; i++)
        p->ask[i].number = renumbered(p, p->ask[i].number);
    for (int i = 0; i < p->heard; i++)
        p->hear[i].ask.number = renumbered(p, p->hear[i].ask.number);
    exchange_plain(&p->exchange);
}

/* What nobody will look at again is the same in all states. */
static void forget(struct group_process *p)
{
    struct member *m = &p->machine;

    if (m->state == MEMBER_OVER) {
        drop_all(p);
        *m = (struct member){.state = MEMBER_OVER};
        p->updates = 0;
    }
    if (!m->told_in)
        m->told_czxid = 0;
    if (m->state != MEMBER_IN)
        m->version = 0;
    m->told_busy = 0; /* nothing follows from it */
    m->back_off_ms = m->told_failed ? 1 : 0;
}

static void forget_sessions(struct group_state *st)
{
    for (int i = 0; i < GROUP_SESSIONS; i++)
        for (int k = 0; k < st->s[i].late; k++)
            st->s[i].writes[k].number = (struct exchange_request){.question = 0};
}

/* In a node that is its own, and that is there unless an administrator has just deleted it. */
static void check_beliefs(struct group_state *st)
{
    for (int i = 0; i < group_config.processes; i++) {
        const struct group_process *p = &st->p[i];
        const bool stands = st->owner != 0 && st->czxid == p->machine.told_czxid;
        if (p->crashed || !p->machine.told_in || (!stands && st->administered))
            continue;
        if (!p->valid || !stands || st->owner != p->session)
            group_fail(st, GROUP_BELIEVED);
    }
}

void group_do(void *state, struct breadth_step by)
{
    struct group_state *st = state;

    if (moves[by.kind].fault)
        st->faults--;
    take(st, by);
    check_beliefs(st);
    for (int i = 0; i < group_config.processes; i++) {
        if (st->p[i].crashed)
            continue;
        forget(&st->p[i]);
        renumber(&st->p[i]);
    }
    forget_sessions(st);
    rank(st);
}

static bool is_waiting_rightly(const struct group_state *st, int at)
{
    const struct group_process *p = &st->p[at];

    return p->machine.state == MEMBER_WAITING && st->owner != 0 && st->czxid == p->machine.czxid;
}

int group_check_end(const void *state)
{
    const struct group_state *st = state;

    for (int i = 0; i < group_config.processes; i++) {
        const struct group_process *p = &st->p[i];
        const bool over = p->machine.state == MEMBER_OVER;
        if (p->crashed)
            continue;
        if (over && st->owner == p->session)
            return GROUP_REMAINS;
        if (over != p->left)
            return GROUP_STUCK;
        if (!over && !is_waiting_rightly(st, i) &&
            (!p->machine.told_in || p->machine.written != p->machine.wanted ||
             st->gen != p->machine.wanted))
            return GROUP_STUCK;
    }
    return GROUP_WHOLE;
}
