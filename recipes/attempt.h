/* An attempt is the protocol of one contender: it enters, queues, holds and leaves.
 *
 *  enter            create+list   list: others ahead      predecessor gone, it was the head
 *  IDLE ──> CREATING ──> LISTING ──> WAITING ──> PROVING ──> HOLDING ──release──> DONE
 *              │  ^          │           │  (it was not: LISTING)  ^  │
 *   no parent  v  │          └───────────┴── nobody ahead ─────────┤  └─deadline──> LOST ──> DONE
 *            PARENTS                     no deadline that lasts: CLAIMING
 *   outcome unknown: CREATING ──> SETTLING (barrier, list) ──> ADOPTING (read) ──> LISTING
 *   long queue, predecessor gone: WAITING ──> SUCCEEDING ── it was the head ──> PROVING
 *   the own node was watched before the head went, and silent: WAITING ──> CLAIMING
 *   a deadline lasts: the step that moves to CLAIMING goes on to HOLDING (attempt_begin_state())
 *   a try waits for the only one ahead, if that retains and so may yield: ATTEMPT_YIELD_MS
 *   before the grant, own node or session gone, or first for a session timeout without such a
 *     deadline: REENTERING, and when admitted CREATING
 *   HOLDING, own node or session gone: ATTEMPT_LOSE, and DONE in the same step. Only a deadline
 *     that has passed leads to LOST, since there the node may still stand
 *   semaphore, all ahead are admitted: LISTING ──> FIRST ── children or limit changed ──> LISTING
 *   Curator's semaphore, too many children: the same
 *
 * The driver repeats all requests but the create after a disconnection, until their outcome is
 * certain. The outcome of the create may stay unknown.
 *
 * The directory is the recipe's path, and the contenders' nodes are its children; the own node is
 * that of this attempt. The head of a queue is the contender that waits for no other. The
 * predecessor is the nearest of those ahead for which this contender waits. What is proved here is
 * that the own node stands; until when the session lives is proofs.h's to say (.in_time). A hint is
 * the head's name in the directory's data (head_hint.h). A semaphore admits a contender if it and
 * all before it ask for no more permits than the limit. A contender is first in line if it is not
 * admitted and all before it are. A touch sets the data of a node to what they are, for the event
 * of its watch.
 */
#ifndef RECIPES_ATTEMPT_H
#define RECIPES_ATTEMPT_H

#include "ending.h"
#include "head_hint.h"
#include "machine.h"
#include "rule.h"

enum attempt_state {
    ST_IDLE,
    ST_REENTERING, /* the own node is gone; admission is asked for */
    ST_CREATING,   /* create and, after it, list are sent */
    ST_PARENTS,    /* the directory is being made */
    ST_SETTLING,   /* our create may or may not have been done */
    ST_ADOPTING,   /* a node with our id was found: reading whose session it belongs to */
    ST_LISTING,    /* the node is ours: who is ahead? */
    ST_WAITING,    /* watching the predecessor */
    ST_FIRST,      /* of a semaphore: all ahead are admitted, and the directory is watched */
    ST_SUCCEEDING, /* the predecessor is gone: was it the head? */
    ST_PROVING,    /* nobody is ahead: is our node still there? */
    ST_CLAIMING,   /* first and proved: becomes HOLDING in the same step if a deadline lasts */
    ST_RESETTING,  /* the numbers are used up: trying to delete the empty directory */
    ST_HOLDING,
    ST_LOST,    /* lost while the node may still stand: it goes when the callbacks are through */
    ST_LEAVING, /* the caller has its answer; our create is not settled yet */
    ST_DONE,
    ST_COUNT
};

/* The nodes of an attempt's requests. */
enum attempt_node {
    ATTEMPT_NEW,    /* the own node, before it has a number */
    ATTEMPT_QUORUM, /* the same name without a number, which no node has: for machine_ask_quorum()
                     */
    ATTEMPT_OWN,    /* the own node */
    ATTEMPT_PREDECESSOR, /* the child that it waits for */
    ATTEMPT_CHILDREN,    /* the directory, listed */
    ATTEMPT_DIRECTORY,   /* the directory itself */
    ATTEMPT_HINT,        /* the directory, for the hint in its data */
    ATTEMPT_LIMIT,       /* the directory, for the limit in its data */
    ATTEMPT_PARENT, /* this number and the next ones: the parents of the directory, from the top */
    ATTEMPT_SPARE = 1 << 24, /* this number and the next ones: the children in the list that are
                                nodes of this attempt, without the own node */
    ATTEMPT_OURS = 1 << 28   /* the same children, with the own node */
};

/* Questions that are open together. MAIN leads to a grant. OTHERS finds out whether others wait.
 * TOUCH sets the own node to the data that it has, so that the next contender gets an event. */
enum attempt_slot { ATTEMPT_SLOT_MAIN, ATTEMPT_SLOT_OTHERS, ATTEMPT_SLOT_TOUCH };

/* The events of an attempt. MACHINE_EV_BEGIN comes when it is admitted, at first and after each
 * ATTEMPT_ADMIT. MACHINE_EV_STOP comes when the caller gives up, by timeout, cancel or close. */
enum {
    ATTEMPT_EV_DEADLINE_MOVED = MACHINE_EV_OWN, /* the session's deadline has moved: mostly later,
                                             and earlier if a server grants a shorter timeout */
    ATTEMPT_EV_DEADLINE_PASSED, /* the deadline has passed, or the grant has lost another tenure */
    ATTEMPT_EV_ASK_OTHERS, /* the holder asks whether others wait: answered by ATTEMPT_OTHERS */
    ATTEMPT_EV_WATCH_OWN,  /* the holder wants to be told at once when it is asked to give way */
    ATTEMPT_EV_RELEASE,    /* the holder is done; or, when it has lost, its callbacks are */
    ATTEMPT_EV_NODE_GONE,  /* the own node is known to be gone */
    ATTEMPT_EV_DOUBT       /* the limit may have changed without an event of its watch */
};

/* What the driver knows when it delivers an event. */
struct attempt_moment {
    int64_t now;    /* CLOCK_BOOTTIME, ns */
    bool in_time;   /* the present session's deadline lasts */
    bool asked;     /* the own node was read, and its data ask to give way (payload.h) */
    bool unused;    /* the directory was read, and has no data of others (contender_is_unused()) */
    bool container; /* the directory and its parents are made as containers */
    int32_t timeout_ms;  /* of the present session */
    uint32_t connection; /* the number of the present connection; each has another one; 0: there is
                            none */
    uint32_t parents;    /* how many parents the directory has */
    enum loss loss;      /* MACHINE_EV_SESSION, OVER: why the session ended */
    enum head_hint hint; /* the directory was listed: NONE or UNREAD; or the hint was read */
    int32_t number;      /* the own node was made: its number */
    int32_t limit;       /* the limit or the directory was read: the limit; 0: the data are none */
    const struct child *children; /* the directory was listed: .count of the event */
};

/* What the driver is told; .why says more. */
enum attempt_verdict {
    ATTEMPT_ADMIT,  /* the attempt asks for admission, which is MACHINE_EV_BEGIN */
    ATTEMPT_FOLLOW, /* .why: the child of this list that is the predecessor from now on */
    ATTEMPT_ADOPT,  /* .why: the child of this list that is the own node from now on */
    ATTEMPT_GRANT,
    ATTEMPT_FAIL,      /* .why: enum attempt_error, the caller's answer */
    ATTEMPT_LOSE,      /* .why: enum loss */
    ATTEMPT_OTHERS,    /* .why: enum attempt_others, for the holder */
    ATTEMPT_ASKED,     /* the holder is asked to give way; told once */
    ATTEMPT_UNTOUCHED, /* the own node's data could not be set, so the next contender waits longer
                        */
    ATTEMPT_ORPHAN /* a node of ours may stand that cannot be listed: the session must end, unless
                      the node is found before */
};

/* A holder has no watch on its own node at first. A short hold never needs one, and the event at
 * its end would wake the holder once more. So the watch is set when the hold has lasted this long.
 * The price is that the holder learns of a deletion by a third party so much later. No deadline
 * covers that, since the session goes on; the token does, and fenced transactions are refused at
 * once. */
#define ATTEMPT_OWN_WATCH_MS 20

/* How long a try waits for the only contender ahead to yield, if its name says that it retains. A
 * name proves nothing more: if that contender uses the lock, the try has waited in vain. A try
 * waits so once in an attempt. */
#define ATTEMPT_YIELD_MS 50

/* The pause before a holder tries again to set the watch on its own node, after a refusal. If there
 * is no room for the watch, the node is read, and the pause is a session timeout. */
#define ATTEMPT_RETRY_MS 1000

/* The pause before the attempt looks again for a node of its own, after a refusal. It doubles each
 * time, up to LAST. */
#define ATTEMPT_SETTLE_FIRST_MS 500
#define ATTEMPT_SETTLE_LAST_MS 30000

/* What a holder can know of others. */
enum attempt_others {
    OTHERS_UNKNOWN, /* could not be found out */
    OTHERS_NONE,    /* nobody waits, and an event will tell of the next one that comes */
    OTHERS_WAIT     /* somebody waits, and no event tells of more that come */
};

/* Why an attempt fails. A contender maps these to public codes. If a parent could not be made,
 * .node says which one. */
enum attempt_error {
    ATTEMPT_BUSY = 1, /* a try, and others are ahead */
    ATTEMPT_REFUSED,
    ATTEMPT_NOCHILDREN,
    ATTEMPT_OVERFLOW,
    ATTEMPT_WATCHES, /* too much is watched */
    ATTEMPT_PROTOCOL,
    ATTEMPT_PERMITS,  /* more are asked for than the limit allows */
    ATTEMPT_NOLIMIT,  /* the directory has none, and none was given */
    ATTEMPT_LAYOUT,   /* .node: a child of this list that the own kind does not go with */
    ATTEMPT_UNPROVED, /* a try: it is first, but no deadline lasts */
    ATTEMPT_ABORTED   /* by MACHINE_EV_STOP */
};

struct attempt {
    enum attempt_state state;
    enum rule rule;
    bool try_only;       /* it does not wait for others, but see ATTEMPT_YIELD_MS */
    bool strict;         /* a child that is no contender is an error */
    bool has_node;       /* the own node's name is known */
    bool watching;       /* a predecessor is watched */
    bool told;           /* the caller has its answer */
    bool own_watched;    /* the own node has a watch, which has not fired */
    bool shared_session; /* the predecessor is of this session: if its node is gone with the
                            session, so is our own */
    bool hintable;       /* of head hints (head_hint.h): the data of .version are no others' data */
    /* in bits, since thousands may wait: */
    bool watch_children : 1;        /* the first list leaves a watch on the children */
    bool waited : 1;                /* it has had a predecessor */
    bool creating : 1;              /* the create is not answered yet */
    bool looking : 1;               /* ATTEMPT_EV_ASK_OTHERS is not answered yet */
    enum attempt_others others : 2; /* OTHERS_NONE: the children are watched */
    bool watch_own : 1;   /* the own node is watched even if the children are, for what is written
                             there */
    bool asked : 1;       /* a read of the own node has shown that it is asked to give way */
    bool unwatchable : 1; /* the own node is read without a watch, since too much is watched */
    bool awaits : 1; /* it needs nothing but a deadline; the timer says how long it waits at most */
    /* of a semaphore: */
    bool counts : 1;    /* Curator's: every child is a permit, and .limit is set for good */
    bool has_limit : 1; /* it has a limit with which the directory can be made */
    bool first : 1;     /* it is first in line: all that may admit it is watched, or going to be */
    bool limit_watched : 1;  /* the directory's data have a watch, which has not fired */
    uint32_t own_connection; /* the connection on which the own node got its watch */
    uint64_t token;
    int32_t number;
    uint32_t ahead;      /* how many are ahead in the last list; 0: none was read yet */
    uint16_t parent;     /* PARENTS: the first parent that could not be made */
    uint8_t parent_rc;   /* PARENTS: why it could not be made */
    uint8_t rounds;      /* how many times it has begun again; LEAVING: how many times settling was
                            refused */
    uint32_t awaited_on; /* the connection on which .awaits has begun; 0: none yet */
    union {              /* by .kind */
        struct {         /* of head hints, too */
            /* from this many children on a queue is long; 0: it uses no hints */
            uint32_t long_queue;
            int32_t version; /* of the directory's data, as last seen */
            uint32_t count;  /* of children, as last seen */
        };
        struct {              /* of a semaphore, too */
            uint32_t permits; /* how many are asked for */
            int32_t limit;
            uint64_t limit_zxid; /* zxid of its last change; 0: it is not known */
        };
    };
};

void attempt_init(struct attempt *c, enum rule rule, bool try_only);

/* Makes an attempt, after attempt_init(), a lease in Curator's layout. The directory may have as
 * many children as limit. */
void attempt_count_leases(struct attempt *c, int32_t limit);

/* Takes one event and empties *out, which gets what is to be done. */
void attempt_step(struct attempt *c, const struct machine_event *ev, const struct attempt_moment *m,
                  struct machine_actions *out);

/* Whether c is consistent: asserted after each step, and checked by the explorer. */
bool attempt_invariant(const struct attempt *c);

/* Whether the move is one of the diagram above. */
bool attempt_may_move(enum attempt_state from, enum attempt_state to);

const char *attempt_state_name(enum attempt_state state);

#endif
