/* Contenders of one semaphore, each with a session of its own, and administrators, as a flat value
 * for exhaustive search. The watch on the own node is left out; there is one server, and deadlines
 * are always ahead. Holders may hold for ever: whoever could be admitted then and is not, waits in
 * vain. */
#ifndef EXPLORE_PERMITS_WORLD_H
#define EXPLORE_PERMITS_WORLD_H

#include "breadth.h"
#include "recipes/attempt.h"
#include "recipes/machine.h"

enum {
    PERMITS_CLIENTS = 4,
    PERMITS_NODES = 10, /* ever made; the number of each is its index */
    PERMITS_QUEUE = 8,
    PERMITS_NO_NODE = 0xff
};

enum permits_broken {
    PERMITS_WHOLE,
    PERMITS_GRANT,  /* granted, and there was never room for it */
    PERMITS_LIMIT,  /* more are held than there ever were */
    PERMITS_REFUSE, /* refused without reason */
    PERMITS_ASLEEP, /* there is room for one that waits, and nobody will tell it */
    PERMITS_LEFT,   /* a node that nobody wants */
    PERMITS_WATCH,  /* that nobody wants */
    PERMITS_ACTION, /* that nobody understands */
    PERMITS_BROKEN_COUNT
};

enum permits_move {
    /* sooner or later; .at: which client */
    PERMITS_SERVE,
    PERMITS_DELIVER,
    PERMITS_CONNECT,
    PERMITS_NOTICE, /* that its session is over */
    PERMITS_ADMIT,  /* again */
    /* perhaps never */
    PERMITS_ENTER,
    PERMITS_RELEASE,
    PERMITS_SET_LIMIT, /* .at: to how many; 0: its data are none */
    /* faults */
    PERMITS_LOSE, /* the connection */
    PERMITS_EXPIRE,
    PERMITS_ABORT,
    PERMITS_DELETE_NODE, /* .at: which node */
    PERMITS_CHANGE_NODE,
    PERMITS_MOVE_COUNT
};

/* A request, or its answer; or the event of a watch. Without padding. */
struct permits_message {
    struct exchange_request number; /* .heard: of its question */
    uint8_t verb, about;            /* enum store_kind, enum attempt_node */
    uint8_t node, rc;
    bool watch;
    bool heard; /* by the machine; else it is a delete */
    bool fired; /* no answer but an event: STORE_NONODE: .node is gone */
    uint8_t version, limit, limit_zxid;
    uint16_t names;
};

struct permits_client {
    struct attempt machine;
    struct exchange exchange;
    struct permits_message asks[PERMITS_QUEUE], answers[PERMITS_QUEUE];
    uint8_t asked, answered;
    uint8_t node, predecessor;
    uint8_t id;     /* one for each session */
    uint8_t wanted; /* watches: a bit for each enum attempt_node, but for the own one's */
    bool up, over;  /* over: its session, and it does not know */
    bool holds;
    /* at the server */
    bool watches_children, watches_limit;
    uint16_t watches;
};

struct permits_node {
    uint8_t client, id, czxid, version;
    bool had_room; /* at some instant it and all before it were no more than the limit */
    bool forced;   /* removed by a third party */
};

struct permits_state {
    struct permits_client clients[PERMITS_CLIENTS];
    struct permits_node nodes[PERMITS_NODES];
    uint16_t standing;
    uint8_t made, zxid, limit, limit_zxid, highest; /* highest: limit ever */
    uint8_t faults, changes;                        /* left; changes: of the limit */
    uint8_t broken;
};

struct permits_config {
    int clients, faults, changes;
    uint8_t limit, limit_max;
    uint8_t permits[PERMITS_CLIENTS];
    bool limit_known; /* to all, at first */
    bool empties;     /* an administrator does, who changes the limit */
    bool leases;      /* in Curator's layout: who waits is counted, too, and who came later */
};

extern struct permits_config permits_config;

#define PERMITS_BIT(n) ((uint16_t)(1U << (n)))

/* ---- permits_world.c: the clients, and what can happen ---- */

void permits_init(void *state);
int permits_list(const void *state, struct breadth_step *steps);
void permits_take(void *state, struct breadth_step step);
/* permits_plain.c: the same of all that differ only in names. */
void permits_plain(void *state);

extern const char *const permits_broken_texts[PERMITS_BROKEN_COUNT];
const char *permits_move_text(enum permits_move move);

/* Nothing more happens by itself: what is wrong with that? */
int permits_check_end(const void *state); /* enum permits_broken */

bool permits_asks(const struct permits_message *m, enum store_kind verb, enum attempt_node about);

/* ---- permits_server.c ---- */

void permits_server_do(struct permits_state *st, int i);
void permits_server_delete(struct permits_state *st, uint16_t nodes);
void permits_server_change(struct permits_state *st, uint8_t node);
void permits_server_limit(struct permits_state *st, uint8_t limit);
uint16_t permits_server_nodes(const struct permits_state *st, int i);

/* Whether there is room for the node now. */
bool permits_server_room(const struct permits_state *st, uint8_t node);

void permits_push_answer(struct permits_client *c, struct permits_message message);

#endif
