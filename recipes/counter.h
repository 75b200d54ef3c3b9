/* An operation on a counter: a node whose data is a number of 4 or 8 bytes, big-endian, as
 * Curator's SharedCount, DistributedAtomicInteger and DistributedAtomicLong keep it.
 *
 *               ┌──another version─────────────────────┐
 *               v                                      │
 *   IDLE ──> READING ──value────────────> no change: OVER
 *             │  ^              else: SETTING ──done──> OVER
 *      no node│  │made             │  ^
 *             v  │      no answer: │  │ it was not applied, nor will be
 *            MAKING                v  │
 *                        PASSING ──> CHECKING ──> OVER: nobody can tell, or it is as asked
 *
 * Each set asks for the version that was read, so one sent twice is applied once at most. When the
 * answer is lost, a request that the quorum refuses comes first (PASSING): what the session asked
 * for before that is done by then, but for what comes late (docs/design/nodes.md). The read after
 * it (CHECKING) tells what the version was used for, unless another client may have written the
 * same number. If it was not used yet the set is doubted: it is sent again for that version, and
 * when that is outdated, another read tells.
 *
 * A node that was made anew has versions that its predecessor had. The czxid of what was set tells
 * the two apart, but only when it is done. */
#ifndef RECIPES_COUNTER_H
#define RECIPES_COUNTER_H

#include "children.h"

enum { COUNTER_BYTES_MAX = 8, COUNTER_TRIES = 1000 };

enum counter_goal { COUNTER_GET, COUNTER_SET, COUNTER_ADD, COUNTER_SWAP };

enum counter_state {
    COUNTER_IDLE,
    COUNTER_READING,
    COUNTER_MAKING,
    COUNTER_SETTING,
    COUNTER_PASSING,
    COUNTER_CHECKING,
    COUNTER_OVER,
    COUNTER_STATES
};

enum counter_verdict {
    COUNTER_DONE,     /* the result is .next of the counter */
    COUNTER_MISMATCH, /* SWAP: it has another value */
    COUNTER_OVERFLOW, /* the result does not fit */
    COUNTER_ODD,      /* the data is no number of that width */
    COUNTER_BUSY,     /* another client was faster, COUNTER_TRIES times */
    COUNTER_REFUSED,  /* the server refused: .rc */
    COUNTER_LATE,     /* the time was over, and nothing was done */
    COUNTER_UNKNOWN   /* it may have been done, or may be later */
};

enum counter_node { COUNTER_NODE, COUNTER_NODE_NONE /* a node that never exists */ };

/* All 0 but for what is set at the beginning. */
struct counter {
    /* set at the beginning: */
    unsigned width; /* 4 or 8 bytes */
    enum counter_goal goal;
    int64_t operand;  /* SET, SWAP: the new number; ADD: the difference */
    int64_t expected; /* SWAP */
    /* since then: */
    enum counter_state state;
    unsigned tries;
    int64_t next; /* the number that is being set, then the result */
    int32_t version;
    uint64_t czxid; /* 0: there was no node yet */
    bool doubted;   /* a set for .version was not answered, and may still come */
};

/* Takes an event. MACHINE_EV_STOP ends the operation when its time has passed. */
void counter_step(struct counter *c, const struct machine_event *ev, struct machine_actions *out);

bool counter_invariant(const struct counter *c);
bool counter_may_move(enum counter_state from, enum counter_state to);
const char *counter_state_name(enum counter_state state);

/* ---- a watch ----
 *
 * A watch reads the number when there is a connection and when the number may have changed. It
 * tells the number if that is not the last one told. A node that is missing has the number 0. */

enum { COUNTER_WATCHED = CHILDREN_NODES }; /* the counter's node, which is the directory, too */

enum { COUNTER_TELL_NUMBER = CHILDREN_TELL_OWN, COUNTER_TELL_ODD /* no number of that width */ };

/* All 0 but for what is set at the beginning. */
struct counter_watch {
    unsigned width;           /* set at the beginning */
    struct children children; /* .watch is set at the beginning */
    bool told, odd;
    int64_t number; /* the number told last */
};

void counter_watch_step(struct counter_watch *w, const struct machine_event *ev,
                        const struct children_moment *m, struct machine_actions *out);

/* ---- numbers ---- */

/* Returns the number that the node is made with, or set to. */
int64_t counter_written(const struct counter *c);

/* Whether value fits into that many bytes. */
bool counter_fits(unsigned width, int64_t value);

void counter_encode(unsigned width, int64_t value, uint8_t *bytes);

/* Reads a number. Returns false if the data are no number of that width. No data are the number 0,
 * as Curator's atomics read them. */
bool counter_decode(unsigned width, const void *data, size_t length, int64_t *ret);

/* Finds the next number of a counter that has value. Returns COUNTER_DONE, and sets *ret; or
 * returns why there is none. */
enum counter_verdict counter_next(const struct counter *c, int64_t value, int64_t *ret);

#endif
