/* One member of a double barrier in Curator's layout: n members enter together, and leave together.
 * Each has an ephemeral node in the barrier's directory; `ready` there says that a round has begun.
 *
 *   OUTSIDE ──> JOINING ──> LOOKING ──not let in by ready──> COUNTING ──fewer──> WAITING
 *                  ^           │ ^                              │                  │
 *                  │own node   │ └──ready changes, or the last──┼──────────────────┘
 *                  │is gone    │    one of its round has left   │n of them
 *                  └───────────┼────────────────────────────────┤
 *                              └─let in──> INSIDE <──made────OPENING ──another was faster──>
 * LOOKING
 *
 *   INSIDE ──> LEAVING ──not the lowest, or the last──> QUITTING ──> LEAVING ──all gone──> OUTSIDE
 *
 * and from wherever the own node stands by QUITTING to OUTSIDE when it is stopped.
 *
 * Who may enter: the n members with the lowest czxids of those who are not of the round before.
 * Whoever sees n of them makes ready, with the czxid of the last of the n as its bound, or where no
 * others are there the zxid of the list, unless anything about ready has changed since it was read.
 * A member is let in by a ready that is younger than its node and whose bound is not lower; another
 * library's ready has no bound, and lets in whoever was there.
 *
 * A ready that does not let the own node in is of an earlier round. While one of the members that
 * it let in is still there, the others wait. With none of them it was left behind, and the next
 * round sets its bound anew.
 *
 * Leaving is Curator's: the lowest by name waits for the highest, the others delete their nodes and
 * wait for the lowest, which removes ready together with its own node. Members beyond the bound are
 * not waited for. When the one that was awaited is gone the members are listed again.
 *
 * A czxid is read only where it is needed: each member reads few others, as long as no more come
 * than may enter. */
#ifndef RECIPES_BARRIER_H
#define RECIPES_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum barrier_state {
    BARRIER_OUTSIDE,
    BARRIER_JOINING,  /* the own node is being made */
    BARRIER_LOOKING,  /* ready is being read, with a watch */
    BARRIER_COUNTING, /* the members are being listed, and read if need be */
    BARRIER_WAITING,  /* for ready to change, or for a member of the round before to leave */
    BARRIER_OPENING,  /* ready is being made */
    BARRIER_QUITTING, /* the own node is being deleted */
    BARRIER_INSIDE,
    BARRIER_LEAVING, /* for the others to leave */
    BARRIER_STATES
};

enum barrier_event_kind {
    BARRIER_EV_ENTER,
    BARRIER_EV_LEAVE,
    /* answers */
    BARRIER_EV_JOINED,    /* .zxid: the czxid of the own node */
    BARRIER_EV_LOOKED,    /* .zxid of ready's last change, 0: there is none; .bound, 0: not ours;
                             .version */
    BARRIER_EV_COUNTED,   /* to COUNT: .members, all unread; .zxid of the last that came or went; to
                             READ: .members */
    BARRIER_EV_OPENED,    /* by us */
    BARRIER_EV_OVERTAKEN, /* to OPEN: something has changed since ready was read */
    BARRIER_EV_QUIT,      /* the own node is gone */
    BARRIER_EV_GONE,      /* the member that was awaited */
    BARRIER_EV_REFUSED,   /* to any but QUIT, for good */
    /* and besides */
    BARRIER_EV_FIRED,    /* ready has come, changed or gone */
    BARRIER_EV_STOP,     /* the time has passed, or nobody wants it any more */
    BARRIER_EV_REPLACED, /* the session has ended, and its nodes with it; another one has begun */
    BARRIER_EV_OVER      /* there will be none */
};

#define BARRIER_UNREAD UINT64_MAX

/* In the order of their names. */
struct barrier_members {
    const uint64_t *czxids; /* 0: gone; BARRIER_UNREAD: not known */
    size_t count;
    size_t own; /* its place; count: it is not among them */
};

struct barrier_event {
    enum barrier_event_kind kind;
    uint32_t tag; /* of the answers: as in the action */
    uint64_t zxid, bound;
    int32_t version;                /* for OPEN: of whatever changes with each OPEN */
    bool unsent;                    /* REPLACED: nothing was sent yet that makes the own node */
    struct barrier_members members; /* COUNTED, and since then with every event */
};

enum barrier_verdict {
    BARRIER_DONE,
    BARRIER_LOST,  /* the own node has gone with its session: others may have counted it */
    BARRIER_FAILED /* as it was refused or stopped */
};

enum barrier_action_kind {
    BARRIER_ACT_JOIN,   /* make a node of a new name */
    BARRIER_ACT_LOOK,   /* read ready and leave a watch */
    BARRIER_ACT_COUNT,  /* list the members */
    BARRIER_ACT_READ,   /* the czxid of .member, of those listed; their count: of each */
    BARRIER_ACT_OPEN,   /* for .version: make ready with .bound; .replace: set it */
    BARRIER_ACT_QUIT,   /* delete the own node, until that is certain; .last: and ready with it */
    BARRIER_ACT_AWAIT,  /* the end of .member */
    BARRIER_ACT_IGNORE, /* ready and the members: the watches go */
    BARRIER_ACT_TELL    /* .verdict */
};

struct barrier_action {
    enum barrier_action_kind kind;
    enum barrier_verdict verdict;
    uint32_t tag;
    uint64_t bound;
    bool replace, last;
    int32_t version;
    size_t member;
};

enum { BARRIER_ACTIONS = 3 };

struct barrier_actions {
    uint32_t count;
    struct barrier_action list[BARRIER_ACTIONS];
};

enum barrier_then { BARRIER_THEN_FAIL, BARRIER_THEN_WAIT, BARRIER_THEN_DONE };

/* All 0 but for what is set at the beginning. */
struct barrier {
    size_t wanted; /* n; set at the beginning */
    enum barrier_state state;
    bool stopped;           /* JOINING: the node goes again when it is known */
    bool fired;             /* LOOKING, COUNTING: look again */
    bool own;               /* the own node stands, as far as is known */
    bool leaving;           /* LEAVE was heard, and not answered */
    enum barrier_then then; /* QUITTING */
    uint32_t tag;
    int32_t version;
    uint64_t czxid;  /* of the own node */
    bool ready;      /* COUNTING, OPENING: one stands */
    uint64_t before; /* the bound of the round before; 0: there is no ready */
    uint64_t bound;  /* OPENING, INSIDE, LEAVING: of the own round */
};

void barrier_step(struct barrier *b, const struct barrier_event *ev, struct barrier_actions *out);

bool barrier_invariant(const struct barrier *b);
bool barrier_may_move(enum barrier_state from, enum barrier_state to);
const char *barrier_state_name(enum barrier_state state);

/* ---- what is in ready ---- */

#define BARRIER_WORDS "zkl round 1 " /* and the bound, in decimal */

/* 0: it is not ours. */
uint64_t barrier_bound_read(const char *data, size_t length);

#endif
