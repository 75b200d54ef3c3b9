/* A look is the measure, since nothing else is known before the end. Its time on the clock grows
 * with the tree and with the load. But where processor time is rationed (a cgroup's quota), a short
 * look may fit into the ration, and the deaths, which need more, do not. So the processor time of a
 * look counts, too. */
#include "pace.h"

#include <glib.h>

/* To kill all processes takes no longer than two looks and the margin of a small tree, and twelve
 * times as much processor time as a look, their deaths included: docs/design/guard.md. */
#define LOOKS_PER_END 2
#define LOOKS_CPU_PER_END 12

/* With each look that costs less, the remembered cost falls by this part. */
#define FORGOTTEN_PER_LOOK 4

/* Fewer processes count as this many: if a look at a few was interrupted, its time says nothing
 * about many. */
#define COUNT_LEAST 100

/* How many looks there are in a session timeout; fewer, if they would take more than one part in
 * LOOKS_SHARE of a processor. */
#define LOOKS_PER_TIMEOUT 4
#define LOOKS_SHARE 50

/* A part of the session timeout, below what is left right before a renewal is proved when the
 * servers' tick is not known: 0.39. (At an observer 0.21 is left.) */
#define STEADY_PERMILLE 300

/* The part of the session timeout that an ending may take. */
#define ENDING_MOST_PERMILLE 250

#define NS_PER_MS 1000000

void pace_add_look(struct pace *p, int64_t count, int64_t ms, int64_t cpu_ms)
{
    const int64_t taken = MAX(ms, cpu_ms * LOOKS_CPU_PER_END / LOOKS_PER_END);
    const int64_t before = p->cost_ns - p->cost_ns / FORGOTTEN_PER_LOOK;

    p->count = count;
    p->cost_ns = MAX(taken * NS_PER_MS / MAX(count, COUNT_LEAST), before);
}

int64_t pace_need_ms(const struct pace *p, int64_t so_far_ms)
{
    return LOOKS_PER_END * MAX(p->count * p->cost_ns / NS_PER_MS, so_far_ms);
}

int64_t pace_pause_ms(int64_t cpu_ms, int64_t session_timeout_ms)
{
    return MAX(session_timeout_ms / LOOKS_PER_TIMEOUT, LOOKS_SHARE * cpu_ms);
}

int64_t pace_steady_ms(int64_t session_timeout_ms)
{
    return session_timeout_ms * STEADY_PERMILLE / 1000;
}

struct pace_plan pace_plan(int64_t need_ms, int64_t session_timeout_ms, int64_t grace_ms,
                           int64_t margin_ms)
{
    const int64_t most = session_timeout_ms * ENDING_MOST_PERMILLE / 1000;
    const int64_t for_term = MAX(grace_ms - margin_ms, 0);
    const int64_t wanted = margin_ms + need_ms;
    struct pace_plan plan = {.outgrown = wanted > most};

    plan.margin_ms = MAX(margin_ms, MIN(wanted, most));
    plan.grace_ms = MAX(MAX(grace_ms, plan.margin_ms), MIN(plan.margin_ms + for_term, most));
    return plan;
}

int64_t pace_margin_ms(int commands, int64_t grace_ms, int64_t alone_ms)
{
    const int64_t all = (int64_t)commands * PACE_KILL_MS;

    return MAX(MIN(all, grace_ms * 3 / 4), alone_ms);
}
