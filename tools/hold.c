/* The main loop while the command runs. Loss is a procedure: TERM a grace before the deadline, KILL
 * shortly before it or at once when the lock is gone, and the node only after the last process. */
#include "hold.h"
#include "child.h"
#include "environment.h"
#include "loss.h"

#include <unistd.h>

/* What runs, and what stands around it. */
struct hold {
    const struct hold_options *options;
    struct events *events;
    struct terminal terminal;
    struct child child;
    struct loss loss;
    bool asked_to_end; /* INT or TERM has been passed on once */
    int passed_on;     /* the last signal that the group got by way of us */
    int key;           /* hold_key() */
};

/* A stopped tool cannot renew. That is said before, for nobody reads it after; and when the lock is
 * nearly over without anybody having continued us, we wake to end the group. */
static void stop_with_child(struct hold *h, int signo)
{
    enum terminal_stop stop;

    if (h->loss.phase != LOSS_NONE) {
        child_signal(&h->child, SIGCONT); /* it is to end, not to stop */
        return;
    }
    terminal_take_back(&h->terminal);
    say("%s: stopped, so the lock cannot be renewed: unless continued before it ends in %.1f s, "
        "the command is ended",
        h->options->path, (double)zkl_grant_remaining_ms(h->loss.grant) / 1000);
    stop = terminal_stop_us(signo, loss_next_ms(&h->loss));
    if (stop == STOP_LIMIT)
        loss_begin(&h->loss, &h->child);
    loss_step(&h->loss, &h->child);
    if (h->loss.phase != LOSS_NONE)
        return;
    /* In an orphaned group nobody would ever continue it, and it would ask for the terminal again
     * and again if we did. */
    if (stop == STOP_REFUSED && (signo == SIGTTIN || signo == SIGTTOU)) {
        say("%s: the command wants the terminal and cannot have it; it stays stopped",
            h->options->path);
        return;
    }
    terminal_lend(&h->terminal, h->child.pid);
    child_signal(&h->child, SIGCONT);
}

static void on_stop(struct hold *h, int signo)
{
    const bool wants_terminal = signo == SIGTTIN || signo == SIGTTOU;

    /* It reads /dev/tty, or the shell has put us in front since. */
    if (wants_terminal && terminal_find(&h->terminal) && terminal_is_ours(&h->terminal)) {
        terminal_lend(&h->terminal, h->child.pid);
        child_signal(&h->child, SIGCONT);
        return;
    }
    /* Without a terminal it was somebody's wish that the command pauses: the lock stays renewed. */
    if (h->terminal.lent != 0 || (signo != SIGSTOP && terminal_find(&h->terminal)))
        stop_with_child(h, signo);
    else if (h->options->verbose)
        say("%s: the command is stopped; the lock is kept", h->options->path);
}

static void on_signal(struct hold *h, int signo)
{
    switch (signo) {
    case SIGCHLD:
        return; /* the loop looks for itself */
    case SIGCONT:
        terminal_lend(&h->terminal, h->child.pid);
        break;
    case SIGINT:
    case SIGTERM:
        if (h->asked_to_end)
            signo = SIGKILL;
        h->asked_to_end = true;
        break;
    default:
        break;
    }
    h->passed_on = signo;
    child_signal(&h->child, signo);
}

/* A terminal that was not lent would have sent the key's signal to our group, not only to the
 * command's: a script around us must end as well. */
static int key_that_ended(const struct hold *h, bool lent)
{
    const int signo = h->child.signo;

    return lent && (signo == SIGINT || signo == SIGQUIT) && signo != h->passed_on ? signo : 0;
}

/* In this order: a lock that is ours after the end was ours until then. */
static bool ended_in_time(const struct hold *h)
{
    return h->loss.phase == LOSS_NONE && child_ended(&h->child) &&
           zkl_grant_remaining_ms(h->loss.grant) > 0;
}

/* Until the command has ended well, or nothing of a lost one is left. */
static void watch(struct hold *h)
{
    for (;;) {
        int signo;

        /* Before the signals: a SIGCONT must not wake what should not run any more. */
        if (!child_ended(&h->child))
            loss_step(&h->loss, &h->child);
        while ((signo = events_signal(h->events)) != 0)
            on_signal(h, signo);
        while ((signo = child_stopped(&h->child)) != 0)
            on_stop(h, signo);
        if (ended_in_time(h))
            return;
        loss_step(&h->loss, &h->child);
        if (h->loss.phase != LOSS_NONE && loss_over(&h->loss, &h->child))
            return;
        events_arm(h->events, loss_next_ms(&h->loss));
        events_wait(h->events);
    }
}

static int run_child(struct hold *h)
{
    char **envp = command_environment(h->options->path, h->loss.grant);
    int status = STATUS_INTERNAL;

    terminal_init(&h->terminal);
    /* From here on Ctrl-Z at us is the command's: we stop when it has. */
    events_catch(h->events, SIGTSTP);
    if (child_start(&h->child, h->options->argv, envp, &h->terminal, h->events)) {
        bool lent;

        watch(h);
        lent = h->terminal.lent != 0;
        terminal_take_back(&h->terminal);
        status = STATUS_LOST;
        if (h->loss.phase == LOSS_NONE)
            status = child_reap(&h->child, h->options->argv[0]);
        h->key = key_that_ended(h, lent);
    }
    terminal_close(&h->terminal);
    g_strfreev(envp);
    return status;
}

struct hold *hold_new(const struct hold_options *options, zkl_grant *grant, struct events *events)
{
    struct hold *h = g_new0(struct hold, 1);

    h->options = options;
    h->events = events;
    loss_init(&h->loss, options, grant, events);
    return h;
}

int hold_run(struct hold *h)
{
    int status = loss_wait_safe(&h->loss);

    if (status == GO_ON)
        status = run_child(h);
    loss_finish(&h->loss);
    return status;
}

int hold_key(const struct hold *h)
{
    return h->key;
}

void hold_free(struct hold *h)
{
    g_free(h);
}
