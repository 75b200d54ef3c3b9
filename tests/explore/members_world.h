/* The world around the processes that want one member's id as a flat value, for exhaustive search:
 * connections that break, sessions that end or are left behind, processes that die, requests that
 * are applied when nobody waits for them any more. */
#ifndef EXPLORE_MEMBERS_WORLD_H
#define EXPLORE_MEMBERS_WORLD_H

#include "breadth.h"
#include "recipes/machine.h"
#include "recipes/member.h"

enum { GROUP_PROCESSES = 3, GROUP_SESSIONS = 6, GROUP_ASKED = 6, GROUP_HEARD = 8 };

enum group_broken {
    GROUP_WHOLE,
    GROUP_BELIEVED, /* believes in a node that is not there, or another's */
    GROUP_ROBBED,   /* deleted the node of another session than its present one */
    GROUP_OLD,      /* wrote older data */
    GROUP_REMAINS,  /* a node stands of one that has left */
    GROUP_STUCK,    /* nothing can happen, and one is not in who could be, or in who has left */
    GROUP_FULL,     /* the world is too small */
    GROUP_BROKEN_COUNT
};

enum group_move {
    /* sooner or later; .at: whose */
    GROUP_SERVE,   /* the server takes up what it asked first */
    GROUP_DELIVER, /* it hears what is first on its way */
    GROUP_BEGIN,
    GROUP_TIMER,   /* where it matters */
    GROUP_PROVE,   /* after LAPSE */
    GROUP_EXPIRE,  /* .at: a session that nobody keeps */
    GROUP_REPLACE, /* it hears that its session has expired */
    /* whenever its user likes */
    GROUP_LEAVE,
    GROUP_UPDATE,
    /* faults: one of the budget each */
    GROUP_BREAK,   /* its connection, and another one comes */
    GROUP_LATE,    /* .at: a session: a request of a broken connection is applied */
    GROUP_LAPSE,   /* its deadline passes */
    GROUP_ABANDON, /* it opens another session, and the server does not hear of the old one's end */
    GROUP_CRASH,
    GROUP_REFUSE, /* what it asked first, if that is a create */
    GROUP_DELETE, /* an administrator does */
    GROUP_MOVES
};

struct group_ask {
    uint8_t verb; /* enum store_kind */
    bool watch, passes;
    uint8_t gen, version, unused[3];
    struct exchange_request number;
};

struct group_heard {
    uint8_t kind; /* enum machine_event_kind: an answer is one to .ask, which is asked again if the
                     connection breaks */
    uint8_t rc;
    bool own, gone;
    uint8_t version, gen, unused[2];
    uint64_t czxid;
    struct group_ask ask;
};

struct group_process {
    struct member machine;
    struct exchange exchange;
    bool crashed, begun, valid;
    uint8_t session; /* from 1; of the world's */
    uint8_t asked, heard;
    struct group_ask ask[GROUP_ASKED];
    struct group_heard hear[GROUP_HEARD];
    bool watches;    /* the server has its watch on the node */
    uint8_t updates; /* left */
    bool left;
};

struct group_session {
    uint8_t process; /* from 1; 0: none yet */
    bool ended;
    uint8_t late; /* writes that the server may still apply, in order, until it has taken another */
    struct group_ask writes[GROUP_ASKED];
};

struct group_state {
    struct group_process p[GROUP_PROCESSES];
    struct group_session s[GROUP_SESSIONS]; /* the first is nobody's */
    uint64_t zxid;
    uint8_t owner; /* of the node, a session; 0: there is none */
    uint8_t version, gen;
    uint64_t czxid;
    uint8_t faults, broken;
    bool administered;
};

struct group_config {
    int processes, faults, updates;
    bool leaves, administrator;
};

extern struct group_config group_config;

void group_init(void *state);
int group_list_moves(const void *state, struct breadth_step *steps);
void group_do(void *state, struct breadth_step step);
int group_check_end(const void *state); /* enum group_broken */

extern const char *const group_broken_texts[GROUP_BROKEN_COUNT];
const char *group_move_text(enum group_move kind);

/* ---- members_server.c ---- */

void group_fail(struct group_state *st, enum group_broken broken);
void group_hear(struct group_state *st, int at, struct group_heard what);
void group_serve(struct group_state *st, int at, bool refused); /* what it asked first */
void group_apply_late(struct group_state *st, int session);     /* of its first late write */
void group_remove(struct group_state *st);                      /* the node */
void group_end_session(struct group_state *st, int session);
bool group_is_write(const struct group_ask *a);

#endif
