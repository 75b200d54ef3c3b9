#include "live.h"

#include "fixture.h"
#include "fourletter.h"

#include <stdlib.h>
#include <string.h>

/* One test at a time. */
static struct live current = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct zk_server *server;
static bool open;

int live_init(void)
{
    server_or_skip();
    return 0;
}

/* ---- looking ---- */

static bool is_contender(struct live *t, const char *path)
{
    struct Stat stat;
    return raw_exists(t->admin, path, &stat) == ZOK && stat.ephemeralOwner != 0;
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return strcmp(x + strlen(x) - 10, y + strlen(y) - 10);
}

char **live_queue(struct live *t, const char *path)
{
    GPtrArray *paths = g_ptr_array_new();
    char **names = raw_children(t->admin, path);
    for (char **name = names; name && *name; name++) {
        char *child = g_strdup_printf("%s/%s", path, *name);
        if (is_contender(t, child))
            g_ptr_array_add(paths, child);
        else
            g_free(child);
    }
    g_strfreev(names);
    if (paths->len > 0)
        qsort(paths->pdata, paths->len, sizeof(char *), by_number);
    g_ptr_array_add(paths, NULL);
    return (char **)g_ptr_array_free(paths, FALSE);
}

int live_contenders(struct live *t, const char *path)
{
    char **queue = live_queue(t, path);
    int count = (int)g_strv_length(queue);
    g_strfreev(queue);
    return count;
}

/* Not by "wchs", which does not count those on children. */
int live_watches(struct live *t)
{
    return (int)fourletter_mntr(t->port, "zk_watch_count");
}

int live_logged(struct live *t, const char *needle)
{
    int count = 0;
    pthread_mutex_lock(&t->mutex);
    for (guint i = 0; i < t->lines->len; i++)
        count += strstr(t->lines->pdata[i], needle) != NULL;
    pthread_mutex_unlock(&t->mutex);
    return count;
}

void live_check_error(int code, const char *named, const char *file, int line)
{
    zkl_error e;
    runner_check_int(zkl_last_error(&e), code, "zkl_last_error()", file, line);
    if (!strstr(e.text, named) && !strstr(e.path, named))
        runner_fail(file, line, "\"%s\" (%s) does not name \"%s\"", e.text, e.path, named);
}

/* ---- sessions ---- */

static void on_line(const zkl_log_record *record, void *data)
{
    struct live *t = data;
    pthread_mutex_lock(&t->mutex);
    g_ptr_array_add(t->lines, g_strdup(record->text));
    pthread_mutex_unlock(&t->mutex);
}

zkl_session *live_open_only(struct live *t, const char *connect, const zkl_session_options *options)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    if (options)
        o = *options;
    if (!o.log) {
        o.log = on_line;
        o.log_data = t;
        o.log_level = ZKL_LOG_INFO;
    }
    REQUIRE(zkl_session_open(&s, connect, &o, NULL) == 0);
    g_ptr_array_add(t->sessions, s);
    return s;
}

zkl_session *live_open(struct live *t, const char *connect, const zkl_session_options *options)
{
    zkl_session *s = live_open_only(t, connect, options);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    return s;
}

void live_close(struct live *t, zkl_session *s)
{
    g_ptr_array_remove(t->sessions, s);
    zkl_session_close(s);
}

void live_make_directory(struct live *t)
{
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, NULL, -1, 0, NULL) == ZOK);
}

char *live_foreign_node(struct live *t, const char *name, int flags)
{
    static const char junk[] = "\x00\xff\xfe\x1b[2J\n\0 binary";
    char *path = g_strdup_printf("%s/%s", t->lock, name), made[RAW_PATH_SIZE];
    REQUIRE(raw_create(t->admin, path, junk, sizeof(junk), flags, made) == ZOK);
    g_free(path);
    return g_strdup(made);
}

zkl_mutex *live_mutex_options(zkl_session *s, const char *path, const zkl_mutex_options *options)
{
    zkl_mutex *m;
    REQUIRE(zkl_mutex_new(&m, s, path, options) == 0);
    pthread_mutex_lock(&current.mutex);
    g_ptr_array_add(current.mutexes, m);
    pthread_mutex_unlock(&current.mutex);
    return m;
}

zkl_mutex *live_mutex(zkl_session *s, const char *path)
{
    return live_mutex_options(s, path, NULL);
}

void live_mutex_free(zkl_mutex *m)
{
    pthread_mutex_lock(&current.mutex);
    bool known = g_ptr_array_remove_fast(current.mutexes, m);
    pthread_mutex_unlock(&current.mutex);
    CHECK(known);
    zkl_mutex_free(m);
}

/* ---- begin and end ---- */

const char *const live_jvm[] = {"-Dznode.container.checkIntervalMs=86400000", NULL};

static void start_server(struct live *t)
{
    server = zk_server_start(&(struct zk_server_options){.jvm = live_jvm});
    REQUIRE(server != NULL);
    t->connect = zk_server_connect(server);
    t->port = zk_server_port(server, 0);
    t->admin = raw_open(t->connect);
    REQUIRE(t->admin != NULL);
    REQUIRE(raw_create(t->admin, "/live", NULL, -1, 0, NULL) == ZOK);
}

void live_shutdown(void)
{
    raw_close(current.admin);
    zk_server_stop(server);
    current.admin = NULL;
    server = NULL;
}

struct live *live_begin(void)
{
    struct live *t = &current;
    if (open)
        live_shutdown();
    if (!server)
        start_server(t);
    open = true;
    /* What a failed test left behind may still be logged to: it is not freed. */
    pthread_mutex_lock(&t->mutex);
    t->lines = g_ptr_array_new_with_free_func(g_free);
    pthread_mutex_unlock(&t->mutex);
    t->sessions = g_ptr_array_new();
    t->mutexes = g_ptr_array_new();
    g_snprintf(t->path, sizeof(t->path), "/live/%s", runner_current());
    g_snprintf(t->lock, sizeof(t->lock), "%s/lock", t->path);
    t->session = live_open(t, t->connect, NULL);
    return t;
}

static bool is_clean(struct live *t)
{
    char **paths = raw_tree_dump(t->admin, t->path);
    bool clean = live_watches(t) == 0;
    for (char **path = paths; *path && clean; path++)
        clean = !is_contender(t, *path);
    g_strfreev(paths);
    return clean;
}

void live_end(struct live *t)
{
    LIVE_UNTIL(is_clean(t));
    while (t->sessions->len > 0)
        live_close(t, t->sessions->pdata[t->sessions->len - 1]);
    while (t->mutexes->len > 0)
        live_mutex_free(t->mutexes->pdata[0]);
    int rc = raw_delete_tree(t->admin, t->path);
    CHECK(rc == ZOK || rc == ZNONODE);
    g_ptr_array_unref(t->sessions);
    g_ptr_array_unref(t->mutexes);
    g_ptr_array_unref(t->lines);
    open = false;
}
