/* Guard and tool may both come to one of these steps: to decide the cause, to tell of the first
 * KILL, to find the tree gone. The first of them that marks it in the shared memory takes it.
 *
 * The group gets its signal first, as one, which nobody can escape by forking; then all others of
 * the tree get it. A lock within ours is a zkl, its guard and its command. Only that zkl is asked,
 * and it asks its own; a second TERM would make it kill them. */
#include "termination.h"
#include "../events.h"
#include "../tool.h"
#include "processes.h"

#include <limits.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

const char *exit_cause_name(enum exit_cause cause)
{
    static const char *const names[] = {
        [CAUSE_NONE] = "running",    [CAUSE_ENDED] = "ended",     [CAUSE_DEADLINE] = "deadline",
        [CAUSE_REVOKED] = "revoked", [CAUSE_SUSPECT] = "suspect", [CAUSE_OUTGROWN] = "outgrown",
        [CAUSE_ASKED] = "asked",     [CAUSE_TOOL] = "tool",       [CAUSE_GUARD] = "guard"};

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

/* The least margin, as a part of the session timeout: in that time a process must be woken and a
 * signal delivered, however short the grace is. */
#define MARGIN_LEAST_PER_TIMEOUT 64

/* Returns the margin for a tree that takes no time to end. */
static int64_t margin_least_ms(const struct hold_options *o)
{
    return pace_margin_ms(o->commands, o->grace_ms,
                          MAX(o->grace_ms / 4, o->session_timeout_ms / MARGIN_LEAST_PER_TIMEOUT));
}

/* Plans the end of a tree that takes need_ms to end. */
static struct pace_plan plan_end(const struct termination *e, int64_t need_ms)
{
    const struct hold_options *o = e->options;

    return pace_plan(need_ms, o->session_timeout_ms, o->grace_ms, margin_least_ms(o));
}

int64_t termination_margin_ms(const struct termination *e)
{
    return plan_end(e, atomic_load(&e->shared->need_ms)).margin_ms;
}

int64_t termination_grace_ms(const struct termination *e)
{
    return plan_end(e, atomic_load(&e->shared->need_ms)).grace_ms;
}

enum exit_cause termination_reason(const struct termination *e)
{
    return atomic_load(&e->shared->deadline->until_boottime) == 0 ? CAUSE_REVOKED : CAUSE_DEADLINE;
}

/* ---- the tree: who gets which signal, and whether any of it lives ---- */

/* How long a guard waits at most, as a part of the session timeout, for processes that KILL does
 * not end at once, and that are not its own. */
#define GUARD_PATIENCE_PER_TIMEOUT 3

/* The time between two looks at all processes, as a part of the time since the first KILL. */
#define BACK_OFF 16

/* While the lock may end soon, looks are this many times as frequent. */
#define WATCH_SOON 8

static void termination_on_refused(const struct process *p, void *data)
{
    const struct termination *e = data;
    g_autoptr(GString) name = g_string_new(NULL);

    append_visible(name, p->name[0] ? p->name : "?");
    status_line(e->options->status_fd, "refused %d %s", (int)p->pid, name->str);
    say("%s: process %d (%s) cannot be signalled because it runs as another user; the lock is not "
        "released while it lives",
        e->options->path, (int)p->pid, name->str);
}

void termination_say_unseen(const struct hold_options *o)
{
    const enum processes_sight sight = processes_sight();

    if (sight == SIGHT_ALL)
        return;
    status_line(o->status_fd, sight == SIGHT_NONE ? "unseen all" : "unseen others");
    say("%s: %s", o->path,
        sight == SIGHT_NONE
            ? "/proc is missing or another PID namespace's: a process that leaves the command's "
              "process group gets no TERM, and KILL only when its parent is dead"
            : "/proc hides the processes of other users: what such a process starts may run on "
              "beside the next holder");
}

void termination_tree_init(struct termination *e, pid_t root, pid_t helper)
{
    sweep_init(&e->sweep, root, helper, e->options->leave_daemons);
    e->sweep.on_refused = termination_on_refused;
    e->sweep.cgroup = e->options->cgroup;
}

void termination_tree_free(struct termination *e)
{
    sweep_free(&e->sweep);
}

/* Returns the sweep with what may be new since the last time: *e may be a copy, and the leader
 * comes late. */
static struct sweep *current_sweep(struct termination *e)
{
    e->sweep.data = e;
    e->sweep.tree.group = shared_leader(e->shared);
    return &e->sweep;
}

/* Whether a member gets TERM: see termination_tree_term(). A zkl that our first INT has reached
 * gets none, since a second signal would make it kill. */
static bool wants_term(const struct member *m, void *data)
{
    const struct termination *e = data;
    uint64_t clock;
    const int first = shared_first_signal(e->shared, &clock);

    if (m->nesting > 0 || m->process->guard)
        return false;
    if (first == 0 || m->process->group != shared_leader(e->shared) || m->process->start > clock)
        return true;
    return first != SIGTERM && !m->tool;
}

/* Sends TERM and CONT, once, until the time until, when KILL is due. A process that has had TERM
 * from us gets neither, and neither does a process below a zkl, which ends its own command in its
 * own order. */
static void termination_tree_term(struct termination *e, int64_t until)
{
    const pid_t leader = shared_leader(e->shared);
    uint64_t clock;

    if (shared_first_signal(e->shared, &clock) == 0) {
        shared_set_first_signal(e->shared, SIGTERM, processes_clock());
        kill(-leader, SIGTERM);
    }
    kill(-leader, SIGCONT);
    sweep_term(current_sweep(e), until, wants_term, e);
}

static bool wants_stop(const struct member *m, void *data)
{
    (void)data;
    return !m->tool && !m->process->guard;
}

void termination_tree_stop(struct termination *e)
{
    if (sweep_stop(current_sweep(e), wants_stop, NULL).blind)
        kill(-shared_leader(e->shared), SIGSTOP);
}

void termination_tree_continue(struct termination *e)
{
    if (sweep_continue(current_sweep(e)).blind)
        kill(-shared_leader(e->shared), SIGCONT);
}

/* Which members get KILL; neither is set: those of our own command. */
struct kill_order {
    const struct shared *shared;
    bool nested; /* another zkl, and what is below it, too */
    bool guards; /* guards, too */
};

static bool wants_kill(const struct member *m, void *data)
{
    const struct kill_order *order = data;

    /* If --on-lost was begun, the tree was found gone, and this process may be part of --on-lost.
     * If it is not begun now, it was not when the table was read. */
    if (atomic_load(&order->shared->on_lost_begun))
        return false;
    if (m->process->guard)
        return order->guards;
    return order->nested || (m->nesting == 0 && !m->tool);
}

/* Whether the guards of other zkl get time to end their own commands. */
static bool spares_guards(const struct termination *e)
{
    return now_ms() < e->killed_at + e->options->session_timeout_ms / GUARD_PATIENCE_PER_TIMEOUT &&
           shared_left_ms(e->shared) > termination_margin_ms(e) / 2;
}

void termination_tree_kill(struct termination *e, bool nested)
{
    const int64_t now = now_ms();
    struct kill_order order = {.shared = e->shared, .nested = nested};

    if (nested)
        kill(-shared_leader(e->shared), SIGKILL);
    if (e->kill_began == 0)
        e->kill_began = now;
    if (nested && e->killed_at == 0)
        e->killed_at = e->look_at = now;
    order.guards = nested && !spares_guards(e);
    if (e->look_at > now) {
        sweep_kill_children(current_sweep(e), wants_kill, &order);
        return;
    }
    sweep_kill(current_sweep(e), wants_kill, &order);
    /* When all were killed, new processes come to the guard as children, and their ends wake it
     * earlier. */
    const bool rare = e->sweep.all_killed && e->guard == getpid();
    e->look_at = now_ms() + MAX((now - e->kill_began) / BACK_OFF, rare ? LOOK_LAST_MS : 0);
}

void termination_say_unreachable(struct termination *e)
{
    sweep_signal(current_sweep(e), 0, sweep_everybody, NULL);
    sweep_left(current_sweep(e));
}

/* Whether nothing of the tree lives. If the leader is our child, one call tells whether it lives;
 * while it does, nobody else is looked for. If the kernel tells of no others, only the leader
 * counts. */
static bool termination_tree_gone(struct termination *e)
{
    if (child_look(shared_leader(e->shared), NULL) == CHILD_LIVES)
        return false;
    switch (sweep_left(current_sweep(e))) {
    case SWEEP_GONE:
        return true;
    case SWEEP_LIVES:
        return false;
    default:
        return termination_leader_ended(e);
    }
}

/* ---- how long its end would take ---- */

/* Returns the processor time that this process has used. */
static int64_t cpu_ms(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Says if the tree takes too long to end. Says it again only after the need was down to half of
 * what is too much, because the measure changes with the load. */
static void say_if_outgrown(struct termination *e, int64_t need_ms)
{
    const bool outgrown = plan_end(e, need_ms).outgrown;

    if (outgrown && !e->outgrown) {
        status_line(e->options->status_fd, "outgrown %" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
                    e->pace.count, need_ms);
        say("%s: the command has %" G_GINT64_FORMAT " processes, which take %.1f s to end; if the "
            "lock is lost, some may run on beside its next holder%s",
            e->options->path, e->pace.count, (double)need_ms / 1000,
            e->options->term_on_outgrown ? ", so the command is ended now" : "");
    }
    e->outgrown = outgrown || (e->outgrown && plan_end(e, 2 * need_ms).outgrown);
}

void termination_watch(struct termination *e)
{
    const int timeout = e->options->session_timeout_ms;

    if (e->watched_at == 0) { /* the command has just begun */
        e->watched_at = now_ms();
        e->watch_pause = pace_pause_ms(0, timeout);
    }
    if (termination_watch_ms(e) > 0)
        return;
    if (e->watch_began == 0) {
        e->watch_began = now_ms();
        e->watch_cpu = cpu_ms();
    }
    const bool all = sweep_look_on(current_sweep(e));
    int64_t so_far = now_ms() - e->watch_began;
    if (all) {
        const int64_t cpu = cpu_ms() - e->watch_cpu;

        pace_add_look(&e->pace, (int64_t)sweep_count(&e->sweep), so_far, cpu);
        so_far = 0;
        e->watched_at = now_ms();
        e->watch_pause = pace_pause_ms(cpu, timeout);
        e->watch_began = 0;
    }
    const int64_t need = pace_need_ms(&e->pace, so_far);
    atomic_store(&e->shared->need_ms, (int)MIN(need, INT_MAX));
    if (all)
        say_if_outgrown(e, need);
}

/* Looks are more frequent when the lock may end soon, so that the tree is known as it is then. */
int64_t termination_watch_ms(const struct termination *e)
{
    const int timeout = e->options->session_timeout_ms;
    const int64_t at = e->watched_at + e->watch_pause;
    const int64_t steady = pace_steady_ms(timeout);
    const int64_t soon = now_ms() + shared_left_ms(e->shared) - steady;

    if (e->watch_began != 0)
        return 0;
    return MIN(at, MAX(soon, e->watched_at + pace_pause_ms(0, timeout) / WATCH_SOON)) - now_ms();
}

/* ---- the end ---- */

static void announce_end(const struct termination *e, const char *signal, int64_t left_ms)
{
    status_line(e->options->status_fd, "ending %s %" G_GINT64_FORMAT, signal, left_ms);
}

/* Writes the status line of KILL, once, before any line about its effect. Guard and tool call it,
 * and the first that sees KILL writes. */
static void announce_kill(const struct termination *e)
{
    if (atomic_load(&e->shared->killed) && !atomic_exchange(&e->shared->kill_told, true))
        announce_end(e, "KILL", atomic_load(&e->shared->kill_left));
}

/* Says why the command is killed. */
static void explain_kill(const struct termination *e, enum exit_cause why)
{
    const char *path = e->options->path;

    if (why == CAUSE_OUTGROWN)
        return; /* say_if_outgrown() has said it */
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

/* Sends TERM, and sets KILL for ms later. Processes that TERM does not reach in time get KILL
 * alone. left_ms: the time to the deadline. */
static void send_term(struct termination *e, enum exit_cause why, int64_t left_ms, int64_t ms)
{
    e->ending_at = now_ms();
    e->kill_at = e->ending_at + ms;
    termination_tree_term(e, e->kill_at);
    announce_end(e, "TERM", shared_left_ms(e->shared));
    if (why == CAUSE_SUSPECT)
        say("%s: the lock is in doubt; the command is ended", e->options->path);
    else if (why == CAUSE_ASKED)
        say("%s: asked to step down; the command is ended", e->options->path);
    else if (why != CAUSE_OUTGROWN)
        say("%s: the lock could not be renewed and ends in %.1f s; the command is ended",
            e->options->path, (double)left_ms / 1000);
}

void termination_begin(struct termination *e, enum exit_cause why)
{
    const int64_t left = shared_left_ms(e->shared);
    const int64_t ms =
        MIN(left - termination_margin_ms(e), e->options->grace_ms - margin_least_ms(e->options));

    if (ms <= 0 || shared_bar(e->shared) == 0)
        termination_kill(e, why);
    else if (shared_decide(e->shared, why))
        send_term(e, why, left, ms);
}

void termination_kill(struct termination *e, enum exit_cause why)
{
    const bool decided = shared_decide(e->shared, why);

    if (shared_cause(e->shared) == CAUSE_ENDED)
        return; /* what the command has left may run on */
    const pid_t leader = shared_bar(e->shared);
    if (leader > 0) {
        kill(-leader, SIGKILL); /* first of all */
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

    if (atomic_load(&e->shared->ended) != NOT_ENDED)
        return true;
    if (child_look(shared_leader(e->shared), &info) != CHILD_ENDED)
        return false;
    const bool by_signal = info.si_code != CLD_EXITED;
    atomic_store(&e->shared->ended, info.si_status + (by_signal ? ENDED_BY_SIGNAL : 0));
    announce_kill(e);
    if (!atomic_load(&e->shared->gone))
        status_line(e->options->status_fd, "ended %d",
                    info.si_status + (by_signal ? STATUS_SIGNAL : 0));
    return true;
}

/* Whether the end of the tree is not waited for any more. While the lock is ours, it is waited for,
 * however long that takes. Says once that the command was killed and does not end. */
static bool never_gone(struct termination *e)
{
    const char *path = e->options->path;
    const bool late = e->give_up_at != 0 && now_ms() >= e->give_up_at;

    if (late && !e->given_up) {
        const struct process p = sweep_signal(&e->sweep, 0, NULL, NULL).first;

        e->given_up = true;
        if (p.pid > 0)
            say("%s: process %d (%s) was killed and does not end", path, (int)p.pid, p.name);
        else
            say("%s: the command was killed and does not end", path);
    }
    return late && shared_left_ms(e->shared) == 0;
}

bool termination_over(struct termination *e)
{
    const pid_t leader = shared_bar(e->shared);

    if (leader > 0 && !termination_tree_gone(e) && !never_gone(e))
        return false;
    termination_leader_ended(e);
    if (!atomic_exchange(&e->shared->gone, true)) {
        const char *loss = termination_loss_name(e);

        status_line(e->options->status_fd, "lost %s%s%s", exit_cause_name(shared_cause(e->shared)),
                    loss ? " " : "", loss ? loss : "");
    }
    return true;
}

/* ---- what a command leaves ---- */

/* Whether what the leader has left is to be ended. */
static bool must_end_rest(const struct termination *e)
{
    const struct hold_options *o = e->options;

    return atomic_load(&e->shared->ended) >= ENDED_BY_SIGNAL || atomic_load(&e->shared->to_end) ||
           (o->ends_rest && !o->wait_children);
}

bool termination_keeps_rest(const struct termination *e)
{
    return e->options->wait_children && !must_end_rest(e);
}

/* The end of each child wakes the guard, and thousands may come one by one. So one system call
 * tells whether any child lives. Only if the last look was cheap or long ago, another one finds out
 * whether the living children are members. */
bool termination_waits(struct termination *e)
{
    if (!termination_keeps_rest(e) || !sweep_has_child())
        return false;
    e->wait_news = now_ms() < e->wait_at;
    if (e->wait_news)
        return true;
    const int64_t began = cpu_ms();
    const bool gone = termination_tree_gone(e);
    const int64_t cpu = cpu_ms() - began;
    e->wait_at = now_ms() + MAX(LOOK_LAST_MS, pace_pause_ms(cpu, 0));
    e->wait_most = now_ms() + pace_pause_ms(cpu, e->options->session_timeout_ms);
    return !gone;
}

int64_t termination_waits_ms(const struct termination *e)
{
    return (e->wait_news ? e->wait_at : MAX(e->wait_at, e->wait_most)) - now_ms();
}

/* ---- what must be ended of it ---- */

/* How long the rest, which may have got the leader's signal, has to end by itself. */
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

/* Does what is due for the rest: TERM, KILL to our own, KILL to all. */
bool termination_rest(struct termination *e)
{
    const int64_t limit = e->options->kill_after_ms;

    if (!must_end_rest(e))
        return false;
    if (e->rest_since == 0)
        e->rest_since = now_ms();
    if (termination_tree_gone(e))
        return false;
    const int64_t age = now_ms() - e->rest_since;
    if (atomic_load(&e->shared->to_kill) || age >= 2 * limit) {
        kill_rest(e, true);
    } else if (age >= limit) {
        kill_rest(e, false);
    } else if (age >= REST_PATIENCE_MS && !e->rest_asked) {
        e->rest_asked = true;
        termination_tree_term(e, now_ms() + shared_left_ms(e->shared) - termination_margin_ms(e));
        status_line(e->options->status_fd, "rest TERM");
    }
    return true;
}

int64_t termination_rest_ms(const struct termination *e)
{
    return MAX(LOOK_MS, e->look_at - now_ms());
}
