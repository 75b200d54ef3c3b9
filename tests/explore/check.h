/* What must hold: in every state, at every grant, and where nothing can happen any more. */
#ifndef EXPLORE_CHECK_H
#define EXPLORE_CHECK_H

#include "model.h"

enum broken {
    BROKEN_NOT,
    BROKEN_ASSERT,
    BROKEN_ACTION,
    BROKEN_TWICE,
    BROKEN_DEADLINE,
    BROKEN_TOKEN,
    BROKEN_UNPROVED,
    BROKEN_ORDER,
    BROKEN_DEAF,
    BROKEN_EARLY,
    BROKEN_REFUSAL,
    BROKEN_WAITS,
    BROKEN_INVARIANT,
    BROKEN_TWO,
    BROKEN_NO_NODE,
    BROKEN_UNTOLD,
    BROKEN_ORPHAN,
    BROKEN_WATCH,
    BROKEN_STUCK,
    BROKEN_LEFT,
    BROKEN_ENDLESS,
    BROKEN_OVERWRITTEN,
    BROKEN_ASKED,
    BROKEN_UNASKED,
    BROKEN_UNRECALLED,
    BROKEN_COUNT
};

const char *check_text(enum broken broken);

/* i's user was granted just now: into st->broken. */
void check_grant(struct state *st, int i);

/* i's user is told just now that it is asked to give way. */
void check_asked(struct state *st, int i);

/* At the moment it is refused for its neighbours: the node that was listed is reason enough. */
void check_refusal(struct state *st, int i, uint8_t child);

enum broken check_state(const struct state *st);

/* Nothing but faults can happen. */
enum broken check_end(const struct state *st);

#endif
