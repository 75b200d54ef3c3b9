/* The world around the recipe as a flat value, for exhaustive search.
 *
 * Contenders have a process and a session each. The leader orders all changes; each client reads
 * from a server of its own that follows the leader, at once or (lag) later. Requests and answers
 * travel in FIFO queues. What time would decide is a choice: a deadline passes, a timer fires.
 *
 * The deadline is taken at its word: a session's server may end it only after its deadline passed
 * at the client. (Leases themselves are tested apart.) */
#ifndef EXPLORE_MODEL_H
#define EXPLORE_MODEL_H

#include "recipes/attempt.h"
#include "recipes/machine.h"

enum {
    MODEL_CONTENDERS = 4,
    MODEL_NODES = 12,
    MODEL_QUEUE = 10,
    MODEL_LOG = 16,
    MODEL_NONE = 0xff,   /* no node */
    MODEL_FOREIGN = 0xfe /* of a hint: others keep their data there */
};

#define MODEL_BIT(n) ((uint16_t)(1U << (n)))

/* The directory's data: the node that they name. */
struct hint {
    uint8_t node, version;
};

/* A request of a client's: of its driver, or of the session for it, and then nobody hears the
 * answer. */
struct ask {
    struct exchange_request number; /* .heard: of its question */
    uint8_t verb, about;            /* enum store_kind, enum attempt_node */
    uint8_t node;
    uint8_t version; /* of the hint to replace */
    bool watch, once, heard;
};

struct reply {
    struct ask to;  /* .node: the one that was made, too */
    bool fired;     /* no answer but the event of a watch on .to.node */
    uint8_t rc;     /* enum store_rc */
    bool gone;      /* .fired */
    bool asked;     /* the own node was read: its data ask to give way */
    uint16_t names; /* LIST, GET of the directory: the nodes seen */
    struct hint hint;
};

/* One contender: recipe, driver, client library and connection, user. */
struct client {
    struct attempt machine;
    /* the driver */
    struct exchange exchange;
    uint8_t node, predecessor;
    uint8_t own_watch, predecessor_watch; /* nodes whose watch is wanted */
    uint8_t id;                           /* carried by its nodes; one for each incarnation */
    bool timer;
    uint16_t armed; /* of struct watch of watch.c: the server has it, as far as is known */
    /* the client library */
    uint16_t kept;      /* watches it sets again after a reconnect */
    uint8_t session;    /* counted from 1 */
    uint8_t connection; /* counts connections made and lost */
    bool established;
    bool connected;
    bool in_time;
    bool purge;     /* a delete was refused: the session must go */
    bool orphan;    /* session->orphans: it must go, unless the node is found before */
    bool lapse_due; /* the deadline passed, nobody was told yet */
    /* its server */
    bool expired; /* the leader ended the session */
    bool cut;     /* and its server knows */
    uint16_t view;
    bool sees_directory;
    struct hint sees_hint;
    uint8_t followed; /* entries of the log */
    uint16_t watched;
    uint16_t sees_asked; /* nodes that ask to give way, in its view */
    uint16_t missed;     /* nodes kept whose change was not heard on the last connection */
    /* the user */
    bool told_asked; /* was told so */
    bool decided;
    bool grant;     /* held, and its deadline ahead */
    bool stopping;  /* was told of its loss, and is not through with that */
    uint8_t faults; /* that may still happen to it, to its server, its session or its nodes */
    uint8_t asks_count, replies_count;
    struct ask asks[MODEL_QUEUE];
    struct reply replies[MODEL_QUEUE];
};

struct node {
    int32_t number;
    uint32_t czxid;
    uint8_t client, id, session;
    bool used;
    bool forced; /* removed by a third party */
    bool heard;  /* its client was told that it is gone */
    bool asked;  /* to give way */
    bool headed; /* at some instant it stood and nobody before it did */
};

enum change_kind {
    CHANGE_CREATE,
    CHANGE_DELETE,
    CHANGE_CLOSE, /* of a client's session: all its nodes at once */
    CHANGE_TOUCH,
    CHANGE_MAKE_DIRECTORY,
    CHANGE_REMOVE_DIRECTORY,
    CHANGE_HINT
};

struct change {
    uint16_t nodes;
    uint8_t kind, client, session;
    struct hint hint;
};

struct state {
    int32_t next; /* number to be handed out */
    uint32_t czxid;
    uint32_t last_token; /* granted */
    uint32_t last_alone; /* the same, to one that shares with nobody */
    uint16_t standing;   /* nodes, at the leader */
    bool directory;
    struct hint hint;
    uint8_t broken; /* enum broken */
    uint8_t log_count;
    struct change log[MODEL_LOG];
    struct node nodes[MODEL_NODES];
    struct client clients[MODEL_CONTENDERS]; /* last: only so many as there are get copied */
};

struct model_config {
    int contenders, faults;
    bool lag;
    bool no_directory;   /* at first */
    bool foreign;        /* its data are others' */
    uint32_t long_queue; /* how many children are a long queue; 0: no hints */
    int32_t next;
    enum rule rules[MODEL_CONTENDERS];
    bool try_only[MODEL_CONTENDERS];
    bool retains[MODEL_CONTENDERS]; /* as its nodes' names say */
};

extern struct model_config model_config;

/* Faults are divided among the contenders beforehand, so that whoever has none left can be told
 * apart (reduce.h): a state for each division begins. */
struct model_shares {
    uint8_t of[MODEL_CONTENDERS];
};

struct model_shares model_first_shares(void);
bool model_next_shares(struct model_shares *shares); /* false: that was the last */

void model_init(struct state *st, const struct model_shares *shares);
size_t model_size(void); /* of the part of a state that is in use */

/* What its name says that it is. */
enum child_kind model_node_kind(const struct node *n);

/* Nothing can happen to i any more, and nobody will look at it. */
bool model_is_at_rest(const struct state *st, int i);

bool model_asks(const struct ask *ask, enum store_kind verb, enum attempt_node about);

/* Forgets nodes that nothing refers to any more. */
void model_collect(struct state *st);

void model_push_ask(struct client *c, struct ask ask);
void model_push_reply(struct client *c, struct reply reply);
struct ask model_take_ask(struct client *c, int at);
struct reply model_take_reply(struct client *c);

#endif
