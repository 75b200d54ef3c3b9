/* Everything at once, at random: what all parts of tests/live/chaos need. */
#ifndef LIVE_CHAOS_H
#define LIVE_CHAOS_H

#include <zkl.h>

#include "raw.h"
#include "seeded.h"
#include "server.h"

enum { CHAOS_TIMEOUT_MS = 2000, CHAOS_PATH = 128 };

extern struct seeded campaign;
extern struct zk_server *server;
extern struct raw *admin;

/* 0 … below - 1, by the thread's own seed. */
unsigned chaos(unsigned below);
void chaos_seed(guint32 seed); /* of this thread */
bool chaos_goes_on(void);      /* until the part's time is over */

/* Each part begins with an empty server. */
void chaos_begin(void);

/* Nothing ephemeral is left, nobody watches anything, and then nobody is there: sooner or later. */
void chaos_expect_nothing_left(void);

/* ---- the register: who holds what ---- */

/* What is held in a place never exceeds the place's capacity. A lock has 1. */
struct place {
    unsigned capacity;
    bool rises;           /* one holder at a time, each with a higher token or turn */
    unsigned spoilt;      /* how often somebody has deleted what was held, begun and ended */
    unsigned spoilers;    /* who are about to */
    GQueue held;          /* of struct hold */
    uint64_t token, turn; /* the last one's */
};

struct hold {
    const zkl_grant *grant;
    unsigned units, spoilt; /* the latter as it was when it was asked for */
    GList link;
};

unsigned place_spoilt(struct place *p);         /* before something is asked for */
void place_spoil(struct place *p, bool begins); /* around what deletes something */
void place_take(struct place *p, struct hold *h);
void place_leave(struct place *p, struct hold *h); /* before it is released */

/* What came of a call: 0, one of the usual errors, or of others, which end with 0. */
void chaos_expect(int code, const char *what, const int *others);

/* How often something has happened. */
extern struct tally {
    unsigned asked, granted, failed, lost, overlaps, checked;
} tally;
void tally_add(unsigned *what);

void everything_at_once(void); /* chaos_family.c */
void threads_of_mutexes(void); /* chaos_threads.c */
void threads_of_handles(void); /* chaos_handles.c */

#endif
