/* What can happen next. */
#ifndef EXPLORE_MOVE_H
#define EXPLORE_MOVE_H

#include "model.h"

enum move_kind {
    /* sooner or later */
    MOVE_ENTER,
    MOVE_HANDLE,
    MOVE_TAKE,
    MOVE_FOLLOW,
    MOVE_CONNECT,
    MOVE_NOTICE,
    MOVE_CLOSE_OLD,
    MOVE_PROOF,
    MOVE_PURGE,
    MOVE_TIMER,
    MOVE_TELL_LAPSE,
    MOVE_RELEASE,
    MOVE_CALLBACKS,
    /* perhaps never */
    MOVE_EXPIRE,
    /* faults: one of its client's share each */
    MOVE_LOSE,
    MOVE_LOSE_DONE,
    MOVE_REFUSE,
    MOVE_DEADLINE,
    MOVE_UNPROVED,
    MOVE_REPLACE,
    MOVE_ABORT,
    MOVE_CLOSE,
    MOVE_FORCE_CLOSE,
    MOVE_FORCE_DELETE,
    MOVE_TOUCH,
    MOVE_REAP,
    MOVE_COUNT
};

/* node: of a third party's deed; of MOVE_CONNECT whether what was missed is told backwards. */
struct move {
    uint8_t kind, client, node;
};

enum { MOVES_MAX = MODEL_CONTENDERS * (MOVE_COUNT + 2) + 2 * MODEL_NODES };

/* All that can happen in st; how many. */
int move_list(const struct state *st, struct move moves[MOVES_MAX]);

void move_do(struct state *st, struct move move);

/* What happens without anybody's ill will, so that waiting for it is allowed. */
bool move_is_fair(struct move move);

/* "A: takes the answer to its list", into text. */
void move_describe(const struct state *st, struct move move, char *text, size_t size);

#endif
