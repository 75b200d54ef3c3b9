/* Contenders with numbered permits, from their admission to the end of what they held, as a flat
 * value for exhaustive search. permits.c explores which of them are admitted: here, any that finds
 * room may be. A session's nodes go when the session is over, which is behind its holder's
 * deadline. Until the deadline the holder believes, unless it gave back. */
#ifndef EXPLORE_NUMBERS_WORLD_H
#define EXPLORE_NUMBERS_WORLD_H

#include "breadth.h"
#include "recipes/machine.h"
#include "recipes/numbering.h"

enum {
    NUMBERS_CLIENTS = 3,
    NUMBERS_NODES = 8, /* ever made; the number of each is its index */
    NUMBERS_PERMITS = 2,
    NUMBERS_QUEUE = 6,
    NUMBERS_NO_NODE = 0xff
};

enum numbers_broken {
    NUMBERS_WHOLE,
    NUMBERS_SHARED, /* two who believe have the same one */
    NUMBERS_BEYOND, /* one is not below the limit */
    NUMBERS_GAP,    /* a lower one was free */
    NUMBERS_ASLEEP, /* somebody waits for numbers that all know */
    NUMBERS_LEFT,   /* a node that nobody wants */
    NUMBERS_FAILED, /* told a refusal that there was not */
    NUMBERS_BROKEN_COUNT
};

enum numbers_move {
    /* sooner or later; .at: which client */
    NUMBERS_SERVE,
    NUMBERS_DELIVER,
    NUMBERS_CONNECT,
    NUMBERS_EXPIRE, /* its deadline has passed */
    /* perhaps never */
    NUMBERS_ENTER,
    NUMBERS_ADMIT,
    NUMBERS_RELEASE,
    /* faults */
    NUMBERS_LOSE,   /* the connection */
    NUMBERS_LAPSE,  /* its deadline passes */
    NUMBERS_ABORT,  /* it gives up */
    NUMBERS_CHANGE, /* .at: a node whose data somebody writes over */
    NUMBERS_DELETE, /* or deletes: of one who does not hold */
    NUMBERS_LIMIT,  /* it is one less, or what it was */
    NUMBERS_MOVE_COUNT
};

enum numbers_ask { ASK_LIST, ASK_READ, ASK_OWN, ASK_WATCH, ASK_WRITE, ASK_DELETE, EVENT_NODE };

struct numbers_message {
    uint8_t kind, node, version, answer; /* enum store_rc */
    uint8_t names;                       /* of nodes */
    uint8_t numbers;                     /* of permits, a bit for each */
    uint8_t ceiling; /* these are, and those of all before: 0: it does not tell */
    uint8_t unused;
    struct exchange_request number;
};

struct numbers_client {
    struct numbering machine;
    struct exchange exchange;
    struct numbers_message asks[NUMBERS_QUEUE], answers[NUMBERS_QUEUE];
    uint8_t asked, answered;
    uint8_t node;               /* NUMBERS_NO_NODE: it has none */
    uint8_t before;             /* nodes whose numbers it must know, */
    uint8_t known;              /* and those of them that it knows, or that are gone */
    uint8_t used;               /* the numbers that they have */
    uint8_t numbers, ceiling;   /* its own, as in its node's data */
    uint8_t limit;              /* when it was admitted */
    uint8_t waits_for, watches; /* watches: at the server, a bit for each node */
    bool up, admitted, believes;
    bool chosen;  /* its numbers are */
    bool excused; /* somebody has deleted its node */
    bool lapsed;  /* its deadline has passed, and its session is not over yet */
};

struct numbers_node {
    uint8_t client, version, numbers, ceiling;
};

struct numbers_state {
    struct numbers_client clients[NUMBERS_CLIENTS];
    struct numbers_node nodes[NUMBERS_NODES];
    uint8_t standing, made, limit, faults, broken;
};

struct numbers_config {
    int clients, faults;
    uint8_t limit;
    uint8_t permits[NUMBERS_CLIENTS];
    uint8_t silent; /* a bit for each client whose nodes have no ceiling */
};

extern struct numbers_config numbers_config;

#define NUMBERS_BIT(n) ((uint8_t)(1U << (n)))

void numbers_init(void *state);
int numbers_list(const void *state, struct breadth_step *steps);
void numbers_take(void *state, struct breadth_step step);
/* Nothing more happens by itself: what is wrong with that? */
int numbers_check_end(const void *state); /* enum numbers_broken */

extern const char *const numbers_broken_texts[NUMBERS_BROKEN_COUNT];
const char *numbers_move_text(enum numbers_move move);

/* ---- numbers_plain.c ---- */

/* Nodes that nobody names are none. */
void numbers_drop_nodes(struct numbers_state *st);
/* The same of all that differ only in names. */
void numbers_plain(void *state);

#endif
