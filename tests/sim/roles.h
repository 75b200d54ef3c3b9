/* The roles of a schedule: members, each with one process at a time and what its threads do; and
 * what happens to them. Only the files of schedules include this. */
#ifndef SIM_ROLES_H
#define SIM_ROLES_H

#include "client.h"
#include "stage.h"

enum { MEMBERS_MAX = 4, SLOTS_MAX = 3, FAULTS_MAX = 3, ACTORS_MAX = 8, SEATS_MAX = 8 };

struct roles;
struct member;

/* Something that happens now and then. Its draws come from a stream of their own, so that a
 * schedule without it is what it would be if there were no such thing. */
struct stream {
    struct roles *roles;
    uint64_t chance;
    struct alarm act;
};

/* One acquisition after the other. */
struct slot {
    struct member *member;
    struct acquisition *acquisition; /* NULL: idle */
    struct alarm act, cancel;
};

enum actor_kind {
    ACTOR_STARTER,    /* starts elections */
    ACTOR_CAMPAIGNER, /* campaigns for one term after the other */
    ACTOR_OBSERVER
};

/* An actor takes part in elections. All that it does is drawn from a stream of its own, so that a
 * schedule without elections is what it would be if there were no actors. */
struct actor {
    struct member *member;
    enum actor_kind kind;
    struct candidate *candidate;     /* NULL: none */
    struct acquisition *acquisition; /* CAMPAIGNER's */
    struct onlooker *onlooker;
    struct alarm act;
};

/* A seat joins groups, one after the other, or observes them. */
struct seat {
    struct member *member;
    bool views;
    struct joiner *joiner; /* NULL: none */
    struct viewer *viewer;
    struct alarm act;
};

struct member {
    struct roles *roles;
    char letter;
    unsigned lives; /* processes so far */
    int rate_ppm;
    zkl_session_options options;
    int64_t warm_ms;
    struct client *process;
    struct slot slots[SLOTS_MAX];
    struct alarm life; /* kill, close, open, … */
};

struct fault {
    struct roles *roles;
    struct alarm alarm;
    bool on;
    bool follows; /* kind is given: what belongs to the fault before */
    unsigned kind;
    struct client *process; /* its victim */
    int server;
};

/* Now and then nothing is committed for a while, and connections that break leave a holder's
 * transactions undecided. */
struct limbo {
    struct stream stream;
    int64_t most_ns; /* between two of its steps */
    unsigned steps;  /* until all is committed again; 0: it is */
    bool refusing;   /* its changes */
    struct acquisition *holder;
};

/* Now and then a server of an ensemble hears nobody, but is heard. */
struct deafness {
    struct stream stream;
    enum { DEAF_NOT, DEAF_NOW, DEAF_BEFORE, DEAF_CUT } state;
    unsigned resets; /* of the process, until it hears again */
    struct client *process;
    int server;
};

/* Now and then no session can be renewed. */
struct meddling {
    struct stream stream;
    enum { MEDDLED_NOT, MEDDLED_REFUSED, MEDDLED_DOWN, MEDDLED_DEPOSED } state;
    int leader; /* that is cut off; -1: nobody led */
};

struct roles {
    struct stage *stage;
    uint64_t seed;
    unsigned members, slots, faults, paths;
    int servers;
    int tick_ms, timeout_ms;
    uint32_t kinds; /* of faults, a bit for each, that happen in this schedule */
    bool writes;    /* holders make fenced transactions */
    bool lives;     /* processes end in the middle */
    bool lingering; /* all is well, and who is granted anything now keeps it */
    struct member member[MEMBERS_MAX];
    struct fault fault[FAULTS_MAX];
    unsigned both;         /* so many of the members lock both paths */
    struct stream foreign; /* children of others are put beside them: foreign_node.h */
    bool styles;           /* contenders have any style and peer */
    struct stream deleter; /* admin.c has these four */
    struct stream revoker;
    GPtrArray *heeders;     /* its own */
    GHashTable *asked_at;   /* node -> int64_t */
    struct stream restorer; /* the server's data goes back */
    bool kept;              /* to what it was */
    struct stream limiter;
    struct stream elections; /* its alarm is not used, nor that of groups */
    unsigned actors;         /* 0: there are none */
    unsigned lines;          /* of them */
    struct actor actor[ACTORS_MAX];
    struct limbo limbo;
    struct deafness deafness;
    struct meddling meddling;
    struct stream groups;
    unsigned seats; /* 0: there are no groups */
    struct seat seat[SEATS_MAX];
    struct alarm looking; /* whether observers know what they must */
    bool making_room;     /* members leave, for others that want their ids */
};

/* Begins without a time at which fn is called: fn's data is the stream. Another salt gives another
 * stream; each was chosen so that the known seeds (main.c) stay as they were. */
void stream_begin(struct stream *s, struct roles *roles, uint64_t salt, void (*fn)(void *data));
uint32_t stream_below(struct stream *s, uint32_t below); /* 0 .. below - 1 */
bool stream_chance(struct stream *s, uint32_t percent);
int64_t stream_up_to(struct stream *s, int64_t most); /* included */
int64_t stream_soon(struct stream *s, int part);      /* as roles_soon() */
void stream_wait(struct stream *s, int64_t most_ns);  /* included, until it acts */
void stream_wait_exactly(struct stream *s, int64_t ns);

/* A time from now on, of the order of a session timeout / part. */
int64_t roles_soon(const struct roles *roles, int part);

void member_start(struct roles *roles, unsigned i);
void member_calm(struct member *m);    /* nothing new, and what is held is let go soon */
void member_draw(struct roles *roles); /* who locks both paths */
bool member_is_done(const struct member *m);
void member_end(struct member *m);

/* ---- elections: actor.c ---- */

void actors_draw(struct roles *roles);
void actors_start(struct roles *roles);
void actors_wake(struct member *m);           /* its process has a session */
const char *actors_path(struct roles *roles); /* of an election; NULL: that of a mutex is better */

/* When all is well: somebody leads wherever somebody would, and every observer knows. */
void actors_calm(struct roles *roles);
bool actors_are_settled(const void *roles);
void actors_at_rest(const struct roles *roles);
void actors_end(struct roles *roles); /* everybody resigns, nobody observes */
bool actors_are_empty(const struct roles *roles);

/* ---- members of groups, and observers: groups.c ---- */

void groups_draw(struct roles *roles, int sync_limit);
void groups_start(struct roles *roles);
void groups_wake(struct member *m);           /* its process has a session */
const char *groups_path(struct roles *roles); /* for faults */
char *groups_node(struct roles *roles);       /* the same: to be freed; NULL: there is none */

/* When all is well: whoever wants in is in, and every observer knows. */
void groups_calm(struct roles *roles);
bool groups_are_settled(const void *roles);
void groups_at_rest(const struct roles *roles);
void groups_end(struct roles *roles); /* all leave, nobody observes */
bool groups_are_empty(const struct roles *roles);
void groups_at_end(const struct roles *roles);

/* ---- third parties: admin.c ---- */

void admin_draw(struct roles *roles);
void restore_draw(struct roles *roles); /* the last of those who draw, but limits */
void limits_draw(struct roles *roles);
void revoker_end(struct roles *roles); /* when the stage is over */

/* ---- faults: fault.c ---- */

/* Chooses what may happen at all. */
void fault_draw(struct roles *roles);
void limbo_draw(struct roles *roles, int latency_us);
void deafness_draw(struct roles *roles);
void meddling_draw(struct roles *roles);
void fault_start(struct roles *roles, unsigned i);
void fault_calm(struct roles *roles); /* everything is healed */

/* How long servers that were cut off still have an effect, in ns: commits that are late already,
 * and a leader that does not know that it is none. */
int64_t fault_aftermath(const struct roles *roles);

#endif
