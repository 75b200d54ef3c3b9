/* Every interleaving of the processes that want one member's id and a few faults, breadth first:
 * connections break, sessions end or are left behind, processes die, requests are applied when
 * nobody waits for them any more, even behind their repetitions and later ones of the session
 * (docs/design/late.md). usage: members [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/machine.h"
#include "recipes/member.h"

enum { GROUP_PROCESSES = 3, GROUP_SESSIONS = 6, GROUP_ASKED = 6, GROUP_HEARD = 8 };
enum { GROUP_LATES = GROUP_SESSIONS * GROUP_ASKED }; /* session by session */

enum group_move {
    GROUP_SERVE,
    GROUP_DELIVER,
    GROUP_HOLD, /* a lost answer is told later than the next one: lib/session/request.c */
    GROUP_BEGIN,
    GROUP_TIMER,
    GROUP_PROVE,
    GROUP_EXPIRE, /* .at: a session, as of NEVER */
    GROUP_REPLACE,
    GROUP_LEAVE,
    GROUP_UPDATE,
    GROUP_BREAK,
    GROUP_LATE, /* .at: of GROUP_LATES */
    GROUP_NEVER,
    GROUP_LAPSE,
    GROUP_ABANDON, /* the server does not hear of the old one's end */
    GROUP_CRASH,
    GROUP_REFUSE,
    GROUP_DELETE,
    GROUP_MOVES
};

struct group_ask {
    uint8_t verb; /* enum store_kind */
    bool watch, passes, repeated;
    uint8_t gen, version, connection, unused;
    struct exchange_request number;
};

struct group_heard {
    uint8_t kind; /* enum machine_event_kind: an answer is one to .ask, which is asked again if the
                     connection breaks */
    uint8_t rc;
    bool own, gone;
    uint8_t version, gen, unused[2];
    uint64_t czxid;
    struct group_ask ask;
};

struct group_process {
    struct member machine;
    struct exchange exchange;
    bool crashed, begun, valid;
    uint8_t session; /* from 1; of the world's */
    uint8_t broken;  /* connections */
    bool armed;      /* the machine's timer */
    uint8_t asked, heard;
    struct group_ask ask[GROUP_ASKED];
    struct group_heard hear[GROUP_HEARD];
    bool watches;    /* the server has its watch on the node */
    uint8_t updates; /* left */
    bool left;
};

struct group_session {
    uint8_t process; /* from 1; 0: none yet */
    bool ended;
    uint8_t late; /* writes that may still be applied; those of one connection in order */
    struct group_ask writes[GROUP_ASKED];
};

struct group_state {
    struct group_process p[GROUP_PROCESSES];
    struct group_session s[GROUP_SESSIONS]; /* the first is nobody's */
    uint64_t zxid;
    uint8_t owner; /* of the node, a session; 0: there is none */
    uint8_t version, gen;
    uint64_t czxid;
    uint8_t faults;
    bool administered;
};

struct group_config {
    int processes, updates;
    bool leaves, administrator;
};

static const struct group_config *config;

static const struct breadth_kind moves[GROUP_MOVES] = {
    [GROUP_SERVE] = {"the server takes up a request of", FAIR, GROUP_PROCESSES},
    [GROUP_DELIVER] = {"an answer or event reaches", FAIR, GROUP_PROCESSES},
    [GROUP_HOLD] = {"hears later of what was lost", PERHAPS, GROUP_PROCESSES},
    [GROUP_BEGIN] = {"joins", FAIR, GROUP_PROCESSES},
    [GROUP_TIMER] = {"tries again", FAIR, GROUP_PROCESSES},
    [GROUP_PROVE] = {"proves its session", FAIR, GROUP_PROCESSES},
    [GROUP_EXPIRE] = {"the server ends session", FAIR, GROUP_SESSIONS},
    [GROUP_REPLACE] = {"hears that its session has expired", FAIR, GROUP_PROCESSES},
    [GROUP_LEAVE] = {"leaves", PERHAPS, GROUP_PROCESSES},
    [GROUP_UPDATE] = {"has other data", PERHAPS, GROUP_PROCESSES},
    [GROUP_BREAK] = {"the connection breaks of", FAULT, GROUP_PROCESSES},
    [GROUP_LATE] = {"a request of a broken connection is applied, number", PERHAPS, GROUP_LATES},
    [GROUP_NEVER] = {"what may come late never will, of session", FAIR, GROUP_SESSIONS},
    [GROUP_LAPSE] = {"the deadline passes of", FAULT, GROUP_PROCESSES},
    [GROUP_ABANDON] = {"opens another session", FAULT, GROUP_PROCESSES},
    [GROUP_CRASH] = {"crashes", FAULT, GROUP_PROCESSES},
    [GROUP_REFUSE] = {"the server refuses a create of", FAULT, GROUP_PROCESSES},
    [GROUP_DELETE] = {"an administrator deletes the node", FAULT, 1},
};

/* ---- the server ---- */

static void hear(struct group_state *st, int at, struct group_heard what)
{
    struct group_process *p = &st->p[at];

    if (p->crashed)
        return;
    flat_push(p->hear, &p->heard, GROUP_HEARD, sizeof what, &what);
}

static bool is_write(const struct group_ask *a)
{
    return a->verb != STORE_GET && !a->passes;
}

static void fire(struct group_state *st, bool gone)
{
    for (int i = 0; i < GROUP_PROCESSES; i++) {
        if (st->p[i].watches)
            hear(st, i, (struct group_heard){.kind = MACHINE_EV_FIRED, .gone = gone});
        st->p[i].watches = false;
    }
}

static void remove_node(struct group_state *st)
{
    if (!st->owner)
        return;
    st->owner = st->version = st->gen = 0;
    st->czxid = 0;
    fire(st, true);
}

static void drop_late(struct group_state *st, int session)
{
    st->s[session].late = 0;
    memset(st->s[session].writes, 0, sizeof st->s[session].writes);
}

static void end_session(struct group_state *st, int session)
{
    st->s[session].ended = true;
    drop_late(st, session);
    if (st->owner == session)
        remove_node(st);
}

static enum store_rc create(struct group_state *st, int session, const struct group_ask *a,
                            struct group_heard *reply)
{
    if (st->owner)
        return STORE_EXISTS;
    st->owner = (uint8_t)session;
    st->version = 0;
    st->gen = a->gen;
    st->czxid = reply->czxid = ++st->zxid;
    return STORE_OK;
}

static enum store_rc set(struct group_state *st, int session, const struct group_ask *a,
                         struct group_heard *reply)
{
    if (!st->owner)
        return STORE_NONODE;
    if (st->version != a->version)
        return STORE_BADVERSION;
    breadth_require((st->owner == session && a->gen >= st->gen) || st->administered,
                    "older data were written");
    st->gen = a->gen;
    reply->version = ++st->version;
    fire(st, false);
    return STORE_OK;
}

static enum store_rc delete_node(struct group_state *st, int session)
{
    if (!st->owner)
        return STORE_NONODE;
    breadth_require(st->owner == session || st->administered,
                    "a node was deleted by another session than its own");
    remove_node(st);
    return STORE_OK;
}

static enum store_rc write_one(struct group_state *st, int session, const struct group_ask *a,
                               struct group_heard *reply)
{
    if (a->verb == STORE_CREATE)
        return create(st, session, a, reply);
    return a->verb == STORE_SET ? set(st, session, a, reply) : delete_node(st, session);
}

static void apply_late(struct group_state *st, int late)
{
    struct group_session *s = &st->s[late / GROUP_ASKED];
    struct group_heard unheard = {.kind = 0};
    const struct group_ask what = s->writes[late % GROUP_ASKED];

    flat_remove(s->writes, &s->late, sizeof what, late % GROUP_ASKED);
    write_one(st, late / GROUP_ASKED, &what, &unheard);
}

/* One of the same connection comes before it. */
static bool is_behind(const struct group_session *s, int late)
{
    for (int i = 0; i < late; i++)
        if (s->writes[i].connection == s->writes[late].connection)
            return true;
    return false;
}

static enum store_rc read_node(struct group_state *st, int at, const struct group_ask *a,
                               struct group_heard *reply)
{
    struct group_process *p = &st->p[at];

    if (!st->owner)
        return STORE_NONODE;
    p->watches |= a->watch;
    reply->own = st->owner == p->session;
    reply->czxid = st->czxid;
    reply->version = st->version;
    reply->gen = st->gen;
    return STORE_OK;
}

static void serve(struct group_state *st, int at, bool refused)
{
    struct group_process *p = &st->p[at];
    const struct group_ask a = p->ask[0];
    struct group_heard reply = {.kind = MACHINE_EV_ANSWER, .ask = a};

    flat_remove(p->ask, &p->asked, sizeof a, 0);
    if (refused)
        reply.rc = STORE_NOAUTH;
    else if (a.verb == STORE_GET)
        reply.rc = (uint8_t)read_node(st, at, &a, &reply);
    else if (a.passes)
        reply.rc = STORE_BADVERSION;
    else
        reply.rc = (uint8_t)write_one(st, p->session, &a, &reply);
    hear(st, at, reply);
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

static void init(void *state, const void *data)
{
    struct group_state *st = state;

    config = data;
    for (int i = 0; i < config->processes; i++) {
        st->p[i].updates = (uint8_t)config->updates;
        exchange_plain(&st->p[i].exchange);
        open_session(st, i);
    }
}

/* ---- the driver ---- */

static void ignore(struct group_process *p)
{
    p->watches = false;
    for (int i = p->heard; i-- > 0;)
        if (p->hear[i].kind == MACHINE_EV_FIRED)
            flat_remove(p->hear, &p->heard, sizeof p->hear[0], i);
}

static void ask(struct group_process *p, const struct machine_action *a)
{
    const bool passes = a->version == INT32_MAX;
    const struct group_ask what = {.verb = (uint8_t)a->verb,
                                   .watch = a->watch,
                                   .passes = passes,
                                   .gen = (uint8_t)p->machine.wanted,
                                   .version = passes ? 0 : (uint8_t)a->version,
                                   .number = exchange_ask(&p->exchange, a)};

    flat_push(p->ask, &p->asked, GROUP_ASKED, sizeof what, &what);
}

static void act(struct group_process *p, const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_REQUEST)
        ask(p, a);
    if (a->kind == MACHINE_ACT_UNWATCH || a->kind == MACHINE_ACT_END)
        ignore(p);
    if (a->kind == MACHINE_ACT_FORGET)
        exchange_forget(&p->exchange, a->slot);
    if (a->kind == MACHINE_ACT_ARM)
        p->armed = true;
    if (a->kind == MACHINE_ACT_DISARM || a->kind == MACHINE_ACT_END)
        p->armed = false;
    if (a->kind == MACHINE_ACT_END)
        exchange_end(&p->exchange);
}

static void step(struct group_state *st, int at, struct machine_event ev, bool same)
{
    struct group_process *p = &st->p[at];
    const bool waited = ev.kind == MACHINE_EV_TIMER && st->s[p->session].late == 0;
    const struct member_moment moment = {.now = waited, .valid = p->valid, .same = same};
    struct machine_actions actions = {.count = 0};

    member_step(&p->machine, &ev, &moment, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        act(p, &actions.list[i]);
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
                                     .own = h.own,
                                     .late_until = h.ask.repeated || h.rc == STORE_UNKNOWN};

    flat_remove(p->hear, &p->heard, sizeof h, 0);
    if (h.kind == MACHINE_EV_FIRED
            ? is_read_again(p)
            : exchange_answered(&p->exchange, h.ask.number, &ev) != EXCHANGE_HEARD)
        return;
    step(st, at, ev, h.gen == p->machine.wanted);
}

/* Only what is sent once is lost. */
static bool is_lost_answer(const struct group_heard *h)
{
    return h->kind == MACHINE_EV_ANSWER && h->rc == STORE_UNKNOWN;
}

static void tell_lost_later(struct group_process *p)
{
    const struct group_heard lost = p->hear[0];

    p->hear[0] = p->hear[1];
    p->hear[1] = lost;
}

/* ---- connections and sessions ---- */

static bool is_once(const struct group_ask *a)
{
    return is_write(a) && a->verb != STORE_CREATE;
}

static void put_late(struct group_state *st, int session, const struct group_ask *a)
{
    struct group_session *s = &st->s[session];

    if (!is_write(a) || s->ended)
        return;
    flat_push(s->writes, &s->late, GROUP_ASKED, sizeof *a, a);
    s->writes[s->late - 1].connection = st->p[s->process - 1].broken;
}

static void lose(struct group_state *st, int at, struct group_ask a)
{
    a.repeated = is_write(&a);
    if (is_once(&a))
        hear(st, at,
             (struct group_heard){.kind = MACHINE_EV_ANSWER, .rc = STORE_UNKNOWN, .ask = a});
    else
        flat_push(st->p[at].ask, &st->p[at].asked, GROUP_ASKED, sizeof a, &a);
}

static void drop_asked(struct group_process *p)
{
    memset(p->ask, 0, sizeof p->ask);
    memset(p->hear, 0, sizeof p->hear);
    p->asked = p->heard = 0;
}

/* What was not answered is asked again, in order, but what is asked once; what the server had not
 * taken up it may still. Events stay: the watches are set again, and tell what was missed. */
static void break_connection(struct group_state *st, int at)
{
    struct group_process *p = &st->p[at];
    const struct group_process was = *p;

    drop_asked(p);
    for (int i = 0; i < was.heard; i++) {
        if (was.hear[i].kind == MACHINE_EV_ANSWER)
            lose(st, at, was.hear[i].ask);
        else
            hear(st, at, was.hear[i]);
    }
    for (int i = 0; i < was.asked; i++) {
        put_late(st, p->session, &was.ask[i]);
        lose(st, at, was.ask[i]);
    }
    p->broken++;
}

static void drop_all(struct group_process *p)
{
    drop_asked(p);
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

static void happen(struct group_state *st, struct move move)
{
    struct group_process *p = &st->p[move.at < GROUP_PROCESSES ? move.at : 0];

    switch (move.kind) {
    case GROUP_SERVE:
    case GROUP_REFUSE:
        serve(st, move.at, move.kind == GROUP_REFUSE);
        break;
    case GROUP_DELIVER:
        deliver(st, move.at);
        break;
    case GROUP_HOLD:
        tell_lost_later(p);
        break;
    case GROUP_BEGIN:
        p->begun = true;
        step_kind(st, move.at, MACHINE_EV_BEGIN);
        break;
    case GROUP_TIMER:
        p->armed = false;
        step_kind(st, move.at, MACHINE_EV_TIMER);
        break;
    case GROUP_PROVE:
    case GROUP_LAPSE:
        p->valid = move.kind == GROUP_PROVE;
        step_kind(st, move.at, MEMBER_EV_STANDING);
        break;
    case GROUP_EXPIRE:
        end_session(st, move.at);
        break;
    case GROUP_REPLACE:
        replace(st, move.at);
        break;
    case GROUP_LEAVE:
        p->left = true;
        step_kind(st, move.at, MEMBER_EV_LEAVE);
        break;
    case GROUP_UPDATE:
        p->updates--;
        step_kind(st, move.at, MEMBER_EV_UPDATE);
        break;
    case GROUP_BREAK:
        break_connection(st, move.at);
        break;
    case GROUP_LATE:
        apply_late(st, move.at);
        break;
    case GROUP_NEVER:
        drop_late(st, move.at);
        break;
    case GROUP_ABANDON:
        leave_behind(st, move.at);
        replace(st, move.at);
        break;
    case GROUP_CRASH:
        crash(st, move.at);
        break;
    default:
        st->administered = true;
        remove_node(st);
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

static bool may_happen_to(const struct group_state *st, enum group_move kind, int at)
{
    const struct group_process *p = &st->p[at];
    const bool alive = !st->s[p->session].ended, in = p->begun && p->machine.state != MEMBER_OVER;

    switch (kind) {
    case GROUP_SERVE:
        return p->asked > 0 && alive;
    case GROUP_DELIVER:
        return p->heard > 0;
    case GROUP_HOLD:
        return p->heard > 1 && is_lost_answer(&p->hear[0]) && !is_lost_answer(&p->hear[1]);
    case GROUP_BEGIN:
        return !p->begun;
    case GROUP_TIMER:
        return p->armed && (p->machine.state == MEMBER_BACKED_OFF || st->s[p->session].late == 0);
    case GROUP_PROVE:
        return !p->valid && alive;
    case GROUP_REPLACE:
        return !alive && (p->heard == 0 || (p->heard == 1 && is_lost_answer(&p->hear[0]))) &&
               has_room(st);
    case GROUP_LEAVE:
        return in && config->leaves && !p->left;
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

/* The machine ignores the answer to a set that it no longer waits for. */
static struct exchange_request renumbered(const struct group_process *p, struct exchange_request r)
{
    r = exchange_plain_request(&p->exchange, r);
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
    for (int i = 0; i < config->processes; i++) {
        const struct group_process *p = &st->p[i];
        const bool stands = st->owner != 0 && st->czxid == p->machine.told_czxid;
        if (p->crashed || !p->machine.told_in || (!stands && st->administered))
            continue;
        breadth_require(p->valid && stands && st->owner == p->session,
                        "believes in a node that is not there, or is another's");
    }
}

static void take(void *state, struct move move)
{
    struct group_state *st = state;
    struct flat_numbers all = {.count = 0};

    happen(st, move);
    check_beliefs(st);
    for (int i = 0; i < config->processes; i++) {
        if (st->p[i].crashed)
            continue;
        forget(&st->p[i]);
        renumber(&st->p[i]);
    }
    forget_sessions(st);
    collect(st, &all);
    flat_rank(&all);
}

static bool is_waiting_rightly(const struct group_state *st, int at)
{
    const struct group_process *p = &st->p[at];

    return p->machine.state == MEMBER_WAITING && st->owner != 0 && st->czxid == p->machine.czxid;
}

static bool may(const void *state, struct move move)
{
    const struct group_state *st = state;

    if (move.kind == GROUP_DELETE)
        return config->administrator && st->owner;
    if (move.kind == GROUP_EXPIRE)
        return may_expire(st, move.at);
    if (move.kind == GROUP_NEVER)
        return st->s[move.at].late > 0;
    if (move.kind == GROUP_LATE)
        return move.at % GROUP_ASKED < st->s[move.at / GROUP_ASKED].late &&
               !is_behind(&st->s[move.at / GROUP_ASKED], move.at % GROUP_ASKED);
    return move.at < config->processes && !st->p[move.at].crashed &&
           may_happen_to(st, (enum group_move)move.kind, move.at);
}

static const char *check_end(const void *state)
{
    const struct group_state *st = state;

    for (int i = 0; i < config->processes; i++) {
        const struct group_process *p = &st->p[i];
        const bool over = p->machine.state == MEMBER_OVER;
        if (p->crashed)
            continue;
        if (over && st->owner == p->session)
            return "a node stands of one that has left";
        if (over != p->left)
            return "nothing can happen, and one is not in who could be, or in who has left";
        if (!over && !is_waiting_rightly(st, i) &&
            (!p->machine.told_in || p->machine.written != p->machine.wanted ||
             st->gen != p->machine.wanted))
            return "nothing can happen, and one is not in who could be, or in who has left";
    }
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(group_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"one that leaves", ALWAYS, 3, CONFIG(.processes = 1, .updates = 2, .leaves = true)},
    {"one with an administrator", ALWAYS, 3,
     CONFIG(.processes = 1, .updates = 1, .leaves = true, .administrator = true)},
    {"two of one id", ALWAYS, 2, CONFIG(.processes = 2)},
    {"two with data", ALWAYS, 1, CONFIG(.processes = 2, .updates = 1, .leaves = true)},
    {"two that leave", ALWAYS, 2, CONFIG(.processes = 2, .leaves = true)},
    {"two with an administrator", ALWAYS, 2,
     CONFIG(.processes = 2, .leaves = true, .administrator = true)},
    {"two that leave", SOAK, 3, CONFIG(.processes = 2, .leaves = true)},
    {"three of one id", ALWAYS, 2, CONFIG(.processes = 3)},
    {"three that leave", SOAK, 1, CONFIG(.processes = 3, .leaves = true)},
};

static void print(const void *state)
{
    const struct group_state *st = state;

    for (int i = 0; i < config->processes; i++)
        printf(" %s%s%s of session %d, node %d;", member_state_name(st->p[i].machine.state),
               st->p[i].crashed ? " (crashed)" : "", st->p[i].machine.told_in ? " (believes)" : "",
               st->p[i].session, (int)st->p[i].machine.czxid);
    printf(" node %d of session %d", (int)st->czxid, st->owner);
}

static const char *state_name(int state)
{
    return member_state_name((enum member_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct group_state),
        .machine = offsetof(struct group_state, p[0].machine.state),
        .stride = sizeof(struct group_process), .machines = GROUP_PROCESSES,
        .states = MEMBER_STATES};

    return breadth_main(&world, argc, argv);
}
