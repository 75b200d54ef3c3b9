/* Every interleaving of handles of one mutex that retain their lock, each with a session of its own
 * and some callers, a contender of another library and a few faults, breadth first. An attempt is
 * as much of lib/contender/contender.c as matters here: it creates, lists, waits for whoever is
 * ahead. usage: retains [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/retain.h"

enum {
    RETAINED_HANDLES = 2,
    RETAINED_CALLERS = 3,
    RETAINED_NODES = 6,
    RETAINED_REQUESTS = 8,
    RETAINED_ANSWERS = 8,
    RETAINED_FOREIGNER = RETAINED_HANDLES /* as the owner of a node */
};

/* What retain_step() takes for now: times are as long ago, or away. */
#define RETAINED_NOW INT64_C(1000000000000)
#define RETAINED_TICK INT64_C(60000000)
#define RETAINED_IDLE INT64_C(100000000)

enum retained_move {
    RETAINED_SERVE,
    RETAINED_DELIVER,
    RETAINED_TIMER,
    RETAINED_END_TOLD,
    RETAINED_DOUBT,
    RETAINED_CONNECT,
    RETAINED_PROVE,
    RETAINED_FOREIGN_GRANT,
    RETAINED_FOREIGN_LEAVE,
    RETAINED_UNLOCK, /* .at: RETAINED_CALLERS times the handle, and the caller, as of the next */
    RETAINED_LOCK,
    RETAINED_TRY,
    RETAINED_GIVE_UP,
    RETAINED_UNLOCK_END,
    RETAINED_IDLE_TIMER,
    RETAINED_YIELD,
    RETAINED_CLOSE,
    RETAINED_LAPSE,
    RETAINED_EXPIRE,
    RETAINED_FOREIGN_COME,
    RETAINED_TICKS,
    RETAINED_BREAK,
    RETAINED_FAIL,
    RETAINED_UNLOOKED,
    RETAINED_DELETE,
    RETAINED_MOVES
};

enum retained_caller {
    CALLER_OUT,
    CALLER_WAITS,
    CALLER_TRIES,
    CALLER_HAS,
    CALLER_LOST, /* its turn, by the deadline: the machine has not heard so */
    CALLER_STALE /* the tenure of its turn is over */
};
enum retained_phase { PHASE_NONE, PHASE_ATTEMPT, PHASE_SPAN };
enum retained_message {
    REQUEST_CREATE = 1,
    REQUEST_DELETE,
    REQUEST_LIST,
    REQUEST_LOOK,
    ANSWER_CREATED,
    ANSWER_LISTED,
    ANSWER_LOOKED,
    EVENT_HEAD,  /* whoever was ahead is gone */
    EVENT_CHILD, /* the watch on the children */
    EVENT_GONE   /* the own node */
};

struct retained_wire {
    uint8_t what;       /* enum retained_message */
    uint8_t generation; /* of the attempt */
    bool watch, others, ahead, absent;
};

struct retained_handle {
    struct retain machine;
    uint8_t caller[RETAINED_CALLERS]; /* enum retained_caller */
    uint8_t left[RETAINED_CALLERS];   /* so often it locks yet */
    uint8_t line[RETAINED_CALLERS];   /* those that wait, in order */
    uint8_t waiting;
    uint8_t requests, answers;
    struct retained_wire request[RETAINED_REQUESTS], answer[RETAINED_ANSWERS];
    uint8_t generation; /* of the attempt or tenure */
    uint8_t phase;      /* enum retained_phase */
    uint8_t owner;      /* of the last turn, from 1 on */
    uint8_t gate;       /* so many turns may begin yet, once it has .heard */
    bool tries;         /* the attempt */
    bool closed;
    bool up, doubt, lapsed;
    bool dead;    /* the deadline of the tenure has passed, or its node is gone: to be told */
    bool deleted; /* its node, by an administrator */
    bool looking, watch /* at the server */, alone /* in the last list */;
    bool heard, late;
    bool armed;
    int64_t due;
};

struct retained_node {
    uint8_t owner, generation;
    uint8_t served; /* so many turns */
    bool waits;     /* its owner hears when it is at the head */
};

struct retained_state {
    struct retained_handle h[RETAINED_HANDLES];
    struct retained_node node[RETAINED_NODES]; /* in the order in which they were created */
    uint8_t nodes;
    bool foreign, foreign_holds;
    uint8_t arrivals, ticks, faults; /* left */
};

struct retained_config {
    int handles, callers, locks; /* each caller so often */
    int arrivals, ticks;
    uint32_t local_turns;
    bool tries, fence64;
    bool blind;   /* who has waited does not know who is behind */
    bool forever; /* an idle tenure has no end of its own */
    bool guard;   /* what it costs is looked at */
    bool ends;    /* users give up, close, yield, and end turns that cannot go on */
};

static const struct retained_config *config;

static const struct breadth_kind moves[RETAINED_MOVES] = {
    [RETAINED_SERVE] = {"the server does what was sent", FAIR, RETAINED_HANDLES},
    [RETAINED_DELIVER] = {"an answer or event comes", FAIR, RETAINED_HANDLES},
    [RETAINED_TIMER] = {"the timer", FAIR, RETAINED_HANDLES},
    [RETAINED_END_TOLD] = {"the end of the node is told", FAIR, RETAINED_HANDLES},
    [RETAINED_DOUBT] = {"the session is in doubt", FAIR, RETAINED_HANDLES},
    [RETAINED_CONNECT] = {"connects", FAIR, RETAINED_HANDLES},
    [RETAINED_PROVE] = {"the doubt is over", FAIR, RETAINED_HANDLES},
    [RETAINED_FOREIGN_GRANT] = {"the foreigner has it", FAIR, 1},
    [RETAINED_FOREIGN_LEAVE] = {"the foreigner leaves", FAIR, 1},
    [RETAINED_UNLOCK] = {"unlocks", FAIR, RETAINED_HANDLES *RETAINED_CALLERS},
    [RETAINED_LOCK] = {"locks", PERHAPS, RETAINED_HANDLES *RETAINED_CALLERS},
    [RETAINED_TRY] = {"tries", PERHAPS, RETAINED_HANDLES *RETAINED_CALLERS},
    [RETAINED_GIVE_UP] = {"gives up", PERHAPS, RETAINED_HANDLES *RETAINED_CALLERS},
    [RETAINED_UNLOCK_END] = {"unlocks what cannot go on", PERHAPS,
                             RETAINED_HANDLES *RETAINED_CALLERS},
    [RETAINED_IDLE_TIMER] = {"the timer, while somebody waits for the end of a doubt,", PERHAPS,
                             RETAINED_HANDLES},
    [RETAINED_YIELD] = {"yields", PERHAPS, RETAINED_HANDLES},
    [RETAINED_CLOSE] = {"is closed", PERHAPS, RETAINED_HANDLES},
    [RETAINED_LAPSE] = {"the deadline passes", PERHAPS, RETAINED_HANDLES},
    [RETAINED_EXPIRE] = {"the session expires", PERHAPS, RETAINED_HANDLES},
    [RETAINED_FOREIGN_COME] = {"the foreigner comes", PERHAPS, 1},
    [RETAINED_TICKS] = {"time passes", PERHAPS, 1},
    [RETAINED_BREAK] = {"the connection breaks", FAULT, RETAINED_HANDLES},
    [RETAINED_FAIL] = {"the attempt fails", FAULT, RETAINED_HANDLES},
    [RETAINED_UNLOOKED] = {"the list is refused", FAULT, RETAINED_HANDLES},
    [RETAINED_DELETE] = {"an administrator deletes the node", FAULT, RETAINED_HANDLES},
};

static bool is_sure(const struct retained_handle *h)
{
    return !h->doubt && !h->lapsed && !h->dead;
}

static void send_request(struct retained_handle *h, unsigned what, uint8_t generation, bool watch)
{
    const struct retained_wire w = {
        .what = (uint8_t)what, .generation = generation, .watch = watch};

    flat_push(h->request, &h->requests, RETAINED_REQUESTS, sizeof w, &w);
}

static void ask(struct retained_handle *h, enum retained_message what, bool watch)
{
    send_request(h, what, h->generation, watch);
}

/* ---- the server ---- */

/* Where the node is; -1: nowhere. */
static int find(const struct retained_state *st, uint8_t owner, uint8_t generation)
{
    for (uint8_t i = 0; i < st->nodes; i++) {
        if (st->node[i].owner == owner && st->node[i].generation == generation)
            return i;
    }
    return -1;
}

static void answer(struct retained_handle *h, struct retained_wire w)
{
    flat_push(h->answer, &h->answers, RETAINED_ANSWERS, sizeof w, &w);
}

/* Something was created or deleted: watches fire, and who is first now hears so. */
static void changed(struct retained_state *st)
{
    struct retained_node *head = &st->node[0];

    for (uint8_t i = 0; i < RETAINED_HANDLES; i++) {
        if (!st->h[i].watch)
            continue;
        st->h[i].watch = false;
        answer(&st->h[i],
               (struct retained_wire){.what = EVENT_CHILD, .generation = st->h[i].generation});
    }
    if (st->nodes == 0 || !head->waits)
        return;
    head->waits = false;
    answer(&st->h[head->owner], (struct retained_wire){.what = EVENT_HEAD,
                                                       .generation = head->generation,
                                                       .others = st->nodes > 1});
}

static void create_node(struct retained_state *st, uint8_t owner, uint8_t generation)
{
    const struct retained_node node = {.owner = owner, .generation = generation};

    flat_push(st->node, &st->nodes, RETAINED_NODES, sizeof node, &node);
    changed(st);
}

static void foreign_come(struct retained_state *st)
{
    st->arrivals--;
    st->foreign = true;
    create_node(st, RETAINED_FOREIGNER, 0);
}

static void remove_node(struct retained_state *st, uint8_t at)
{
    flat_remove(st->node, &st->nodes, sizeof st->node[0], at);
    changed(st);
}

/* The driver has dropped the watch of what is not its present attempt. */
static void serve_list(struct retained_state *st, uint8_t h, const struct retained_wire *r)
{
    struct retained_handle *handle = &st->h[h];
    const bool looks = r->what == REQUEST_LOOK;
    const int own = find(st, h, r->generation);

    answer(handle, (struct retained_wire){.what = looks ? ANSWER_LOOKED : ANSWER_LISTED,
                                          .generation = r->generation,
                                          .watch = r->watch,
                                          .absent = own<0, .ahead = own> 0,
                                          .others = st->nodes > (own >= 0)});
    if (r->watch && own <= 0 && r->generation == handle->generation && handle->phase != PHASE_NONE)
        handle->watch = true;
    if (!looks && own > 0 && !handle->tries)
        st->node[own].waits = true;
}

static void serve(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];
    const struct retained_wire r = handle->request[0];
    int own;

    flat_remove(handle->request, &handle->requests, sizeof handle->request[0], 0);
    if (r.what == REQUEST_CREATE) {
        create_node(st, h, r.generation);
        answer(handle, (struct retained_wire){
                           .what = ANSWER_CREATED, .generation = r.generation, .watch = r.watch});
    } else if (r.what == REQUEST_DELETE) {
        if ((own = find(st, h, r.generation)) >= 0)
            remove_node(st, (uint8_t)own);
    } else {
        serve_list(st, h, &r);
    }
}

/* ---- connections ---- */

static bool is_list(const struct retained_wire *w)
{
    return w->what == ANSWER_LISTED || w->what == ANSWER_LOOKED;
}

static void drop_all(struct retained_handle *h)
{
    memset(h->request, 0, sizeof h->request);
    memset(h->answer, 0, sizeof h->answer);
    h->requests = h->answers = 0;
}

/* A list whose answer is lost is sent again, first; the watch it has left serves nobody. What else
 * was told is told again: an attempt finds its node, watches that were known are replayed. */
static void break_connection(struct retained_handle *h)
{
    const struct retained_handle was = *h;
    bool listed = false, watched = false;

    drop_all(h);
    for (uint8_t i = 0; i < was.answers; i++) {
        const struct retained_wire *w = &was.answer[i];
        if (is_list(w)) {
            listed = listed || w->what == ANSWER_LISTED;
            watched = watched || w->watch;
            send_request(h, w->what == ANSWER_LISTED ? REQUEST_LIST : REQUEST_LOOK, w->generation,
                         w->watch);
        } else if (!(w->what == EVENT_CHILD && watched) && !(w->what == EVENT_HEAD && listed)) {
            answer(h, *w);
        }
    }
    for (uint8_t i = 0; i < was.requests; i++)
        send_request(h, was.request[i].what, was.request[i].generation, was.request[i].watch);
    h->watch = h->watch && !watched;
    h->up = false;
}

/* Its nodes vanish; what was under way is begun anew in the next session. */
static void expire(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    handle->watch = false;
    drop_all(handle);
    for (uint8_t i = st->nodes; i-- > 0;) {
        if (st->node[i].owner == h)
            st->node[i].waits = false;
    }
    for (uint8_t i = st->nodes; i-- > 0;) {
        if (st->node[i].owner == h)
            remove_node(st, i);
    }
    handle->up = true;
    handle->doubt = handle->lapsed = false;
    if (handle->phase == PHASE_ATTEMPT)
        ask(handle, REQUEST_CREATE, false);
}

/* ---- the driver: callers ---- */

static uint8_t take_from_line(struct retained_handle *h, uint8_t at)
{
    const uint8_t caller = h->line[at];

    flat_remove(h->line, &h->waiting, 1, at);
    return caller;
}

static bool has_turn(const struct retained_handle *h)
{
    for (uint8_t i = 0; i < RETAINED_CALLERS; i++) {
        if (h->caller[i] == CALLER_HAS)
            return true;
    }
    return false;
}

static void lose_turn(struct retained_handle *h)
{
    for (uint8_t i = 0; i < RETAINED_CALLERS; i++) {
        if (h->caller[i] == CALLER_HAS)
            h->caller[i] = CALLER_LOST;
    }
}

/* ---- the driver: actions ---- */

static void check_turn(struct retained_state *st, uint8_t h, uint64_t turn)
{
    const struct retained_handle *handle = &st->h[h];
    const int own = find(st, h, handle->generation);

    breadth_require(handle->phase == PHASE_SPAN && is_sure(handle),
                    "a turn begins in doubt, behind the deadline or behind the delete");
    breadth_require(!has_turn(handle), "two valid turns at a time");
    breadth_require(own == 0 || (own < 0 && handle->deleted),
                    "the pair of token and turn does not rise");
    breadth_require(own < 0 || turn >= st->node[own].served,
                    "the pair of token and turn does not rise");
    if (own >= 0)
        st->node[own].served = (uint8_t)(turn + 1);
    if (handle->heard)
        breadth_require(handle->gate > 0 && !handle->late, "more turns before a rival than may be");
}

static void begin_turn(struct retained_state *st, uint8_t h, uint64_t turn)
{
    struct retained_handle *handle = &st->h[h];

    breadth_require(handle->waiting > 0, "asks for what cannot be asked then");
    check_turn(st, h, turn);
    if (handle->waiting == 0)
        return;
    const uint8_t caller = take_from_line(handle, 0);
    breadth_require(!config->fence64 || turn == 0 || handle->owner == caller + 1,
                    "the pair of token and turn does not rise");
    handle->caller[caller] = CALLER_HAS;
    handle->owner = (uint8_t)(caller + 1);
    if (handle->gate > 0)
        handle->gate--;
}

static void refuse(struct retained_handle *h, bool last)
{
    breadth_require(h->waiting > 0, "asks for what cannot be asked then");
    if (h->waiting == 0)
        return;
    const uint8_t caller = take_from_line(h, last ? h->waiting - 1 : 0);
    breadth_require(h->caller[caller] == CALLER_TRIES,
                    "who tries waits for others, or somebody else is refused");
    h->caller[caller] = CALLER_OUT;
}

static bool is_used(const struct retained_state *st, uint8_t h, uint8_t generation)
{
    const struct retained_handle *handle = &st->h[h];

    if (find(st, h, generation) >= 0 || handle->generation == generation)
        return true;
    for (uint8_t i = 0; i < handle->requests; i++) {
        if (handle->request[i].generation == generation)
            return true;
    }
    for (uint8_t i = 0; i < handle->answers; i++) {
        if (handle->answer[i].generation == generation)
            return true;
    }
    return false;
}

static void forget_tenure(struct retained_handle *h)
{
    for (uint8_t i = 0; i < RETAINED_CALLERS; i++) {
        if (h->caller[i] == CALLER_LOST)
            h->caller[i] = CALLER_STALE;
    }
    h->phase = PHASE_NONE;
    h->heard = h->late = h->dead = h->looking = h->watch = h->deleted = false;
    h->gate = 0;
}

static void enter(struct retained_state *st, uint8_t h, const struct retain_action *a)
{
    struct retained_handle *handle = &st->h[h];
    uint8_t generation = 1;

    breadth_require(handle->phase == PHASE_NONE, "asks for what cannot be asked then");
    breadth_require(handle->waiting > 0, "asks for what cannot be asked then");
    breadth_require(a->tries == (handle->caller[handle->line[0]] == CALLER_TRIES),
                    "who tries waits for others, or somebody else is refused");
    breadth_require(a->watch ? handle->alone : !handle->alone || config->guard,
                    "watches though the last list showed others, or not, though none");
    while (is_used(st, h, generation))
        generation++;
    handle->generation = generation;
    handle->phase = PHASE_ATTEMPT;
    handle->tries = a->tries;
    ask(handle, REQUEST_CREATE, a->watch);
}

static void fail_first(struct retained_handle *h)
{
    breadth_require(h->waiting > 0, "asks for what cannot be asked then");
    if (h->waiting > 0)
        h->caller[take_from_line(h, 0)] = CALLER_OUT;
}

static void perform(struct retained_state *st, uint8_t h, const struct retain_action *a)
{
    struct retained_handle *handle = &st->h[h];

    switch (a->kind) {
    case RETAIN_ACT_TURN:
        begin_turn(st, h, a->turn);
        break;
    case RETAIN_ACT_BUSY:
        refuse(handle, a->last);
        break;
    case RETAIN_ACT_ENTER:
        enter(st, h, a);
        break;
    case RETAIN_ACT_ABANDON:
        breadth_require(handle->phase == PHASE_ATTEMPT && handle->waiting == 0,
                        "asks for what cannot be asked then");
        forget_tenure(handle);
        ask(handle, REQUEST_DELETE, false);
        break;
    case RETAIN_ACT_LOOK:
        breadth_require(handle->phase == PHASE_SPAN && !handle->looking,
                        "asks for what cannot be asked then");
        handle->looking = true;
        ask(handle, REQUEST_LOOK, true);
        break;
    case RETAIN_ACT_END:
        breadth_require(false, "asks for what cannot be asked then"); /* see perform_all() */
        break;
    case RETAIN_ACT_FAIL:
        fail_first(handle);
        break;
    case RETAIN_ACT_ARM:
        handle->armed = true;
        handle->due = a->at - RETAINED_NOW;
        break;
    }
}

/* The node that ends is the one before what is entered, which so finds somebody ahead. One that
 * tries enters behind its end. */
static void perform_all(struct retained_state *st, uint8_t h, const struct retain_actions *actions)
{
    struct retained_handle *handle = &st->h[h];
    const uint8_t generation = handle->generation;
    bool ends = false, entered = false, tries = false;

    for (uint32_t i = 0; i < actions->count; i++) {
        ends = ends || actions->list[i].kind == RETAIN_ACT_END;
        tries = tries || actions->list[i].tries;
    }
    if (ends) {
        breadth_require(handle->phase == PHASE_SPAN && !has_turn(handle),
                        "asks for what cannot be asked then");
        forget_tenure(handle);
        handle->alone = handle->alone && (tries || handle->waiting == 0);
    }
    for (uint32_t i = 0; i < actions->count; i++) {
        entered = entered || actions->list[i].kind == RETAIN_ACT_ENTER;
        if (actions->list[i].kind != RETAIN_ACT_END) {
            perform(st, h, &actions->list[i]);
            continue;
        }
        breadth_require(entered || tries || handle->waiting == 0,
                        "a caller that waits here does not enter before the delete");
        send_request(handle, REQUEST_DELETE, generation, false);
    }
}

static void step(struct retained_state *st, uint8_t h, struct retain_event ev)
{
    struct retained_handle *handle = &st->h[h];
    struct retain_actions actions;

    ev.now = RETAINED_NOW;
    ev.sure = is_sure(handle);
    ev.same = handle->waiting > 0 && handle->owner == handle->line[0] + 1;
    retain_step(&handle->machine, &ev, &actions);
    perform_all(st, h, &actions);
}

/* ---- answers ---- */

/* That somebody else is there, or may be. */
static void hear_rival(struct retained_handle *h)
{
    if (h->heard)
        return;
    h->heard = true;
    h->gate = h->waiting < config->local_turns ? h->waiting : (uint8_t)config->local_turns;
}

static void grant(struct retained_state *st, uint8_t h, const struct retained_wire *a)
{
    struct retained_handle *handle = &st->h[h];
    const bool waited = a->what == EVENT_HEAD;
    const bool others = a->others && !(waited && config->blind);

    handle->phase = PHASE_SPAN;
    handle->alone = !waited && !others;
    step(st, h,
         (struct retain_event){.kind = RETAIN_EV_GRANTED,
                               .waited = waited,
                               .others = others,
                               .watched = a->watch && !waited});
    if (others && handle->phase == PHASE_SPAN)
        hear_rival(handle);
}

static void fail_attempt(struct retained_state *st, uint8_t h, bool busy)
{
    forget_tenure(&st->h[h]);
    st->h[h].alone = false;
    ask(&st->h[h], REQUEST_DELETE, false);
    step(st, h, (struct retain_event){.kind = RETAIN_EV_FAILED, .busy = busy});
}

static void on_rival(struct retained_state *st, uint8_t h, struct retain_event ev)
{
    struct retained_handle *handle = &st->h[h];

    if (handle->phase == PHASE_SPAN) {
        hear_rival(handle);
        handle->alone = false;
    }
    step(st, h, ev);
    if (handle->phase == PHASE_SPAN)
        breadth_require(has_turn(handle) || handle->dead, "idle, though a rival was heard of");
}

static void on_looked(struct retained_state *st, uint8_t h, const struct retained_wire *a,
                      bool refused)
{
    const struct retain_event ev = {
        .kind = RETAIN_EV_LOOKED, .others = !refused && a->others, .watched = !refused};

    if (!st->h[h].looking)
        return;
    st->h[h].looking = false;
    if (refused)
        st->h[h].watch = false;
    if (ev.others || refused) {
        on_rival(st, h, ev);
        return;
    }
    st->h[h].alone = !st->h[h].heard;
    step(st, h, ev);
}

static void end_told(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    lose_turn(handle);
    forget_tenure(handle);
    ask(handle, REQUEST_DELETE, false);
    step(st, h, (struct retain_event){.kind = RETAIN_EV_ENDED});
}

static void on_listed(struct retained_state *st, uint8_t h, const struct retained_wire *a)
{
    if (a->absent)
        return;
    if (!a->ahead)
        grant(st, h, a);
    else if (st->h[h].tries)
        fail_attempt(st, h, true);
}

static void on_gone(struct retained_state *st, uint8_t h)
{
    if (st->h[h].phase == PHASE_SPAN) {
        end_told(st, h);
        return;
    }
    st->h[h].deleted = false;
    ask(&st->h[h], REQUEST_CREATE, false);
}

static void dispatch(struct retained_state *st, uint8_t h, const struct retained_wire *a,
                     bool refused)
{
    struct retained_handle *handle = &st->h[h];

    if (a->generation != handle->generation || handle->phase == PHASE_NONE)
        return;
    if (a->what == ANSWER_CREATED && handle->phase == PHASE_ATTEMPT)
        ask(handle, REQUEST_LIST, a->watch);
    else if (a->what == ANSWER_LISTED && handle->phase == PHASE_ATTEMPT)
        on_listed(st, h, a);
    else if (a->what == EVENT_HEAD && handle->phase == PHASE_ATTEMPT)
        grant(st, h, a);
    else if (a->what == ANSWER_LOOKED)
        on_looked(st, h, a, refused);
    else if (a->what == EVENT_CHILD)
        on_rival(st, h, (struct retain_event){.kind = RETAIN_EV_RIVAL});
    else if (a->what == EVENT_GONE)
        on_gone(st, h);
}

/* The answer that comes next gives it the lock. */
static bool is_grant(const struct retained_handle *h)
{
    const struct retained_wire *a = &h->answer[0];

    return h->phase == PHASE_ATTEMPT && a->generation == h->generation &&
           (a->what == EVENT_HEAD || (a->what == ANSWER_LISTED && !a->ahead && !a->absent));
}

static void deliver(struct retained_state *st, uint8_t h, bool refused)
{
    struct retained_handle *handle = &st->h[h];
    const struct retained_wire a = handle->answer[0];

    flat_remove(handle->answer, &handle->answers, sizeof a, 0);
    dispatch(st, h, &a, refused);
}

/* ---- what holds in each state ---- */

static bool is_idle(const struct retained_handle *h)
{
    return h->phase == PHASE_SPAN && !has_turn(h) && !h->dead;
}

/* A handle with an idle tenure is told of a contender behind it, or will be; a deaf one is not. */
static bool is_deaf(const struct retained_state *st, uint8_t h)
{
    const struct retained_handle *handle = &st->h[h];

    return is_idle(handle) && handle->requests == 0 && handle->answers == 0 && !handle->watch &&
           find(st, h, handle->generation) == 0;
}

static void check(struct retained_state *st)
{
    int valid = st->foreign_holds;

    for (uint8_t i = 0; i < config->handles; i++) {
        const struct retained_handle *h = &st->h[i];
        valid += has_turn(h) && find(st, i, h->generation) >= 0;
        breadth_require(!is_deaf(st, i), "idle, and nothing will say that somebody is there");
        breadth_require(!h->closed || !is_idle(h), "a node is left that nobody wants");
        breadth_require(h->waiting == h->machine.waiting, "asks for what cannot be asked then");
        for (uint8_t k = 1; k < h->waiting; k++)
            breadth_require(h->caller[h->line[k]] == CALLER_WAITS,
                            "who tries waits for others, or somebody else is refused");
    }
    breadth_require(valid <= 1, "two valid turns at a time");
}

static const char *check_end(const void *state)
{
    const struct retained_state *st = state;
    int idle = 0;

    if (st->foreign)
        return "nothing can happen, but somebody waits";
    for (uint8_t i = 0; i < config->handles; i++) {
        const struct retained_handle *h = &st->h[i];
        if (h->waiting > 0 || h->phase == PHASE_ATTEMPT)
            return "nothing can happen, but somebody waits";
        for (int k = 0; k < RETAINED_CALLERS; k++) {
            if (h->caller[k] != CALLER_OUT)
                return "nothing can happen, but somebody waits";
        }
        idle += h->phase == PHASE_SPAN && config->forever;
    }
    return st->nodes > idle || idle > 1 ? "a node is left that nobody wants" : NULL;
}

/* ---- what makes no difference is no part of the state: times ---- */

/* Not where nobody asks, nor that it was longer ago than anybody asks. */
static void keep(int64_t *at, bool matters, int64_t most)
{
    if (!matters)
        *at = 0;
    else if (*at != 0 && *at < RETAINED_NOW - most)
        *at = RETAINED_NOW - most;
}

static void forget_time(struct retained_handle *h)
{
    struct retain *m = &h->machine;
    struct payoff *p = &m->payoff;
    const bool used = m->state == RETAIN_TURN || m->state == RETAIN_IDLE;

    keep(&m->begun, used && config->guard, RETAIN_GATE_NS + 1);
    keep(&m->used, m->state == RETAIN_IDLE, RETAINED_IDLE);
    keep(&m->heard, m->wanted, RETAIN_GATE_NS + 1);
    keep(&p->asked, config->guard && (m->looking || m->state == RETAIN_ENTERING),
         2 * RETAINED_IDLE);
    keep(&p->kept_from, p->kept_from != 0, config->guard ? 2 * RETAINED_IDLE : 0);
    if (!config->guard)
        p->alone_ns = p->finds = 0;
    if (p->off_until <= RETAINED_NOW)
        p->off_until = 0;
    if (!h->armed || h->due < -RETAINED_IDLE)
        h->due = h->armed ? -RETAINED_IDLE : 0;
}

static void forget_handle(struct retained_handle *h)
{
    bool over = h->machine.state == RETAIN_NONE && h->waiting == 0;

    forget_time(h);
    if (h->phase == PHASE_NONE)
        h->tries = false;
    for (int i = 0; i < RETAINED_CALLERS; i++)
        over = over && h->left[i] == 0;
    if (!config->fence64 || over)
        h->owner = 0;
    if (!over)
        return;
    memset(&h->machine, 0, sizeof h->machine);
    h->armed = h->alone = h->closed = false;
    h->due = 0;
}

/* ---- messages that make none ---- */

static bool is_coming(const struct retained_handle *h, uint8_t generation)
{
    for (uint8_t i = 0; i < h->requests; i++) {
        if (h->request[i].what == REQUEST_CREATE && h->request[i].generation == generation)
            return true;
    }
    return false;
}

/* Lists and answers of an attempt that is over, and deletes of what is gone. */
static bool is_idle_talk(const struct retained_state *st, uint8_t h, const struct retained_wire *w)
{
    const struct retained_handle *handle = &st->h[h];

    if (w->what == REQUEST_CREATE)
        return false;
    if (w->what == REQUEST_DELETE)
        return find(st, h, w->generation) < 0 && !is_coming(handle, w->generation);
    return w->generation != handle->generation || handle->phase == PHASE_NONE;
}

static uint8_t forget_wires(const struct retained_state *st, uint8_t h, struct retained_wire *wires,
                            uint8_t count)
{
    uint8_t kept = 0;

    for (uint8_t i = 0; i < count; i++) {
        if (!is_idle_talk(st, h, &wires[i]))
            wires[kept++] = wires[i];
    }
    memset(&wires[kept], 0, sizeof wires[0] * (size_t)(count - kept));
    return kept;
}

/* ---- who is who ---- */

static unsigned rank_of(const struct retained_handle *h, uint8_t caller)
{
    for (uint8_t i = 0; i < h->waiting; i++) {
        if (h->line[i] == caller)
            return i;
    }
    return RETAINED_CALLERS + h->caller[caller] * 16U + h->left[caller];
}

static void swap(uint8_t *a, uint8_t *b)
{
    const uint8_t c = *a;

    *a = *b;
    *b = c;
}

static void swap_callers(struct retained_handle *h, uint8_t a, uint8_t b)
{
    swap(&h->caller[a], &h->caller[b]);
    swap(&h->left[a], &h->left[b]);
    for (uint8_t i = 0; i < h->waiting; i++) {
        if (h->line[i] == a || h->line[i] == b)
            h->line[i] = h->line[i] == a ? b : a;
    }
    if (h->owner == a + 1 || h->owner == b + 1)
        h->owner = (uint8_t)(h->owner == a + 1 ? b + 1 : a + 1);
}

/* Callers differ by what they do, not by number. */
static void sort_callers(struct retained_handle *h)
{
    for (uint8_t i = 1; i < config->callers; i++) {
        for (uint8_t k = i; k > 0 && rank_of(h, k) < rank_of(h, (uint8_t)(k - 1)); k--)
            swap_callers(h, k, (uint8_t)(k - 1));
    }
}

struct names {
    uint8_t of[RETAINED_NODES + RETAINED_REQUESTS + RETAINED_ANSWERS], count;
};

static uint8_t name_anew(struct names *names, uint8_t generation)
{
    uint8_t i = 0;

    while (i < names->count && names->of[i] != generation)
        i++;
    if (i == names->count)
        names->of[names->count++] = generation;
    return (uint8_t)(i + 1);
}

/* So do attempts: the present one is the first. */
static void name_attempts(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];
    struct names names = {.count = 0};

    if (handle->phase == PHASE_NONE)
        handle->generation = 0;
    handle->generation = name_anew(&names, handle->generation);
    for (uint8_t i = 0; i < st->nodes; i++) {
        if (st->node[i].owner == h)
            st->node[i].generation = name_anew(&names, st->node[i].generation);
    }
    for (uint8_t i = 0; i < handle->requests; i++)
        handle->request[i].generation = name_anew(&names, handle->request[i].generation);
    for (uint8_t i = 0; i < handle->answers; i++)
        handle->answer[i].generation = name_anew(&names, handle->answer[i].generation);
}

/* It matters only which turn is the first, and that the next one is more. */
static void forget_turns(struct retained_state *st, uint8_t h)
{
    struct retain *m = &st->h[h].machine;
    const int own = find(st, h, st->h[h].generation);

    if (config->guard || m->turn < 2 || own < 0)
        return;
    st->node[own].served = (uint8_t)(st->node[own].served - (m->turn - 1));
    m->turn = 1;
}

/* Handles, too, so in a trace they may change places. */
static void sort_handles(struct retained_state *st)
{
    struct retained_handle first;

    if (config->handles < 2 || memcmp(&st->h[0], &st->h[1], sizeof first) <= 0)
        return;
    memcpy(&first, &st->h[0], sizeof first);
    memcpy(&st->h[0], &st->h[1], sizeof first);
    memcpy(&st->h[1], &first, sizeof first);
    for (uint8_t i = 0; i < st->nodes; i++) {
        if (st->node[i].owner != RETAINED_FOREIGNER)
            st->node[i].owner = 1 - st->node[i].owner;
    }
}

static void forget(struct retained_state *st)
{
    for (uint8_t i = 0; i < config->handles; i++) {
        struct retained_handle *h = &st->h[i];
        h->requests = forget_wires(st, i, h->request, h->requests);
        h->answers = forget_wires(st, i, h->answer, h->answers);
        name_attempts(st, i);
        forget_turns(st, i);
        forget_handle(h);
        sort_callers(h);
    }
    sort_handles(st);
}

/* ---- moves ---- */

static void init(void *state, const void *data)
{
    struct retained_state *st = state;

    config = data;
    st->arrivals = (uint8_t)config->arrivals;
    st->ticks = (uint8_t)config->ticks;
    for (uint8_t i = 0; i < RETAINED_HANDLES; i++) {
        struct retained_handle *h = &st->h[i];
        h->up = true;
        h->machine.retain_ns = RETAINED_IDLE;
        h->machine.local_turns = config->local_turns;
        h->machine.fence64 = config->fence64;
        for (int k = 0; i < config->handles && k < config->callers; k++)
            h->left[k] = (uint8_t)config->locks;
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
        pass(&h->machine.begun, by);
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

static void step_kind(struct retained_state *st, uint8_t h, enum retain_event_kind kind)
{
    step(st, h, (struct retain_event){.kind = kind});
}

static void lock(struct retained_state *st, uint8_t h, uint8_t caller, bool tries)
{
    struct retained_handle *handle = &st->h[h];

    handle->left[caller]--;
    handle->caller[caller] = tries ? CALLER_TRIES : CALLER_WAITS;
    flat_push(handle->line, &handle->waiting, RETAINED_CALLERS, 1, &caller);
    step(st, h, (struct retain_event){.kind = RETAIN_EV_LOCK, .tries = tries});
}

static void give_up(struct retained_state *st, uint8_t h, uint8_t caller)
{
    struct retained_handle *handle = &st->h[h];
    uint8_t at = 0;

    while (handle->line[at] != caller)
        at++;
    flat_remove(handle->line, &handle->waiting, 1, at);
    handle->caller[caller] = CALLER_OUT;
    step(st, h, (struct retain_event){.kind = RETAIN_EV_GAVE_UP, .first = at == 0});
}

static void unlock(struct retained_state *st, uint8_t h, uint8_t caller, bool must_end)
{
    struct retained_handle *handle = &st->h[h];
    const uint8_t was = handle->caller[caller];

    handle->caller[caller] = CALLER_OUT;
    if (was == CALLER_STALE)
        return;
    must_end = must_end || was == CALLER_LOST;
    step(st, h, (struct retain_event){.kind = RETAIN_EV_UNLOCK, .must_end = must_end});
    breadth_require(!must_end || handle->phase != PHASE_SPAN, "goes on with a node that cannot");
}

static void timer(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    if (handle->machine.state == RETAIN_IDLE && handle->due > 0)
        advance(st, handle->due);
    handle->armed = false;
    step_kind(st, h, RETAIN_EV_TIMER);
}

static void close_handle(struct retained_state *st, uint8_t h)
{
    memset(st->h[h].left, 0, sizeof st->h[h].left);
    st->h[h].closed = true;
    step_kind(st, h, RETAIN_EV_CLOSE);
}

static void lapse(struct retained_handle *h)
{
    h->lapsed = true;
    if (h->phase != PHASE_SPAN)
        return;
    h->dead = true;
    lose_turn(h);
}

static void prove(struct retained_state *st, uint8_t h)
{
    st->h[h].doubt = st->h[h].lapsed = false;
    step_kind(st, h, RETAIN_EV_PROVED);
}

/* Its owner hears so, if it knows of that node. */
static void delete_node(struct retained_state *st, uint8_t h)
{
    struct retained_handle *handle = &st->h[h];

    answer(handle, (struct retained_wire){.what = EVENT_GONE, .generation = handle->generation});
    handle->deleted = true;
    remove_node(st, (uint8_t)find(st, h, handle->generation));
}

static void happen_to(struct retained_state *st, uint8_t h, enum retained_move kind)
{
    struct retained_handle *handle = &st->h[h];

    if (kind == RETAINED_SERVE)
        serve(st, h);
    else if (kind == RETAINED_DELIVER || kind == RETAINED_UNLOOKED)
        deliver(st, h, kind == RETAINED_UNLOOKED);
    else if (kind == RETAINED_TIMER || kind == RETAINED_IDLE_TIMER)
        timer(st, h);
    else if (kind == RETAINED_END_TOLD)
        end_told(st, h);
    else if (kind == RETAINED_DOUBT)
        handle->doubt = true;
    else if (kind == RETAINED_CONNECT)
        handle->up = true;
    else if (kind == RETAINED_PROVE)
        prove(st, h);
    else if (kind == RETAINED_YIELD)
        step_kind(st, h, RETAIN_EV_YIELD);
    else if (kind == RETAINED_CLOSE)
        close_handle(st, h);
    else if (kind == RETAINED_LAPSE)
        lapse(handle);
    else if (kind == RETAINED_EXPIRE)
        expire(st, h);
    else if (kind == RETAINED_BREAK)
        break_connection(handle);
    else if (kind == RETAINED_FAIL)
        fail_attempt(st, h, false);
    else
        delete_node(st, h);
}

static void happen(struct retained_state *st, enum retained_move kind)
{
    if (kind == RETAINED_FOREIGN_GRANT) {
        st->foreign_holds = true;
    } else if (kind == RETAINED_FOREIGN_LEAVE) {
        st->foreign = st->foreign_holds = false;
        remove_node(st, (uint8_t)find(st, RETAINED_FOREIGNER, 0));
    } else if (kind == RETAINED_FOREIGN_COME) {
        foreign_come(st);
    } else {
        st->ticks--;
        advance(st, RETAINED_TICK);
    }
}

static void take(void *state, struct move move)
{
    struct retained_state *st = state;
    const enum retained_move kind = (enum retained_move)move.kind;
    const uint8_t h = move.at / RETAINED_CALLERS, caller = move.at % RETAINED_CALLERS;

    if (kind == RETAINED_LOCK || kind == RETAINED_TRY)
        lock(st, h, caller, kind == RETAINED_TRY);
    else if (kind == RETAINED_UNLOCK || kind == RETAINED_UNLOCK_END)
        unlock(st, h, caller, kind == RETAINED_UNLOCK_END);
    else if (kind == RETAINED_GIVE_UP)
        give_up(st, h, caller);
    else if (moves[kind].ats > 1)
        happen_to(st, move.at, kind);
    else
        happen(st, kind);
    check(st);
    forget(st);
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
        return is == CALLER_OUT && h->left[caller] > 0 && room && config->tries;
    case RETAINED_GIVE_UP:
        return (is == CALLER_WAITS || is == CALLER_TRIES) && room && config->ends;
    case RETAINED_UNLOCK:
        return is == CALLER_HAS || is == CALLER_LOST || is == CALLER_STALE;
    default:
        return is == CALLER_HAS && config->ends;
    }
}

static bool may_close(const struct retained_handle *h)
{
    return config->ends && !h->closed && h->waiting == 0 && h->machine.retain_ns > 0;
}

static bool may_time(const struct retained_handle *h, bool in_doubt)
{
    const bool waits = h->machine.state == RETAIN_IDLE && h->waiting > 0;

    return h->armed && !config->forever && waits == in_doubt;
}

static bool may_happen_to(const struct retained_state *st, uint8_t at, enum retained_move kind)
{
    const struct retained_handle *h = &st->h[at];

    switch (kind) {
    case RETAINED_SERVE:
        return h->up && h->requests > 0;
    case RETAINED_DELIVER:
        return h->up && h->answers > 0 && (!is_grant(h) || is_sure(h));
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
        return config->ends && h->machine.state == RETAIN_IDLE;
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
               find(st, at, h->generation) >= 0;
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

static bool may(const void *state, struct move move)
{
    const struct retained_state *st = state;
    const enum retained_move kind = (enum retained_move)move.kind;
    const uint8_t h = move.at / RETAINED_CALLERS, caller = move.at % RETAINED_CALLERS;

    if (moves[kind].ats == 1)
        return may_happen(st, kind);
    if (moves[kind].ats == RETAINED_HANDLES)
        return move.at < config->handles && may_happen_to(st, move.at, kind);
    return h < config->handles && caller < config->callers && may_call(&st->h[h], caller, kind);
}

/* ---- the program ---- */

#define HANDLES(n, of, locking) .handles = (n), .callers = (of), .locks = (locking)
#define ONE(coming, ...)                                                                           \
    BREADTH_CONFIG(retained_config, HANDLES(1, 2, 2), .arrivals = (coming), .local_turns = 1,      \
                   __VA_ARGS__)
#define CONFIG(...) BREADTH_CONFIG(retained_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"users", ALWAYS, 1, ONE(1, .tries = true, .ends = true)},
    {"three callers", ALWAYS, 1,
     CONFIG(HANDLES(1, 3, 2), .arrivals = 1, .local_turns = 1, .ticks = 1)},
    {"a token for each", ALWAYS, 1, ONE(1, .fence64 = true, .tries = true)},
    {"the guard", ALWAYS, 0, ONE(2, .ticks = 2, .guard = true)},
    {"two handles", ALWAYS, 1,
     CONFIG(HANDLES(2, 2, 1), .arrivals = 1, .local_turns = 1, .blind = true)},
    {"idle forever", ALWAYS, 2, ONE(2, .forever = true)},
    {"two, idle forever", ALWAYS, 2,
     CONFIG(HANDLES(2, 1, 1), .arrivals = 1, .local_turns = 1, .blind = true, .forever = true)},
    {"users", SOAK, 2, ONE(2, .tries = true, .ends = true, .ticks = 1)},
    {"three callers", SOAK, 2,
     CONFIG(HANDLES(1, 3, 2), .arrivals = 1, .local_turns = 2, .ticks = 2)},
    {"two handles again", SOAK, 1,
     CONFIG(HANDLES(2, 1, 2), .arrivals = 1, .local_turns = 1, .ticks = 1)},
    {"the guard", SOAK, 1, ONE(2, .ticks = 2, .guard = true)},
    {"two handles", SOAK, 2, CONFIG(HANDLES(2, 2, 1), .arrivals = 1, .local_turns = 1)},
};

static void print(const void *state)
{
    const struct retained_state *st = state;

    for (int i = 0; i < config->handles; i++) {
        const struct retained_handle *h = &st->h[i];
        printf(" %s, %d wait, %d sent, %d to come%s%s%s,", retain_state_name(h->machine.state),
               h->waiting, h->requests, h->answers, h->up ? "" : ", down",
               h->doubt ? ", in doubt" : "", h->machine.wanted ? ", wanted" : "");
    }
    printf(" nodes of");
    for (int i = 0; i < st->nodes; i++)
        printf(" %d", st->node[i].owner);
}

static const char *state_name(int state)
{
    return retain_state_name((enum retain_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct retained_state),
        .machine = offsetof(struct retained_state, h[0].machine.state),
        .stride = sizeof(struct retained_handle), .machines = RETAINED_HANDLES,
        .states = RETAIN_STATES};

    return breadth_main(&world, argc, argv);
}
