/* One run: a world, the processes in it, and all that act. All random choices come from one seed;
 * nothing happens but in stage_run(). */
#ifndef SIM_STAGE_H
#define SIM_STAGE_H

#include <glib.h>
#include <poll.h>

#include "oracle.h"
#include "tally.h"
#include "trace.h"
#include "world/world.h"

struct client;
struct group;

/* An alarm calls fn when the time at has come; at is NEVER again by then. It belongs to a process,
 * and acts only while that runs, or to nobody. It is a part of what it belongs to. */
struct alarm {
    int64_t at;
    struct client *process;
    void (*fn)(void *data);
    void *data;
};

#define NEVER INT64_MAX

enum { STAGE_SESSIONS_MAX = 8 }; /* at a time */

struct stage {
    struct world *world;
    uint64_t random;
    struct trace *trace; /* NULL: none is wanted */
    struct oracle oracle;
    struct tally tally;
    GPtrArray *processes; /* all there ever were */
    GPtrArray *acquisitions;
    GPtrArray *candidates;
    GPtrArray *onlookers;
    GPtrArray *writes;
    GPtrArray *foreign_nodes; /* of foreign_node.c */
    GPtrArray *alarms;
    struct group *group; /* NULL: nobody joins or observes any */
    struct {
        struct pollfd fds[STAGE_SESSIONS_MAX];
        size_t count;
        gint writes;    /* when they were looked at */
    } silent;           /* the sessions without a callback to call */
    unsigned faults;    /* that are on */
    int64_t well_since; /* a connection made later has met none of those before */
    bool hangs;         /* callbacks are called late at times */
    bool calm;          /* no faults any more, and nothing new is begun */
    char *wrong;        /* the first rule found broken, in a sentence */
};

/* config's seed, note and note_data are the stage's own. */
struct stage *stage_new(uint64_t seed, struct world_config config, struct trace *trace);
void stage_free(struct stage *stage); /* when every process is ended */

void stage_add_alarm(struct stage *stage, struct alarm *alarm);

int64_t stage_now(const struct stage *stage);

/* Something is done to hosts or servers, or has ended; what it leaves behind lasts that long. */
void stage_disturbed(struct stage *stage, int64_t ns);

/* Runs until that time, until done(data) holds after a step (done may be NULL), or until something
 * is wrong. Returns whether done held. */
bool stage_run(struct stage *stage, int64_t until, bool (*done)(const void *data),
               const void *data);

/* A sentence about a rule that was broken; only the first one counts. */
void stage_wrong(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Random, from the seed. */
uint32_t stage_below(struct stage *stage, uint32_t below); /* 0 .. below - 1 */
bool stage_chance(struct stage *stage, uint32_t percent);
int64_t stage_between(struct stage *stage, int64_t low, int64_t high); /* both included */

#endif
