#include "raw.h"

#include "progress.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct raw {
    zhandle_t *zh;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool connected, expired;
};

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)path;
    struct raw *r = context;
    if (type != ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&r->mutex);
    r->connected = state == ZOO_CONNECTED_STATE;
    r->expired = r->expired || state == ZOO_EXPIRED_SESSION_STATE;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
}

static bool wait_flag(struct raw *r, const bool *flag)
{
    pthread_mutex_lock(&r->mutex);
    while (!*flag && progress_wait(&r->changed, &r->mutex))
        ;
    bool held = *flag;
    pthread_mutex_unlock(&r->mutex);
    return held;
}

static struct raw *raw_begin(const char *connect, int session_timeout_ms)
{
    struct raw *r = g_new0(struct raw, 1);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->changed, NULL);
    zoo_set_debug_level(0);
    r->zh = zookeeper_init(connect, on_event, session_timeout_ms, NULL, r, 0);
    return r;
}

bool raw_can_open(const char *connect, int ms)
{
    struct raw *r = raw_begin(connect, ms);
    bool connected = false;

    for (int64_t end = g_get_monotonic_time() + ms * INT64_C(1000);
         r->zh && !connected && g_get_monotonic_time() < end; g_usleep(1000)) {
        pthread_mutex_lock(&r->mutex);
        connected = r->connected;
        pthread_mutex_unlock(&r->mutex);
    }
    raw_close(r);
    return connected;
}

struct raw *raw_open_timeout(const char *connect, int session_timeout_ms)
{
    struct raw *r = raw_begin(connect, session_timeout_ms);

    if (r->zh && wait_flag(r, &r->connected))
        return r;
    fprintf(stderr, "raw_open: no connection to %s\n", connect);
    raw_close(r);
    return NULL;
}

struct raw *raw_open(const char *connect)
{
    return raw_open_timeout(connect, 30000);
}

void raw_close(struct raw *r)
{
    if (!r)
        return;
    if (r->zh)
        zookeeper_close(r->zh);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->changed);
    g_free(r);
}

zhandle_t *raw_handle(struct raw *r)
{
    return r->zh;
}

int64_t raw_session_id(struct raw *r)
{
    return zoo_client_id(r->zh)->client_id;
}

bool raw_has_expired(struct raw *r)
{
    pthread_mutex_lock(&r->mutex);
    bool expired = r->expired;
    pthread_mutex_unlock(&r->mutex);
    return expired;
}

bool raw_wait_expired(struct raw *r)
{
    return wait_flag(r, &r->expired);
}

int raw_create(struct raw *r, const char *path, const char *data, int len, int flags, char *out)
{
    char made[RAW_PATH_SIZE];
    return zoo_create(r->zh, path, data, len, &ZOO_OPEN_ACL_UNSAFE, flags, out ? out : made,
                      RAW_PATH_SIZE);
}

int raw_create_acl(struct raw *r, const char *path, const struct ACL_vector *acl)
{
    return zoo_create(r->zh, path, NULL, -1, acl, 0, NULL, 0);
}

int raw_set_acl(struct raw *r, const char *path, const struct ACL_vector *acl)
{
    return zoo_set_acl(r->zh, path, -1, acl);
}

int raw_delete(struct raw *r, const char *path)
{
    return zoo_delete(r->zh, path, -1);
}

int raw_exists(struct raw *r, const char *path, struct Stat *ret)
{
    struct Stat unused;
    return zoo_exists(r->zh, path, 0, ret ? ret : &unused);
}

int raw_set(struct raw *r, const char *path, const char *data, int len)
{
    return zoo_set(r->zh, path, data, len, -1);
}

char *raw_get(struct raw *r, const char *path, struct Stat *ret)
{
    enum { SIZE = 1 << 21 };
    struct Stat unused;
    int length = SIZE - 1;
    char *text = malloc(SIZE);
    if (!text || zoo_get(r->zh, path, 0, text, &length, ret ? ret : &unused) != ZOK) {
        free(text);
        return NULL;
    }
    text[MAX(length, 0)] = '\0';
    return text;
}

struct done {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
    int rc;
};

static void on_synced(int rc, const char *value, const void *data)
{
    (void)value;
    struct done *d = (struct done *)(uintptr_t)data;
    pthread_mutex_lock(&d->mutex);
    d->rc = rc;
    d->done = true;
    pthread_cond_signal(&d->cond);
    pthread_mutex_unlock(&d->mutex);
}

int raw_sync(struct raw *r, const char *path)
{
    struct done d = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
    int rc = zoo_async(r->zh, path, on_synced, &d);
    if (rc != ZOK)
        return rc;
    pthread_mutex_lock(&d.mutex);
    while (!d.done)
        pthread_cond_wait(&d.cond, &d.mutex);
    pthread_mutex_unlock(&d.mutex);
    return d.rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **raw_children(struct raw *r, const char *path)
{
    struct String_vector names;
    if (zoo_get_children(r->zh, path, 0, &names) != ZOK)
        return NULL;
    char **list = g_new0(char *, (size_t)names.count + 1);
    for (int i = 0; i < names.count; i++)
        list[i] = g_strdup(names.data[i]);
    qsort(list, (size_t)names.count, sizeof(*list), by_name);
    deallocate_String_vector(&names);
    return list;
}

static void add_tree(struct raw *r, const char *path, GPtrArray *paths)
{
    char **names = raw_children(r, path);
    for (char **name = names; name && *name; name++) {
        char *child = g_strdup_printf("%s/%s", strcmp(path, "/") == 0 ? "" : path, *name);
        if (strcmp(child, "/zookeeper") == 0) {
            g_free(child);
            continue;
        }
        g_ptr_array_add(paths, child);
        progress_step(); /* a large tree takes long */
        add_tree(r, child, paths);
    }
    g_strfreev(names);
}

char **raw_tree_dump(struct raw *r, const char *root)
{
    GPtrArray *paths = g_ptr_array_new();
    add_tree(r, root, paths);
    g_ptr_array_add(paths, NULL);
    return (char **)g_ptr_array_free(paths, FALSE);
}

int raw_delete_tree(struct raw *r, const char *path)
{
    char **paths = raw_tree_dump(r, path);
    guint count = g_strv_length(paths);
    int rc = ZOK;
    for (guint i = count; rc == ZOK && i-- > 0;) {
        rc = raw_delete(r, paths[i]);
        if (rc == ZNONODE)
            rc = ZOK; /* an ephemeral may go by itself */
        progress_step();
    }
    g_strfreev(paths);
    return rc == ZOK ? raw_delete(r, path) : rc;
}
