/* The deadline's side of holding: decides from zkl_grant_remaining_ms() alone, which is true even
 * when no thread of the library has run for a while. */
#include "loss.h"

/* Right before a renewal is proved, about this much of the session timeout is still ahead when the
 * servers' tick is not known: a proof reaches about 0.6 of the timeout, and the next one may come
 * 0.3 later. A grace may take half of it, so that a late renewal does not end a healthy command. */
#define WORST_STEADY_PERMILLE 300
#define GRACE_MAX_PERMILLE (WORST_STEADY_PERMILLE / 2)

#define LOOK_MS 20 /* how often an ending group is looked at */

int hold_check_grace(int64_t grace_ms, int session_timeout_ms)
{
    const int64_t most = (int64_t)session_timeout_ms * GRACE_MAX_PERMILLE / 1000;

    if (grace_ms > most)
        return fail(STATUS_USAGE,
                    "--grace: %g s is too much for a session timeout of %.1f s: at most %.3f s",
                    (double)grace_ms / 1000, session_timeout_ms / 1000.0, (double)most / 1000);
    return GO_ON;
}

/* On a thread of the library. What it waits for is done by the main thread. */
static void on_change(zkl_grant *grant, zkl_state state, void *data)
{
    struct loss *l = data;

    (void)grant;
    events_wake(l->events);
    if (state != ZKL_LOST)
        return;
    pthread_mutex_lock(&l->lock);
    while (!l->gone)
        pthread_cond_wait(&l->over, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void loss_init(struct loss *l, const struct hold_options *options, zkl_grant *grant,
               struct events *events)
{
    *l = (struct loss){.grant = grant, .options = options, .events = events};
    l->grace_ms = options->grace_ms;
    if (options->grace_ms == GRACE_DEFAULT)
        l->grace_ms = options->session_timeout_ms / 8;
    l->margin_ms = l->grace_ms / 4;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->over, NULL);
    zkl_grant_on_change(grant, on_change, l);
}

int loss_wait_safe(struct loss *l)
{
    int64_t left;

    while ((left = zkl_grant_remaining_ms(l->grant)) <= l->grace_ms) {
        int signo;

        if (left == 0)
            return fail(STATUS_LOST, "%s: the lock was lost before the command began",
                        l->options->path);
        events_arm(l->events, LOOK_MS);
        events_wait(l->events);
        signo = events_asked_to_end(l->events);
        if (signo != 0)
            return STATUS_SIGNAL + signo;
    }
    return GO_ON;
}

static void term(struct loss *l, const struct child *child, int64_t left)
{
    child_signal(child, SIGTERM);
    child_signal(child, SIGCONT);
    l->phase = LOSS_TERMED;
    l->kill_at = now_ms() + left - l->margin_ms;
    say("%s: the lock could not be renewed and ends in %.1f s; the command is ended",
        l->options->path, (double)left / 1000);
}

static void end_at_once(struct loss *l, const struct child *child)
{
    const bool unsaid = l->phase == LOSS_NONE;

    child_signal(child, SIGKILL);
    l->phase = LOSS_KILLED;
    if (unsaid)
        say("%s: the lock is lost; the command is killed", l->options->path);
    l->give_up_at = now_ms() + l->options->session_timeout_ms;
}

void loss_begin(struct loss *l, const struct child *child)
{
    const int64_t left = MIN(zkl_grant_remaining_ms(l->grant), l->grace_ms);

    if (left > l->margin_ms)
        term(l, child, left);
    else
        end_at_once(l, child);
}

void loss_step(struct loss *l, const struct child *child)
{
    const int64_t left = zkl_grant_remaining_ms(l->grant);

    if (l->phase == LOSS_NONE && left <= l->grace_ms)
        loss_begin(l, child);
    if (l->phase == LOSS_TERMED && (left <= l->margin_ms || now_ms() >= l->kill_at))
        end_at_once(l, child);
}

int64_t loss_next_ms(const struct loss *l)
{
    if (l->phase != LOSS_NONE)
        return LOOK_MS;
    return zkl_grant_remaining_ms(l->grant) - l->grace_ms;
}

bool loss_over(const struct loss *l, const struct child *child)
{
    if (!child_group_lives(child))
        return true;
    if (l->phase != LOSS_KILLED || now_ms() < l->give_up_at)
        return false;
    say("%s: the command does not end although killed; process group %d", l->options->path,
        (int)child->pid);
    return true;
}

void loss_finish(struct loss *l)
{
    pthread_mutex_lock(&l->lock);
    l->gone = true;
    pthread_cond_broadcast(&l->over);
    pthread_mutex_unlock(&l->lock);
    zkl_grant_release(l->grant);
}
