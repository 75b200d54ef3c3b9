/* walk CONNECT FILE: one process alone makes the calls of the API that `./dev walk` shows, stage by
 * stage, and writes to FILE which functions were called (record.h). A stage ends when what it is
 * for has happened, each request is answered and each callback has returned. The paths are made
 * before all stages. */
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkl-zookeeper.h>
#include <zkl.h>

#include "base/callbacks.h"
#include "record.h"
#include "session/core.h"
#include "support/fourletter.h"
#include "support/progress.h"
#include "support/raw.h"

/* With so long a session nearly no proof falls into a stage. */
enum { SESSION_MS = 60000, RETAIN_MS = 3600000 };

#define MUTEX "/walk/mutex"
#define RETAINED "/walk/retained"
#define ELECTION "/walk/election"
#define ONCE "/walk/once"
#define OTHERS_NODE MUTEX "/_c_11111111-1111-1111-1111-111111111111-lock-"

static zkl_session *session;
static struct raw *admin;
static int port;
static zkl_mutex *mutex;
static zkl_election *election;
static atomic_bool lost, passed;
static _Atomic(zkl_grant *) handed;

static void walk_must(bool done, const char *what)
{
    zkl_error error = {0};

    if (done)
        return;
    zkl_last_error(&error);
    fprintf(stderr, "walk: %s has failed; the last error: %s\n", what, error.text);
    exit(1);
}
#define MUST(condition) walk_must((condition), #condition)

static void on_walk_passed(int rc, const struct Stat *stat, const void *data)
{
    (void)rc;
    (void)stat;
    (void)data;
    atomic_store(&passed, true);
}

static void walk_ask(zhandle_t *zh, void *data)
{
    (void)data;
    MUST(zoo_aexists(zh, "/walk", 0, on_walk_passed, NULL) == ZOK);
}

static zkl_stats walk_stats(void)
{
    zkl_stats stats = ZKL_STATS_INIT;

    MUST(zkl_session_stats(session, &stats) == 0);
    return stats;
}

/* Whether there was nothing more to do when all had been done that there was. libzookeeper's thread
 * handles one answer after the other, and callbacks are called one after the other. */
static bool walk_has_settled(void)
{
    const zkl_stats before = walk_stats();

    atomic_store(&passed, false);
    MUST(zkl_session_call(session, walk_ask, NULL) == 0);
    MUST(AWAIT(atomic_load(&passed)));
    callbacks_flush(session->callbacks);

    const zkl_stats after = walk_stats();
    return after.requests == before.requests && after.requests == after.answers &&
           !after.requests_queued && !after.callbacks_queued;
}

/* The stage before ends, and that one begins; NULL: none does. */
static void walk_stage(const char *name)
{
    record_hide(true);
    MUST(AWAIT(walk_has_settled()));
    record_hide(false);
    record_stage(name);
}

/* The library watches a holder's node from some time after its grant on. That belongs to the stage
 * of the grant, however slow the machine is. */
static void walk_await_watch(const zkl_grant *grant)
{
    record_hide(true);
    const char *node = zkl_grant_node(grant);
    record_hide(false);
    MUST(AWAIT(fourletter_watches_on(port, node) == 1));
}

static bool node_is_gone(const char *node)
{
    return raw_exists(admin, node, NULL) == ZNONODE;
}

static void on_walk_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    (void)data;
    if (state == ZKL_LOST)
        atomic_store(&lost, true);
}

static void on_walk_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)err;
    (void)data;
    MUST(grant);
    atomic_store(&handed, grant);
}

static int do_once(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    (void)data;
    walk_await_watch(grant);
    *ret = "done";
    *ret_size = strlen("done");
    return 0;
}

static void walk_open(const char *connect)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.session_timeout_ms = SESSION_MS;
    record_stage("open");
    MUST(zkl_session_open(&session, connect, &options, NULL) == 0);
    MUST(zkl_session_wait(session, ZKL_FOREVER) == 0);
    walk_stage(NULL);
    /* Not before: threads begin with the name of the thread that starts them. */
    pthread_setname_np(pthread_self(), "caller");
}

static void walk_mutex(void)
{
    const zkl_grant *grant;

    walk_stage("new");
    MUST(zkl_mutex_new(&mutex, session, MUTEX, NULL) == 0);
    walk_stage(NULL);
    walk_stage("lock");
    MUST(zkl_mutex_lock(mutex, ZKL_FOREVER, &grant) == 0);
    walk_await_watch(grant);
    walk_stage(NULL);
    walk_stage("state");
    MUST(zkl_grant_state(grant) == ZKL_HELD);
    walk_stage(NULL);

    char *node = g_strdup(zkl_grant_node(grant));
    walk_stage("unlock");
    MUST(zkl_mutex_unlock(mutex) == 0);
    MUST(AWAIT(node_is_gone(node)));
    walk_stage(NULL);
    g_free(node);
}

/* An administrator has the lock, gives it back, and then deletes its new holder's node. */
static void walk_others(void)
{
    char other[RAW_PATH_SIZE];

    MUST(raw_create(admin, OTHERS_NODE, "", 0, ZOO_EPHEMERAL | ZOO_SEQUENCE, other) == ZOK);
    walk_stage("wait");
    MUST(zkl_mutex_lock_async(mutex, ZKL_FOREVER, on_walk_acquired, NULL, NULL) == 0);
    walk_stage(NULL);
    walk_stage("hand-over");
    MUST(raw_delete(admin, other) == ZOK);
    MUST(AWAIT(atomic_load(&handed)));
    zkl_grant *grant = handed;
    walk_await_watch(grant);
    walk_stage(NULL);

    const char *node = zkl_grant_node(grant);
    MUST(zkl_grant_on_change(grant, on_walk_change, NULL) == 0);
    walk_stage("loss");
    MUST(raw_delete(admin, node) == ZOK);
    MUST(AWAIT(atomic_load(&lost)));
    walk_stage(NULL);
    zkl_grant_release(grant);
}

static void walk_retained(void)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *retained;
    const zkl_grant *grant;

    options.retain_ms = RETAIN_MS;
    MUST(zkl_mutex_new(&retained, session, RETAINED, &options) == 0);
    MUST(zkl_mutex_lock(retained, ZKL_FOREVER, &grant) == 0);
    walk_await_watch(grant);
    walk_stage("keep");
    MUST(zkl_mutex_unlock(retained) == 0);
    walk_stage(NULL);
    walk_stage("relock");
    MUST(zkl_mutex_lock(retained, ZKL_FOREVER, NULL) == 0);
    walk_stage(NULL);
    zkl_mutex_free(retained);
}

static void walk_election(void)
{
    zkl_grant *grant;

    MUST(zkl_election_new(&election, session, ELECTION, "walk", NULL) == 0);
    walk_stage("campaign");
    MUST(zkl_election_campaign(election, ZKL_FOREVER, &grant) == 0);
    walk_await_watch(grant);
    walk_stage(NULL);

    char *node = g_strdup(zkl_grant_node(grant));
    walk_stage("resign");
    MUST(zkl_election_resign(election) == 0);
    zkl_grant_release(grant);
    MUST(AWAIT(node_is_gone(node)));
    walk_stage(NULL);
    g_free(node);
}

static void walk_once(void)
{
    zkl_once *once;

    MUST(zkl_once_new(&once, session, ONCE, NULL) == 0);
    walk_stage("once");
    MUST(zkl_once_call(once, ZKL_FOREVER, do_once, NULL, NULL) == 0);
    walk_stage(NULL);
    zkl_once_free(once);
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {"/walk", MUTEX, RETAINED, ELECTION, ONCE};

    if (argc != 3)
        return 64;
    MUST((admin = raw_open(argv[1])));
    port = atoi(strrchr(argv[1], ':') + 1);
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        MUST(raw_create(admin, paths[i], "", 0, 0, NULL) == ZOK);
    walk_open(argv[1]);
    walk_mutex();
    walk_others();
    walk_retained();
    walk_election();
    walk_once();
    zkl_election_free(election);
    zkl_mutex_free(mutex);
    walk_stage("close");
    zkl_session_close(session);
    record_stage(NULL);
    raw_close(admin);
    MUST(record_write(argv[2]));
    return 0;
}
