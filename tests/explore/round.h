/* The world around the members of one double barrier as a flat value, for exhaustive search: each
 * asks and hears in its own time, is stopped, loses its session or crashes. */
#ifndef EXPLORE_ROUND_H
#define EXPLORE_ROUND_H

#include "breadth.h"
#include "recipes/barrier.h"
#include "recipes/machine.h"

enum { ROUND_MEMBERS = 3, ROUND_ASKED = 6, ROUND_HEARD = 8 };

enum round_broken {
    ROUND_WHOLE,
    ROUND_FEW,     /* entered, and there were never enough members at once */
    ROUND_MANY,    /* more inside than asked for */
    ROUND_EARLY,   /* left, and another of the round is there still */
    ROUND_REMAINS, /* a node stands of one that is outside */
    ROUND_TOLD,    /* told twice, or without having asked */
    ROUND_STUCK,
    ROUND_BROKEN_COUNT
};

enum round_move {
    /* sooner or later; .at: whose */
    ROUND_SERVE,   /* the server takes up what it asked first */
    ROUND_DELIVER, /* it hears what is first on its way */
    ROUND_ENTER,
    ROUND_LEAVE,
    /* faults: one of the budget each */
    ROUND_STOP, /* its time is over */
    ROUND_EXPIRE,
    ROUND_CRASH,
    ROUND_FOREIGN, /* an older ready stands that is not ours */
    ROUND_MOVES
};

struct round_ask {
    uint8_t verb, node;
    bool replace, last; /* MULTI: as it opens, or quits */
    uint8_t more, version, unused[2];
    struct exchange_request number;
    uint64_t bound;
};

struct round_heard {
    uint8_t kind; /* enum machine_event_kind */
    uint8_t verb, node, rc, more, version, unused[2];
    struct exchange_request number;
    uint64_t zxid, bound, counted[ROUND_MEMBERS];
};

struct round_member {
    struct barrier machine;
    struct exchange exchange;
    uint8_t asked, heard;
    struct round_ask ask[ROUND_ASKED];
    struct round_heard hear[ROUND_HEARD];
    uint64_t members[ROUND_MEMBERS]; /* what is known of those listed */
    uint64_t names[ROUND_MEMBERS];   /* what they were when listed */
    bool calls;                      /* the user waits */
    bool crashed;
    bool watches_ready;
    uint8_t watches; /* a member's place and 1; 0: none */
    uint8_t enters;  /* left */
    bool seen;       /* since it joined: enough members at once, none of whom had entered */
    bool entered;    /* with the present node */
};

struct round_state {
    struct round_member m[ROUND_MEMBERS];
    uint64_t zxid, node[ROUND_MEMBERS], ready, bound;
    uint8_t version, faults, broken;
};

struct round_config {
    int members, wanted, enters, faults;
    bool foreign; /* the ready of another library may be there */
};

extern struct round_config round_config;

void round_init(void *state);
int round_list(const void *state, struct breadth_step *steps);
void round_do(void *state, struct breadth_step step);
int round_check_end(const void *state); /* enum round_broken */

extern const char *const round_broken_texts[ROUND_BROKEN_COUNT];
const char *round_move_text(enum round_move kind);

#endif
