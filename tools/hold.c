/* Runs the main loop while the command runs. The guard ends a command whose lock is lost: TERM a
 * grace before the deadline, KILL shortly before it, or at once when the lock is gone. We tell the
 * guard the deadline, and give the node back only after the last process has ended. If the guard
 * fails, we end the group ourselves. */
#include "hold.h"
#include "guard/channel.h"
#include "guard/pace.h"
#include "guard/processes.h"
#include "loss.h"
#include "terminal.h"

#include <errno.h>
#include <unistd.h>

/* The grace may be half of the time that is left right before a renewal, so that a late renewal
 * does not end a healthy command. */
int hold_check_grace(int64_t grace_ms, int session_timeout_ms)
{
    const int64_t most = pace_steady_ms(session_timeout_ms) / 2;

    if (grace_ms > most)
        return fail(STATUS_USAGE,
                    "--grace: %g s is too much for a session timeout of %.1f s: at most %.3f s",
                    (double)grace_ms / 1000, session_timeout_ms / 1000.0, (double)most / 1000);
    return GO_ON;
}

void hold_fit(struct hold_options *o, int64_t grace_ms, int session_timeout_ms)
{
    o->session_timeout_ms = session_timeout_ms;
    o->grace_ms = grace_ms == GRACE_DEFAULT ? session_timeout_ms / 8 : grace_ms;
}

/* The command while it runs, and what it needs. */
struct hold {
    const struct hold_options *options;
    struct guard *guard;
    struct shared *shared;
    struct events *events;
    struct terminal terminal;
    struct loss loss;
    bool lending;      /* the command is to take the terminal when it begins */
    bool asked_to_end; /* INT or TERM has been passed on once */
    int asked;         /* the first HUP, INT, QUIT or TERM that has been passed on; 0: none */
    sigset_t early;    /* the signals that came before the command began */
    int passed_on;     /* the last signal that the group got from us */

    /* Somebody has asked the holder to give way, and the command was not told yet. */
    atomic_bool revoked;
};

static bool is_running(const struct hold *h)
{
    return shared_cause(h->shared) == CAUSE_NONE;
}

/* Passes a signal on to the command; stores it if there is no command yet. */
static void hold_pass_on(struct hold *h, int signo)
{
    if (shared_leader(h->shared) == 0) {
        sigaddset(&h->early, signo);
        return;
    }
    /* The guard itself continues what it has stopped. */
    if (signo == SIGCONT && is_running(h) && atomic_load(&h->shared->paused))
        return;
    guard_signal(h->guard, signo);
}

/* Stops us, because the command is stopped, until somebody continues us. A stopped tool cannot
 * renew the lock, and cannot say so then: so it is said before. */
static void stop_with_child(struct hold *h, int signo)
{
    bool continued;

    if (!is_running(h)) {
        hold_pass_on(h, SIGCONT); /* the command is to end, not to stop */
        return;
    }
    terminal_take_back(&h->terminal);
    say("%s: stopped, so the lock cannot be renewed and ends in %.1f s; the command is then ended, "
        "unless zkl is continued before",
        h->options->path, (double)loss_remaining_ms(&h->loss) / 1000);
    continued = terminal_stop_us(signo);
    loss_stand_in(&h->loss);
    if (!is_running(h))
        return;
    /* In an orphaned group nobody will ever continue the command. If we did, it would ask for the
     * terminal again and again. */
    if (!continued && (signo == SIGTTIN || signo == SIGTTOU)) {
        say("%s: the command needs the terminal and cannot get it; it stays stopped",
            h->options->path);
        return;
    }
    terminal_lend(&h->terminal, shared_leader(h->shared));
    hold_pass_on(h, SIGCONT);
}

/* Acts on a stop of the command by signo: gives it the terminal, stops with it, or lets it be. */
static void on_stop(struct hold *h, int signo)
{
    const bool wants_terminal = signo == SIGTTIN || signo == SIGTTOU;

    h->terminal.wanted |= wants_terminal;
    if (wants_terminal && terminal_find(&h->terminal) && terminal_is_ours(&h->terminal)) {
        terminal_lend(&h->terminal, shared_leader(h->shared));
        hold_pass_on(h, SIGCONT);
        return;
    }
    /* Without a terminal somebody wants the command to pause: the lock is renewed all the time. */
    if (h->terminal.lent != 0 || (signo != SIGSTOP && terminal_find(&h->terminal)))
        stop_with_child(h, signo);
    else if (h->options->settings->verbose)
        say("%s: the command is stopped; the lock is kept", h->options->path);
}

/* Remembers the first signal that asks the command to end. */
static void remember_asked(struct hold *h, int signo)
{
    if (h->asked == 0)
        h->asked = signo;
}

/* Passes on a signal that has come to us. A second INT or TERM becomes KILL. */
static void on_signal(struct hold *h, int signo)
{
    switch (signo) {
    case SIGCHLD:
        return; /* the loop looks at the child anyway */
    case SIGCONT:
        if (shared_leader(h->shared) != 0)
            terminal_lend(&h->terminal, shared_leader(h->shared));
        break;
    case SIGINT:
    case SIGTERM:
        remember_asked(h, signo);
        if (h->asked_to_end)
            signo = SIGKILL;
        h->asked_to_end = true;
        break;
    case SIGHUP:
    case SIGQUIT:
        remember_asked(h, signo);
        break;
    default:
        break;
    }
    h->passed_on = signo;
    hold_pass_on(h, signo);
}

/* Tells the main thread that somebody asks the holder to give way. Runs on a thread of the library.
 */
static void hold_on_revoke(const zkl_grant *grant, zkl_state state, void *data)
{
    struct hold *h = data;

    (void)grant;
    (void)state;
    atomic_store(&h->revoked, true);
    events_wake(h->events);
}

/* Asks the command to end, as a TERM to us does. This is not counted as a first TERM, so a TERM
 * that comes to us later does not kill. */
static void end_when_revoked(struct hold *h)
{
    say("%s: asked to give way; the command is ended", h->options->path);
    status_line(h->options->status_fd, "asked");
    h->passed_on = SIGTERM;
    remember_asked(h, SIGTERM);
    hold_pass_on(h, SIGTERM);
}

/* Does what had to wait until the command has a process: the process gets the terminal, and the
 * early signals. */
static void serve_new_leader(struct hold *h)
{
    const pid_t leader = shared_leader(h->shared);

    if (leader == 0)
        return;
    if (h->lending)
        h->terminal.lent = leader;
    h->lending = false;
    for (int signo = 1; signo < NSIG && !sigisemptyset(&h->early); signo++)
        if (sigismember(&h->early, signo) == 1) {
            sigdelset(&h->early, signo);
            hold_pass_on(h, signo);
        }
}

/* Returns the signal of the key that has ended the command, or 0. It came to us or, if the terminal
 * was lent, to the command. A script around us must end by it as well. */
static int key_that_ended(const struct hold *h, bool lent)
{
    const int signo = atomic_load(&h->shared->ended) - ENDED_BY_SIGNAL;
    const bool typed = signo == h->passed_on ? events_typed(h->events, signo) : lent;

    return typed && shared_cause(h->shared) == CAUSE_ENDED && (signo == SIGINT || signo == SIGQUIT)
               ? signo
               : 0;
}

/* Serves the command until it has ended, or until nothing of a lost one is left. */
static void hold_watch(struct hold *h)
{
    for (;;) {
        int signo;

        /* The look comes before the signals: a SIGCONT must not continue a command that should not
         * run any more. */
        loss_look(&h->loss);
        serve_new_leader(h);
        while ((signo = events_signal(h->events)) != 0)
            on_signal(h, signo);
        if (atomic_exchange(&h->revoked, false) && is_running(h))
            end_when_revoked(h);
        while ((signo = atomic_exchange(&h->shared->stopped, 0)) != 0)
            on_stop(h, signo);
        const int ended = atomic_load(&h->shared->ended);
        if (ended != NOT_ENDED && ended < ENDED_BY_SIGNAL) {
            /* Processes that the command has left in the background need no keys, and the keys must
             * reach us while the lock is kept for those. */
            terminal_take_back(&h->terminal);
            h->terminal.wanted = false;
        }
        if (shared_cause(h->shared) == CAUSE_ENDED || atomic_load(&h->shared->gone))
            return;
        events_arm(h->events, loss_due_ms(&h->loss));
        events_wait(h->events);
    }
}

/* Has the guard run the command, and serves it until it is over. Returns the exit status. */
static int run_command(struct hold *h)
{
    terminal_init(&h->terminal);
    h->terminal.wanted =
        terminal_job_is_alone(&h->terminal, h->options->candidate ? getppid() : getpid());
    h->lending = h->terminal.wanted && terminal_is_ours(&h->terminal);
    /* From now on we pass Ctrl-Z on to the command, and stop when it has stopped. */
    events_catch(h->events, SIGTSTP);
    if (!guard_run(h->guard, h->loss.grant, h->lending, h->events))
        return fail(STATUS_INTERNAL, "%s: cannot reach the guard: %s", h->options->path,
                    g_strerror(errno));
    hold_watch(h);
    serve_new_leader(h);
    const bool lent = h->terminal.lent != 0;
    terminal_take_back(&h->terminal);
    terminal_close(&h->terminal);
    atomic_store(&h->shared->key, key_that_ended(h, lent));
    return guard_result(h->guard, loss_remaining_ms(&h->loss) > 0);
}

int hold_run(struct hold **ret, struct guard *guard, const zkl_grant *grant, struct events *events)
{
    struct hold *h = g_new0(struct hold, 1);

    *ret = h;
    h->options = guard->termination.options;
    h->guard = guard;
    h->shared = guard->termination.shared;
    h->events = events;
    sigemptyset(&h->early);
    loss_init(&h->loss, guard, grant, events);
    if (h->options->term_on_revoke)
        zkl_grant_on_revoke(grant, hold_on_revoke, h);
    int status = loss_wait_safe(&h->loss);
    if (status == GO_ON)
        status = run_command(h);
    loss_finish(&h->loss);
    return status;
}

bool hold_has_lock(const struct hold *h)
{
    return !atomic_load(&h->shared->gone);
}

int hold_asked(const struct hold *h)
{
    return h->asked;
}

void hold_free(struct hold *h)
{
    g_free(h);
}
