/* Handles of one mutex that retain their lock, each with a session of its own and some callers, and
 * a contender of another library, as a flat value for exhaustive search. An attempt is as much of
 * lib/contender/contender.c as matters here: it creates, lists, waits for whoever is ahead. */
#ifndef EXPLORE_RETAINED_H
#define EXPLORE_RETAINED_H

#include "breadth.h"
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

enum retained_broken {
    RETAINED_WHOLE,
    RETAINED_EXCLUSION, /* two valid turns at a time */
    RETAINED_UNSURE,    /* a turn begins in doubt, behind the deadline or behind the delete */
    RETAINED_TOKEN,     /* a turn begins of which the pair of token and turn does not rise */
    RETAINED_GATE,      /* too many turns since a rival was heard of */
    RETAINED_IDLES,     /* idle, though a rival was heard of */
    RETAINED_DEAF,      /* idle, and nothing will say that somebody is there */
    RETAINED_ORDER,     /* what cannot be asked then */
    RETAINED_PLACE,     /* who waits here enters behind the delete, or not at all */
    RETAINED_TRIER,     /* who tries waits for others, or another is refused */
    RETAINED_SPENT,     /* goes on with a node that cannot */
    RETAINED_WATCH,     /* a list is watched though others are there, or not, though none are */
    RETAINED_STUCK,
    RETAINED_LEFT, /* a node that nobody wants */
    RETAINED_BROKEN_COUNT
};

enum retained_move {
    /* sooner or later; .at: of which handle */
    RETAINED_SERVE,
    RETAINED_DELIVER,
    RETAINED_TIMER,
    RETAINED_END_TOLD,
    RETAINED_DOUBT,
    RETAINED_CONNECT,
    RETAINED_PROVE,
    RETAINED_FOREIGN_GRANT,
    RETAINED_FOREIGN_LEAVE,
    RETAINED_UNLOCK, /* .at: RETAINED_CALLERS times the handle, and the caller */
    /* perhaps never */
    RETAINED_LOCK,
    RETAINED_TRY,
    RETAINED_GIVE_UP,
    RETAINED_UNLOCK_END,
    RETAINED_IDLE_TIMER, /* while somebody waits for the end of a doubt */
    RETAINED_YIELD,
    RETAINED_CLOSE,
    RETAINED_LAPSE, /* the deadline passes */
    RETAINED_EXPIRE,
    RETAINED_FOREIGN_COME,
    RETAINED_TICKS,
    /* faults: one of the budget each */
    RETAINED_BREAK,    /* the connection */
    RETAINED_FAIL,     /* the attempt */
    RETAINED_UNLOOKED, /* the list is refused */
    RETAINED_DELETE,   /* an administrator, the node of the handle */
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
    uint8_t line[RETAINED_CALLERS];   /* who waits, in order */
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
    uint8_t broken;                  /* enum retained_broken */
};

struct retained_config {
    int handles, callers, locks; /* each caller so often */
    int arrivals, faults, ticks;
    uint32_t local_turns;
    bool tries, fence64;
    bool blind;   /* who has waited does not know who is behind */
    bool forever; /* an idle tenure has no end of its own */
    bool guard;   /* what it costs is looked at */
    bool ends;    /* users give up, close, yield, and end turns that cannot go on */
};

extern struct retained_config retained_config;

void retained_init(void *state);
int retained_list(const void *state, struct breadth_step *steps);
void retained_do(void *state, struct breadth_step step);

/* Nothing but faults can happen. */
int retained_check_end(const void *state); /* enum retained_broken */

extern const char *const retained_broken_texts[RETAINED_BROKEN_COUNT];
const char *retained_move_text(enum retained_move kind);

/* ---- of the files of this world among each other ---- */

void retained_require(struct retained_state *st, bool holds, enum retained_broken broken);

/* The server. */
void retained_serve(struct retained_state *st, uint8_t h);
void retained_foreign_come(struct retained_state *st);
void retained_remove(struct retained_state *st, uint8_t at);
void retained_break(struct retained_handle *h);
void retained_expire(struct retained_state *st, uint8_t h);
int retained_find(const struct retained_state *st, uint8_t owner, uint8_t generation); /* or -1 */

/* The driver. */
void retained_send(struct retained_handle *h, enum retained_message what, bool watch);
void retained_step(struct retained_state *st, uint8_t h, struct retain_event ev);
void retained_deliver(struct retained_state *st, uint8_t h, bool refused);
void retained_end_told(struct retained_state *st, uint8_t h);
void retained_fail(struct retained_state *st, uint8_t h, bool busy);
void retained_lose_turn(struct retained_handle *h);
bool retained_has_turn(const struct retained_handle *h);
void retained_forget_tenure(struct retained_handle *h);
bool retained_is_sure(const struct retained_handle *h);

/* Whether the answer that comes next gives it the lock. */
bool retained_is_grant(const struct retained_handle *h);

/* Checks that hold in each state. */
void retained_check(struct retained_state *st);

void retained_forget(struct retained_state *st);

#endif
