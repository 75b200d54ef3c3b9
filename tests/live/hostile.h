/* A server, or somebody in the way, that sends what no ZooKeeper would: what the suites share. */
#ifndef LIVE_HOSTILE_H
#define LIVE_HOSTILE_H

#include "fault.h"

#include <stdbool.h>

/* --full: every place and every lie; otherwise a sample. */
extern bool hostile_full;

void hostile_each_byte(void);
void hostile_each_lie(void);
void hostile_line_without_end(void);
void hostile_rivals_without_end(void);

/* What the lies are told to is a process of its own, as they may end it. */
enum hostile_task {
    HOSTILE_LOCK, /* takes the lock once, reads its line, writes under it, and lets it go */
    HOSTILE_LOOK  /* reads the line */
};
enum { WORKER_WORKED, WORKER_FAILED, WORKER_HELD_NOTHING, WORKER_MISUSED };

struct hostile_run {
    enum hostile_task task;
    int timeout_ms; /* of its session */
    bool plain;     /* the servers know neither containers nor create2 */
    proxy_mangle_fn mangle;
    void *data; /* for mangle */
    /* How it ended: */
    int result;       /* one of the above, or a signal's number, negative */
    uint64_t creates; /* in the old form */
    char *said;
    char *line;        /* what HOSTILE_LOOK is to say where nobody lies */
    int64_t memory;    /* at most, in bytes */
    int64_t processor; /* in microseconds */
};

/* Runs such a process behind a rival, which leaves when the process waits. Whatever became of it,
 * another then takes the lock, and nothing stays. */
void hostile_run(struct hostile_run *run);
void hostile_run_clear(struct hostile_run *run);

/* What a worker says of a line: how many there are, and the token of the first. */
#define HOSTILE_LINE "%zu %" G_GUINT64_FORMAT "\n"

/* hostile --worker CONNECT DIRECT PATH TASK TIMEOUT-MS */
int hostile_worker(int argc, char **argv);

#endif
