/* Every step may be taken by two processes and is taken once: who decides the course says so, who
 * sends the first KILL, who finds the group gone. Signals go to a group whose leader is unreaped.
 */
#include "ending.h"
#include "events.h"
#include "group.h"
#include "status_line.h"

#include <signal.h>
#include <sys/wait.h>

const char *course_name(enum course course)
{
    static const char *const names[] = {
        [COURSE_RUNNING] = "running", [COURSE_ENDED] = "ended",     [COURSE_DEADLINE] = "deadline",
        [COURSE_REVOKED] = "revoked", [COURSE_SUSPECT] = "suspect", [COURSE_ASKED] = "asked",
        [COURSE_TOOL] = "tool",       [COURSE_GUARD] = "guard"};

    return names[course];
}

/* However short the grace: a process must be woken and a signal delivered meanwhile. */
#define MARGIN_LEAST_PER_TIMEOUT 64

int64_t ending_margin_ms(const struct ending *e)
{
    return MAX(e->options->grace_ms / 4, e->options->session_timeout_ms / MARGIN_LEAST_PER_TIMEOUT);
}

int64_t ending_grace_ms(const struct ending *e)
{
    return MAX(e->options->grace_ms, ending_margin_ms(e));
}

enum course ending_reason(const struct ending *e)
{
    return atomic_load(&e->shared->until_boottime) == 0 ? COURSE_REVOKED : COURSE_DEADLINE;
}

static void announce(const struct ending *e, const char *signal)
{
    status_line(e->options->status_fd, "ending %s %" G_GINT64_FORMAT, signal,
                shared_left_ms(e->shared));
}

/* Before its effect is told, by whoever sees that first. */
static void announce_kill(const struct ending *e)
{
    if (atomic_load(&e->shared->killed) && !atomic_exchange(&e->shared->kill_told, true))
        announce(e, "KILL");
}

static void explain_kill(const struct ending *e, enum course why)
{
    const char *path = e->options->path;

    if (why == COURSE_TOOL)
        say("%s: zkl itself was killed; so is the command", path);
    else if (why == COURSE_GUARD)
        say("%s: the guard is dead; the command is killed", path);
    else if (why == COURSE_ASKED)
        say("%s: asked to step down; the command is killed", path);
    else
        say("%s: the lock is lost; the command is killed", path);
}

/* A stopped group does not act on TERM before it is continued. */
static void term(struct ending *e, enum course why, int64_t left)
{
    const pid_t leader = shared_leader(e->shared);

    kill(-leader, SIGTERM);
    kill(-leader, SIGCONT);
    e->kill_at = now_ms() + left - ending_margin_ms(e);
    announce(e, "TERM");
    if (why == COURSE_SUSPECT)
        say("%s: the lock is in doubt; the command is ended", e->options->path);
    else if (why == COURSE_ASKED)
        say("%s: asked to step down; the command is ended", e->options->path);
    else
        say("%s: the lock could not be renewed and ends in %.1f s; the command is ended",
            e->options->path, (double)left / 1000);
}

void ending_begin(struct ending *e, enum course why)
{
    const int64_t left = MIN(shared_left_ms(e->shared), ending_grace_ms(e));

    if (left <= ending_margin_ms(e) || shared_bar(e->shared) == 0)
        ending_kill(e, why);
    else if (shared_decide(e->shared, why))
        term(e, why, left);
}

void ending_kill(struct ending *e, enum course why)
{
    const bool decided = shared_decide(e->shared, why);
    pid_t leader;

    if (shared_course(e->shared) == COURSE_ENDED)
        return; /* what is left of the group is nobody's business */
    leader = shared_bar(e->shared);
    if (leader > 0) {
        atomic_store(&e->shared->killed, true);
        kill(-leader, SIGKILL);
        announce_kill(e);
    }
    if (decided)
        explain_kill(e, why);
    if (e->give_up_at == 0)
        e->give_up_at = now_ms() + e->options->session_timeout_ms;
}

bool ending_leader_ended(struct ending *e)
{
    const pid_t leader = shared_leader(e->shared);
    siginfo_t info = {0};
    bool by_signal;

    if (atomic_load(&e->shared->ended) != NOT_ENDED)
        return true;
    if (leader == 0 || waitid(P_PID, (id_t)leader, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != leader)
        return false;
    by_signal = info.si_code != CLD_EXITED;
    atomic_store(&e->shared->ended, info.si_status + (by_signal ? ENDED_BY_SIGNAL : 0));
    announce_kill(e);
    if (!atomic_load(&e->shared->gone))
        status_line(e->options->status_fd, "ended %d",
                    info.si_status + (by_signal ? STATUS_SIGNAL : 0));
    return true;
}

static bool lives(struct ending *e, pid_t leader)
{
    switch (group_scan(leader, e->tool, e->guard)) {
    case GROUP_LIVES:
        return true;
    case GROUP_GONE:
        return false;
    default:
        return !ending_leader_ended(e); /* no /proc: the leader alone can be seen */
    }
}

/* A look at many processes is no instant: one may fork, or be handed to another parent, behind it.
 * What is dead by KILL does neither, so that the second look is right. */
static bool group_is_gone(struct ending *e, pid_t leader)
{
    if (lives(e, leader))
        return false;
    kill(-leader, SIGKILL);
    return !lives(e, leader);
}

bool ending_over(struct ending *e)
{
    const pid_t leader = shared_bar(e->shared);

    if (leader > 0 && !group_is_gone(e, leader)) {
        if (e->give_up_at == 0 || now_ms() < e->give_up_at)
            return false;
        say("%s: the command does not end although killed; process group %d", e->options->path,
            (int)leader);
    }
    ending_leader_ended(e);
    if (!atomic_exchange(&e->shared->gone, true))
        status_line(e->options->status_fd, "lost %s", course_name(shared_course(e->shared)));
    return true;
}
