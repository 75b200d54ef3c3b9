/* A member of a group: an ephemeral node of a fixed name that is always there while the session is,
 * and is never anybody else's.
 *
 *   OUT ──> CREATING ──made────────────────────────> IN ──gone, or another session──> CREATING
 *            ^  │ there is one                       ^ │ leave
 *            │  v                                    │ v
 *            ├─ READING ──of this session────────────┘ LEAVING ──gone──> OVER
 *            │  │ of another  ^                         │ ^ └─no answer─> PASSING
 *            │  v             │                         │ └──still ours── SETTLING <──┘
 *            └─ WAITING ──changed
 *
 * A refusal leads to BACKED_OFF, whose timer begins at CREATING; another session begins there too.
 * A member that is refused while it leaves goes on at SETTLING when the timer has come. A
 * member that may not read and watch its own node tries that again.
 *
 * If the session ends instead, LEAVING or SETTLING lead to PARTING, until the node has gone with
 * it, and then to OVER.
 *
 * While something that a member has asked of its node may still be done late, the member does not
 * leave. It waits at SETTLING or READING, and the timer asks again.
 *
 * The node's ephemeral owner tells whose it is. A member waits for the end of another session's
 * node, even if that is a former session of our own. Nothing in ZooKeeper deletes a node only if it
 * is of a certain session, and when a delete arrives, the next session may have the node. The own
 * node is deleted once. If that delete is not answered, the member first asks for something that
 * the quorum refuses (PASSING), and then asks whose the node is.
 *
 * Data has a generation: the newest is wanted, and written when the node has it. A set asks for the
 * version that the node is known to have, so one that comes late writes nothing back; it is sent
 * once, since the version says nothing when the node is another's. */
#ifndef RECIPES_MEMBER_H
#define RECIPES_MEMBER_H

#include "machine.h"

enum member_state {
    MEMBER_OUT,
    MEMBER_CREATING,
    MEMBER_READING, /* a node of that name is being read: whose is it? */
    MEMBER_WAITING, /* waits for the end of another's node */
    MEMBER_IN,
    MEMBER_BACKED_OFF,
    MEMBER_LEAVING,  /* the own node is being deleted */
    MEMBER_PASSING,  /* the own node may be deleted: waits until what was asked before is done, or
                        never will be */
    MEMBER_SETTLING, /* the node is being read: whose is it now? */
    MEMBER_PARTING,  /* the session was ended for it: waits for the end of the node */
    MEMBER_OVER,
    MEMBER_STATES
};

/* Events of this recipe. */
enum {
    MEMBER_EV_UPDATE = MACHINE_EV_OWN, /* the user wants newer data in the node */
    MEMBER_EV_LEAVE,
    MEMBER_EV_STANDING /* .valid or .suspect may have changed */
};

/* The member's node. UNWRITTEN is the same node, for a set that the quorum refuses: nothing is
 * written. */
enum { MEMBER_NODE, MEMBER_NODE_UNWRITTEN };

/* Other requests go on during a set, so it has a slot of its own. */
enum { MEMBER_SLOT, MEMBER_SLOT_SET };

/* What the user is told. */
enum member_tell {
    /* others may think that the member is gone: */
    MEMBER_TELL_DEADLINE, /* no proof came in time */
    MEMBER_TELL_SESSION,  /* the session has ended */
    MEMBER_TELL_DELETED,  /* somebody else has deleted the node */
    MEMBER_TELL_LEAVES,
    /* all other verdicts: */
    MEMBER_TELL_JOINED,    /* the member is in; .czxid tells its node from others */
    MEMBER_TELL_SUSPECT,   /* the deadline may pass soon */
    MEMBER_TELL_PROVED,    /* after SUSPECT: a proof came in time */
    MEMBER_TELL_BUSY,      /* another's node has the id; .czxid is that node's */
    MEMBER_TELL_REFUSED,   /* the server refused a request: .rc; the verdict after it says what
                              follows */
    MEMBER_TELL_FAILED,    /* the server refused a request; it is tried again */
    MEMBER_TELL_WRITTEN,   /* the node has the newest data */
    MEMBER_TELL_UNWRITTEN, /* the server refused the newest data */
    MEMBER_TELL_ORPHAN, /* the member leaves, and its node may stand as long as the session does */
    MEMBER_TELL_UNSETTLED, /* the member leaves only when nothing can be done late any more, or the
                              session has ended */
    MEMBER_TELL_OVER       /* the last verdict */
};

/* What the driver knows when it delivers an event. */
struct member_moment {
    int64_t now;  /* CLOCK_BOOTTIME, ns */
    bool valid;   /* the deadline has not passed */
    bool suspect; /* .valid, but no proof comes */
    bool same;    /* the data that were read are the newest data */
};

/* All 0 at the beginning. */
struct member {
    enum member_state state;
    bool leaves; /* LEAVE has come; the answer to what is under way comes first */
    bool checks; /* IN: the node is being read */
    bool stands; /* a create has shown that a node of its name may stand, and nobody knows whose */
    bool later;  /* the timer reads the own node again */
    /* WAITING: of the node that it waits for; from IN to the end: of the own node */
    uint64_t czxid;
    int32_t version; /* IN: of the own node's data, as far as is known */
    uint32_t wanted; /* the generation of the newest data: 1 and up */
    uint32_t sent;   /* the generation in the CREATE or SET under way */
    uint32_t written;
    uint32_t denied; /* the newest generation that the server refused */
    bool sets;       /* a SET is under way */
    int64_t settles; /* CLOCK_BOOTTIME, ns: until then a create or set that was not answered may
                        still be done */
    uint32_t seen;   /* the connection on which the node was last the own one; 0: unknown */
    int64_t back_off_ms;
    /* what the user was told: */
    bool told_in, told_suspect, told_failed;
    uint64_t told_czxid; /* the czxid of JOINED */
    uint64_t told_busy;  /* the czxid of BUSY */
};

void member_step(struct member *m, const struct machine_event *ev,
                 const struct member_moment *moment, struct machine_actions *out);

/* Asserted after each step. */
bool member_invariant(const struct member *m);
bool member_may_move(enum member_state from, enum member_state to);
const char *member_state_name(enum member_state state);

#endif
