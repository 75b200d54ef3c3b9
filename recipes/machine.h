/* What a machine asks of the server and hears from it, in ZooKeeper's words, and what the driver
 * decides between the two (docs/design/driver.md). A machine is a flat value; a step takes one
 * event and answers with actions. */
#ifndef RECIPES_MACHINE_H
#define RECIPES_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_kind {
    STORE_CREATE,
    STORE_DELETE,
    STORE_GET,  /* with .watch: fires once when the node changes or goes; none if it is not there */
    STORE_LIST, /* the children; with .watch: fires once when one comes or goes, or the node goes */
    STORE_SYNC, /* the server catches up with its leader */
    STORE_SET,
    STORE_UNWATCH, /* removes, on the server too, the watches of the path that LIST has set, or
                      those that all other requests have */
    STORE_STAT,    /* with .watch: as GET's; and when it is not there, fires when it is made */
    STORE_MULTI    /* all of .changes or none */
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
    STORE_UNKNOWN, /* it may or may not have been done */
    STORE_GONE,    /* the session is over */
    STORE_LIMIT    /* too much is watched: it was not asked */
};

/* ---- events ---- */

enum machine_event_kind {
    MACHINE_EV_BEGIN,
    MACHINE_EV_ANSWER, /* to a request that is not stale: .rc, .verb, .node, .slot; with STORE_OK
                          the rest */
    MACHINE_EV_FIRED,  /* the watch on .node; .gone: the node was deleted */
    MACHINE_EV_TIMER,
    MACHINE_EV_STOP,    /* the time has passed, or nobody wants it any more: .unsent */
    MACHINE_EV_SESSION, /* the session has ended, and its nodes with it; another one has begun:
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
    bool unsent; /* nothing of the present question was sent, nor will be */
    bool own;    /* its ephemeral owner is the present session */
    int32_t version;
    uint64_t czxid, mzxid, pzxid; /* as in struct store_reply */
    uint64_t mtime_ms;            /* the same */
    int64_t ctime_ms;             /* the same; for the table */
    int64_t owner;                /* its ephemeral owner; for the table */
    int64_t late_until;           /* ANSWER to a change: until then what was sent of it, and not
                                     answered, may still be done. CLOCK_BOOTTIME, ns; 0: nothing is */
    int failed;                   /* ANSWER to a MULTI: which of its changes was refused */
    uint32_t connection;          /* ANSWER: the number of the one on which it was asked; never 0 */
    const void *data;             /* GET */
    size_t length;                /* GET, LIST: of the node's data */
    size_t count;                 /* LIST, GET: how many children the node has */
    const char *const *names;     /* LIST: theirs; CREATE: the path that was made; for the table */
    bool watched;                 /* the request has left its watch */
};

/* ---- actions ---- */

enum machine_action_kind {
    MACHINE_ACT_REQUEST, /* .verb, .node, and the members after them */
    MACHINE_ACT_NAME,    /* .node is another one from now on, of a new name */
    MACHINE_ACT_FORGET,  /* .slot: whatever was asked in it is stale */
    MACHINE_ACT_RECALL,  /* .node: what is asked of it and was not sent yet ends as STORE_BAD */
    MACHINE_ACT_UNWATCH, /* .node */
    MACHINE_ACT_DELETE,  /* .node and .more: the driver repeats the delete until it is certain, and
                            nobody hears of it. The node's watch is dropped, since the delete ends
                            it */
    MACHINE_ACT_NOTE,    /* .node's data, if they are of .version: once, at present or not at all;
                            nobody hears of it */
    MACHINE_ACT_LATE,    /* .node is gone, and may be made late: it is looked for, and deleted */
    MACHINE_ACT_ARM,     /* the timer: .at */
    MACHINE_ACT_DISARM,
    MACHINE_ACT_END, /* nothing that is under way is heard, no watch stands, no timer runs;
                        .deleting: what is watched still ends by itself */
    MACHINE_ACT_TELL /* the user: .verdict, .rc */
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
    uint32_t more;        /* the same of this many nodes after it, too */
    uint8_t slot;         /* the question that it belongs to */
    bool also;            /* the same question as the request before, whose answer is not stale */
    bool watch;           /* GET, LIST, STAT */
    bool optional;        /* .watch: if too much is watched, it is asked without one. This counts
                             against all room, not the half of watch_add_optional() */
    bool bare;            /* CREATE: where the parent is missing, the answer says so */
    bool once;            /* sent once: the answer may be STORE_UNKNOWN */
    bool deleting;        /* UNWATCH, END: the node is, which ends the watch by itself */
    uint32_t connection;  /* asked on that one or not at all: STORE_UNKNOWN; 0: on any */
    int32_t version;      /* SET, NOTE */
    int64_t at;           /* ARM: CLOCK_BOOTTIME, ns */
    int verdict;          /* TELL: the recipe's own */
    int why;              /* TELL: the same, of what it is about */
    enum store_rc rc;     /* TELL: what was refused, if anything was */
    uint64_t czxid;       /* TELL: of the node that it is about, if it is about one */
    /* MULTI: the number of changes; with .rest all that follow in the recipe's table, too */
    uint8_t count;
    bool rest;
    struct machine_part parts[MACHINE_PARTS];
};

enum { MACHINE_ACTIONS = 8 };

struct machine_actions {
    uint32_t count;
    struct machine_action list[MACHINE_ACTIONS];
};

/* Another action, of which all but the kind is 0. */
struct machine_action *machine_act(struct machine_actions *out, enum machine_action_kind kind);

struct machine_action *machine_ask(struct machine_actions *out, enum store_kind verb,
                                   uint32_t node);

/* A set of node that every leader refuses. When it is answered, all that the session asked for
 * before is done, or comes late. It has no data. */
struct machine_action *machine_ask_quorum(struct machine_actions *out, uint32_t node);

/* Whether that is the quorum's answer to a change. A server may refuse permission alone, without
 * its leader (enableEagerACLCheck). */
bool machine_is_by_quorum(enum store_rc rc);

/* A transaction of two changes: the server makes both or none. */
struct machine_action *machine_ask_both(struct machine_actions *out, uint32_t node,
                                        struct machine_part first, struct machine_part second);

void machine_tell(struct machine_actions *out, int verdict, enum store_rc rc);

/* ---- between a machine and the server ---- */

enum { EXCHANGE_SLOTS = 3 };

/* Which answers are stale, and which the machine does not hear as they are. A flat value, all 0 at
 * the beginning. */
struct exchange {
    uint32_t question[EXCHANGE_SLOTS]; /* the number of the present one */
    bool lost;                         /* a part of it was sent, and its session has ended */
};

/* A request as it is under way; without padding. */
struct exchange_request {
    uint32_t question;
    uint16_t slot, bare; /* as in the action */
};

/* The machine asks. */
struct exchange_request exchange_ask(struct exchange *x, const struct machine_action *a);

/* All that is under way in the slot is stale. */
void exchange_forget(struct exchange *x, uint8_t slot);

bool exchange_is_stale(const struct exchange *x, struct exchange_request r);

enum exchange_answer {
    EXCHANGE_HEARD,   /* the machine hears it */
    EXCHANGE_UNHEARD, /* it does not */
    EXCHANGE_PARENTS  /* the parents are made, and then it is asked for again */
};

/* .unsent: it was never sent. */
enum exchange_answer exchange_answered(struct exchange *x, struct exchange_request r,
                                       const struct machine_event *ev);

/* An event that is no answer is about to be told. unsent: nothing was sent of the requests that are
 * under way and not stale. */
void exchange_tell(const struct exchange *x, struct machine_event *ev, bool unsent);

/* All that is under way is stale. */
void exchange_end(struct exchange *x);

/* For searches: gives the same numbers to all values that differ in numbers alone.
 * exchange_plain_request() is for each request under way, and exchange_plain() comes after that. */
struct exchange_request exchange_plain_request(const struct exchange *x, struct exchange_request r);
void exchange_plain(struct exchange *x);

#endif
