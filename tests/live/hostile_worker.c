/* The process that is lied to. */
#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { CALL_MS = 15000 };

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data;
}

static int fail(const char *what)
{
    zkl_error e;

    zkl_last_error(&e);
    printf("%s: %s\n", what, e.text);
    return WORKER_FAILED;
}

/* The server itself is asked, past who lies. */
static bool has_node(const char *direct, const zkl_grant *g, int64_t session)
{
    struct raw *r = raw_open(direct);
    struct Stat stat = {0};
    int rc;

    if (!r)
        return true; /* nobody knows */
    do
        rc = raw_exists(r, zkl_grant_node(g), &stat);
    while (rc != ZOK && rc != ZNONODE);
    raw_close(r);
    return rc == ZOK && stat.ephemeralOwner == session;
}

static int use(zkl_session *s, const zkl_grant *g, const char *path)
{
    const zkl_change change = {
        .kind = ZKL_CHANGE_SET, .path = path, .version = -1, .data = "", .size = 0};
    zkl_queue *q = NULL;
    int result = WORKER_WORKED;

    if (zkl_queue_read(&q, s, path, NULL, CALL_MS) != 0)
        result = fail("queue");
    zkl_queue_free(q);
    if (zkl_grant_multi(g, &change, 1, 0, CALL_MS) != 0)
        result = fail("write");
    return result;
}

static int hold(zkl_session *s, zkl_mutex *m, const char *direct, const char *path)
{
    const zkl_grant *g = NULL;

    if (zkl_mutex_lock(m, CALL_MS, &g) != 0)
        return fail("lock");
    const zkl_state before = zkl_grant_state(g);
    const bool there = has_node(direct, g, zkl_session_id(s));
    if (before == ZKL_HELD && zkl_grant_state(g) == ZKL_HELD && !there)
        return WORKER_HELD_NOTHING;
    const int result = use(s, g, path);
    return zkl_mutex_unlock(m) == 0 ? result : fail("unlock");
}

static int look(zkl_session *s, const char *path)
{
    zkl_queue_options o = ZKL_QUEUE_OPTIONS_INIT;
    zkl_queue *q = NULL;

    o.max_nodes = 1;
    if (zkl_queue_read(&q, s, path, &o, CALL_MS) != 0)
        return fail("queue");
    if (zkl_queue_get(q, 0))
        printf(HOSTILE_LINE, zkl_queue_count(q), zkl_queue_get(q, 0)->token);
    zkl_queue_free(q);
    return WORKER_WORKED;
}

int hostile_worker(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m;
    int result;

    if (argc != 5 || setrlimit(RLIMIT_CORE, &no_core) != 0)
        return WORKER_MISUSED;
    o.session_timeout_ms = atoi(argv[4]);
    o.log = log_nothing;
    if (zkl_session_open(&s, argv[0], &o, NULL) != 0 || zkl_mutex_new(&m, s, argv[2], NULL) != 0)
        return WORKER_MISUSED;
    if (zkl_session_wait(s, CALL_MS) != 0)
        result = fail("session");
    else if (atoi(argv[3]) == HOSTILE_LOOK)
        result = look(s, argv[2]);
    else
        result = hold(s, m, argv[1], argv[2]);
    zkl_session_close(s);
    zkl_mutex_free(m);
    return result;
}
