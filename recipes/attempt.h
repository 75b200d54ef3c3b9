/* The protocol of every recipe: enter, queue, hold, leave. One value is one attempt.
 *
 *  enter            create+list   list: others ahead      predecessor gone, it was the head
 *  IDLE ──> CREATING ──> LISTING ──> WAITING ──> PROVING ──> HOLDING ──release──> DONE
 *              │  ^          │           │  (it was not: LISTING)  ^  │
 *   no parent  v  │          └───────────┴── nobody ahead ─────────┤  └─deadline──> LAPSED ──> DONE
 *            PARENTS                     no deadline that lasts: CLAIMING
 *   outcome unknown: CREATING ──> SETTLING (barrier, list) ──> ADOPTING (read) ──> LISTING
 *   long queue, predecessor gone: WAITING ──> SUCCEEDING ── it was the head ──> PROVING
 *   the own node was watched before the head went, and silent: WAITING ──> CLAIMING
 *   a try waits for the only one ahead, if that retains and so may yield: ATTEMPT_YIELD_MS
 *   own node or session gone, or first for a session timeout without such a deadline:
 *     REENTERING, and when admitted CREATING
 *   semaphore, all ahead are admitted: LISTING ──> FIRST ── children or limit changed ──> LISTING
 *   Curator's semaphore, too many children: the same
 *
 * Requests but the create are answered definitely by the layer below, which retries them through
 * disconnections; it answers none of an earlier session (EV_REPLACED comes instead). */
#ifndef RECIPES_ATTEMPT_H
#define RECIPES_ATTEMPT_H

#include "child.h"
#include "head_hint.h"
#include "loss.h"

enum attempt_state {
    ST_IDLE,
    ST_REENTERING, /* the own node is gone; admission is asked for */
    ST_CREATING,   /* create and, behind it, list are sent */
    ST_PARENTS,    /* the directory is being made */
    ST_SETTLING,   /* our create may or may not have been done */
    ST_ADOPTING,   /* a node with our id was found: reading whose session it belongs to */
    ST_LISTING,    /* the node is ours: who is ahead? */
    ST_WAITING,    /* watching the predecessor */
    ST_FIRST,      /* of a semaphore: all ahead are admitted, and the directory is watched */
    ST_SUCCEEDING, /* the predecessor is gone: was it the head? */
    ST_PROVING,    /* nobody is ahead: is our node still there? */
    ST_CLAIMING,   /* first and proved, but no deadline lasts yet */
    ST_RESETTING,  /* the numbers are used up: trying to delete the empty directory */
    ST_HOLDING,
    ST_LAPSED,  /* lost while the node may still stand: it goes when the callbacks are through */
    ST_LEAVING, /* answered already; our create is not settled yet */
    ST_DONE,
    ST_COUNT
};

/* How a request ended. The order is nobody's business; UNKNOWN is only given for creates. */
enum answer {
    ANSWER_OK,
    ANSWER_UNKNOWN, /* may or may not have been done */
    ANSWER_NONODE,
    ANSWER_EXISTS,
    ANSWER_REFUSED,    /* no permission */
    ANSWER_NOCHILDREN, /* an ephemeral node has no children */
    ANSWER_NOTEMPTY,
    ANSWER_LIMIT, /* too much watched */
    ANSWER_BAD    /* anything else */
};

enum event_kind {
    EV_ENTER, /* admitted: at first, and after each ACT_ADMIT */
    EV_CREATED,
    EV_PARENTS_MADE,
    EV_PASSED, /* answer to ACT_BARRIER: a definite one of any kind is OK */
    EV_LISTED,
    EV_HINT_READ,      /* of the directory itself */
    EV_READ,           /* of the own node */
    EV_WATCHED,        /* answer to ACT_WATCH */
    EV_PRED_FIRED,     /* the present predecessor changed or went; never an earlier one */
    EV_OWN_FIRED,      /* the own node changed or went */
    EV_LIMIT_READ,     /* answer to ACT_READ_LIMIT */
    EV_LIMIT_FIRED,    /* the directory's data have changed since the read that left the watch */
    EV_CHILDREN_FIRED, /* a child came or went since the list that left the watch */
    EV_RESET,          /* answer to ACT_RESET */
    EV_TIMER,          /* ACT_ARM came due */
    EV_EXTENDED,       /* the session's deadline was extended */
    EV_LAPSED,         /* the grant's deadline passed */
    EV_ABORT,          /* the caller gives up: timeout, cancel, close */
    EV_LOOK,           /* the holder asks whether others wait: answered by ACT_OTHERS */
    EV_HEED,           /* the holder will hear at once that it is asked to give way */
    EV_RELEASE,        /* the holder is done; or, when lapsed, its callbacks are */
    EV_REPLACED,       /* the session ended and a new one is being opened */
    EV_END             /* the session ended and no other will follow */
};

struct event {
    enum event_kind kind;
    enum answer answer;
    uint32_t tag;        /* that of the request answered */
    bool in_time;        /* the present session's deadline lasts */
    bool gone;           /* EV_*_FIRED: the node was deleted */
    int error;           /* EV_ABORT: what the caller is told */
    enum loss loss;      /* EV_REPLACED, EV_END: why the session ended */
    uint32_t connection; /* the one it came on; another number after each loss of it */
    /* EV_CREATED, EV_READ; czxid EV_WATCHED, too */
    int32_t number;
    uint64_t czxid;
    int64_t ephemeral_owner; /* ephemeralOwner; EV_WATCHED, too */
    int64_t session;         /* the present session's id */
    int32_t timeout_ms;      /* and its timeout */
    bool asked;              /* EV_READ: the data ask to give way (revoke.h) */
    /* EV_LISTED */
    const struct child *children;
    bool watched; /* the list has left a watch */
    /* EV_LISTED, EV_HINT_READ: of the directory */
    size_t count;        /* children */
    enum head_hint hint; /* of a list NONE or UNREAD */
    int32_t version;     /* EV_WATCHED: of the predecessor */
    uint64_t data_zxid;  /* EV_LIMIT_READ, too: when its data were written */
    /* EV_LIMIT_READ */
    int32_t limit; /* 0: the data are no limit */
};

enum action_kind {
    ACT_ADMIT,  /* EV_ENTER, when it is its turn; the last action of a step */
    ACT_CREATE, /* own id, ephemeral sequential */
    ACT_PARENTS,
    ACT_BARRIER,    /* through the quorum, changing nothing: a list behind it shows each create that
                       was asked for before and will ever be done */
    ACT_LIST,       /* with .watch, leaving a watch on the children if that may be */
    ACT_ADOPT,      /* the child id of this snapshot is the own node from now on */
    ACT_READ_LIMIT, /* the directory's data; with .watch, leaving a watch on them */
    ACT_UNWATCH_LIMIT, /* they are of no interest any more */
    ACT_TOUCH,         /* sets the own node to the data that it has; not awaited */
    ACT_READ_HINT,     /* the directory's data: do they name the predecessor? */
    ACT_PROVE,         /* reads the own node */
    ACT_READ,          /* the own node, leaving a watch on it */
    ACT_WATCH,         /* the child id of this snapshot is the predecessor from now on */
    ACT_REWATCH,       /* the same predecessor again */
    ACT_UNWATCH,       /* the predecessor is of no interest any more */
    ACT_DELETE,        /* the own node; guaranteed by the layer below */
    ACT_DELETE_SPARE,  /* nodes of this attempt in this snapshot, but the one with .number */
    ACT_DELETE_ALL,    /* nodes of this attempt in this snapshot */
    ACT_ORPHAN,   /* a node of ours may stand that cannot be seen: the session must go, unless it
                     is found before */
    ACT_RESET,    /* delete the directory if it is an empty container */
    ACT_SET_HINT, /* the own node's name into the directory's data, if their version is .number;
                 not awaited */
    ACT_ARM,      /* EV_TIMER after .number ms */
    ACT_OTHERS,   /* the holder hears .others; the last action of a step */
    ACT_ASKED,    /* the holder hears, once, that it is asked to give way; the last one, too */
    ACT_GRANT,
    ACT_REVOKE,
    ACT_FAIL /* .error is the caller's answer */
};

/* A holder has no watch on its own node at first. Short holds never need it, and its end would wake
 * them once more, so it is set when the hold has lasted this long. */
#define ATTEMPT_OWN_WATCH_MS 20

/* How long a try waits for the only one ahead to yield, if its name says that it retains. Nothing
 * is believed of the name but that: whoever uses the lock, or says so without retaining, costs the
 * try that time. Once in an attempt. */
#define ATTEMPT_YIELD_MS 50

/* The tag of the list behind EV_LOOK, which is beside the others: one is under way at a time. */
#define ATTEMPT_LOOK_TAG (UINT32_C(1) << 31)

/* Until it is tried again, when it could not be set. */
#define ATTEMPT_RETRY_MS 1000

/* Until it is looked again whether a node of ours stands, when that was refused: twice as long each
 * time, up to the last. */
#define ATTEMPT_SETTLE_FIRST_MS 500
#define ATTEMPT_SETTLE_LAST_MS 30000

/* What a holder can know of others. */
enum attempt_others {
    OTHERS_UNKNOWN, /* could not be found out */
    OTHERS_NONE,    /* nobody waits, and whoever comes will be heard */
    OTHERS_WAIT     /* somebody waits; of more that come nothing is heard */
};

struct action {
    enum action_kind kind;
    bool watch;
    enum attempt_others others;
    uint32_t tag; /* of a request: given back with its answer */
    uint32_t id;
    int32_t number;
    int error;
    enum loss loss; /* ACT_REVOKE */
};

enum { ATTEMPT_ACTIONS = 8 };

struct actions {
    uint32_t count;
    struct action list[ATTEMPT_ACTIONS];
};

/* What the caller is told; the driver maps them to public codes. */
enum attempt_error {
    ATTEMPT_BUSY = 1, /* a try, and others are first */
    ATTEMPT_REFUSED,
    ATTEMPT_NOCHILDREN,
    ATTEMPT_OVERFLOW,
    ATTEMPT_LIMIT,
    ATTEMPT_PROTOCOL,
    ATTEMPT_PERMITS,  /* more are asked for than the limit allows */
    ATTEMPT_NOLIMIT,  /* the directory has none, and none was given */
    ATTEMPT_LAYOUT,   /* .id: a child that the own kind does not go with */
    ATTEMPT_UNPROVED, /* a try: it is first, but no deadline lasts */
    ATTEMPT_ABORTED   /* first of the driver's own, given through EV_ABORT */
};

struct attempt {
    enum attempt_state state;
    enum rule rule;
    bool try_only;       /* do not wait for others, but see ATTEMPT_YIELD_MS */
    bool strict;         /* a child that is no contender is an error */
    bool has_node;       /* the own node's name is known */
    bool watching;       /* a predecessor is watched */
    bool told;           /* the caller has its answer */
    bool own_watched;    /* the own node has a watch, which has not fired */
    bool shared_session; /* the predecessor is of this session: its end can be that of both */
    bool hintable;       /* of head hints, see head_hint.h: .version is nobody else's data */
    /* of others; thousands may wait, and each has these: */
    bool watch_children : 1;        /* the first list is to leave a watch on the children */
    bool waited : 1;                /* it has had a predecessor */
    bool looking : 1;               /* EV_LOOK is not answered yet */
    enum attempt_others others : 2; /* OTHERS_NONE: the children are watched */
    bool heeds : 1;                 /* the own node is watched for what is written there, too */
    bool asked : 1;                 /* to give way, as a read of the own node has shown */
    bool awaits : 1;                /* nothing but a deadline; ACT_ARM is how long, at most */
    /* of a semaphore: */
    bool counts : 1;         /* Curator's: every child is a permit, and .limit is set for good */
    bool has_limit : 1;      /* to make the directory with */
    bool first : 1;          /* whatever may admit it is watched, or is going to be */
    bool limit_watched : 1;  /* the directory's data have a watch, which has not fired */
    uint32_t own_connection; /* on which the own node got its watch, or .awaits began */
    uint64_t token;
    int32_t number;
    uint32_t ahead;  /* in the last snapshot; 0 before the first one */
    uint32_t tag;    /* newest request that matters: answers to older ones are stale */
    uint32_t rounds; /* how often the directory had to be made; LEAVING: settling was refused */
    union {          /* by .kind */
        struct {     /* of head hints, too */
            uint32_t long_queue; /* so many children are a long queue; 0: takes no part */
            int32_t version;     /* of the directory's data, as last seen */
            uint32_t count;      /* of children, as last seen */
        };
        struct {              /* of a semaphore, too */
            uint32_t permits; /* so many are asked for */
            int32_t limit;
            uint64_t limit_zxid; /* when it was written; 0: it is not known */
        };
    };
};

void attempt_init(struct attempt *c, enum rule rule, bool try_only);

/* Of one just set up, of a lease in Curator's layout: so many children may there be. */
void attempt_count_leases(struct attempt *c, int32_t limit);

/* Takes one event, appends what is to be done to *out (emptied first). */
void attempt_step(struct attempt *c, const struct event *ev, struct actions *out);

/* Whether c is consistent: asserted after each step, and checked by the explorer. */
bool attempt_invariant(const struct attempt *c);

/* Whether the move is one of the diagram above. */
bool attempt_may_move(enum attempt_state from, enum attempt_state to);

const char *attempt_state_name(enum attempt_state state);

#endif
