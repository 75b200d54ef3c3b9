#include "multi.h"

#include <string.h>

#include "grant.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/base/thread.h"
#include "lib/session/call.h"
#include "whole.h"

enum {
    BYTES_MAX = 1000000, /* a server takes 1 MiB in one packet, and else drops the connection */
    BYTES_EACH = 64,     /* of a change, besides its path and data */
    ACL_BYTES_EACH = 3   /* of a character of the ACL's text, at most */
};

static bool is_own_node(const zkl_grant *g, const char *path)
{
    for (uint32_t i = 0; i < whole_count(g); i++) {
        if (strcmp(path, zkl_grant_node(whole_part(g, i))) == 0)
            return true;
    }
    return false;
}

static const char *check_change(const zkl_change *c, const zkl_grant *g)
{
    const char *wrong = path_check(c->path);

    if (wrong)
        return wrong;
    if (is_own_node(g, c->path))
        return "the grant's own node cannot be changed";
    if (c->kind < ZKL_CHANGE_CREATE || c->kind > ZKL_CHANGE_CHECK)
        return "kind is none of zkl_change_kind";
    if (c->size > 0 && !c->data)
        return "data is NULL and size is not 0";
    return NULL;
}

/* What is there of a whole's nodes besides the first. */
static size_t bytes_of_fence(const zkl_grant *g)
{
    size_t bytes = 0;

    for (uint32_t i = 1; i < whole_count(g); i++)
        bytes += 2 * (strlen(grant_full_node(whole_part(g, i))) + BYTES_EACH);
    return bytes;
}

static int check(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags)
{
    size_t bytes;

    if (!g || (count > 0 && !changes) || (flags & ~ZKL_MULTI_RELEASE))
        return error_set(ZKL_EINVAL, NULL,
                         "zkl_grant_multi: g or changes is NULL, or a flag is unknown");
    if (grant_is_child(g))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    const zkl_session *s = grant_session(g);
    const size_t chroot = strlen(s->chroot), acl = strlen(s->acl ? s->acl : "");
    bytes = bytes_of_fence(g);
    for (size_t i = 0; i < count; i++) {
        const char *wrong = check_change(&changes[i], g);
        if (wrong)
            return error_set(ZKL_EINVAL, changes[i].path, "change %zu, \"%.100s\": %s", i,
                             changes[i].path ? changes[i].path : "", wrong);
        bytes += chroot + strlen(changes[i].path) + MIN(changes[i].size, BYTES_MAX) + BYTES_EACH;
        if (changes[i].kind == ZKL_CHANGE_CREATE)
            bytes += acl * ACL_BYTES_EACH;
        if (bytes > BYTES_MAX)
            return error_set(ZKL_ELIMIT, changes[i].path, "more than %d bytes in one transaction",
                             BYTES_MAX);
    }
    return 0;
}

/* The session's chroot goes before the user's paths; our own are full. */
static void add(struct multi *m, enum store_kind kind, const char *chroot, const char *path)
{
    char *full = g_strconcat(chroot, path, NULL);

    m->changes[m->count++] = (struct store_change){
        .kind = kind, .path = g_string_chunk_insert(m->texts, full), .length = -1, .version = -1};
    g_free(full);
}

static void set_data(struct multi *m, const void *data, size_t size)
{
    struct store_change *c = &m->changes[m->count - 1];

    if (!data)
        return;
    c->data = g_string_chunk_insert_len(m->texts, data, (gssize)size);
    c->length = (int)size;
}

static void add_user(struct multi *m, const zkl_change *c)
{
    static const enum store_kind kinds[] = {
        [ZKL_CHANGE_CREATE] = STORE_CREATE,
        [ZKL_CHANGE_SET] = STORE_SET,
        [ZKL_CHANGE_DELETE] = STORE_DELETE,
        [ZKL_CHANGE_CHECK] = STORE_GET,
    };

    add(m, kinds[c->kind], m->session->chroot, c->path);
    m->changes[m->count - 1].version = c->version;
    if (c->kind == ZKL_CHANGE_CREATE || c->kind == ZKL_CHANGE_SET)
        set_data(m, c->data, c->size);
}

static struct multi *multi_new(zkl_grant *g, const zkl_change *changes, size_t count, bool release)
{
    struct multi *m = g_new0(struct multi, 1);

    m->refs = 2; /* its line's, and of who is told */
    m->grant = grant_ref(g);
    m->session = grant_session(g);
    m->changes = g_new0(struct store_change, count + 2 * (size_t)whole_count(g));
    m->texts = g_string_chunk_new(1024);
    m->release = release;
    m->link.data = m;
    sem_init(&m->ended, 0, 0);
    for (uint32_t i = 0; i < whole_count(g); i++)
        add(m, i == 0 ? STORE_SET : STORE_GET, "", grant_full_node(whole_part(g, i)));
    for (size_t i = 0; i < count; i++)
        add_user(m, &changes[i]);
    for (uint32_t i = 0; release && i < whole_count(g); i++)
        add(m, STORE_DELETE, "", grant_full_node(whole_part(g, i)));
    return m;
}

/* 0, or why it cannot begin. */
static int begin(struct multi *m)
{
    zkl_session *s = m->session;
    zkl_state state = zkl_grant_state(m->grant);

    if (s->closing)
        return ZKL_ECLOSED;
    if (grant_line(m->grant)->machine.version == INT32_MAX)
        return ZKL_ELIMIT; /* the next one could mean any version */
    if (state >= ZKL_LOST || (m->release && !grant_disown(m->grant)))
        return state == ZKL_RELEASED ? ZKL_EPERM : ZKL_ELOST;
    call_arm(s, &m->timer, m->timeout_ms, multi_on_timeout, m);
    multi_enter(m);
    return 0;
}

static int start(zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                 int64_t timeout_ms, zkl_multi_fn fn, void *data, struct multi **ret)
{
    int code = check(g, changes, count, flags);

    if (code)
        return code;
    struct multi *m = multi_new(g, changes, count, flags & ZKL_MULTI_RELEASE);
    m->timeout_ms = timeout_ms;
    m->fn = fn;
    m->data = data;
    session_lock(m->session);
    code = begin(m);
    session_unlock(m->session);
    *ret = m;
    if (code) {
        m->refs = 1;
        error_set(code, zkl_grant_node(g), "%s: %s", zkl_grant_node(g), zkl_strerror(code));
        multi_end(m);
    }
    return code;
}

int zkl_grant_multi_async(zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                          int64_t timeout_ms, zkl_multi_fn fn, void *data)
{
    struct multi *m;

    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_multi_async: fn is NULL");
    return start(g, changes, count, flags, timeout_ms, fn, data, &m);
}

int zkl_grant_multi(zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                    int64_t timeout_ms)
{
    struct multi *m;
    int code;

    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_grant_multi: called in a callback");
    code = start(g, changes, count, flags, timeout_ms, NULL, NULL, &m);
    if (code)
        return code;
    thread_wait(&m->ended);
    code = m->error.code ? error_keep(&m->error) : 0;
    multi_end(m);
    return code;
}
