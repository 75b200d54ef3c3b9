/* Lists children, even those of the root, by one request of our own on the session's handle. The
 * library reads only contenders and members. */
#include "children.h"
#include "connect.h"
#include "json.h"

#include <string.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

/* The answer, which a thread of libzookeeper sends to ours. */
struct answer {
    int code;
    GPtrArray *names;
};

struct question {
    const char *path;     /* with the chroot: the handle has none */
    GAsyncQueue *answers; /* shared: the answer may come when nobody waits for it any more */
    int code;             /* ZOK: the request was sent */
};

static void answer_free(void *data)
{
    struct answer *a = data;

    g_ptr_array_unref(a->names);
    g_free(a);
}

/* Takes the answer on a thread of libzookeeper. */
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

/* Sends the request; called by zkl_session_call(). */
static void children_ask(struct _zhandle *zh, void *data)
{
    struct question *q = data;

    q->code = zoo_aget_children(zh, q->path, 0, on_children, g_async_queue_ref(q->answers));
    if (q->code != ZOK)
        g_async_queue_unref(q->answers);
}

int say_path_is_missing(const char *path)
{
    return fail(STATUS_CONFLICT, "%s: no such path", path);
}

/* Says why the children could not be listed, unless there is no such path. Returns the status. */
static int fail_to_list(int code, const char *path)
{
    switch (code) {
    case ZNONODE:
        return STATUS_CONFLICT;
    case ZBADARGUMENTS:
        return fail(STATUS_USAGE, "%s: not a path", path);
    case ZNOAUTH:
        return fail(STATUS_NOPERM,
                    "%s: the server refused to list the children of it: the permission read (r) is "
                    "missing",
                    path);
    default: /* even ZINVALIDSTATE: there was no connection */
        return fail(STATUS_UNAVAILABLE, "%s: the servers did not answer in time", path);
    }
}

/* Compares names for sorting: 9 comes before 10. */
static int children_by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Puts the chroot of the connect string before path. */
static char *full_path(const struct settings *settings, const char *path)
{
    const char *chroot = connect_chroot(settings);

    return *chroot && strcmp(path, "/") == 0 ? g_strdup(chroot) : g_strconcat(chroot, path, NULL);
}

int children_read(const struct settings *settings, zkl_session *session, const char *path,
                  GPtrArray **ret)
{
    const int64_t timeout_ms = settings->connect_timeout_ms;
    zkl_error error = {0};
    g_autofree char *full = full_path(settings, path);
    struct question q = {.path = full};

    if (zkl_session_wait(session, timeout_ms) != 0) {
        zkl_last_error(&error);
        return fail_error(&error, connect_string(settings));
    }
    q.answers = g_async_queue_new_full(answer_free);
    int code = zkl_session_call(session, children_ask, &q) != 0 ? ZCONNECTIONLOSS : q.code;
    struct answer *a =
        code == ZOK ? g_async_queue_timeout_pop(q.answers, (guint64)timeout_ms * 1000) : NULL;
    g_async_queue_unref(q.answers);
    if (code == ZOK)
        code = a ? a->code : ZOPERATIONTIMEOUT;
    *ret = code == ZOK ? g_ptr_array_ref(a->names) : NULL;
    if (a)
        answer_free(a);
    if (code != ZOK)
        return fail_to_list(code, path);
    g_ptr_array_sort(*ret, children_by_name);
    return STATUS_OK;
}

int children_show(const struct settings *settings, zkl_session *session, const char *path,
                  bool json)
{
    g_autoptr(GPtrArray) names = NULL;
    const int status = children_read(settings, session, path, &names);

    if (status == STATUS_CONFLICT)
        return say_path_is_missing(path);
    if (status != STATUS_OK)
        return status;
    GString *out = g_string_new(json ? "[" : NULL);
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
    print_text(out);
    return status;
}
