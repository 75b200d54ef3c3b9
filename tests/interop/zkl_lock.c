/* The locks of zkl-peer, by the names of their kinds. */
#include "zkl_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETAIN_MS = 1000, TIMED_MS = 300, PATH_SIZE = 256, LIMIT = 4 };

enum side { MUTEX, READ, WRITE, MULTI, NUMBERED, PERMIT };

struct kind {
    const char *name;
    enum side side;
    zkl_peer peer;
    zkl_parents parents;
    int64_t retain_ms;
    int64_t limit_ms; /* of waiting; 0: as long as the caller likes */
    int permits;      /* the limit of a semaphore */
    int several;      /* so many permits at once; 0: one */
    zkl_semaphore_layout layout;
};

struct peer_lock {
    const struct kind *kind;
    zkl_mutex *mutex;
    zkl_rwlock *rwlock;
    zkl_multilock *all;
    zkl_semaphore *semaphore;
    zkl_grant *grant; /* of either of these two */
};

static const struct kind kinds[] = {
    {.name = "zkl"},
    {.name = "zkl-kazoo", .peer = ZKL_PEER_KAZOO, .parents = ZKL_PARENTS_PERSISTENT},
    {.name = "zkl-retain", .retain_ms = RETAIN_MS},
    {.name = "zkl-read", .side = READ},
    {.name = "zkl-write", .side = WRITE},
    {.name = "zkl-multi", .side = MULTI},
    {.name = "zkl-multi-timed", .side = MULTI, .limit_ms = TIMED_MS},
    {.name = "zkl-numbered", .side = NUMBERED, .permits = LIMIT},
    {.name = "zkl-permit3", .side = PERMIT, .permits = 3, .layout = ZKL_SEMAPHORE_CURATOR},
    {.name = "zkl-permit4", .side = PERMIT, .permits = 4, .layout = ZKL_SEMAPHORE_CURATOR},
    {.name = "zkl-permit4x2",
     .side = PERMIT,
     .permits = 4,
     .several = 2,
     .layout = ZKL_SEMAPHORE_CURATOR},
    {.name = "zkl-own-permit3", .side = PERMIT, .permits = 3},
    {.name = "zkl-own-permit4x2", .side = PERMIT, .permits = 4, .several = 2},
};

/* NULL: unknown. */
static const struct kind *find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    return NULL;
}

int peer_threads(const char *kind)
{
    const struct kind *k = find(kind);

    return k && k->retain_ms > 0 ? PEER_THREADS_MAX : 1;
}

bool peer_reads(const char *kind)
{
    const struct kind *k = find(kind);

    return k && (k->side == READ || k->side == PERMIT);
}

bool peer_numbers(const char *kind)
{
    const struct kind *k = find(kind);

    return k && k->side == NUMBERED;
}

uint64_t peer_lock_numbers(const struct peer_lock *l)
{
    uint64_t mask = 0;
    zkl_part part;

    for (size_t i = 0; zkl_grant_part(l->grant, i, &part) == 0; i++)
        if (part.slot >= 0)
            mask |= UINT64_C(1) << part.slot;
    return mask;
}

static int make_mutex(zkl_mutex **ret, zkl_session *s, const char *path, const struct kind *k)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.peer = k->peer;
    o.parents = k->parents;
    o.retain_ms = k->retain_ms;
    return zkl_mutex_new(ret, s, path, &o);
}

static int make_multilock(zkl_multilock **ret, zkl_session *s, const char *path)
{
    char other[PATH_SIZE];
    const char *const paths[] = {path, other};

    snprintf(other, sizeof other, "%s-and", path);
    return zkl_multilock_new(ret, s, paths, 2, NULL);
}

static int make_semaphore(zkl_semaphore **ret, zkl_session *s, const char *path,
                          const struct kind *k)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.limit = k->permits;
    o.numbered = k->side == NUMBERED;
    o.layout = k->layout;
    return zkl_semaphore_new(ret, s, path, &o);
}

static int make(struct peer_lock *l, zkl_session *s, const char *path)
{
    switch (l->kind->side) {
    case MUTEX:
        return make_mutex(&l->mutex, s, path, l->kind);
    case MULTI:
        return make_multilock(&l->all, s, path);
    case NUMBERED:
    case PERMIT:
        return make_semaphore(&l->semaphore, s, path, l->kind);
    default:
        return zkl_rwlock_new(&l->rwlock, s, path, NULL);
    }
}

int peer_lock_new(struct peer_lock **ret, zkl_session *s, const char *path, const char *kind)
{
    struct peer_lock *l = calloc(1, sizeof *l);
    int err = ZKL_EINVAL;

    if (l && (l->kind = find(kind)))
        err = make(l, s, path);
    if (err) {
        free(l);
        return err;
    }
    *ret = l;
    return 0;
}

static int take_all(struct peer_lock *l, int64_t timeout_ms)
{
    const int64_t limit_ms = l->kind->limit_ms;

    return zkl_multilock_lock(l->all, limit_ms > 0 ? limit_ms : timeout_ms, &l->grant);
}

/* One, or as many as the kind says; with numbers, one or two. */
static int take_permits(struct peer_lock *l, int64_t timeout_ms)
{
    const int more = l->kind->side == NUMBERED ? (int)(random() % 2) : 0;
    const int permits = l->kind->several > 0 ? l->kind->several : 1 + more;

    return zkl_semaphore_acquire(l->semaphore, permits, timeout_ms, &l->grant);
}

static int take_owned(struct peer_lock *l, int err, const zkl_grant **ret)
{
    *ret = err ? NULL : l->grant;
    return err;
}

int peer_lock_take(struct peer_lock *l, int64_t timeout_ms, const zkl_grant **ret)
{
    switch (l->kind->side) {
    case READ:
        return zkl_rwlock_lock_shared(l->rwlock, timeout_ms, ret);
    case WRITE:
        return zkl_rwlock_lock(l->rwlock, timeout_ms, ret);
    case MULTI:
        return take_owned(l, take_all(l, timeout_ms), ret);
    case NUMBERED:
    case PERMIT:
        return take_owned(l, take_permits(l, timeout_ms), ret);
    default:
        return zkl_mutex_lock(l->mutex, timeout_ms, ret);
    }
}

static int release_grant(struct peer_lock *l)
{
    const bool lost = zkl_grant_state(l->grant) == ZKL_LOST;

    zkl_grant_release(l->grant);
    l->grant = NULL;
    return lost ? ZKL_ELOST : 0;
}

int peer_lock_release(struct peer_lock *l)
{
    switch (l->kind->side) {
    case READ:
    case WRITE:
        return zkl_rwlock_unlock(l->rwlock);
    case MULTI:
    case NUMBERED:
    case PERMIT:
        return release_grant(l);
    default:
        return zkl_mutex_unlock(l->mutex);
    }
}

void peer_lock_free(struct peer_lock *l)
{
    if (!l)
        return;
    zkl_mutex_free(l->mutex);
    zkl_rwlock_free(l->rwlock);
    zkl_multilock_free(l->all);
    zkl_semaphore_free(l->semaphore);
    free(l);
}
