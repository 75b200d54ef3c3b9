/* The tool's side of the guard. */
#include "guard.h"
#include "../tool.h"
#include "channel.h"
#include "environment.h"
#include "on_lost.h"
#include "processes.h"
#include "termination_tree.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool start(struct guard *g, int channel[2], struct events *events)
{
    g->termination.shared = shared_new();
    if (!g->termination.shared || !channel_open(channel))
        return false;
    /* What a dead guard leaves comes to us: its unreaped leader, which keeps the group's id. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    g->termination.guard = fork();
    if (g->termination.guard == 0) {
        close(channel[0]);
        guard_main(&g->termination, channel[1], events);
    }
    close(channel[1]);
    g->channel = channel[0];
    return g->termination.guard > 0;
}

bool guard_start(struct guard *g, const struct hold_options *options, struct events *events)
{
    int channel[2];

    *g = (struct guard){.termination = {.options = options, .tool = getpid()}, .channel = -1};
    termination_tree_init(&g->termination, getpid(), 0);
    if (!processes_reserve() || !start(g, channel, events)) {
        say("cannot start the guard: %s", g_strerror(errno));
        return false;
    }
    g->termination.sweep.tree.helper = g->termination.guard;
    /* Also by itself: whichever is first. The terminal's keys are not for it. */
    setpgid(g->termination.guard, g->termination.guard);
    events->vital = g->termination.guard;
    events->kept = &g->termination.shared->leader; /* should the guard leave it to us */
    events_reap_strangers(events);
    return true;
}

void guard_claim(struct guard *g, zkl_session *session)
{
    struct shared *s = g->termination.shared;
    zkl_session_claim claim;

    if (zkl_session_get_claim(session, &claim) != 0)
        return;
    /* The flag is cleared first and set last: a kill in between leaves no half of a claim. */
    atomic_store(&s->claimed, false);
    s->claim = claim;
    atomic_store(&s->claimed, true);
}

bool guard_run(struct guard *g, struct right *right, bool front, struct events *events)
{
    const struct hold_options *o = g->termination.options;
    const struct message message = {.kind = MESSAGE_START,
                                    .front = front,
                                    .session_timeout_ms = o->session_timeout_ms,
                                    .grace_ms = o->grace_ms,
                                    .token = right->ops->token(right),
                                    .session_id = right->ops->session_id(right),
                                    .slot = right->ops->slot(right)};

    char *text = right->ops->text(right);
    events_add(events, g->channel);
    g->envp = command_environment(o, text, message.token, message.session_id, message.slot);
    g->running = channel_send(g->channel, &message, text);
    g_free(text);
    return g->running;
}

void guard_tell(struct guard *g, int kind, int value)
{
    const struct message message = {.kind = kind, .value = value, .token = g->token};

    channel_send(g->channel, &message, NULL);
}

void guard_ask(struct guard *g)
{
    atomic_store(&g->termination.shared->asked, true);
    guard_tell(g, MESSAGE_LOOK, 0);
}

void guard_look(struct guard *g, struct events *events)
{
    if (g->dead || channel_nudged(g->channel))
        return;
    g->dead = true;
    events_remove(events, g->channel);
}

bool guard_has_ended(const struct guard *g)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)g->termination.guard, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == g->termination.guard;
}

static bool guard_reaped(const struct guard *g)
{
    return waitpid(g->termination.guard, NULL, WNOHANG) != 0;
}

/* Its --on-lost is ours. asked: how often it was told to end, which a dead guard has not passed on.
 */
static void replace_guard(const struct guard *g, struct events *events, int asked)
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
    events_remove(events, g->channel);
    atomic_store(&g->termination.shared->finished, true);
    if (!g->running)
        close(g->channel); /* which ends it */
    kill(g->termination.guard, SIGCONT);
    while (!guard_reaped(g)) {
        int signo;

        events_wait(events);
        while ((signo = events_asked_to_end(events)) != 0) {
            guard_tell(g, MESSAGE_SIGNAL, signo);
            asked += signo == SIGINT || signo == SIGTERM;
        }
    }
    if (g->running)
        close(g->channel);
    replace_guard(g, events, asked);
    g_strfreev(g->envp);
    termination_tree_free(&g->termination);
    shared_free(g->termination.shared);
}
