#include "turn.h"

static void on_event(zkl_election *e, zkl_election_event what, const zkl_grant *grant,
                     const zkl_error *err, void *data)
{
    struct turn *t = data;

    (void)e;
    pthread_mutex_lock(&t->monitor);
    if (what == ZKL_ELECTION_LEADING)
        t->lent = grant;
    else if (what == ZKL_ELECTION_FAILED)
        t->failed = err->code;
    pthread_cond_broadcast(&t->changed);
    /* When this has returned the grant is no more, and the next campaign begins. */
    if (what == ZKL_ELECTION_LOST || what == ZKL_ELECTION_RESIGNED) {
        while (t->taken)
            pthread_cond_wait(&t->changed, &t->monitor);
        t->lent = NULL;
    }
    pthread_mutex_unlock(&t->monitor);
}

static int take_lent(struct turn *t, const zkl_grant **ret)
{
    pthread_mutex_lock(&t->monitor);
    while (!t->lent && t->failed == 0)
        pthread_cond_wait(&t->changed, &t->monitor);
    t->taken = t->failed == 0;
    *ret = t->lent;
    pthread_mutex_unlock(&t->monitor);
    return t->failed;
}

static int give_back(struct turn *t)
{
    int err = zkl_election_yield(t->election);

    pthread_mutex_lock(&t->monitor);
    t->taken = false;
    t->lent = NULL;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->monitor);
    return err;
}

static int new_election(struct turn *t, const struct turn_options *o)
{
    int err;

    pthread_mutex_init(&t->monitor, NULL);
    pthread_cond_init(&t->changed, NULL);
    err = zkl_election_new(&t->election, o->session, o->paths[0], o->id, NULL);
    if (err == 0 && o->kind == TURN_STARTED)
        err = zkl_election_start(t->election, on_event, t);
    return err;
}

int turn_new(struct turn *t, const struct turn_options *o)
{
    zkl_mutex_options mo = ZKL_MUTEX_OPTIONS_INIT;
    zkl_semaphore_options so = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_once_options once = ZKL_ONCE_OPTIONS_INIT;

    *t = (struct turn){.kind = o->kind};
    mo.retain_ms = o->retain_ms;
    so.limit = TURN_LIMIT;
    so.numbered = o->kind == TURN_NUMBERED;
    once.period_ms = RUN_PERIOD_MS;
    once.slack_ms = RUN_SLACK_MS;
    switch (o->kind) {
    case TURN_LOCK:
        return zkl_mutex_new(&t->mutex, o->session, o->paths[0], &mo);
    case TURN_SEVERAL:
        return zkl_multilock_new(&t->several, o->session, o->paths, o->count, NULL);
    case TURN_RWLOCK:
        return zkl_rwlock_new(&t->rwlock, o->session, o->paths[0], NULL);
    case TURN_PERMITS:
    case TURN_NUMBERED:
        return zkl_semaphore_new(&t->semaphore, o->session, o->paths[0], &so);
    case TURN_ONCE:
        return zkl_once_new(&t->once, o->session, o->paths[0], &once);
    case TURN_NOTHING:
        return 0;
    default:
        return new_election(t, o);
    }
}

static int take_owned(struct turn *t, int code, const zkl_grant **ret)
{
    *ret = code == 0 ? t->own : NULL;
    return code;
}

int turn_take(struct turn *t, const claim *c, const zkl_grant **ret)
{
    switch (t->kind) {
    case TURN_LOCK:
        return zkl_mutex_lock(t->mutex, ZKL_FOREVER, ret);
    case TURN_SEVERAL:
        return take_owned(t, zkl_multilock_lock(t->several, ZKL_FOREVER, &t->own), ret);
    case TURN_RWLOCK:
        return (c->kind == CLAIM_READ ? zkl_rwlock_lock_shared : zkl_rwlock_lock)(t->rwlock,
                                                                                  ZKL_FOREVER, ret);
    case TURN_PERMITS:
    case TURN_NUMBERED:
        return take_owned(t, zkl_semaphore_acquire(t->semaphore, c->permits, ZKL_FOREVER, &t->own),
                          ret);
    case TURN_ONCE:
        return take_owned(t, zkl_once_begin(t->once, ZKL_FOREVER, &t->own), ret);
    case TURN_CAMPAIGN:
        return take_owned(t, zkl_election_campaign(t->election, ZKL_FOREVER, &t->own), ret);
    case TURN_NOTHING:
        return 0;
    default:
        return take_lent(t, ret);
    }
}

static int release(zkl_grant *grant)
{
    const int err = zkl_grant_state(grant) == ZKL_LOST ? ZKL_ELOST : 0;

    zkl_grant_release(grant);
    return err;
}

/* The grant is RELEASED by the recording, but for one that was LOST before. */
static int end_run(struct turn *t)
{
    t->recorded = t->gives_up ? RUN_GIVEN_UP : zkl_once_end(t->once, t->own, NULL, 0, 0);
    return release(t->own);
}

int turn_give(struct turn *t)
{
    int err;

    switch (t->kind) {
    case TURN_LOCK:
        return zkl_mutex_unlock(t->mutex);
    case TURN_RWLOCK:
        return zkl_rwlock_unlock(t->rwlock);
    case TURN_SEVERAL:
    case TURN_PERMITS:
    case TURN_NUMBERED:
        return release(t->own);
    case TURN_ONCE:
        return end_run(t);
    case TURN_CAMPAIGN:
        err = zkl_election_resign(t->election);
        zkl_grant_release(t->own);
        return err;
    case TURN_NOTHING:
        return 0;
    default:
        return give_back(t);
    }
}

void turn_free(struct turn *t)
{
    zkl_mutex_free(t->mutex);
    zkl_multilock_free(t->several);
    zkl_rwlock_free(t->rwlock);
    zkl_semaphore_free(t->semaphore);
    zkl_election_free(t->election);
    zkl_once_free(t->once);
}
