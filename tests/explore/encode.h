/* A state's identity: what matters of it for the future, and nothing else. */
#ifndef EXPLORE_ENCODE_H
#define EXPLORE_ENCODE_H

#include "model.h"

struct fingerprint {
    uint32_t words[3];
};

/* Equal for states that differ only in names: which of the like contenders is which, absolute
 * tags, numbers, transaction ids, ids and sessions, the places of nodes in the table. */
struct fingerprint encode_state(const struct state *st);

#endif
