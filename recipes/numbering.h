/* From the admission of a contender to its numbers. The data of the nodes before it tell which
 * numbers are taken.
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
 * are the lowest free ones, and no other node is read. Numbers that were read are kept until the
 * next list. If the own node is found to have numbers, these are the contender's: a set whose
 * answer was lost was done. When the admission ends, or something is refused, it is OVER.
 * docs/design/permits.md has the argument.
 */
#ifndef RECIPES_NUMBERING_H
#define RECIPES_NUMBERING_H

#include "machine.h"

enum numbering_state {
    NUMBERING_IDLE,
    NUMBERING_LISTING,
    NUMBERING_READING, /* the own node, the one right before it, then all the others */
    NUMBERING_WAITING, /* for one of them to change or go */
    NUMBERING_WRITING,
    NUMBERING_NUMBERED,
    NUMBERING_OVER,
    NUMBERING_STATES
};

enum numbering_node {
    NUMBERING_OWN,
    NUMBERING_DIRECTORY,
    NUMBERING_BEFORE /* the first of those before the own node; the others follow, in their order. A
                        node that was read with numbers, or is gone, is not read again */
};

enum numbering_verdict {
    NUMBERING_DONE,      /* the own node has its numbers */
    NUMBERING_NODE_GONE, /* the own node is gone: the admission ends */
    NUMBERING_FAILED     /* .rc */
};

/* What an answer shows. */
struct numbering_moment {
    uint32_t count;   /* LIST: how many are before the own node, and numbered */
    uint64_t permits; /* that all of them have */
    bool numbered;    /* GET: it has numbers */
    int32_t ceiling;  /* of one before: what its data tell; 0: nothing */
};

/* All 0 at first. */
struct numbering {
    enum numbering_state state;
    uint32_t before;  /* how many are before the own node */
    uint32_t left;    /* READING: how many answers are to come */
    uint32_t who;     /* the last that has none yet; NUMBERING_NOBODY */
    uint32_t unknown; /* how many may have numbers that were not read */
    int32_t version;  /* of the own node, as read */
    uint64_t permits; /* that they have, while nothing was read of any */
    int32_t first;    /* all have lower numbers; 0: that is not known */
};

#define NUMBERING_NOBODY UINT32_MAX

/* The step sets the node to numbers from .first on that no contender before it has, as was read.
 * The set asks for the version that was read. MACHINE_EV_STOP is the end of the admission. */
void numbering_step(struct numbering *n, const struct machine_event *ev,
                    const struct numbering_moment *shown, struct machine_actions *out);

/* Asserted after each step. */
bool numbering_invariant(const struct numbering *n);
bool numbering_may_move(enum numbering_state from, enum numbering_state to);
const char *numbering_state_name(enum numbering_state state);

/* Chooses count numbers, the lowest from first on that are not used. Returns the number below which
 * all of them are; 0: there are not that many. */
int32_t numbering_choose(const int32_t *used, size_t used_count, int32_t first, int32_t *ret,
                         size_t count);

#endif
