/* One process of the demo that increments the shared number. */
#ifndef DEMO_WORKER_H
#define DEMO_WORKER_H

#include "tests/history/history.h"

#include <pthread.h>
#include <stdio.h>
#include <zkl.h>

typedef struct worker {
    /* options */
    int id;
    int todo;        /* increments still to be made */
    gboolean unsafe; /* without the lock */
    char *connect, *path, *dir, *file;
    int timeout_ms, tick_ms;
    int pace_ms; /* rest between two increments */
    int seed;
    /* running */
    int record; /* history descriptor */
    FILE *log;
    GRand *rand;
    zkl_session *session;
    zkl_mutex *mutex;
    const zkl_grant *grant;
    uint64_t token;
    /* set by the control thread */
    pthread_mutex_t guard;
    pthread_cond_t changed;
    bool start, hold, go, ending;
} worker;

/* main() of the mode "worker". */
int worker_main(int argc, char **argv);

void worker_record(const worker *w, event_kind kind, int64_t value);

/* control.c: obeys lines on standard input: start, hold, go, steal. */
bool control_start(worker *w);
void control_wait_start(worker *w);
bool control_take_hold(worker *w); /* was the next grant asked to be held? Once. */
bool control_wait_go(worker *w, int ms);
void control_end(worker *w); /* no order touches the mutex afterwards */

#endif
