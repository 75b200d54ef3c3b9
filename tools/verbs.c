/* The table of verbs. The fuzz target has another table in place of this file. */
#include "tool.h"

#define VERB_ROW(name, summary) {#name, verb_##name, summary},
const struct verb verbs[] = {
    VERBS(VERB_ROW){NULL, NULL, NULL},
};
