/* How an admitted contender of a semaphore gets numbers, one for each of its permits. The data of
 * the nodes before its own tell which numbers are taken.
 *
 *  begin          list           all are known           set
 *  IDLE ──> LISTING ──> READING ──────────────> WRITING ──────> NUMBERED
 *              │         ^   │ one has none yet    │
 *              │         └───┴──> WAITING          │
 *              └<── the own node was changed ──────┘
 *
 * The node right before the own node is read first. While that node has no numbers, nothing else is
 * asked for: the contender of that node waits for all before it, and its set wakes ours alone. The
 * data of that node tell the ceiling, below which the numbers of the node and of all before it are.
 * If the contenders before ours have that many permits, or more, the numbers from the ceiling on
 * are the lowest free ones, and no other node is read. Numbers that were read hold until the next
 * list. If the own node is found to have numbers, these are the contender's: a set whose
 * answer was lost was done. When the admission ends, or something is refused, it is OVER.
 * docs/design/permits.md has the argument.
 */
#ifndef RECIPES_NUMBERING_H
#define RECIPES_NUMBERING_H

#include "machine.h"

enum numbering_state {
    NUMBERING_IDLE,
    NUMBERING_LISTING,
    NUMBERING_READING, /* reading the own node and the node right before it; then all other nodes
                          before it */
    NUMBERING_WAITING, /* waits until one of these nodes changes or is deleted */
    NUMBERING_WRITING,
    NUMBERING_NUMBERED,
    NUMBERING_OVER,
    NUMBERING_STATES
};

enum numbering_node {
    NUMBERING_OWN,
    NUMBERING_DIRECTORY,
    NUMBERING_BEFORE /* the first node before the own node; the next numbers are the others. A node
                        that is gone, or was read with its numbers, is not read again */
};

enum numbering_verdict {
    NUMBERING_DONE,      /* the own node has its numbers */
    NUMBERING_NODE_GONE, /* the own node is gone: the admission ends */
    NUMBERING_FAILED     /* a request was refused: .rc */
};

/* What an answer shows. */
struct numbering_moment {
    uint32_t count;   /* LIST: how many contenders with numbers are before the own node */
    uint64_t permits; /* LIST: how many permits these have together */
    bool numbered;    /* GET: the node has numbers */
    int32_t ceiling;  /* GET of a node before the own one: the ceiling in its data; 0: none */
};

/* All 0 at first. */
struct numbering {
    enum numbering_state state;
    uint32_t before;     /* how many are before the own node */
    uint32_t left;       /* READING: how many answers are still to come */
    uint32_t unnumbered; /* the last node without numbers; NUMBERING_NOBODY: none is known */
    uint32_t unknown;    /* how many nodes before the own one may have numbers that were not read */
    int32_t version;     /* of the own node, as read */
    uint64_t permits;    /* the permits of all before; 0 when one of them was read */
    int32_t first;       /* all contenders before have lower numbers; 0: that is not known */
};

#define NUMBERING_NOBODY UINT32_MAX

/* Takes an event. The set gives the own node numbers from .first on that no contender before it
 * has, as was read. It asks for the version that was read. MACHINE_EV_STOP is the end of the
 * admission. */
void numbering_step(struct numbering *n, const struct machine_event *ev,
                    const struct numbering_moment *shown, struct machine_actions *out);

/* Asserted after each step. */
bool numbering_invariant(const struct numbering *n);
bool numbering_may_move(enum numbering_state from, enum numbering_state to);
const char *numbering_state_name(enum numbering_state state);

/* Stores in ret the lowest count numbers from first on that are not used. Returns the number below
 * which these and all used ones are; 0: the numbers do not suffice. */
int32_t numbering_choose(const int32_t *used, size_t used_count, int32_t first, int32_t *ret,
                         size_t count);

#endif
