/* Contenders and members are the library's to read. Here the children are only listed, also those
 * of the root: one request of our own on the session's handle. */
#include "children.h"
#include "connect.h"
#include "json.h"

#include <stdio.h>
#include <string.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

/* What the thread of libzookeeper sends to ours. */
struct answer {
    int code;
    GPtrArray *names;
};

struct question {
    const char *path;     /* with the chroot, which the handle has not */
    GAsyncQueue *answers; /* shared: the answer may come when nobody waits for it any more */
    int code;
};

static void answer_free(void *data)
{
    struct answer *a = data;

    g_ptr_array_unref(a->names);
    g_free(a);
}

static void on_children(int code, const struct String_vector *names, const void *data)
{
    GAsyncQueue *answers = (GAsyncQueue *)(uintptr_t)data;
    struct answer *a = g_new0(struct answer, 1);

    a->code = code;
    a->names = g_ptr_array_new_with_free_func(g_free);
    for (int32_t i = 0; code == ZOK && names && i < names->count; i++)
        g_ptr_array_add(a->names, g_strdup(names->data[i]));
    g_async_queue_push(answers, a);
    g_async_queue_unref(answers);
}

static void ask(struct _zhandle *zh, void *data)
{
    struct question *q = data;

    q->code = zoo_aget_children(zh, q->path, 0, on_children, g_async_queue_ref(q->answers));
    if (q->code != ZOK)
        g_async_queue_unref(q->answers);
}

static int refused(int code, const char *path)
{
    switch (code) {
    case ZNONODE:
        return fail(STATUS_CONFLICT, "%s: no such path", path);
    case ZBADARGUMENTS:
        return fail(STATUS_USAGE, "%s: not a path", path);
    case ZNOAUTH:
        return fail(STATUS_NOPERM,
                    "%s: the server refused to list the children of it: the permission read (r) is "
                    "missing",
                    path);
    default:
        return fail(STATUS_UNAVAILABLE, "%s: the servers did not answer in time", path);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print(GPtrArray *names, bool json)
{
    GString *out = g_string_new(json ? "[" : NULL);

    g_ptr_array_sort(names, by_name);
    for (guint i = 0; i < names->len; i++) {
        if (json) {
            g_string_append(out, i == 0 ? "\n  " : ",\n  ");
            json_string(out, names->pdata[i]);
        } else {
            append_visible(out, names->pdata[i]);
            g_string_append_c(out, '\n');
        }
    }
    if (json)
        g_string_append(out, names->len > 0 ? "\n]\n" : "]\n");
    fputs(out->str, stdout);
    g_string_free(out, TRUE);
}

static int list(zkl_session *session, struct question *q, const char *path, int64_t timeout_ms,
                bool json)
{
    struct answer *a;
    int status = STATUS_OK;

    if (zkl_session_call(session, ask, q) != 0 || q->code == ZINVALIDSTATE)
        return refused(ZCONNECTIONLOSS, path);
    if (q->code != ZOK)
        return refused(q->code, path);
    a = g_async_queue_timeout_pop(q->answers, (guint64)timeout_ms * 1000);
    if (!a)
        return refused(ZOPERATIONTIMEOUT, path);
    if (a->code == ZOK)
        print(a->names, json);
    else
        status = refused(a->code, path);
    answer_free(a);
    return status;
}

int children_show(const struct settings *settings, zkl_session *session, const char *path,
                  int64_t timeout_ms, bool json)
{
    const char *servers = connect_string(settings), *chroot = strchr(servers, '/');
    zkl_error error = {0};
    struct question q = {0};
    char *full = NULL;
    int status;

    if (zkl_session_wait(session, timeout_ms) != 0) {
        zkl_last_error(&error);
        return fail_error(&error, servers);
    }
    if (chroot && chroot[1])
        full = strcmp(path, "/") == 0 ? g_strdup(chroot) : g_strconcat(chroot, path, NULL);
    q.path = full ? full : path;
    q.answers = g_async_queue_new_full(answer_free);
    status = list(session, &q, path, timeout_ms, json);
    g_async_queue_unref(q.answers);
    g_free(full);
    return status;
}
