/* From the admission of a contender to its numbers: which ones have those that were admitted
 * before, as their nodes' data tell?
 *
 *  begin          list           all are known           set
 *  IDLE ──> LISTING ──> READING ──────────────> WRITING ──────> NUMBERED
 *              │         ^   │ one has none yet    │
 *              │         └───┴──> WAITING          │
 *              └<── the own node was changed ──────┘
 *
 * The one right before it is read first. While that has none, nothing else is asked for: it waits
 * for all before it, and its set wakes one. Its data tell below which number all are, its own and
 * those of all before it: where these have as many permits, the next numbers are the lowest free
 * ones, and the others are not read. Numbers that were read are kept until the next list.
 * Whenever its own node is found to have numbers, they are what it has: a set whose answer was lost
 * was done. Where its admission ends, or something is refused, it is OVER.
 * docs/design/permits.md has the argument. */
#ifndef RECIPES_NUMBERING_H
#define RECIPES_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers follow, each behind a space, at the end of a node's data; and behind them, below
 * which number these are, and those of all that stood before it. */
#define NUMBERING_WORDS "\nzkl numbers"
#define NUMBERING_CEILING " of "

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

enum numbering_event_kind {
    NUMBERING_EV_BEGIN,
    NUMBERING_EV_LISTED, /* .count are before the own node, and numbered */
    NUMBERING_EV_READ,   /* the node .who of them, in their order */
    NUMBERING_EV_OWN,    /* the own node was read */
    NUMBERING_EV_WATCHED,
    NUMBERING_EV_FIRED,
    NUMBERING_EV_WRITTEN,
    NUMBERING_EV_END /* of the admission */
};

enum numbering_answer {
    NUMBERING_OK,       /* READ, OWN, WATCHED: it has numbers */
    NUMBERING_NONE_YET, /* of these, too: it has none */
    NUMBERING_CHANGED,  /* WRITTEN: the node has another version */
    NUMBERING_GONE,     /* there is no such node */
    NUMBERING_REFUSED
};

struct numbering_event {
    enum numbering_event_kind kind;
    enum numbering_answer answer;
    uint32_t tag; /* that of the action */
    uint32_t count, who;
    uint64_t permits; /* LISTED: of all of them */
    int32_t ceiling;  /* READ, WATCHED: what the node's data tell; 0: nothing */
};

enum numbering_action_kind {
    NUMBERING_ACT_LIST,
    NUMBERING_ACT_OWN,      /* reads the own node */
    NUMBERING_ACT_LOOK,     /* reads the node .who of those that the list has shown */
    NUMBERING_ACT_READ,     /* reads each of them that was neither read with numbers nor gone */
    NUMBERING_ACT_WATCH,    /* reads the node .who of them, leaving a watch on it */
    NUMBERING_ACT_UNWATCH,  /* it is of no interest any more */
    NUMBERING_ACT_WRITE,    /* numbers from .first on that none of them has, as was read; for the
                             * version that was read */
    NUMBERING_ACT_DONE,     /* the own node has its numbers */
    NUMBERING_ACT_VANISHED, /* the own node is gone: the admission ends */
    NUMBERING_ACT_FAIL
};

struct numbering_action {
    enum numbering_action_kind kind;
    uint32_t tag, who;
};

enum { NUMBERING_ACTIONS = 2 };

struct numbering_actions {
    uint32_t count;
    struct numbering_action list[NUMBERING_ACTIONS];
};

/* All 0 at first. */
struct numbering {
    enum numbering_state state;
    uint32_t tag;     /* of the newest request: answers to earlier ones are stale */
    uint32_t left;    /* READING: so many answers */
    uint32_t who;     /* the last that has none yet; NUMBERING_NOBODY */
    uint32_t unknown; /* so many may have numbers that were not read */
    uint64_t permits; /* that they have, while nothing was read of any */
    int32_t first;    /* all have lower numbers; 0: that is not known */
};

#define NUMBERING_NOBODY UINT32_MAX

void numbering_step(struct numbering *n, const struct numbering_event *ev,
                    struct numbering_actions *out);

/* Asserted after each step. */
bool numbering_invariant(const struct numbering *n);
bool numbering_may_move(enum numbering_state from, enum numbering_state to);
const char *numbering_state_name(enum numbering_state state);

/* The lowest count numbers from first on that are not used. Returns the number below which all are;
 * 0: there is none. */
int32_t numbering_choose(const int32_t *used, size_t used_count, int32_t first, int32_t *ret,
                         size_t count);

/* Below which number all are, as a node's data tell at their end; without that they are *length
 * bytes long. 0: they do not. */
int32_t numbering_ceiling(const char *data, size_t *length);

/* How many numbers a node's data end in, of which the first max are stored in ret. Without them and
 * what is behind them the data are *ret_payload bytes long. */
size_t numbering_read(const char *data, size_t length, int32_t *ret, size_t max,
                      size_t *ret_payload);

#endif
