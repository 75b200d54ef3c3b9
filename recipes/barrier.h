/* Barriers: an operation on one, and a member of a double one. */
#ifndef RECIPES_BARRIER_H
#define RECIPES_BARRIER_H

#include "machine.h"

/* ---- an operation ----
 *
 * An operation on a barrier, which is closed while its node exists.
 *
 *   IDLE ──> ASKING ──it is as wanted, or refused──────> OVER
 *             │  ^  └──one was lost──> SETTLING ─timer─> ^
 *   WAIT:     │  │changed, or another session           │gone
 *   it exists v  │                                      │
 *           WATCHING ───────────────────────────────────┘
 *
 * A set or remove is sent until the outcome is certain, in the next session if need be. It counts
 * as done even if another client has done it. The node belongs to no session. So if the answer to a
 * request was lost, the operation ends when that request cannot be done any more, whatever becomes
 * of the session. */

enum barrier_goal { BARRIER_SET, BARRIER_REMOVE, BARRIER_WAIT };

enum barrier_call_state {
    BARRIER_CALL_IDLE,
    BARRIER_CALL_ASKING,
    BARRIER_CALL_WATCHING,
    BARRIER_CALL_SETTLING, /* the request is done, and may be done once more; or it is refused, and
                              may be done yet */
    BARRIER_CALL_OVER,
    BARRIER_CALL_STATES
};

enum barrier_call_verdict {
    BARRIER_CALL_DONE,
    BARRIER_CALL_REFUSED, /* the server refused: .rc */
    BARRIER_CALL_STOPPED
};

/* All 0 but for the goal. Its only node is the barrier's. */
struct barrier_call {
    enum barrier_goal goal;
    enum barrier_call_state state;
    enum store_rc rc; /* the answer to a set or remove: STORE_OK, or why it was refused */
};

void barrier_call_step(struct barrier_call *c, const struct machine_event *ev,
                       struct machine_actions *out);

bool barrier_call_may_move(enum barrier_call_state from, enum barrier_call_state to);

/* ---- a member of a double barrier ----
 *
 * A member of a double barrier in Curator's layout: n members enter together, and leave together.
 * Each has an ephemeral node in the barrier's directory; `ready` there says that a round has begun.
 *
 *   OUTSIDE ──> JOINING ──> LOOKING ──not let in by ready──> COUNTING ──fewer──> WAITING
 *                  ^           │ ^                              │                  │
 *                  │own node   │ └──ready changes, or the last──┼──────────────────┘
 *                  │is gone    │    one of its round has left   │n of them
 *                  └───────────┼────────────────────────────────┤
 *                              └─let in──> INSIDE <──made────OPENING ──too late──> LOOKING
 *
 *   INSIDE ──> LEAVING ──not the lowest, or the last──> QUITTING ──> LEAVING ──all gone──> OUTSIDE
 *
 * A member that is stopped while its own node stands goes by QUITTING to OUTSIDE, from every state.
 *
 * A create of the own node that was not answered may be done later. So QUITTING waits until it
 * cannot be any more, and deletes the node then: what has left never counts as a member again.
 *
 * The n members with the lowest czxids may enter; members of the previous round do not count. A
 * member that sees n of them makes ready, unless anything about ready has changed since it was
 * read. The bound of ready is the czxid of the last of the n, or the zxid of the list if no others
 * are there. A ready lets a member in if it is younger than the member's node and its bound is not
 * lower than the node's czxid. Another library's ready has no bound, and lets in all members that
 * were there.
 *
 * A ready that does not let the own node in is of an earlier round. While one of the members that
 * it let in is still there, the others wait. When none of them is, that ready is left over, and the
 * next round sets its bound anew.
 *
 * Leaving is Curator's: the lowest by name waits for the highest, the others delete their nodes and
 * wait for the lowest, which removes ready together with its own node. Members beyond the bound are
 * not waited for. When the awaited member is gone, the members are listed again.
 *
 * A czxid is read only if it is needed: each member reads few others, as long as no more come than
 * may enter. */

enum barrier_state {
    BARRIER_OUTSIDE,
    BARRIER_JOINING,  /* the own node is being made */
    BARRIER_LOOKING,  /* ready is being read, with a watch */
    BARRIER_COUNTING, /* the members are being listed, and their czxids read if need be */
    BARRIER_WAITING, /* waits for ready to change, or for a member of the previous round to leave */
    BARRIER_OPENING, /* ready is being made */
    BARRIER_QUITTING, /* the own node is being deleted, or will be when .late has passed */
    BARRIER_INSIDE,
    BARRIER_LEAVING, /* waits for the others to leave */
    BARRIER_STATES
};

/* Events of this recipe. */
enum { BARRIER_EV_ENTER = MACHINE_EV_OWN, BARRIER_EV_LEAVE };

enum barrier_node {
    BARRIER_OWN, /* the own node: JOINING begins with a new name for it, unless a create of the
                    last name may still be done (.late) */
    BARRIER_DIRECTORY,
    BARRIER_READY,
    BARRIER_AWAITED, /* the member .awaited, of those listed */
    BARRIER_MEMBER   /* the first member of those listed; the next numbers are the others */
};

#define BARRIER_UNREAD UINT64_MAX

/* The members as listed last, in the order of their names. */
struct barrier_members {
    const uint64_t *czxids; /* czxid of each; 0: gone; BARRIER_UNREAD: not known */
    size_t count;
    size_t own; /* the place of the own node; .count: it is not listed */
};

enum barrier_verdict {
    BARRIER_DONE,
    BARRIER_LOST,    /* the own node has gone with its session: others may have counted it */
    BARRIER_FAILED,  /* the operation was refused or stopped */
    BARRIER_REFUSED, /* not the end yet: .rc tells why it will fail */
    BARRIER_LATER    /* not the end yet: it will fail, as ready is of a later version */
};

enum barrier_then { BARRIER_THEN_FAIL, BARRIER_THEN_WAIT, BARRIER_THEN_DONE };

/* All 0 but for what is set at the beginning. */
struct barrier {
    size_t wanted; /* n; set at the beginning */
    enum barrier_state state;
    bool stopped;           /* JOINING: the own node is deleted as soon as it is known */
    bool made;              /* JOINING: a node of that name stands, and is being read */
    bool fired;             /* LOOKING, COUNTING: ready has changed, so it is read again */
    bool own;               /* the own node stands, as far as is known */
    bool leaving;           /* BARRIER_EV_LEAVE has come, and was not answered */
    enum barrier_then then; /* QUITTING: what comes after it */
    bool awaits;            /* WAITING, LEAVING: it awaits the end of a member */
    size_t awaited;         /* the place of that member among those listed */
    size_t unread;          /* how many answers to reads of members are to come */
    int32_t version; /* version of the directory, read before ready: each opening changes it */
    uint64_t czxid;  /* of the own node */
    int64_t late; /* CLOCK_BOOTTIME, ns: until then a create of the own node may still be done; 0:
                     none may */
    bool ready;   /* COUNTING, OPENING: a ready stands */
    uint64_t before; /* the bound of the previous round; 0: there is no ready */
    uint64_t bound;  /* OPENING, INSIDE, LEAVING: the bound of the own round */
};

/* Takes an event. m: the members as they are with that event. */
void barrier_step(struct barrier *b, const struct machine_event *ev,
                  const struct barrier_members *m, struct machine_actions *out);

bool barrier_invariant(const struct barrier *b);
bool barrier_may_move(enum barrier_state from, enum barrier_state to);
const char *barrier_state_name(enum barrier_state state);

/* ---- what is in ready ---- */

#define BARRIER_WORDS "zkl round 1 " /* the bound follows, in decimal */

/* Returns the bound; 0: this is not our ready. */
uint64_t barrier_bound_read(const char *data, size_t length);

/* Whether the first words are ours, and the rest is unknown: a later version has made this ready,
 * and nobody knows whom it lets in. */
bool barrier_is_later(const char *data, size_t length);

#endif
