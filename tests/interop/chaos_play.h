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
    struct register_judgement reg, plain;
};

/* false: it could not be started, or not be gone on with. */
bool chaos_run(struct chaos *c);

bool chaos_all_granted(const struct chaos *c);
bool chaos_late(const struct chaos *c); /* Curator or kazoo came late, and was refused */

/* chaos.c: whether every promise was kept. */
bool chaos_failed(const struct chaos *c);

#endif
