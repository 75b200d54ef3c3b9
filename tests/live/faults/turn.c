#include "turn.h"

static void on_event(zkl_election *e, zkl_election_event event, zkl_grant *grant,
                     const zkl_error *err, void *data)
{
    struct turn *t = data;

    (void)e;
    pthread_mutex_lock(&t->monitor);
    if (event == ZKL_ELECTION_LEADING)
        t->lent = grant;
    else if (event == ZKL_ELECTION_FAILED)
        t->failed = err->code;
    pthread_cond_broadcast(&t->changed);
    /* When this has returned the grant is no more, and the next campaign begins. */
    if (event == ZKL_ELECTION_DEPOSED || event == ZKL_ELECTION_RESIGNED) {
        while (t->taken)
            pthread_cond_wait(&t->changed, &t->monitor);
        t->lent = NULL;
    }
    pthread_mutex_unlock(&t->monitor);
}

static int take_lent(struct turn *t, zkl_grant **ret)
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

int turn_new(struct turn *t, const struct turn_options *o, zkl_session *s, const char *path,
             const char *id)
{
    zkl_mutex_options mo = ZKL_MUTEX_OPTIONS_INIT;
    int err;

    *t = (struct turn){.kind = o->kind};
    mo.retain_ms = o->retain_ms;
    if (o->kind == TURN_LOCK)
        return zkl_mutex_new(&t->mutex, s, path, &mo);
    if (o->kind == TURN_BOTH)
        return zkl_multilock_new(&t->both, s, (const char *[]){path, TURN_OTHER_PATH}, 2, NULL);
    pthread_mutex_init(&t->monitor, NULL);
    pthread_cond_init(&t->changed, NULL);
    err = zkl_election_new(&t->election, s, path, id, NULL);
    if (err == 0 && o->kind == TURN_STARTED)
        err = zkl_election_start(t->election, on_event, t);
    return err;
}

int turn_take(struct turn *t, zkl_grant **ret)
{
    if (t->kind == TURN_LOCK)
        return zkl_mutex_lock(t->mutex, ZKL_FOREVER, ret);
    if (t->kind == TURN_BOTH)
        return zkl_multilock_lock(t->both, ZKL_FOREVER, ret);
    if (t->kind == TURN_CAMPAIGN)
        return zkl_election_campaign(t->election, ZKL_FOREVER, ret);
    return take_lent(t, ret);
}

static int release(zkl_grant *grant)
{
    const int err = zkl_grant_state(grant) == ZKL_LOST ? ZKL_ELOST : 0;

    zkl_grant_release(grant);
    return err;
}

int turn_give(struct turn *t, zkl_grant *grant)
{
    int err;

    if (t->kind == TURN_LOCK)
        return zkl_mutex_unlock(t->mutex);
    if (t->kind == TURN_BOTH)
        return release(grant);
    if (t->kind == TURN_STARTED)
        return give_back(t);
    err = zkl_election_resign(t->election);
    zkl_grant_release(grant);
    return err;
}

void turn_free(struct turn *t)
{
    zkl_mutex_free(t->mutex);
    zkl_multilock_free(t->both);
    zkl_election_free(t->election);
}
