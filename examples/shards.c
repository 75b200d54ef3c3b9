/* A daemon that shares N shards of work with the other processes at PATH, of which each has an ID:
 *
 *   PATH/members/ID   who is there; each finds the shards' owners by zkl_shards_plan()
 *   PATH/shards/K     the lock of shard K, from 0: nobody works on a shard without it
 *
 * "zkl shards PATH N" has the same layout. The lock makes it safe, whoever believes what of the
 * members; the plan only says who should ask for it. A host that has a shard keeps it: between two
 * turns the lock is retained, which costs no request. Only when the new owner contends is it given
 * up, at the end of the item that is being worked on: ITEM_MS is how long a hand-over may take. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zkl.h>

enum { MAX_SHARDS = 256, ITEM_MS = 5, ITEMS = 20, RETAIN_MS = 3600000, WAIT_MS = 5000 };

struct shard {
    int number;
    zkl_mutex *mutex;
    pthread_t thread;
    atomic_bool wanted; /* somebody else asks for it */
    bool owned;         /* by the last view of the members; guarded by lock */
};

static struct shard shards[MAX_SHARDS];
static const char *path, *id;
static int count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of: */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t joined; /* our token as a member; 0: others may think that we are gone */
static uint64_t seen;   /* the token of our id in the last view */
static int turns;       /* how many shards are being worked on */
static bool stop;

/* ---- who should have a shard: on a thread of the library ---- */

static void on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                      void *data)
{
    (void)m;
    (void)data;
    pthread_mutex_lock(&lock);
    if (event == ZKL_MEMBER_JOINED)
        joined = news->token;
    else if (event == ZKL_MEMBER_LOST || event == ZKL_MEMBER_LEFT)
        joined = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (event == ZKL_MEMBER_BUSY)
        fprintf(stderr, "session 0x%llx is %s\n", (unsigned long long)news->session_id, id);
    else if (event == ZKL_MEMBER_FAILED)
        fprintf(stderr, "cannot join: %s\n", news->err->text);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    const zkl_member_info *owners[MAX_SHARDS];

    (void)member;
    (void)data;
    if (event != ZKL_MEMBERS_ALL)
        return;
    pthread_mutex_lock(&lock);
    seen = 0;
    for (size_t i = 0; i < zkl_members_count(all); i++)
        if (strcmp(zkl_members_get(all, i)->id, id) == 0)
            seen = zkl_members_get(all, i)->token;
    zkl_shards_plan(owners, (size_t)count, all);
    for (int k = 0; k < count; k++)
        shards[k].owned = owners[k] && strcmp(owners[k]->id, id) == 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Only a view that has us as we are counts. With the lock held. */
static bool is_mine(const struct shard *s)
{
    return s->owned && joined != 0 && joined == seen;
}

/* ---- the work ---- */

static void on_wanted(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    (void)state;
    atomic_store(&((struct shard *)data)->wanted, true);
}

/* Some items. The fence goes with each thing that is written, and whoever keeps it refuses lower
 * ones: no lock can stop a process that sleeps past its deadline. */
static void take_turn(struct shard *s, const zkl_grant *grant)
{
    char fence[ZKL_FENCE_SIZE];

    atomic_store(&s->wanted, false);
    zkl_grant_fence(grant, fence, sizeof fence);
    printf("shard %d fence %s\n", s->number, fence);
    fflush(stdout);
    zkl_grant_on_wanted(grant, on_wanted, s);
    for (int i = 0; i < ITEMS && !atomic_load(&s->wanted); i++)
        if (zkl_grant_remaining_ms(grant) > 2 * ITEM_MS)
            usleep(ITEM_MS * 1000); /* the work */
}

/* Waits until there is a reason to ask for the shard; *ret_wait: for how long to do so. false: the
 * daemon ends. kept: we had it a moment ago, and nobody else has asked for it. */
static bool await(const struct shard *s, bool kept, int64_t *ret_wait)
{
    bool go_on;

    pthread_mutex_lock(&lock);
    while (!stop && !kept && !is_mine(s))
        pthread_cond_wait(&changed, &lock);
    *ret_wait = is_mine(s) ? WAIT_MS : 0;
    go_on = !stop;
    pthread_mutex_unlock(&lock);
    return go_on;
}

/* The session is not closed while there are turns. */
static bool begin_turn(void)
{
    bool begun;

    pthread_mutex_lock(&lock);
    begun = !stop;
    turns += begun;
    pthread_mutex_unlock(&lock);
    return begun;
}

static void end_turn(void)
{
    pthread_mutex_lock(&lock);
    turns--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *serve(void *data)
{
    struct shard *s = data;
    bool kept = false;
    const zkl_grant *grant;
    int64_t wait_ms;

    while (await(s, kept, &wait_ms)) {
        const int code = zkl_mutex_lock(s->mutex, wait_ms, &grant);
        kept = code == 0;
        if (code == 0 && begin_turn()) {
            take_turn(s, grant);
            kept = !atomic_load(&s->wanted);
            end_turn();
        }
        if (code == 0)
            zkl_mutex_unlock(s->mutex);
        else if (code != ZKL_EBUSY && code != ZKL_ETIMEDOUT)
            usleep(100000); /* a server refuses it, or the daemon ends */
    }
    return NULL;
}

/* ---- the daemon ---- */

static bool start(zkl_session *s)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    char *name = malloc(strlen(path) + 32);
    bool ok = name != NULL;

    options.retain_ms = RETAIN_MS;
    options.name = id;
    for (int k = 0; k < count && ok; k++) {
        shards[k].number = k;
        sprintf(name, "%s/shards/%d", path, k);
        ok = zkl_mutex_new(&shards[k].mutex, s, name, &options) == 0 &&
             pthread_create(&shards[k].thread, NULL, serve, &shards[k]) == 0;
        if (!ok)
            count = k;
    }
    free(name);
    return ok;
}

static bool join(zkl_session *s, zkl_member **ret)
{
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;
    char *group = malloc(strlen(path) + 32), share[64];
    bool ok = group != NULL;

    sprintf(share, "zkl-shards %d 1", count); /* what we say we take, and our weight */

    options.fn = on_member;
    if (ok)
        sprintf(group, "%s/members", path);
    ok = ok && zkl_members_watch(NULL, s, group, ZKL_MEMBER_GROUP, on_members, NULL) == 0 &&
         zkl_member_join(ret, s, group, id, share, strlen(share), &options) == 0;
    free(group);
    return ok;
}

/* What is worked on is finished, then all is given back. */
static void end(zkl_session *s, zkl_member *m)
{
    zkl_member_free(m); /* leaves: others may ask from now on */
    pthread_mutex_lock(&lock);
    stop = true;
    pthread_cond_broadcast(&changed);
    while (turns > 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    zkl_session_close(s); /* ends the waits; no callback runs behind this */
    for (int k = 0; k < count; k++) {
        pthread_join(shards[k].thread, NULL);
        zkl_mutex_free(shards[k].mutex);
    }
}

int main(int argc, char **argv)
{
    zkl_member *m = NULL;
    zkl_session *s;
    sigset_t asked;
    int signo;
    bool ok;

    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &asked, NULL); /* for all threads: sigwait() takes it */
    count = argc == 5 ? atoi(argv[3]) : 0;
    if (count < 1 || count > MAX_SHARDS)
        return 64; /* CONNECT PATH N ID */
    path = argv[2];
    id = argv[4];
    if (zkl_session_open(&s, argv[1], NULL, NULL) != 0)
        return 64;
    ok = start(s) && join(s, &m);
    if (ok)
        sigwait(&asked, &signo);
    end(s, m);
    return ok ? 0 : 70;
}
