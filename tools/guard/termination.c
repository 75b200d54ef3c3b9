/* Two processes may take every step, but it is taken once: by the one that says that it decides the
 * cause, that sends the first KILL, or that finds the tree gone. */
#include "termination.h"
#include "../events.h"
#include "../shards_plan.h"
#include "../status_line.h"
#include "../tool.h"
#include "termination_tree.h"

#include <signal.h>

const char *exit_cause_name(enum exit_cause cause)
{
    static const char *const names[] = {
        [CAUSE_NONE] = "running",    [CAUSE_ENDED] = "ended",     [CAUSE_DEADLINE] = "deadline",
        [CAUSE_REVOKED] = "revoked", [CAUSE_SUSPECT] = "suspect", [CAUSE_ASKED] = "asked",
        [CAUSE_TOOL] = "tool",       [CAUSE_GUARD] = "guard"};

    return names[cause];
}

const char *termination_loss_name(const struct termination *e)
{
    static const char *const names[] = {
        [ZKL_LOSS_EXPIRED] = "expired", [ZKL_LOSS_DELETED] = "deleted",
        [ZKL_LOSS_CLOSED] = "closed",   [ZKL_LOSS_REPLACED] = "replaced",
        [ZKL_LOSS_REFUSED] = "refused", [ZKL_LOSS_FORKED] = "forked",
    };
    const int loss = atomic_load(&e->shared->loss);

    return shared_cause(e->shared) == CAUSE_REVOKED ? names[loss] : NULL;
}

/* However short the grace: a process must be woken and a signal delivered meanwhile. */
#define MARGIN_LEAST_PER_TIMEOUT 64

int64_t termination_margin_ms(const struct termination *e)
{
    const struct hold_options *o = e->options;

    return shards_margin_ms(o->commands, o->grace_ms,
                            MAX(o->grace_ms / 4, o->session_timeout_ms / MARGIN_LEAST_PER_TIMEOUT));
}

int64_t termination_grace_ms(const struct termination *e)
{
    return MAX(e->options->grace_ms, termination_margin_ms(e));
}

enum exit_cause termination_reason(const struct termination *e)
{
    return atomic_load(&e->shared->until_boottime) == 0 ? CAUSE_REVOKED : CAUSE_DEADLINE;
}

static void announce(const struct termination *e, const char *signal, int64_t left)
{
    status_line(e->options->status_fd, "ending %s %" G_GINT64_FORMAT, signal, left);
}

/* Before its effect is told, by whoever sees that first. */
static void announce_kill(const struct termination *e)
{
    if (atomic_load(&e->shared->killed) && !atomic_exchange(&e->shared->kill_told, true))
        announce(e, "KILL", atomic_load(&e->shared->kill_left));
}

static void explain_kill(const struct termination *e, enum exit_cause why)
{
    const char *path = e->options->path;

    if (why == CAUSE_TOOL)
        say("%s: zkl itself was killed; so is the command", path);
    else if (why == CAUSE_GUARD)
        say("%s: the guard is dead; the command is killed", path);
    else if (why == CAUSE_ASKED)
        say("%s: asked to step down; the command is killed", path);
    else if (why == CAUSE_REVOKED && atomic_load(&e->shared->loss) != ZKL_LOSS_NONE)
        say("%s: the lock is lost: %s; the command is killed", path,
            zkl_strloss((zkl_loss)atomic_load(&e->shared->loss)));
    else
        say("%s: the lock is lost; the command is killed", path);
}

static void term(struct termination *e, enum exit_cause why, int64_t left)
{
    termination_tree_term(e);
    e->ending_at = now_ms();
    e->kill_at = e->ending_at + left - termination_margin_ms(e);
    announce(e, "TERM", shared_left_ms(e->shared));
    if (why == CAUSE_SUSPECT)
        say("%s: the lock is in doubt; the command is ended", e->options->path);
    else if (why == CAUSE_ASKED)
        say("%s: asked to step down; the command is ended", e->options->path);
    else
        say("%s: the lock could not be renewed and ends in %.1f s; the command is ended",
            e->options->path, (double)left / 1000);
}

void termination_begin(struct termination *e, enum exit_cause why)
{
    const int64_t left = MIN(shared_left_ms(e->shared), termination_grace_ms(e));

    if (left <= termination_margin_ms(e) || shared_bar(e->shared) == 0)
        termination_kill(e, why);
    else if (shared_decide(e->shared, why))
        term(e, why, left);
}

void termination_kill(struct termination *e, enum exit_cause why)
{
    const bool decided = shared_decide(e->shared, why);
    pid_t leader;

    if (shared_cause(e->shared) == CAUSE_ENDED)
        return; /* what is left of the tree is nobody's business */
    leader = shared_bar(e->shared);
    if (leader > 0) {
        kill(-leader, SIGKILL); /* nothing before this */
        if (!atomic_load(&e->shared->killed))
            atomic_store(&e->shared->kill_left, (int)shared_left_ms(e->shared));
        atomic_store(&e->shared->killed, true);
        termination_tree_kill(e, true);
        announce_kill(e);
    }
    if (decided)
        explain_kill(e, why);
    if (e->give_up_at == 0) {
        e->ending_at = now_ms();
        e->give_up_at = e->ending_at + e->options->session_timeout_ms;
    }
}

int64_t termination_look_ms(const struct termination *e)
{
    return CLAMP((now_ms() - e->ending_at) / 2, LOOK_MS, LOOK_LAST_MS);
}

bool termination_leader_ended(struct termination *e)
{
    siginfo_t info;
    bool by_signal;

    if (atomic_load(&e->shared->ended) != NOT_ENDED)
        return true;
    if (child_look(shared_leader(e->shared), &info) != CHILD_ENDED)
        return false;
    by_signal = info.si_code != CLD_EXITED;
    atomic_store(&e->shared->ended, info.si_status + (by_signal ? ENDED_BY_SIGNAL : 0));
    announce_kill(e);
    if (!atomic_load(&e->shared->gone))
        status_line(e->options->status_fd, "ended %d",
                    info.si_status + (by_signal ? STATUS_SIGNAL : 0));
    return true;
}

static void give_up(struct termination *e)
{
    const struct process p = sweep_signal(&e->sweep, 0, NULL, NULL).first;

    e->given_up = true;
    if (p.pid > 0)
        say("%s: process %d (%s) was killed and does not end", e->options->path, (int)p.pid,
            p.name);
    else
        say("%s: the command was killed and does not end", e->options->path);
}

/* While the lock is ours it is waited for, however long. */
static bool never_gone(struct termination *e)
{
    const bool late = e->give_up_at != 0 && now_ms() >= e->give_up_at;

    if (late && !e->given_up)
        give_up(e);
    return late && shared_left_ms(e->shared) == 0;
}

static void announce_loss(const struct termination *e)
{
    const char *loss = termination_loss_name(e);

    status_line(e->options->status_fd, "lost %s%s%s", exit_cause_name(shared_cause(e->shared)),
                loss ? " " : "", loss ? loss : "");
}

bool termination_over(struct termination *e)
{
    const pid_t leader = shared_bar(e->shared);

    if (leader > 0 && !termination_tree_gone(e) && !never_gone(e))
        return false;
    termination_leader_ended(e);
    if (!atomic_exchange(&e->shared->gone, true))
        announce_loss(e);
    return true;
}

/* ---- what a command leaves that was ended by a signal ---- */

/* What got the same signal is given so long to end, before it is spoken of. */
#define REST_PATIENCE_MS 100

static void kill_rest(struct termination *e, bool nested)
{
    termination_tree_kill(e, nested);
    if (!e->rest_killed)
        status_line(e->options->status_fd, "rest KILL");
    e->rest_killed = true;
    if (nested && e->give_up_at == 0)
        e->give_up_at = now_ms() + e->options->session_timeout_ms;
    never_gone(e);
}

static void end_rest(struct termination *e)
{
    const int64_t limit = e->options->kill_after_ms;
    const int64_t age = now_ms() - e->rest_since;

    if (atomic_load(&e->shared->to_kill) || age >= 2 * limit)
        kill_rest(e, true);
    else if (age >= limit)
        kill_rest(e, false);
    else if (age >= REST_PATIENCE_MS && !e->rest_asked) {
        e->rest_asked = true;
        termination_tree_term(e);
        status_line(e->options->status_fd, "rest TERM");
    }
}

bool termination_rest(struct termination *e)
{
    if (atomic_load(&e->shared->ended) < ENDED_BY_SIGNAL && !atomic_load(&e->shared->to_end) &&
        !e->options->ends_rest)
        return false;
    if (e->rest_since == 0)
        e->rest_since = now_ms();
    if (termination_tree_gone(e))
        return false;
    end_rest(e);
    return true;
}

int64_t termination_rest_ms(const struct termination *e)
{
    return MAX(LOOK_MS, e->look_at - now_ms());
}
