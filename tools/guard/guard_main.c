/* The guard itself has one thread and one thing to do. No signal is meant for the guard, and no key
 * of the terminal. The tool writes what the guard must know into memory that both have, so the tool
 * need not be awake. */
#include "../orphan.h"
#include "../terminal.h"
#include "../tool.h"
#include "channel.h"
#include "environment.h"
#include "guard.h"
#include "on_lost.h"
#include "priority.h"
#include "processes.h"
#include "ps_name.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct guarding {
    struct termination termination;
    struct hold_options options;
    struct shared *shared;
    struct events events;
    int channel;
    int exec_pipe; /* ends when the command has begun, or never will */
    bool tool_dead;
    char **envp;
    uint64_t token;
    pid_t tool_group;
    pid_t leader;
    bool leader_stopped;   /* by somebody else than us */
    bool waiting;          /* the leader has ended, and the lock is kept for what it has left */
    bool resting;          /* the leader has ended, and what it leaves is being ended */
    bool unreachable_said; /* termination_say_unreachable() was called */
    int64_t paused_since;  /* by now_ms(): when the tree was stopped; 0: it is not */
    int64_t pause_at;      /* by now_ms(): when it is to be stopped again */
    zkl_state state;       /* the grant's, as told last */
    struct on_lost on_lost;
    bool session_ended;
};

static void nudge_tool(const struct guarding *g)
{
    channel_nudge(g->channel);
}

/* Says that the command cannot be started. That counts as its end. */
static void fail_to_start(struct guarding *g, int err)
{
    say("%s: cannot start: %s", g->options.argv[0], g_strerror(err));
    g->leader = -1;
    atomic_store(&g->shared->ended, STATUS_INTERNAL);
    shared_decide(g->shared, CAUSE_ENDED);
    nudge_tool(g);
}

/* The time until a stopped tree is stopped again: the least, and the part of the pause so far. */
#define PAUSE_LOOK_MS 100
#define PAUSE_BACK_OFF 16

/* Stops the tree, or those of its processes that run again. If somebody else has stopped the
 * leader, that is not marked as our pause: the leader has to stay stopped. */
static void pause_tree(struct guarding *g)
{
    int64_t now = now_ms();

    if (shared_leader(g->shared) == 0 ||
        (termination_leader_ended(&g->termination) && !termination_keeps_rest(&g->termination)))
        return;
    if (!g->leader_stopped)
        atomic_store(&g->shared->paused, true);
    termination_tree_stop(&g->termination);
    if (g->paused_since == 0)
        g->paused_since = now;
    now = now_ms();
    g->pause_at = now + MAX(PAUSE_LOOK_MS, (now - g->paused_since) / PAUSE_BACK_OFF);
}

/* Continues a paused tree. */
static void resume_tree(struct guarding *g)
{
    if (g->paused_since == 0)
        return;
    g->paused_since = 0;
    atomic_store(&g->shared->paused, false);
    termination_tree_continue(&g->termination);
}

/* Stops a paused tree again when that is due: a lock within ours, or somebody by hand, may have
 * continued a process. Resumes the tree if the command is to end. */
static void look_at_pause(struct guarding *g)
{
    if (g->paused_since == 0)
        return;
    if (shared_cause(g->shared) != CAUSE_NONE)
        resume_tree(g); /* a stopped process does not act on TERM */
    else if (now_ms() >= g->pause_at)
        pause_tree(g);
}

static void act_on_suspect(struct guarding *g)
{
    if (g->options.on_suspect == ON_SUSPECT_TERM)
        termination_begin(&g->termination, CAUSE_SUSPECT);
    else if (g->options.on_suspect == ON_SUSPECT_STOP)
        pause_tree(g);
}

/* Starts the command, unless it is too late. */
static void start_command(struct guarding *g, const struct message *message, const char *grant_text)
{
    struct spawn s = {.argv = g->options.argv,
                      .events = &g->events,
                      .shared = g->shared,
                      .cgroup = g->options.cgroup,
                      .front = message->front ? g->tool_group : 0};
    int pipe[2];

    g->options.grace_ms = message->grace_ms;
    g->options.session_timeout_ms = message->session_timeout_ms;
    deadline_begin(g->shared->deadline, message->token, message->session_id);
    g->envp = deadline_tell(g->shared->deadline,
                            command_environment(&g->options, grant_text, message->token,
                                                message->session_id, message->slot));
    if (shared_cause(g->shared) != CAUSE_NONE || shared_left_ms(g->shared) == 0) {
        g->leader = -1; /* we were stopped for too long; or --on-lost alone is left to do */
        return;
    }
    s.envp = g->envp;
    if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        fail_to_start(g, errno);
        return;
    }
    g->leader = spawn(&s);
    if (g->leader < 0)
        fail_to_start(g, errno);
    close(pipe[1]);
    if (g->leader < 0) {
        close(pipe[0]);
        return;
    }
    g->exec_pipe = pipe[0];
    events_add(&g->events, g->exec_pipe);
    shared_set_leader(g->shared, g->leader);
    nudge_tool(g);
    if (g->state == ZKL_SUSPECT)
        act_on_suspect(g);
}

/* Takes the grant's state: writes a status line, and does what --on-suspect demands. */
static void on_state(struct guarding *g, zkl_state state)
{
    const bool suspect = state == ZKL_SUSPECT;

    if (state == g->state || (!suspect && state != ZKL_HELD) ||
        shared_cause(g->shared) != CAUSE_NONE)
        return;
    g->state = state;
    if (suspect)
        status_line(g->options.status_fd, "suspect");
    else
        status_line(g->options.status_fd, "held %" G_GUINT64_FORMAT, g->token);
    if (g->leader <= 0)
        return;
    if (suspect)
        act_on_suspect(g);
    else
        resume_tree(g);
}

/* Gives the terminal back to the tool's group. A dead tool cannot, and a script of that group may
 * go on. */
static void take_terminal_back(const struct guarding *g)
{
    struct terminal terminal;

    terminal_init(&terminal);
    terminal.own = g->tool_group;
    terminal.lent = MAX(g->leader, 0);
    if (terminal_find(&terminal))
        terminal_take_back(&terminal);
    terminal_close(&terminal);
}

/* Takes all that has come: signals, messages, the tool's death. */
static void take_events(struct guarding *g)
{
    enum channel_received received = MESSAGE_NOTHING;

    while (events_signal(&g->events) != 0)
        continue; /* SIGCHLD: the loop looks at all children anyway */
    while (!g->tool_dead) {
        struct message message;
        g_autofree char *text = NULL;

        received = channel_receive(g->channel, &message, &text, NULL);
        if (received != MESSAGE_RECEIVED)
            break;
        g->token = message.token;
        switch (message.kind) {
        case MESSAGE_START:
            start_command(g, &message, text);
            break;
        case MESSAGE_STATE:
            on_state(g, (zkl_state)message.value);
            break;
        case MESSAGE_SIGNAL:
            on_lost_signal(&g->on_lost, message.value);
            break;
        default: /* MESSAGE_LOOK: the loop looks anyway */
            break;
        }
    }
    on_state(g, (zkl_state)atomic_load(&g->shared->state)); /* if its message found no room */
    if (!g->tool_dead && (received == MESSAGE_END || getppid() != g->termination.parent)) {
        g->tool_dead = true;
        events_remove(&g->events, g->channel);
        take_terminal_back(g);
    }
}

/* Sees by the end of the pipe that the command has begun, and writes a status line. */
static void look_at_exec(struct guarding *g)
{
    char nothing;

    if (g->exec_pipe < 0 || read(g->exec_pipe, &nothing, sizeof nothing) != 0)
        return;
    events_remove(&g->events, g->exec_pipe);
    close(g->exec_pipe);
    g->exec_pipe = -1;
    if (!atomic_load(&g->shared->begun) || atomic_load(&g->shared->exec_error) != 0)
        return;
    atomic_store(&g->shared->executed, true);
    status_line(g->options.status_fd, "started %d", (int)g->leader);
}

/* Tells the tool of a stop of the leader, unless the guard itself has stopped it. */
static void look_at_stops(struct guarding *g)
{
    siginfo_t info = {0};

    while (waitid(P_PID, (id_t)g->leader, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
           info.si_pid == g->leader) {
        g->leader_stopped = info.si_code == CLD_STOPPED && !atomic_load(&g->shared->paused);
        atomic_store(&g->shared->stopped, g->leader_stopped ? info.si_status : 0);
        if (g->leader_stopped)
            nudge_tool(g);
        info.si_pid = 0;
    }
}

/* Decides what becomes of what the leader has left: it is waited for, or ended, or the command is
 * over. */
static void look_at_rest(struct guarding *g)
{
    const bool ours = shared_cause(g->shared) == CAUSE_NONE;
    const bool waited = g->waiting;

    g->waiting = ours && termination_waits(&g->termination);
    if (g->waiting) {
        if (!waited)
            nudge_tool(g); /* the tool takes the terminal back */
        return;
    }
    resume_tree(g); /* what is left runs on, or is to end */
    g->resting = ours && termination_rest(&g->termination);
    /* The deadline is read after the command's end: if the lock is ours now, it was ours until that
     * end. */
    if (!g->resting && shared_left_ms(g->shared) > 0 && shared_decide(g->shared, CAUSE_ENDED))
        nudge_tool(g);
}

/* Looks at the leader, and reaps orphans, which come to us. The leader stays a zombie, because the
 * tool may still send signals to its group. */
static void look_at_leader(struct guarding *g)
{
    look_at_exec(g);
    look_at_stops(g);
    children_reap(g->leader, 0);
    if (g->exec_pipe < 0 && termination_leader_ended(&g->termination))
        look_at_rest(g);
    else if (atomic_load(&g->shared->to_kill))
        termination_tree_kill(&g->termination, true);
    if (atomic_load(&g->shared->to_end) && !g->unreachable_said) {
        g->unreachable_said = true;
        termination_say_unreachable(&g->termination);
    }
}

/* Begins to end the command, or kills it, if there is a reason to. */
static void end_if_due(struct guarding *g)
{
    const bool begun = shared_cause(g->shared) != CAUSE_NONE;
    const int64_t left = shared_left_ms(g->shared);

    if (g->tool_dead)
        termination_kill(&g->termination, CAUSE_TOOL);
    else if (!begun && left <= termination_grace_ms(&g->termination))
        termination_begin(&g->termination, termination_reason(&g->termination));
    else if (!begun && atomic_load(&g->shared->asked))
        termination_begin(&g->termination, CAUSE_ASKED);
    else if (!begun && g->termination.outgrown && g->options.term_on_outgrown)
        termination_begin(&g->termination, CAUSE_OUTGROWN);
    else if (begun &&
             (left <= termination_margin_ms(&g->termination) || now_ms() >= g->termination.kill_at))
        termination_kill(&g->termination, CAUSE_DEADLINE);
}

/* Looks at the command, and ends it if there is a reason. Returns whether it is over. */
static bool guard_main_over(struct guarding *g)
{
    if (g->leader == 0)
        return g->tool_dead;
    look_at_leader(g);
    if (!g->resting && shared_cause(g->shared) == CAUSE_NONE && g->leader > 0)
        termination_watch(&g->termination);
    end_if_due(g);
    look_at_pause(g);
    switch (shared_cause(g->shared)) {
    case CAUSE_NONE:
        return false;
    case CAUSE_ENDED:
        return true;
    default:
        return termination_over(&g->termination);
    }
}

/* Arms the timer for what is due first. */
static void arm_next_look(struct guarding *g)
{
    const int64_t left = shared_left_ms(g->shared);
    const bool killing = g->resting || atomic_load(&g->shared->to_kill);

    if (g->leader == 0)
        return;
    if (shared_cause(g->shared) == CAUSE_NONE) {
        const int64_t grace = left - termination_grace_ms(&g->termination);
        const int64_t watch = g->resting ? INT64_MAX : termination_watch_ms(&g->termination);
        const int64_t wait = g->waiting ? termination_waits_ms(&g->termination) : INT64_MAX;
        const int64_t rest = killing ? termination_rest_ms(&g->termination) : wait;
        const int64_t pause = g->paused_since != 0 ? g->pause_at - now_ms() : INT64_MAX;

        events_arm(&g->events, MIN(MIN(grace, watch), MIN(rest, pause)));
    } else if (atomic_load(&g->shared->killed))
        events_arm(&g->events, termination_rest_ms(&g->termination));
    else
        events_arm(&g->events, MIN(termination_look_ms(&g->termination),
                                   MIN(left - termination_margin_ms(&g->termination),
                                       g->termination.kill_at - now_ms())));
}

/* Ends the session of a dead tool, once nothing runs under its lock: the next holder need not wait
 * for the session to expire. */
static void end_session(struct guarding *g)
{
    const struct shared *s = g->shared;

    if (!g->tool_dead || g->session_ended || g->termination.given_up || !atomic_load(&s->claimed) ||
        atomic_load(&s->finished))
        return;
    g->session_ended = true;
    orphan_end_session(g->options.settings, &s->claim);
}

/* Runs --on-lost if it is wanted, and waits for its end. */
static void run_on_lost(struct guarding *g)
{
    const bool alone = g->tool_dead;

    ps_name_set(ON_LOST_NAME);
    nudge_tool(g);
    if (g->leader == 0) {
        end_session(g);
        return;
    }
    on_lost_start(&g->on_lost, &g->termination, g->envp, &g->events);
    end_session(g);
    while (!on_lost_over(&g->on_lost, &g->events)) {
        events_wait(&g->events);
        take_events(g);
        end_session(g);
        /* If the tool was killed, so is --on-lost, for which it waited. */
        if (g->tool_dead && !alone)
            on_lost_signal(&g->on_lost, SIGKILL);
    }
}

/* Makes this process the guard. When the tool dies, the guard reads end of file from the channel,
 * and the kernel sends it SIGCHLD (PR_SET_PDEATHSIG). */
static void become_guard(struct guarding *g, struct events *tools)
{
    setpgid(0, 0);
    say_without_waiting(); /* a wait would delay KILL */
    credentials_forget();
    ps_name_set(GUARD_NAME);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!events_open_deaf(&g->events, tools, g->channel))
        _exit(STATUS_INTERNAL);
    priority_raise();
    prctl(PR_SET_PDEATHSIG, SIGCHLD);
}

void guard_main(const struct termination *termination, int channel, struct events *events)
{
    struct guarding g = {.termination = *termination,
                         .options = *termination->options,
                         .shared = termination->shared,
                         .tool_group = getpgid(termination->tool),
                         .channel = channel,
                         .exec_pipe = -1};
    bool has_slept = false;

    g.termination.options = &g.options;
    g.termination.guard = getpid();
    become_guard(&g, events);
    termination_tree_init(&g.termination, getpid(), 0);
    take_events(&g);
    while (!guard_main_over(&g)) {
        if (!has_slept && atomic_load(&g.shared->killed)) {
            /* Many guards may have sent KILL at one time. The processes that are to die get the
             * processors for a while. */
            has_slept = true;
            g_usleep((gulong)g.options.commands * PACE_KILL_MS * 1000 / 4);
        }
        arm_next_look(&g);
        events_wait(&g.events);
        take_events(&g);
    }
    priority_give_back(); /* other guards may have to end their commands */
    run_on_lost(&g);
    if (g.tool_dead || g.termination.parent != g.termination.tool)
        cgroup_remove(g.options.cgroup);
    /* STATUS_LOST: the command had to be ended, and nothing of its tree is left. */
    _exit(exit_cause_is_forced(shared_cause(g.shared)) && !g.termination.given_up ? STATUS_LOST
                                                                                  : STATUS_OK);
}
