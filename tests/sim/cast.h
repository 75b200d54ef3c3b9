/* Who plays in a schedule: members, each a process at a time and what its threads do; and what
 * happens to them. Only the files of schedules include this. */
#ifndef SIM_CAST_H
#define SIM_CAST_H

#include "client.h"
#include "stage.h"

enum { MEMBERS_MAX = 4, SLOTS_MAX = 3, FAULTS_MAX = 3, SEATS_MAX = 8 };

struct cast;
struct member;

/* One acquisition after the other. */
struct slot {
    struct member *member;
    struct acquisition *acquisition; /* NULL: idle */
    struct alarm act, cancel;
};

enum seat_kind {
    SEAT_STARTER,    /* starts elections */
    SEAT_CAMPAIGNER, /* campaigns for one term after the other */
    SEAT_OBSERVER
};

/* Who takes part in elections; all that it does is drawn from a stream of its own, so that a
 * schedule without elections is what it would be if there were none. */
struct seat {
    struct member *member;
    enum seat_kind kind;
    struct candidate *candidate;     /* NULL: none */
    struct acquisition *acquisition; /* CAMPAIGNER's */
    struct onlooker *onlooker;
    struct alarm act;
};

struct member {
    struct cast *cast;
    char letter;
    unsigned lives; /* processes so far */
    int rate_ppm;
    zkl_session_options options;
    struct client *process;
    struct slot slots[SLOTS_MAX];
    struct alarm life; /* kill, close, open, … */
};

struct fault {
    struct cast *cast;
    struct alarm alarm;
    bool on;
    bool follows; /* kind is given: what belongs to the fault before */
    unsigned kind;
    struct client *process; /* its victim */
    int server;
};

/* Now and then nothing is committed for a while, and a holder's transactions are left undecided by
 * connections that break. Drawn from a stream of its own, as elections are. */
struct limbo {
    struct cast *cast;
    uint64_t chance;
    struct alarm act;
    int64_t most_ns; /* between two of its steps */
    unsigned steps;  /* until all is committed again; 0: it is */
    bool refusing;   /* its changes */
    struct acquisition *holder;
};

struct cast {
    struct stage *stage;
    unsigned members, slots, faults, paths;
    int servers;
    int tick_ms, timeout_ms;
    uint32_t kinds; /* of faults, a bit for each, that happen in this schedule */
    bool writes;    /* holders make fenced transactions */
    bool lives;     /* processes end in the middle */
    struct member member[MEMBERS_MAX];
    struct fault fault[FAULTS_MAX];
    uint64_t beside; /* chance of what neighbour.h is about */
    bool styles;     /* contenders have any style and peer */
    bool plants;     /* children of others are put beside them */
    struct alarm planting;
    uint64_t admin; /* chance of what admin.c is about */
    bool admin_aims;
    struct alarm admin_alarm;
    uint64_t chance;  /* of elections */
    uint64_t undoing; /* chance of restore.c */
    bool restores;    /* the server's data goes back */
    bool kept;        /* to what it was */
    struct alarm restoring;
    unsigned seats; /* 0: there are none */
    unsigned lines; /* of them */
    struct seat seat[SEATS_MAX];
    struct limbo limbo;
};

/* A time from now on, of the order of a session timeout / part. */
int64_t cast_soon(const struct cast *cast, int part);

void member_start(struct cast *cast, unsigned i);
void member_calm(struct member *m); /* nothing new, and what is held is let go soon */
bool member_is_done(const struct member *m);
void member_end(struct member *m);

/* ---- elections: seat.c ---- */

void seats_draw(struct cast *cast, uint64_t seed);
void seats_start(struct cast *cast);
void seats_wake(struct member *m);         /* its process has a session */
const char *seats_path(struct cast *cast); /* of an election; NULL: that of a mutex is better */

/* When all is well: somebody leads wherever somebody would, and every observer knows. */
void seats_calm(struct cast *cast);
bool seats_are_settled(const void *cast);
void seats_at_rest(const struct cast *cast);
void seats_end(struct cast *cast); /* everybody resigns, nobody observes */
bool seats_are_empty(const struct cast *cast);

/* ---- who deletes nodes at the worst moment: admin.c ---- */

void admin_draw(struct cast *cast, uint64_t seed);
void admin_start(struct cast *cast);

/* ---- limbo.c ---- */

void limbo_draw(struct cast *cast, uint64_t seed, int latency_us);

/* ---- the server's data goes back: restore.c ---- */

void restore_draw(struct cast *cast, uint64_t seed); /* the last of those who draw */
void restore_start(struct cast *cast);

/* ---- faults: fault.c ---- */

/* Chooses what may happen at all. */
void fault_draw(struct cast *cast);
void fault_start(struct cast *cast, unsigned i);
void fault_calm(struct cast *cast); /* everything is healed */

#endif
