/* Decides when a command's end must begin, so that it is over in time however large the tree is.
 * Pure. docs/design/guard.md has the argument and the figures. */
#ifndef ZKL_TOOLS_PACE_H
#define ZKL_TOOLS_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The results of looks at a tree. */
struct pace {
    int64_t count;   /* how many processes the last look has found */
    int64_t cost_ns; /* ns that a look takes for one process, by the slowest of the last looks */
};

/* Takes the figures of a look, which has found count processes in ms of time and cpu_ms of a
 * processor. */
void pace_add_look(struct pace *p, int64_t count, int64_t ms, int64_t cpu_ms);

/* Returns how long all processes take to end, from the first KILL on. so_far_ms: the time that the
 * look under way has taken; 0: none is. */
int64_t pace_need_ms(const struct pace *p, int64_t so_far_ms);

/* Returns the time to the next look while the lock is renewed, after a look that has taken cpu_ms
 * of a processor. */
int64_t pace_pause_ms(int64_t cpu_ms, int64_t session_timeout_ms);

/* Returns the least time to the deadline that there is while renewals come in time. */
int64_t pace_steady_ms(int64_t session_timeout_ms);

/* How long zkl shards needs for each command that it kills. */
#define PACE_KILL_MS 1

/* Returns how long before their common deadline that number of commands is killed, since each takes
 * a while to end. That is at most three quarters of the grace, or alone_ms if that is more. */
int64_t pace_margin_ms(int commands, int64_t grace_ms, int64_t alone_ms);

struct pace_plan {
    int64_t margin_ms; /* from KILL to the deadline */
    int64_t grace_ms;  /* from TERM to the deadline; not less than margin_ms */
    bool outgrown;     /* the tree takes longer to end than any grace allows */
};

/* Plans the end of a tree that takes need_ms to end. grace_ms and margin_ms are those for a tree
 * that takes no time. */
struct pace_plan pace_plan(int64_t need_ms, int64_t session_timeout_ms, int64_t grace_ms,
                           int64_t margin_ms);

#endif
