/* Neither a guard nor its leader is reaped before the tool has said that it will not signal them
 * any more: until then their pids mean nobody else. */
#include "zygote.h"
#include "../credentials_shared.h"
#include "../orphan.h"
#include "../tool.h"
#include "channel.h"
#include "processes.h"
#include "ps_name.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what guards leave: by the zygote, or by a tool that stands in for it ---- */

/* Gives up a command that no guard will end: bars it from beginning, and marks as done all that
 * others wait for, even --on-lost, which nobody runs. */
static void mark_unguarded(struct shared *s)
{
    shared_decide(s, CAUSE_GUARD);
    shared_bar(s);
    atomic_store(&s->on_lost_begun, true);
    atomic_store(&s->gone, true);
    atomic_store(&s->cleared, true);
}

/* Kills the leader of a killed guard, with its group. Returns whether the leader is dead. */
static bool kill_leader(struct shared *s)
{
    const pid_t leader = shared_bar(s);

    shared_decide(s, CAUSE_GUARD);
    if (leader == 0)
        return true;
    kill(-leader, SIGKILL);
    return child_look(leader, NULL) != CHILD_LIVES;
}

static void append_process(GArray *list, pid_t pid)
{
    struct process p;

    if (pid > 0 && process_read(pid, &p, NULL))
        g_array_append_val(list, p);
}

/* Kills all that has come to us and is no guard. The leaders of killed guards are dead, so their
 * children have come to us. */
static enum sweep_left sweep_what_is_left(struct zygote *z)
{
    GArray *spared = g_array_new(FALSE, FALSE, sizeof(struct process));

    append_process(spared, z->pid);
    for (int k = 0; k < z->count; k++) {
        append_process(spared, atomic_load(&z->shared[k].guard));
        append_process(spared, shared_leader(&z->shared[k]));
    }
    sweep_spare(&z->sweep, spared);
    sweep_kill(&z->sweep, sweep_everybody, NULL);
    return sweep_left(&z->sweep);
}

/* Ends what killed guards have left, whose leaders are dead. If nothing is left, marks the guards
 * as cleared. Returns whether it has. */
static bool clear_killed(struct zygote *z, const GArray *killed)
{
    if (killed->len == 0)
        return true;
    if (sweep_what_is_left(z) == SWEEP_LIVES)
        return false;
    for (guint i = 0; i < killed->len; i++) {
        struct shared *s = &z->shared[g_array_index(killed, int, i)];

        atomic_store(&s->gone, true);
        atomic_store(&s->cleared, true);
    }
    return true;
}

/* Looks at all guards, and clears those that have ended. Returns how many are not cleared.
 * *ret_due: what killed guards have left needs another look soon. */
static int clear_ended_guards(struct zygote *z, bool *ret_due)
{
    g_autoptr(GArray) killed = g_array_new(FALSE, FALSE, sizeof(int));
    int left = 0;

    *ret_due = false;
    for (int k = 0; k < z->count; k++) {
        struct shared *s = &z->shared[k];
        const pid_t guard = atomic_load(&s->guard);
        siginfo_t info = {0};

        if (guard <= 0 || atomic_load(&s->cleared))
            continue;
        if (child_look(guard, &info) == CHILD_LIVES) {
            left++;
        } else if (info.si_code == CLD_EXITED) {
            /* If the guard had to end its command, and its status is not STATUS_LOST, a process has
             * survived KILL: then the session is not to be ended. */
            z->given_up |= exit_cause_is_forced(shared_cause(s)) && info.si_status != STATUS_LOST;
            if (shared_cause(s) == CAUSE_NONE)
                mark_unguarded(s); /* the command could not begin, or was not to */
            atomic_store(&s->cleared, true);
        } else if (kill_leader(s)) {
            g_array_append_val(killed, k);
        } else {
            left++;
            *ret_due = true;
        }
    }
    if (!clear_killed(z, killed)) {
        left += (int)killed->len;
        *ret_due = true;
    }
    return left;
}

static void continue_guards(const struct zygote *z)
{
    for (int k = 0; k < z->count; k++) {
        const pid_t guard = atomic_load(&z->shared[k].guard);

        if (guard > 0)
            kill(guard, SIGCONT);
    }
}

/* ---- the zygote ---- */

/* Does the work of guard k, in its new process. */
static _Noreturn void become_its_guard(const struct zygote *z, int k, int channel,
                                       struct events *events, pid_t parent)
{
    struct hold_options options = z->options[k];
    const struct termination termination = {
        .shared = &z->shared[k], .options = &options, .tool = z->tool, .parent = parent};

    atomic_store(&z->shared[k].guard, getpid());
    close(z->channel);
    credentials_unshare();
    z->born(k, z);
    options.cgroup = cgroup_new(options.leave_daemons);
    guard_main(&termination, channel, events);
}

/* Forks guard k, with its end of the channel; -1: none has come. */
static void fork_guard(struct zygote *z, int k, int channel, struct events *events)
{
    const pid_t self = getpid();

    errno = EMFILE; /* why no channel has come */
    const pid_t pid = channel >= 0 ? fork() : -1;
    if (pid == 0)
        become_its_guard(z, k, channel, events, self);
    if (pid < 0) {
        atomic_store(&z->shared[k].fork_error, errno); /* for the tool to say */
        mark_unguarded(&z->shared[k]);                 /* before the channel ends */
    } else {
        atomic_store(&z->shared[k].guard, pid);
    }
    if (channel >= 0)
        close(channel);
}

/* Forks the guards that the tool has asked for. Returns false when the tool is dead, or has ended.
 */
static bool fork_ordered_guards(struct zygote *z, struct events *events)
{
    for (;;) {
        struct message message;
        g_autofree char *nothing = NULL;
        int passed;

        switch (channel_receive(z->channel, &message, &nothing, &passed)) {
        case MESSAGE_NOTHING:
            return true;
        case MESSAGE_END:
            return false;
        default:
            if (message.kind == MESSAGE_FORK)
                fork_guard(z, message.value, passed, events);
        }
    }
}

/* Whether pid is a guard or a leader that the tool has not forgotten. */
static bool is_remembered(const struct zygote *z, pid_t pid)
{
    bool found = false;

    for (int k = 0; k < z->count && !found; k++)
        found = pid == atomic_load(&z->shared[k].guard) || pid == shared_leader(&z->shared[k]);
    return found;
}

/* Reaps orphans, and guards and leaders that were forgotten. Without a table of processes the
 * kernel names one dead child alone: those after one that is remembered wait until it is
 * forgotten. */
static void reap_forgotten(const struct zygote *z)
{
    g_autoptr(GArray) pids = processes_children(getpid());
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    siginfo_t info = {0};

    while (!pids && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
           !is_remembered(z, info.si_pid)) {
        waitpid(info.si_pid, NULL, 0);
        info.si_pid = 0;
    }
    for (int k = 0; k < z->count; k++) {
        g_hash_table_add(known, GINT_TO_POINTER(atomic_load(&z->shared[k].guard)));
        g_hash_table_add(known, GINT_TO_POINTER(shared_leader(&z->shared[k])));
    }
    for (guint i = 0; pids && i < pids->len; i++)
        if (!g_hash_table_contains(known, GINT_TO_POINTER(g_array_index(pids, pid_t, i))))
            waitpid(g_array_index(pids, pid_t, i), NULL, WNOHANG);
}

/* Waits until each command is dead, which is soon after the tool's death. Then ends the session, so
 * that the locks need not wait until it expires. */
static void end_after_tool(struct zygote *z, struct events *events)
{
    const struct shared *own = &z->shared[z->count];
    const int64_t until = now_ms() + z->options->settings->session_timeout_ms;
    bool due;

    continue_guards(z);
    while (clear_ended_guards(z, &due) > 0 && now_ms() < until) {
        events_arm(events, LOOK_MS);
        events_wait(events);
        while (events_signal(events) != 0)
            continue;
    }
    if (atomic_load(&own->claimed) && !z->given_up && now_ms() < until)
        orphan_end_session(z->options->settings, &own->claim);
}

/* Makes this process the zygote. It leaves the terminal, because no key and no signal is meant for
 * it; and its input, because several commands cannot share that. */
static void become_zygote(struct zygote *z, struct events *events)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setsid();
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
    z->pid = getpid();
    say_without_waiting();
    credentials_forget();
    ps_name_set(GUARD_NAME);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!events_open_deaf(events, z->events, z->channel) || !processes_reserve())
        _exit(STATUS_INTERNAL);
    sweep_init(&z->sweep, getpid(), 0, z->options->leave_daemons);
}

static _Noreturn void zygote_main(struct zygote *z)
{
    struct events events;
    bool due;

    become_zygote(z, &events);
    while (fork_ordered_guards(z, &events)) {
        while (events_signal(&events) != 0)
            continue;
        reap_forgotten(z);
        clear_ended_guards(z, &due);
        channel_nudge(z->channel);
        if (due)
            events_arm(&events, LOOK_MS);
        events_wait(&events);
    }
    if (!atomic_load(&z->shared[z->count].finished))
        end_after_tool(z, &events);
    _exit(STATUS_OK);
}

/* ---- the tool ---- */

bool zygote_start(struct zygote *z)
{
    z->tool = getpid();
    z->shared = shared_new((size_t)z->count + 1);
    if (!z->shared || !credentials_share() || !processes_reserve())
        return fail(false, "cannot start the guard: %s", g_strerror(errno));
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what a dead zygote leaves comes to us */
    sweep_init(&z->sweep, getpid(), 0, z->options->leave_daemons);
    z->pid = channel_fork(&z->channel);
    if (z->pid == 0)
        zygote_main(z);
    z->sweep.tree.session = z->pid; /* the session of the commands, which is not ours */
    z->events->forker = z->pid;
    events_reap_strangers(z->events);
    return z->pid > 0 || fail(false, "cannot start the guard: %s", g_strerror(errno));
}

void zygote_claim(struct zygote *z, zkl_session *session)
{
    shared_store_claim(&z->shared[z->count], session);
}

bool zygote_fork(struct zygote *z, int k, struct guard *ret)
{
    const struct message message = {.kind = MESSAGE_FORK, .value = k};
    int channel[2];

    if (!channel_open(channel))
        return false;
    atomic_store(&z->shared[k].guard, 0);
    atomic_store(&z->shared[k].cleared, false);
    const bool sent = channel_send(z->channel, &message, NULL, channel[1]);
    const int error = errno;
    close(channel[1]);
    if (!sent) {
        atomic_store(&z->shared[k].cleared, true);
        close(channel[0]);
        errno = error;
        return false;
    }
    *ret = (struct guard){.termination = {.shared = &z->shared[k],
                                          .options = &z->options[k],
                                          .tool = z->tool,
                                          .parent = z->pid},
                          .channel = channel[0]};
    termination_tree_init(&ret->termination, 0, 0);
    ret->termination.sweep.tree.session = z->pid;
    return true;
}

bool zygote_cleared(const struct zygote *z, int k)
{
    return atomic_load(&z->shared[k].cleared);
}

void zygote_forget(struct zygote *z, int k, struct guard *g)
{
    const struct message message = {.kind = MESSAGE_LOOK};
    struct shared *s = &z->shared[k];

    guard_free(g, z->events);
    atomic_store(&s->leader, LEADER_BARRED);
    atomic_store(&s->guard, 0);
    channel_send(z->channel, &message, NULL, -1);
}

/* Does the work of a dead zygote. A guard whose pid the dead zygote has not stored is
 * killed with all else that is left. Returns whether something is left to do. */
static bool stand_in_for_zygote(struct zygote *z)
{
    bool due;

    continue_guards(z);
    for (int k = 0; k < z->count; k++)
        if (atomic_load(&z->shared[k].guard) == 0)
            mark_unguarded(&z->shared[k]);
    return clear_ended_guards(z, &due) > 0 || sweep_what_is_left(z) == SWEEP_LIVES;
}

int64_t zygote_look(struct zygote *z)
{
    if (!z->dead) {
        channel_take_nudges(z->channel);
        kill(z->pid, SIGCONT);
        z->dead = child_look(z->pid, NULL) != CHILD_LIVES;
        if (z->dead)
            events_remove(z->events, z->channel);
    }
    return z->dead && stand_in_for_zygote(z) ? LOOK_MS : INT64_MAX;
}

void zygote_end(struct zygote *z)
{
    atomic_store(&z->shared[z->count].finished, true);
    close(z->channel); /* which ends the zygote */
    kill(z->pid, SIGCONT);
    while (waitpid(z->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    sweep_free(&z->sweep);
    credentials_unshare();
    shared_free(z->shared, (size_t)z->count + 1);
}
