/* Locks at several paths, those who take the same paths one by one, and the queues at a server, as
 * a flat value for exhaustive search. An attempt is as much of lib/contender/contender.c as matters
 * here: it creates, hears whether others are ahead, waits, and its node goes when it is left. A
 * client that takes permits in Curator's layout is of this kind, too: it has a lock at one path,
 * and a lease at another, where all nodes are counted. */
#ifndef EXPLORE_MULTILOCK_H
#define EXPLORE_MULTILOCK_H

#include "breadth.h"
#include "recipes/leasing.h"
#include "recipes/multi_lock.h"

enum { MULTILOCK_CLIENTS = 3, MULTILOCK_PLACES = 3, MULTILOCK_NODES = 8, MULTILOCK_WIRES = 12 };

enum multilock_broken {
    MULTILOCK_WHOLE,
    MULTILOCK_EXCLUSION, /* two that hold one path */
    MULTILOCK_ALL,       /* a grant without all of its nodes at the head */
    MULTILOCK_ORDER,     /* queued or holding behind a path that is waited for */
    MULTILOCK_LIMIT,     /* more permits are held than there are */
    MULTILOCK_WIRE,      /* more under way than there is room for */
    MULTILOCK_STUCK,
    MULTILOCK_LEFT, /* a node that nobody wants */
    MULTILOCK_NONE, /* of several that tried */
    MULTILOCK_BROKEN_COUNT
};

enum multilock_move {
    /* sooner or later; .at: of which client */
    MULTILOCK_SERVE,  /* its next request */
    MULTILOCK_ANSWER, /* comes to it */
    MULTILOCK_HEAD,   /* it hears that the node it waits with is the first, or will hear that
                         there are few enough */
    MULTILOCK_HEAR,   /* that its lock's node is gone */
    MULTILOCK_BEGIN,
    MULTILOCK_RELEASE,
    /* faults: one of the budget each */
    MULTILOCK_DELETE, /* an administrator, a node that it holds; .at: also its first, last… */
    MULTILOCK_LAPSE,  /* its deadline passes */
    MULTILOCK_EXPIRE, /* its session is replaced */
    MULTILOCK_FAIL,   /* the attempt that it waits for */
    MULTILOCK_ABORT,
    MULTILOCK_MOVES
};

enum multilock_what {
    WIRE_CREATE = 1,
    WIRE_DELETE,
    WIRE_CREATED,
    WIRE_LISTED, /* few enough nodes */
    WIRE_CHECK,  /* of another layout there are none */
    WIRE_CHECKED
};

struct multilock_wire {
    uint8_t what, path; /* of the client's, from 0 */
    bool current;       /* of the attempt that is at the path now */
    bool ahead;         /* CREATED: others are */
};

/* A client that does not lock all at once uses the machine only to say how far it is. */
struct multilock_client {
    struct multi_lock machine;
    struct multi_lock_path paths[MULTILOCK_PLACES];
    struct leasing leasing;
    uint8_t requests, answers;
    uint8_t rounds; /* left */
    struct multilock_wire request[MULTILOCK_WIRES], answer[MULTILOCK_WIRES];
};

struct multilock_state {
    struct multilock_client c[MULTILOCK_CLIENTS];
    struct {
        uint8_t count, owner[MULTILOCK_NODES]; /* in order */
    } queue[MULTILOCK_PLACES];
    uint8_t faults; /* left */
    uint8_t broken; /* enum multilock_broken */
};

/* What one of a kind does when something happens to it; without the last three, no fault does. */
struct multilock_user {
    void (*begin)(struct multilock_state *st, uint8_t client);
    void (*release)(struct multilock_state *st, uint8_t client);
    void (*waits)(struct multilock_state *st, uint8_t client, uint32_t path);
    void (*granted)(struct multilock_state *st, uint8_t client, uint32_t path);
    void (*lost)(struct multilock_state *st, uint8_t client, uint32_t path);
    void (*failed)(struct multilock_state *st, uint8_t client, uint32_t path);
    void (*abort)(struct multilock_state *st, uint8_t client);
};

/* All paths at once; one by one, each with a lock of its own; the lock and a lease. */
extern const struct multilock_user multilock_at_once, multilock_nested, multilock_leases;

struct multilock_config {
    struct {
        const char *paths; /* digits, in order; NULL: no such client */
        const struct multilock_user *user;
        bool keeps; /* what it is granted */
        bool tries;
    } client[MULTILOCK_CLIENTS];
    int rounds, faults;
    uint8_t limit; /* of leases, which are at place 1 then; 0: there are none */
};

extern struct multilock_config multilock_config;

void multilock_init(void *state);
int multilock_list(const void *state, struct breadth_step *steps);
void multilock_take(void *state, struct breadth_step step);

/* Nothing but faults can happen. */
int multilock_check_end(const void *state); /* enum multilock_broken */

extern const char *const multilock_broken_texts[MULTILOCK_BROKEN_COUNT];
const char *multilock_move_text(enum multilock_move kind);

/* ---- multilock_server.c ---- */

void multilock_serve(struct multilock_state *st, uint8_t client); /* its next request */
void multilock_answer(struct multilock_state *st, uint8_t client, struct multilock_wire w);
struct multilock_wire multilock_take_first(struct multilock_wire *wires, uint8_t *count);
void multilock_remove_oldest(struct multilock_state *st, uint8_t client, uint8_t place);
void multilock_remove_all(struct multilock_state *st, uint8_t client);

/* ---- multilock_client.c: what a client does; multilock_check.c: whether that is right ---- */

/* Where the queue of a client's path is; and whether its nodes are counted. */
uint8_t multilock_place(uint8_t client, uint32_t path);
bool multilock_is_counted(uint8_t place);

/* The client's kind of user, and whether it takes leases. */
const struct multilock_user *multilock_user(uint8_t client);
bool multilock_takes_leases(uint8_t client);

void multilock_answered(struct multilock_state *st, uint8_t client, struct multilock_wire answer);

/* An attempt at the path. A node whose create is not answered yet goes with the answer. */
void multilock_enter(struct multilock_state *st, uint8_t client, uint32_t path);
void multilock_leave(struct multilock_state *st, uint8_t client, uint32_t path);

/* multilock_leases.c: the path was listed. mixed: somebody of another layout is there. */
void multilock_checked(struct multilock_state *st, uint8_t client, bool mixed);

/* Sends a request. */
void multilock_ask(struct multilock_state *st, uint8_t client, enum multilock_what what,
                   uint32_t path, bool current);

/* Whether the create of the attempt at the path is; and a list that admits it is under way. */
bool multilock_is_unanswered(const struct multilock_client *c, uint32_t path);
bool multilock_is_listed(const struct multilock_client *c, uint32_t path);

/* Numbers that make no difference are no part of the state. */
void multilock_forget(struct multilock_client *c);

int multilock_nodes(const struct multilock_state *st, uint8_t client, uint8_t place);
bool multilock_is_few(const struct multilock_state *st, uint8_t place); /* to be granted with */
bool multilock_is_head(const struct multilock_state *st, uint8_t client, uint32_t path);
void multilock_require(struct multilock_state *st, bool holds, enum multilock_broken broken);
void multilock_check(struct multilock_state *st);

#endif
