/* A few clients of one stage, and faults from its seed: one client at a time is in trouble, now for
 * a moment, now for longer than its session lasts. A call that blocks lets the world go on until it
 * has ended; meanwhile others may call. */
#ifndef SIM_TROUBLED_H
#define SIM_TROUBLED_H

#include "client.h"
#include "stage.h"

enum { TROUBLED_CLIENTS = 3, TROUBLED_MOST = 7, TROUBLED_TIMEOUT_MS = 3000 };

struct troubled {
    struct stage *stage;
    unsigned count;
    struct client *clients[TROUBLED_MOST];
    int64_t healed[TROUBLED_MOST]; /* when its last trouble was over; NEVER: it is in it */
    struct alarm fault;
    unsigned victim, faults;
    int lagging; /* a server; -1: none */
};

/* The highest seed to play, and so how many: the environment's ZKL_SCHEDULES, or the usual one. */
uint64_t troubled_schedules(unsigned usual);

/* What is lost with a connection may be done late: every other time. */
bool troubled_is_late(uint64_t seed);

/* Begins with so many clients. If look is not NULL, it is called after each step of the world while
 * a call blocks. */
void troubled_begin(struct troubled *t, unsigned clients, uint64_t seed, void (*look)(void));
void troubled_heal(struct troubled *t); /* for good */

/* Ends the clients, and expects that the oracle found nothing. */
void troubled_end(struct troubled *t);

#endif
