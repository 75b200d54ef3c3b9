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

#include "breadth.h"
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
    uint8_t id;                           /* carried by its nodes; one for each entry */
    bool timer;
    uint16_t armed; /* of struct watch of watch.c: the server has it, as far as is known */
    /* the client library */
    uint16_t kept;      /* watches it sets again after a reconnect */
    uint8_t session;    /* counted from 1 */
    uint8_t connection; /* counts connections made and lost */
    bool established;
    bool connected;
    bool in_time;
    bool purge;        /* a delete was refused: the session must go */
    bool orphan;       /* session->orphans: it must go, unless the node is found before */
    bool deadline_due; /* the deadline passed, nobody was told yet */
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
    const char *broken; /* what is wrong, NULL: nothing */
    int32_t next;       /* number to be handed out */
    uint32_t czxid;
    uint32_t last_token; /* granted */
    uint32_t last_alone; /* the same, to one that shares with nobody */
    uint16_t standing;   /* nodes, at the leader */
    bool directory;
    struct hint hint;
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
 * apart (search.c): a state for each division begins. */
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

/* Or else the model is too small, and the program ends. */
void model_require(bool fits, const char *what);

void model_push_ask(struct client *c, struct ask ask);
void model_push_reply(struct client *c, struct reply reply);
struct ask model_take_ask(struct client *c, int at);
struct reply model_take_reply(struct client *c);

/* ---- move.c: what can happen next ---- */

enum move_kind {
    /* sooner or later */
    MOVE_ENTER,
    MOVE_HANDLE,
    MOVE_TAKE,
    MOVE_FOLLOW,
    MOVE_CONNECT,
    MOVE_NOTICE,
    MOVE_CLOSE_OLD,
    MOVE_PROOF,
    MOVE_PURGE,
    MOVE_TIMER,
    MOVE_TELL_DEADLINE,
    MOVE_RELEASE,
    MOVE_CALLBACKS,
    /* perhaps never */
    MOVE_EXPIRE,
    /* faults: one of its client's share each */
    MOVE_LOSE,
    MOVE_LOSE_DONE,
    MOVE_REFUSE,
    MOVE_DEADLINE,
    MOVE_UNPROVED,
    MOVE_REPLACE,
    MOVE_ABORT,
    MOVE_CLOSE,
    MOVE_FORCE_CLOSE,
    MOVE_FORCE_DELETE,
    MOVE_TOUCH,
    MOVE_REAP,
    MOVE_COUNT
};

/* move.at: the client; .node: of a third party's deed; of MOVE_CONNECT whether what was missed is
 * told backwards. */
_Static_assert(MODEL_CONTENDERS *(MOVE_COUNT + 2) + 2 * MODEL_NODES <= BREADTH_MOVES, "");

/* All that can happen in st; how many. */
int move_list(const struct state *st, struct move *moves);

void move_do(struct state *st, struct move move);

/* What happens without anybody's ill will, so that waiting for it is allowed. */
bool move_is_fair(struct move move);

/* "A: takes the answer to its list", into text. */
void move_describe(const struct state *st, struct move move, char *text, size_t size);

/* ---- client.c: the machine of a client with its exchange, and what its actions lead to at its
 * server and its user, where the library has lib/session/driver.c and lib/contender/contender.c
 * ----
 */

/* What the machine hears, and what it sees with it. */
struct heard {
    struct machine_event ev;
    struct attempt_moment moment;
    const uint8_t *listed; /* the nodes that were listed */
};

/* A step, and what happens in it, behind it. */
void client_step(struct state *st, int i, struct heard *heard);
void client_step_kind(struct state *st, int i, unsigned kind);

/* Whether the node carries the present id of the attempt, or the one before. */
bool client_is_own(const struct state *st, int i, int n);
bool client_is_old(const struct state *st, int i, int n);

void client_release(struct state *st, int i); /* by the user, or by the callbacks of a loss */
void client_timer(struct state *st, int i);

void client_deadline(struct state *st, int i);             /* it passes */
void client_tell_deadline_passed(struct state *st, int i); /* its timer runs */
void client_proof(struct state *st, int i);                /* there is a new deadline */
void client_extend(struct state *st, int i);               /* extend() of locks.c */

/* ---- link.c: what a client hears, answers and events, its connection and its session; and its
 * watches, one for each node, which it wants or not. The library has lib/session/request.c and
 * watch.c there. What else struct watch knows is seen in the requests under way, as their answers
 * come in the order in which they were asked for ---- */

/* The client takes what its server sent. */
void link_take(struct state *st, int i);

/* The machine hears the answer to a request, unless it is stale. */
void link_answer(struct state *st, int i, const struct reply *reply);

void link_down(struct state *st, int i); /* answers under way are lost */
void link_up(struct state *st, int i);   /* the same session, or a new one if there was none */
void link_replace(struct state *st, int i);
void link_close(struct state *st, int i);

/* The node whose watch is wanted: about is the own node or the predecessor. NULL: it is neither. */
uint8_t *link_watch_wanted(struct client *c, unsigned about);

/* How many requests under way set the watch of that node, or remove it. */
int link_watch_asked(const struct client *c, uint8_t node);

/* watch_add(), of a request that is not under way yet. */
void link_watch_add(struct client *c, const struct ask *ask);

/* watch_drop() */
void link_watch_drop(struct client *c, unsigned about, bool deleting);

/* watch_answered(), of a request that is under way no more. */
void link_watch_answered(struct client *c, const struct ask *ask, enum store_rc rc);

/* ---- server.c: the leader's changes, and what each client's server makes of them ---- */

/* Does the request at the head of i's queue and answers it. */
void server_handle(struct state *st, int i);
bool server_can_handle(const struct state *st, int i);

/* Refuses it instead. */
void server_refuse(struct state *st, int i);

/* The leader does the change at the head of i's queue, which stays there; i's server has not heard
 * of it. */
void server_do_unheard(struct state *st, int i);
bool server_is_changed_by(const struct ask *ask);

/* i's server hears of the next change. */
void server_follow(struct state *st, int i);
bool server_can_follow(const struct state *st, int i);

/* A session of i's was made: its server has heard of that, so of everything before. */
void server_begin(struct state *st, int i);
/* The same session has a connection again: its watches are set again. What they have missed is told
 * in any order: by number, or backwards. */
void server_resume(struct state *st, int i, bool backwards);
bool server_has_missed(const struct state *st, int i); /* more than one, so that the order counts */

/* The leader ends sessions of i: the present one, or those it had before. */
void server_close_session(struct state *st, int i);
void server_close_old(struct state *st, int i);
uint16_t server_old_nodes(const struct state *st, int i);

/* By a third party. */
void server_force_delete(struct state *st, int n);
void server_force_close(struct state *st, int i);
void server_touch(struct state *st, int n);
void server_reap(struct state *st);

/* Servers whose lag makes no difference follow at once. Ends each move. */
void server_settle(struct state *st);

/* ---- check.c: what must hold in every state, at every grant, and where nothing can happen any
 * more: if it does not, what is wrong ---- */

/* i's user was granted just now: into st->broken. */
void check_grant(struct state *st, int i);

/* i's user is told just now that it is asked to give way. */
void check_asked(struct state *st, int i);

/* At the moment it is refused for its neighbours: the node that was listed is reason enough. */
void check_refusal(struct state *st, int i, uint8_t child);

const char *check_state(const struct state *st);

/* Nothing but faults can happen. */
const char *check_end(const struct state *st);

#endif
