/* The group gets its signal first, as one, which nobody can escape by forking; then all others of
 * the tree get it. A lock within ours is a zkl, its guard and its command. Only that zkl is asked,
 * and it asks its own; a second TERM would make it kill them. */
#include "termination_tree.h"
#include "../events.h"
#include "../status_line.h"
#include "../tool.h"
#include "processes.h"

#include <signal.h>
#include <unistd.h>

/* How long a guard waits at most, as a part of the session timeout, for processes that KILL does
 * not end at once, and that are not its own. */
#define GUARD_PATIENCE_PER_TIMEOUT 3

/* The time from one look at everybody to the next, as a part of the time since the first KILL. */
#define BACK_OFF 16

static void termination_tree_on_refused(const struct process *p, void *data)
{
    const struct termination *e = data;
    GString *name = g_string_new(NULL);

    append_visible(name, p->name[0] ? p->name : "?");
    status_line(e->options->status_fd, "refused %d %s", (int)p->pid, name->str);
    say("%s: process %d (%s) cannot be signalled because it runs as another user; the lock is not "
        "released while it lives",
        e->options->path, (int)p->pid, name->str);
    g_string_free(name, TRUE);
}

void termination_tree_init(struct termination *e, pid_t root, pid_t helper)
{
    sweep_init(&e->sweep, root, helper, e->options->leave_daemons);
    e->sweep.on_refused = termination_tree_on_refused;
    e->sweep.cgroup = e->options->cgroup;
}

void termination_tree_free(struct termination *e)
{
    sweep_free(&e->sweep);
}

/* The ending may have been copied, and the leader is not there from the beginning. */
static struct sweep *aim(struct termination *e)
{
    e->sweep.data = e;
    e->sweep.tree.group = shared_leader(e->shared);
    return &e->sweep;
}

static bool wants_term(const struct member *m, void *data)
{
    const struct termination *e = data;
    uint64_t clock;
    const int first = shared_first(e->shared, &clock);

    if (m->nesting > 0 || m->process->guard)
        return false;
    if (first == 0 || m->process->group != shared_leader(e->shared) || m->process->start > clock)
        return true;
    return first != SIGTERM && !m->tool;
}

void termination_tree_term(struct termination *e)
{
    const pid_t leader = shared_leader(e->shared);
    uint64_t clock;

    if (shared_first(e->shared, &clock) == 0) {
        shared_note_first(e->shared, SIGTERM, processes_clock());
        kill(-leader, SIGTERM);
    }
    kill(-leader, SIGCONT);
    sweep_signal(aim(e), SIGTERM, wants_term, e);
}

static bool wants_stop(const struct member *m, void *data)
{
    (void)data;
    return !m->tool && !m->process->guard;
}

void termination_tree_stop(struct termination *e)
{
    if (sweep_stop(aim(e), wants_stop, NULL).blind)
        kill(-shared_leader(e->shared), SIGSTOP);
}

void termination_tree_continue(struct termination *e)
{
    if (sweep_continue(aim(e)).blind)
        kill(-shared_leader(e->shared), SIGCONT);
}

struct kill_order {
    const struct shared *shared;
    bool nested;
    bool guards;
};

static bool wants_kill(const struct member *m, void *data)
{
    const struct kill_order *order = data;

    /* The guard or the tool has found the tree gone, and this process may be its --on-lost. If that
     * is not so even now, it was not so when the table was read. */
    if (atomic_load(&order->shared->told))
        return false;
    if (m->process->guard)
        return order->guards;
    return order->nested || (m->nesting == 0 && !m->tool);
}

static bool spares_guards(const struct termination *e)
{
    return now_ms() < e->killed_at + e->options->session_timeout_ms / GUARD_PATIENCE_PER_TIMEOUT &&
           shared_left_ms(e->shared) > termination_margin_ms(e) / 2;
}

void termination_tree_kill(struct termination *e, bool nested)
{
    const int64_t now = now_ms();
    struct kill_order order = {.shared = e->shared, .nested = nested};
    bool rare;

    if (nested)
        kill(-shared_leader(e->shared), SIGKILL);
    if (e->kill_began == 0)
        e->kill_began = now;
    if (nested && e->killed_at == 0)
        e->killed_at = e->look_at = now;
    order.guards = nested && !spares_guards(e);
    if (e->look_at > now) {
        sweep_kill_children(aim(e), wants_kill, &order);
        return;
    }
    sweep_kill(aim(e), wants_kill, &order);
    /* What is new then comes to the guard as a child, and an end wakes it before. */
    rare = e->sweep.all_killed && e->guard == getpid();
    e->look_at = now_ms() + MAX((now - e->kill_began) / BACK_OFF, rare ? LOOK_LAST_MS : 0);
}

void termination_tree_probe(struct termination *e)
{
    sweep_signal(aim(e), 0, sweep_everybody, NULL);
    sweep_left(aim(e));
}

/* If the leader is our child, one call tells whether it lives, and while it does nobody else is
 * looked for. Without a /proc of ours only the leader can be seen. */
bool termination_tree_gone(struct termination *e)
{
    if (child_look(shared_leader(e->shared), NULL) == CHILD_LIVES)
        return false;
    switch (sweep_left(aim(e))) {
    case SWEEP_GONE:
        return true;
    case SWEEP_LIVES:
        return false;
    default:
        return termination_leader_ended(e);
    }
}
