/* Who plays in a schedule: members, each a process at a time and what its threads do; and what
 * happens to them. Only the files of schedules include this. */
#ifndef SIM_CAST_H
#define SIM_CAST_H

#include "client.h"
#include "stage.h"

enum { MEMBERS_MAX = 4, SLOTS_MAX = 3, FAULTS_MAX = 3 };

struct cast;
struct member;

/* One acquisition after the other. */
struct slot {
    struct member *member;
    struct attempt *attempt; /* NULL: idle */
    struct alarm act, cancel;
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
};

/* A time from now on, of the order of a session timeout / part. */
int64_t cast_soon(const struct cast *cast, int part);

void member_start(struct cast *cast, unsigned i);
void member_calm(struct member *m); /* nothing new, and what is held is let go soon */
bool member_is_done(const struct member *m);
void member_end(struct member *m);

/* Chooses what may happen at all. */
void fault_draw(struct cast *cast);
void fault_start(struct cast *cast, unsigned i);
void fault_calm(struct cast *cast); /* everything is healed */

#endif
