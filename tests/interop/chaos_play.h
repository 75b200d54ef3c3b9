/* What happens to the roles: faults drawn from a seed, and an end that everybody comes to. */
#ifndef INTEROP_CHAOS_PLAY_H
#define INTEROP_CHAOS_PLAY_H

#include "chaos_roles.h"

enum fault { FAULT_KILL, FAULT_STOP, FAULT_CUT, FAULTS };

struct chaos {
    int seed, seconds, grants; /* for so long, and until each kind had so many grants */
    struct roles_options with;
    /* What came out: */
    int took_s;
    int done[FAULTS][KINDS];
    int of_holders[FAULTS][KINDS];                 /* of those: it held, as far as was recorded */
    guint granted[KINDS], refused[KINDS], skipped; /* careful ones' grants without a write */
    bool served[SLOTS];                            /* after the last fault */
    int broken, overdue, nodes_left;
    bool garbled;
    struct chaos_verdict reg, plain;
};

/* false: it could not be started, or not be gone on with. */
bool chaos_run(struct chaos *c);

/* Fills in what is counted while it goes on. */
void chaos_count(struct chaos *c, const struct roles *roles);
bool chaos_all_granted(const struct chaos *c);
bool chaos_late(const struct chaos *c); /* Curator or kazoo came late, and was refused */

/* Has all happened that a run is to show? All kinds had their grants and each its faults; and
 * somebody came late, which was refused, or where that is left out did harm. */
bool chaos_enough(struct chaos *c, const struct roles *roles);

/* The table, and one line for each promise; counts them. */
void chaos_print(const struct chaos *c, int *passed, int *failed);
bool chaos_failed(const struct chaos *c);

#endif
