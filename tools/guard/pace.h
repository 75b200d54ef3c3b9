/* When a command's end must begin, so that it is over in time however large the tree is. Pure.
 * docs/design/guard.md has the argument and the figures. */
#ifndef ZKL_TOOLS_PACE_H
#define ZKL_TOOLS_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* What looks at a tree have shown. */
struct pace {
    int64_t count;   /* how many processes the last one has found */
    int64_t cost_ns; /* what one of them takes, by the slowest look of late */
};

/* A look has found count processes, and has taken ms of time and cpu_ms of a processor. */
void pace_note(struct pace *p, int64_t count, int64_t ms, int64_t cpu_ms);

/* How long all of them take to end, from the first KILL on. so_far_ms: the time that the look under
 * way has taken; 0: none is. */
int64_t pace_need_ms(const struct pace *p, int64_t so_far_ms);

/* The time to the next look while the lock is renewed, after one that has taken cpu_ms of a
 * processor. */
int64_t pace_pause_ms(int64_t cpu_ms, int64_t session_timeout_ms);

/* The time to the deadline: while renewals come in time, it is never less than that. */
int64_t pace_steady_ms(int64_t session_timeout_ms);

struct pace_plan {
    int64_t margin_ms; /* from KILL to the deadline */
    int64_t grace_ms;  /* from the beginning of the end to it; not less than margin_ms */
    bool outgrown;     /* even that is too late: the tree needs longer */
};

/* grace_ms and margin_ms are those for a tree that takes no time to end. */
struct pace_plan pace_plan(int64_t need_ms, int64_t session_timeout_ms, int64_t grace_ms,
                           int64_t margin_ms);

#endif
