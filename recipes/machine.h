/* What a machine asks of the server and is told by it, in ZooKeeper's words, and which answers the
 * driver drops (docs/design/driver.md). A machine is a flat value; a step takes one event and
 * answers with actions. A question is one request, or several whose answers the machine needs
 * together. It has a slot: the next question in that slot makes it stale.
 *
 * All of recipes/ is pure: no I/O, clock, thread, lock or allocation. A recipe calls mem..., str...
 * and other recipes, and nothing else (tests/lint/purity.sh). The caller of a step holds the lock
 * that guards the machine, mostly the session's monitor. */
#ifndef RECIPES_MACHINE_H
#define RECIPES_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_kind {
    STORE_CREATE,
    STORE_DELETE,
    STORE_GET,  /* with .watch: fires once when the node changes or is deleted; a missing node gets
                   no watch */
    STORE_LIST, /* the children; with .watch: fires once when a child is made or deleted, or the
                   node is deleted */
    STORE_SYNC, /* the server catches up with its leader */
    STORE_SET,
    STORE_UNWATCH, /* removes the watches of the path, on the server, too: those that LIST has set,
                      or those that all other requests have */
    STORE_STAT, /* with .watch: as GET's; but a missing node gets a watch, too, which fires when it
                   is made */
    STORE_MULTI /* makes all of .changes or none */
};

enum store_mode { STORE_PERSISTENT, STORE_CONTAINER, STORE_EPHEMERAL, STORE_EPHEMERAL_SEQUENTIAL };

enum store_rc {
    STORE_OK,
    STORE_NONODE,
    STORE_EXISTS,
    STORE_BADVERSION,
    STORE_NOAUTH,
    STORE_NOCHILDREN, /* the parent is ephemeral */
    STORE_NOTEMPTY,
    STORE_BAD,           /* refused for another reason */
    STORE_UNIMPLEMENTED, /* the server does not know this operation, and has done nothing */
    /* not answers of the server: */
    STORE_UNKNOWN, /* the request may or may not have been done */
    STORE_GONE,    /* the session is over */
    STORE_LIMIT    /* too much is watched: the request was not sent */
};

/* ---- events ---- */

enum machine_event_kind {
    MACHINE_EV_BEGIN,
    MACHINE_EV_ANSWER, /* to a request that is not stale: .rc, .verb, .node, .slot; with STORE_OK
                          all that this verb has */
    MACHINE_EV_FIRED,  /* the watch on .node; .gone: the node was deleted */
    MACHINE_EV_TIMER,
    MACHINE_EV_STOP,    /* the time has passed, or nobody wants the outcome any more: .unsent */
    MACHINE_EV_SESSION, /* the session has ended, its nodes are gone, and another one has begun:
                           .unsent. Nothing is under way */
    MACHINE_EV_OVER,    /* the session has ended, and there will be no other */
    MACHINE_EV_OWN      /* the first of the kinds that a recipe has of its own */
};

struct machine_event {
    unsigned kind; /* enum machine_event_kind, or the recipe's own */
    enum store_rc rc;
    enum store_kind verb;
    uint32_t node; /* as in the action */
    uint8_t slot;
    bool gone;
    bool unsent; /* no request of the present question was sent, nor will be */
    bool own;    /* the ephemeral owner of the node is the present session */
    int32_t version;
    uint64_t czxid, mzxid, pzxid; /* as in struct store_reply */
    uint64_t mtime_ms;            /* as in struct store_reply */
    int64_t ctime_ms;   /* as in struct store_reply; for the driver's functions, not the machine */
    int64_t owner;      /* the ephemeral owner of the node; likewise for those functions */
    int64_t late_until; /* ANSWER to a change: CLOCK_BOOTTIME, ns: until then a sending that was not
                           answered may still be done; 0: none may */
    int failed;         /* ANSWER to a MULTI: which of its changes was refused */
    uint32_t connection;      /* ANSWER: the number of the connection on which the request was sent;
                                 never 0 */
    const void *data;         /* GET */
    size_t length;            /* GET, LIST: of the node's data */
    size_t count;             /* LIST, GET: how many children the node has */
    const char *const *names; /* LIST: the children's names; CREATE: the path that was made;
                                 likewise for those functions */
    bool watched;             /* the request has left its watch */
};

/* ---- actions ---- */

enum machine_action_kind {
    MACHINE_ACT_REQUEST, /* .verb, .node, and the members after them */
    MACHINE_ACT_NAME,    /* .node gets a new name: it is another node after that */
    MACHINE_ACT_FORGET,  /* .slot: all answers to what was asked in it are stale */
    MACHINE_ACT_RECALL,  /* .node: its requests that were not sent yet end as STORE_BAD */
    MACHINE_ACT_UNWATCH, /* the watch on .node is dropped */
    MACHINE_ACT_DELETE,  /* .node and .more: the driver repeats the delete until the outcome is
                            certain; the machine gets no answer. The delete ends the node's watch */
    MACHINE_ACT_NOTE, /* a set of .node, if its data are of .version: it is sent once, now or not at
                         all; the machine gets no answer */
    MACHINE_ACT_LATE, /* .node is gone, and may be made late: then the driver finds and deletes it
                       */
    MACHINE_ACT_ARM,  /* the timer: .at */
    MACHINE_ACT_DISARM,
    MACHINE_ACT_END, /* all answers under way are stale, and all watches and the timer end;
                        .deleting: an own node is deleted, which ends the watches by itself */
    MACHINE_ACT_TELL /* the driver's owner: .verdict, .rc */
};

/* A change of a MULTI. */
struct machine_part {
    enum store_kind verb; /* CREATE, SET, DELETE */
    uint32_t node;
    int32_t version; /* SET; -1: any */
};

enum { MACHINE_PARTS = 2 };

struct machine_action {
    enum machine_action_kind kind;
    enum store_kind verb;
    enum store_mode mode; /* CREATE */
    uint32_t node;        /* a number that the recipe gives a meaning */
    uint32_t more;        /* how many nodes after .node get the same request, if they have a path */
    uint8_t slot;  /* the slot of its question: questions in different slots are open together */
    bool joins;    /* the request joins the present question of its slot. Otherwise it begins a new
                     question, and what was asked before is stale */
    bool watch;    /* GET, LIST, STAT */
    bool optional; /* .watch: if too much is watched, the request is sent without one. The limit is
                      that of all watches, and not the half of it as in watch_add_optional() */
    bool bare; /* CREATE: if the parent is missing, the answer says so, and the driver does not make
                  the parent */
    bool once; /* sent once: the answer may be STORE_UNKNOWN */
    bool deleting;       /* UNWATCH, END: the node is deleted, which ends the watch by itself */
    uint32_t connection; /* the only connection on which it is sent: without that, the answer is
                            STORE_UNKNOWN; 0: any */
    int32_t version;     /* SET, NOTE */
    int64_t at;          /* ARM: CLOCK_BOOTTIME, ns */
    int verdict;         /* TELL: the recipe's own */
    int why;             /* TELL: the reason, in the recipe's own numbers */
    enum store_rc rc;    /* TELL: what was refused, if anything was */
    uint64_t czxid;      /* TELL: of the node that the verdict is about, if there is one */
    /* MULTI: the number of changes in .parts; with .rest, all that driver_ops.rest() returns follow
     */
    uint8_t count;
    bool rest;
    struct machine_part parts[MACHINE_PARTS];
};

enum { MACHINE_ACTIONS = 8 };

struct machine_actions {
    uint32_t count;
    struct machine_action list[MACHINE_ACTIONS];
};

/* Adds an action, of which all but the kind is 0. */
struct machine_action *machine_act(struct machine_actions *out, enum machine_action_kind kind);

/* Adds a request. */
struct machine_action *machine_ask(struct machine_actions *out, enum store_kind verb,
                                   uint32_t node);

/* Adds a set of node that every leader refuses. Once it is answered, each request that the session
 * sent before has been done, or is one that comes late. The set has no data. */
struct machine_action *machine_ask_quorum(struct machine_actions *out, uint32_t node);

/* Whether a change was answered by the quorum. A server may refuse permission alone, without its
 * leader (enableEagerACLCheck). */
bool machine_is_by_quorum(enum store_rc rc);

/* Adds a transaction of two changes: the server makes both or none. */
struct machine_action *machine_ask_both(struct machine_actions *out, uint32_t node,
                                        struct machine_part first, struct machine_part second);

/* Adds a verdict. */
void machine_tell(struct machine_actions *out, int verdict, enum store_rc rc);

/* ---- between a machine and the server ---- */

enum { EXCHANGE_SLOTS = 3 };

/* Decides which answers the machine gets: no stale one, and none that says that a CREATE had no
 * parent. A flat value, all 0 at the beginning. */
struct exchange {
    uint32_t question[EXCHANGE_SLOTS]; /* the number of each slot's present question */
    bool lost; /* a request of a present question was sent in a session that has ended */
};

/* A request under way. Without padding, since the explorer hashes the bytes of a state. */
struct exchange_request {
    uint32_t question;
    uint16_t slot, bare; /* as in the action */
};

/* Gives a request of the machine its number. */
struct exchange_request exchange_ask(struct exchange *x, const struct machine_action *a);

/* Makes all requests under way in the slot stale. */
void exchange_forget(struct exchange *x, uint8_t slot);

bool exchange_is_stale(const struct exchange *x, struct exchange_request r);

enum exchange_answer {
    EXCHANGE_HEARD,   /* the machine gets the answer */
    EXCHANGE_UNHEARD, /* the machine does not get it */
    EXCHANGE_PARENTS  /* the driver makes the parents, and then sends the request again */
};

/* Returns what becomes of an answer. ev->unsent: the request was never sent. */
enum exchange_answer exchange_answered(struct exchange *x, struct exchange_request r,
                                       const struct machine_event *ev);

/* Fills in .unsent of an event that is no answer. unsent: of the requests under way that are not
 * stale, none was sent. */
void exchange_set_unsent(const struct exchange *x, struct machine_event *ev, bool unsent);

/* Makes all requests under way stale. */
void exchange_end(struct exchange *x);

/* For the explorer's searches: gives the same numbers to all values that differ in numbers alone.
 * exchange_plain_request() is called for each request under way, and then exchange_plain(). */
struct exchange_request exchange_plain_request(const struct exchange *x, struct exchange_request r);
void exchange_plain(struct exchange *x);

#endif
