/* One member of a group: an ephemeral node of a fixed name that is always there while the session
 * is, and is never anybody else's.
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
 * Who is refused while it leaves goes on at SETTLING when the timer has come; and who is not to
 * read its own node, and watch it, tries that again.
 *
 * Whose node it is, its ephemeral owner tells. That of another session is waited for, whoever it
 * is: that of a former session of our own, too. Nothing in ZooKeeper deletes a node only if it is
 * of a certain session, and by then the next one may have it. The own node is deleted once; when
 * that is not answered, something that the quorum refuses is asked first (PASSING), and then whose
 * the node is.
 *
 * Data has a generation: the newest is wanted, and written when the node has it. A set asks for the
 * version that the node is known to have, so one that comes late writes nothing back; it is sent
 * once, since the version says nothing when the node is another's. */
#ifndef RECIPES_MEMBER_H
#define RECIPES_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

enum member_state {
    MEMBER_OUT,
    MEMBER_CREATING,
    MEMBER_READING, /* whose is it? */
    MEMBER_WAITING, /* for the end of another's node */
    MEMBER_IN,
    MEMBER_BACKED_OFF,
    MEMBER_LEAVING,  /* the own node is being deleted */
    MEMBER_PASSING,  /* it may have been: what was asked before is to be done, or never */
    MEMBER_SETTLING, /* whose is it now? */
    MEMBER_OVER,
    MEMBER_STATES
};

enum member_event_kind {
    MEMBER_EV_BEGIN,
    MEMBER_EV_UPDATE, /* newer data is wanted */
    MEMBER_EV_LEAVE,
    MEMBER_EV_STOP,     /* the session is closed, or will never be any more */
    MEMBER_EV_REPLACED, /* it has ended, and its nodes with it; another one has begun */
    MEMBER_EV_STANDING, /* .valid or .suspect may have changed */
    MEMBER_EV_TIMER,
    MEMBER_EV_FIRED, /* the watch on the node: .gone */
    /* answers, with the .tag of the action */
    MEMBER_EV_CREATED,  /* .czxid */
    MEMBER_EV_EXISTS,   /* to CREATE */
    MEMBER_EV_READ,     /* .own, .czxid, .version, .same */
    MEMBER_EV_NO_NODE,  /* to READ, DELETE, SET */
    MEMBER_EV_SET,      /* to SET: applied */
    MEMBER_EV_OUTDATED, /* to SET: another version */
    MEMBER_EV_DELETED,
    MEMBER_EV_UNKNOWN, /* to SET, DELETE: no answer, or not sent */
    MEMBER_EV_PASSED,  /* to PASS: whatever the answer was */
    MEMBER_EV_REFUSED  /* to CREATE, READ, SET, for good */
};

enum member_action_kind {
    MEMBER_ACT_CREATE, /* with the newest data */
    MEMBER_ACT_READ,   /* .watch */
    MEMBER_ACT_SET,    /* the newest data, for .version */
    MEMBER_ACT_DELETE,
    MEMBER_ACT_PASS, /* something that the quorum refuses */
    MEMBER_ACT_ARM,  /* the timer: .at */
    MEMBER_ACT_DISARM,
    MEMBER_ACT_IGNORE, /* the watch goes */
    MEMBER_ACT_TELL,   /* .tell, .why, .czxid */
    MEMBER_ACT_OVER    /* nothing comes any more */
};

enum member_tell {
    MEMBER_TELL_OUT,      /* others may think that it is gone: .why */
    MEMBER_TELL_JOINED,   /* .czxid */
    MEMBER_TELL_SUSPECT,  /* it may be thought so soon */
    MEMBER_TELL_PROVED,   /* after SUSPECT: no */
    MEMBER_TELL_BUSY,     /* another has the id: the node .czxid */
    MEMBER_TELL_FAILED,   /* the server refused a request; it is tried again */
    MEMBER_TELL_WRITTEN,  /* the node has the newest data */
    MEMBER_TELL_UNWRITTEN /* the server refused it */
};

enum member_why {
    MEMBER_WHY_DEADLINE, /* no proof came in time */
    MEMBER_WHY_SESSION,  /* the session has ended */
    MEMBER_WHY_DELETED,  /* by somebody else */
    MEMBER_WHY_LEFT
};

struct member_event {
    enum member_event_kind kind;
    /* as it is now: */
    int64_t now;  /* ns */
    bool valid;   /* the deadline is ahead */
    bool suspect; /* but no proof comes */
    /* by kind: */
    uint32_t tag;
    uint64_t czxid;
    int32_t version;
    bool own;  /* the node's owner is the present session */
    bool same; /* its data is the newest */
    bool gone;
};

struct member_action {
    enum member_action_kind kind;
    enum member_tell tell;
    enum member_why why;
    bool watch;
    uint32_t tag;
    uint64_t czxid;
    int32_t version;
    int64_t at; /* ns */
};

enum { MEMBER_ACTIONS = 8 };

struct member_actions {
    uint32_t count;
    struct member_action list[MEMBER_ACTIONS];
};

/* All 0 at the beginning. */
struct member {
    enum member_state state;
    bool leaves;     /* LEAVE was heard; the answer to what is under way comes first */
    bool checks;     /* IN: the node is being read */
    bool stands;     /* a node of its name, as a create has shown, and nobody knows whose */
    bool refused;    /* what was asked of the own node: the timer asks again */
    uint32_t tag;    /* answers to earlier requests are stale */
    uint64_t czxid;  /* IN, LEAVING and on: of the own node; WAITING: of the other one */
    int32_t version; /* IN: of the own node's data, as far as is known */
    uint32_t wanted; /* the newest data: 1 and up */
    uint32_t sent;   /* which the request under way carries, to CREATE or SET */
    uint32_t written;
    uint32_t denied; /* the newest data that the server refused */
    bool sets;       /* IN: a SET is under way */
    uint32_t set_tag;
    int64_t back_off_ms;
    /* told: */
    bool told_in, told_suspect, told_failed;
    uint64_t told_czxid; /* JOINED with */
    uint64_t told_busy;  /* BUSY with */
};

void member_step(struct member *m, const struct member_event *ev, struct member_actions *out);

/* Asserted after each step. */
bool member_invariant(const struct member *m);
bool member_may_move(enum member_state from, enum member_state to);
const char *member_state_name(enum member_state state);

#endif
