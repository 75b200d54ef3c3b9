/* Passes on what the grant says. The grant's deadline is true even if no thread of the library has
 * run for a while. loss_on_change() runs on a thread of the library, all else on the main thread.
 */
#include "loss.h"
#include "guard/channel.h"
#include "tool.h"

/* How long we wait until the guard, which may be stopped, sees that the group is gone. Only the
 * guard can tell how the command has ended. */
#define PATIENCE_MS (10 * LOOK_MS)

/* Two threads call this: the main one and one of the library. Under the lock they publish one after
 * the other, so the newest deadline is the last. */
void loss_publish(struct loss *l)
{
    zkl_deadline deadline;

    pthread_mutex_lock(&l->lock);
    if (zkl_grant_deadline(l->grant, &deadline) != 0) /* the deadline is 0 then */
        atomic_store(&l->guard->termination.shared->loss, (int)zkl_grant_loss(l->grant));
    const bool farther = shared_set_deadline(l->guard->termination.shared, &deadline);
    pthread_mutex_unlock(&l->lock);
    if (!farther)
        guard_tell(l->guard, MESSAGE_LOOK, 0);
}

/* The looks are frequent enough that the guard's deadline is never older than the grace has room
 * for. */
int64_t loss_due_ms(const struct loss *l)
{
    const struct termination *e = &l->guard->termination;

    if (shared_cause(e->shared) != CAUSE_NONE || l->guard->dead)
        return LOOK_MS;
    return MIN(e->options->session_timeout_ms / 24,
               loss_remaining_ms(l) - termination_margin_ms(e) / 2);
}

/* Whether the zygote ends the tree, because the tree's own guard is dead. Before there is a guard
 * nothing runs. */
static bool zygote_ends_tree(const struct guard *g)
{
    const struct termination *e = &g->termination;

    return e->parent != e->tool && (g->dead || e->guard == 0);
}

/* Stands in for a guard that should have ended the group already. An end that was begun goes on,
 * even if the lock is proved again before it would have been lost. Nobody can have reaped the
 * leader: it is the guard's child, or after that ours or the zygote's, and none of these reaps it.
 */
void loss_stand_in(struct loss *l)
{
    struct termination *e = &l->guard->termination;
    const bool late = loss_remaining_ms(l) <= termination_margin_ms(e) / 2;
    const bool begun = l->patience != 0;

    if (shared_cause(e->shared) == CAUSE_ENDED || atomic_load(&e->shared->gone) ||
        !(late || begun || l->guard->dead) || zygote_ends_tree(l->guard))
        return;
    termination_kill(e, late ? termination_reason(e) : CAUSE_GUARD);
    if (!begun)
        l->patience = now_ms() + PATIENCE_MS;
    if (guard_has_ended(l->guard) || now_ms() >= l->patience)
        termination_over(e);
}

void loss_look(struct loss *l)
{
    guard_look(l->guard, l->events);
    loss_publish(l);
    loss_stand_in(l);
}

/* Passes a new state of the grant on to the guard. Runs on a thread of the library. After a loss it
 * waits until nothing of the tree is left: the guard ends the tree, and the main thread says when
 * that is done. */
static void loss_on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct loss *l = data;

    (void)grant;
    if (state == ZKL_RELEASED)
        return;
    pthread_mutex_lock(&l->lock);
    const bool finished = l->gone; /* the command has ended, and no loss is left to tell */
    l->telling = !finished;
    pthread_mutex_unlock(&l->lock);
    if (finished)
        return;
    loss_publish(l);
    atomic_store(&l->guard->termination.shared->state, (int)state);
    guard_tell(l->guard, MESSAGE_STATE, (int)state);
    events_wake(l->events);
    pthread_mutex_lock(&l->lock);
    l->telling = false;
    pthread_cond_broadcast(&l->over);
    while (state == ZKL_LOST && !l->gone)
        pthread_cond_wait(&l->over, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void loss_init(struct loss *l, struct guard *guard, const zkl_grant *grant, struct events *events)
{
    *l = (struct loss){.grant = grant, .guard = guard, .events = events};
    guard->token = zkl_grant_token(grant);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->over, NULL);
    loss_publish(l);
    zkl_grant_on_change(grant, loss_on_change, l);
}

int64_t loss_remaining_ms(const struct loss *l)
{
    return zkl_grant_remaining_ms(l->grant);
}

bool loss_is_safe(const struct loss *l)
{
    const struct hold_options *o = l->guard->termination.options;

    return loss_remaining_ms(l) > termination_grace_ms(&l->guard->termination) &&
           (o->on_suspect == ON_SUSPECT_IGNORE || zkl_grant_state(l->grant) == ZKL_HELD);
}

bool loss_before_beginning(struct loss *l)
{
    if (loss_remaining_ms(l) > 0)
        return false;
    loss_publish(l);
    shared_decide(l->guard->termination.shared, CAUSE_REVOKED);
    termination_over(&l->guard->termination);
    say("%s: the lock was lost before the command began: %s", l->guard->termination.options->path,
        zkl_strloss(zkl_grant_loss(l->grant)));
    return true;
}

int loss_wait_safe(struct loss *l)
{
    while (!loss_is_safe(l)) {
        if (loss_before_beginning(l))
            return STATUS_LOST;
        const int signo = events_wait_at_most(l->events, LOOK_MS);
        /* SIGCHLD says that the guard is dead, which guard_run() finds. */
        if (signo != 0 && signo != SIGCHLD)
            return STATUS_SIGNAL + signo;
    }
    loss_publish(l);
    return GO_ON;
}

void loss_finish(struct loss *l)
{
    pthread_mutex_lock(&l->lock);
    l->gone = true;
    pthread_cond_broadcast(&l->over);
    while (l->telling) /* which does not wait */
        pthread_cond_wait(&l->over, &l->lock);
    pthread_mutex_unlock(&l->lock);
}
