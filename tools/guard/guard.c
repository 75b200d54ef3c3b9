/* Starts the guard and talks to it, for the tool. */
#include "guard.h"
#include "../credentials_shared.h"
#include "../tool.h"
#include "channel.h"
#include "environment.h"
#include "on_lost.h"
#include "processes.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks the guard, with the memory that it shares with us. Returns false with errno set. */
static bool guard_spawn(struct guard *g, struct events *events)
{
    if (!g->termination.shared)
        g->termination.shared = shared_new(1);
    if (!g->termination.shared || !credentials_share())
        return false;
    /* The children of a dead guard come to us. One is the leader: until it is reaped, nobody else
     * gets the group's id. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    g->termination.guard = channel_fork(&g->channel);
    if (g->termination.guard == 0)
        guard_main(&g->termination, g->channel, events);
    return g->termination.guard > 0;
}

bool guard_start(struct guard *g, const struct hold_options *options, struct shared *shared,
                 struct events *events)
{
    *g = (struct guard){
        .termination = {.shared = shared, .options = options, .tool = getpid(), .parent = getpid()},
        .channel = -1};
    termination_tree_init(&g->termination, getpid(), 0);
    if (!processes_reserve() || !guard_spawn(g, events)) {
        say("cannot start the guard: %s", g_strerror(errno));
        return false;
    }
    atomic_store(&g->termination.shared->guard, g->termination.guard);
    g->termination.sweep.tree.helper = g->termination.guard;
    /* No key of the terminal is meant for the guard, so it leaves our group. It does the same: one
     * of the two is first. */
    setpgid(g->termination.guard, g->termination.guard);
    events->vital = g->termination.guard;
    events->unreaped = &g->termination.shared->leader; /* if the guard leaves it to us */
    events_reap_strangers(events);
    return true;
}

void guard_claim(struct guard *g, zkl_session *session)
{
    shared_store_claim(g->termination.shared, session);
}

bool guard_run(struct guard *g, const zkl_grant *grant, bool front, struct events *events)
{
    const struct hold_options *o = g->termination.options;
    zkl_part first;

    zkl_grant_part(grant, 0, &first);
    g->start = (struct message){.kind = MESSAGE_START,
                                .front = front,
                                .session_timeout_ms = o->session_timeout_ms,
                                .grace_ms = o->grace_ms,
                                .token = first.token,
                                .session_id = zkl_grant_session_id(grant),
                                .slot = first.slot};
    g->start_text = grant_text(grant);
    g->envp = deadline_tell(
        g->termination.shared->deadline,
        command_environment(o, g->start_text, g->start.token, g->start.session_id, g->start.slot));
    events_add(events, g->channel);
    g->running = channel_send(g->channel, &g->start, g->start_text, -1);
    return g->running;
}

bool guard_repeat(struct guard *g, const struct guard *other, struct events *events)
{
    g->token = other->token;
    g->start = other->start;
    g->start_text = g_strdup(other->start_text);
    events_add(events, g->channel);
    g->running = channel_send(g->channel, &g->start, g->start_text, -1);
    return g->running;
}

void guard_free(struct guard *g, struct events *events)
{
    events_remove(events, g->channel);
    close(g->channel);
    g_free(g->start_text);
    g_strfreev(g->envp);
    termination_tree_free(&g->termination);
}

void guard_tell(struct guard *g, int kind, int value)
{
    const struct message message = {.kind = kind, .value = value, .token = g->token};

    channel_send(g->channel, &message, NULL, -1);
}

/* Returns whether the signal may ask the command to end. If so, marks the end as asked for, before
 * the signal can have an effect. */
static bool mark_request(struct shared *s, int signo)
{
    switch (signo) {
    case SIGINT:
    case SIGTERM:
        shared_set_first_signal(s, signo, processes_clock());
        break;
    case SIGKILL:
        atomic_store(&s->to_kill, true);
        break;
    case SIGHUP:
    case SIGQUIT:
        break;
    default:
        return false;
    }
    atomic_store(&s->to_end, true);
    return true;
}

void guard_signal(struct guard *g, int signo)
{
    struct shared *s = g->termination.shared;

    if (atomic_load(&s->on_lost_begun)) { /* nothing of the command is left */
        guard_tell(g, MESSAGE_SIGNAL, signo);
        return;
    }
    const bool asks = mark_request(s, signo);
    kill(-shared_leader(s), signo);
    if (asks && !atomic_load(&s->paused)) /* the guard itself continues what it has stopped */
        kill(-shared_leader(s), SIGCONT);
    if (atomic_load(&s->to_end))
        guard_tell(g, MESSAGE_LOOK, 0);
}

int guard_result(const struct guard *g, bool held)
{
    const struct shared *s = g->termination.shared;
    const int err = atomic_load(&s->exec_error);
    const int ended = atomic_load(&s->ended);

    switch (shared_cause(s)) {
    case CAUSE_ENDED:
        if (err != 0)
            return fail(err == ENOENT ? STATUS_NOTFOUND : STATUS_NOEXEC, "%s: %s",
                        g->termination.options->argv[0], g_strerror(err));
        return ended >= ENDED_BY_SIGNAL ? ended - ENDED_BY_SIGNAL + STATUS_SIGNAL : ended;
    case CAUSE_GUARD:
        return held ? STATUS_INTERNAL : STATUS_LOST;
    default:
        return STATUS_LOST;
    }
}

void guard_ask_to_end(struct guard *g)
{
    atomic_store(&g->termination.shared->asked, true);
    guard_tell(g, MESSAGE_LOOK, 0);
}

void guard_look(struct guard *g, struct events *events)
{
    struct termination *e = &g->termination;

    if (e->guard == 0) /* unknown until the zygote has forked it */
        e->guard = e->sweep.tree.root = atomic_load(&e->shared->guard);
    if (g->dead || channel_take_nudges(g->channel))
        return;
    g->dead = true;
    events_remove(events, g->channel);
}

bool guard_has_ended(const struct guard *g)
{
    return child_look(g->termination.guard, NULL) == CHILD_ENDED;
}

/* Runs --on-lost if the guard has died before it did, or waits for the one that it has started.
 * asked: how many INT and TERM were sent to the guard; a dead guard may not have passed them on. */
static void finish_on_lost(const struct guard *g, struct events *events, int asked)
{
    struct on_lost on_lost = {.pid = 0};

    on_lost_adopt(&on_lost, &g->termination);
    while (asked-- > 0)
        on_lost_signal(&on_lost, SIGTERM);
    if (g->envp && on_lost.pid == 0)
        on_lost_start(&on_lost, &g->termination, g->envp, events);
    while (!on_lost_over(&on_lost, events)) {
        int signo;

        events_wait(events);
        while ((signo = events_asked_to_end(events)) != 0)
            on_lost_signal(&on_lost, signo);
    }
}

void guard_finish(struct guard *g, struct events *events)
{
    int asked = 0;

    events->vital = 0;
    events->reaps = false;
    sigemptyset(&events->spared); /* all signals are for --on-lost */
    atomic_store(&g->termination.shared->finished, true);
    if (!g->running)
        shutdown(g->channel, SHUT_WR); /* which ends the guard */
    events_remove(events, g->channel);
    kill(g->termination.guard, SIGCONT);
    while (waitpid(g->termination.guard, NULL, WNOHANG) == 0) {
        int signo;

        events_wait(events);
        while ((signo = events_asked_to_end(events)) != 0) {
            guard_tell(g, MESSAGE_SIGNAL, signo);
            asked += signo == SIGINT || signo == SIGTERM;
        }
    }
    finish_on_lost(g, events, asked);
    guard_free(g, events);
    credentials_unshare();
    shared_free(g->termination.shared, 1);
}
