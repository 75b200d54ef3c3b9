#include "multi.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "callbacks.h"
#include "error.h"
#include "grant.h"
#include "op.h"
#include "path.h"
#include "request.h"

enum {
    BYTES_MAX = 1000000, /* a server takes 1 MiB in one packet, and else drops the connection */
    BYTES_EACH = 64,     /* of a change, besides its path and data */
    TRIES_MAX = 3
};

struct multi {
    int refs; /* its line's, that of the request under way, and of who is told */
    zkl_grant *grant;
    zkl_session *session;         /* the grant's */
    struct store_change *changes; /* the first is the fence */
    int count;
    GStringChunk *texts; /* what changes point to */
    bool release;
    unsigned tries;
    bool under_way; /* sent and not answered */
    bool doubt;     /* sent earlier, and whether it was applied is not known */
    bool begun;
    bool told;
    struct timer timer;
    int64_t timeout_ms;
    zkl_multi_fn fn; /* NULL: somebody waits for ended */
    void *data;
    sem_t ended;
    zkl_error error; /* .code 0: applied */
    GList link;
};

static void multi_unref(struct multi *m)
{
    if (--m->refs > 0)
        return;
    sem_destroy(&m->ended);
    g_string_chunk_free(m->texts);
    g_free(m->changes);
    grant_unref(m->grant);
    g_free(m);
}

/* Without the monitor held. */
static void multi_end(struct multi *m)
{
    zkl_session *s = session_ref(m->session);

    session_lock(s);
    multi_unref(m);
    session_unlock(s);
    session_unref(s);
}

/* ---- telling ---- */

static void deliver(void *data)
{
    struct multi *m = data;

    m->fn(m->error.code ? &m->error : NULL, m->data);
    multi_end(m);
}

/* Only the first time: who was told that the time is over is told nothing else. */
static void tell(struct multi *m, int code, const char *path)
{
    if (m->told)
        return;
    m->told = true;
    timers_cancel(&m->timer);
    if (code)
        error_fill(&m->error, code, path, "%s: %s", path, zkl_strerror(code));
    if (m->fn)
        callbacks_push(m->session->callbacks, deliver, m);
    else
        sem_post(&m->ended);
}

static void on_timeout(void *data)
{
    struct multi *m = data;
    zkl_error why = {.code = ZKL_ETIMEDOUT};

    if (!m->session->up)
        session_why_down(m->session, &why);
    tell(m, m->under_way || m->doubt ? ZKL_EUNKNOWN : why.code, zkl_grant_node(m->grant));
}

/* ---- the exchange ---- */

static void go_on(struct multi *m);

/* A loop, as many may be settled at once. */
static void begin_next(zkl_grant *g)
{
    struct multi_line *line = grant_line(g);

    if (line->stepping)
        return;
    line->stepping = true;
    for (struct multi *m; (m = g_queue_peek_head(&line->waiting)) && !m->begun;) {
        m->begun = true;
        go_on(m);
    }
    line->stepping = false;
}

/* Nothing of it will reach the server any more: the next may go. */
static void settle(struct multi *m, int code, const char *path, bool node_gone)
{
    zkl_grant *g = grant_ref(m->grant);

    tell(m, code, path ? path : zkl_grant_node(g));
    g_queue_unlink(&grant_line(g)->waiting, &m->link);
    if (m->release || node_gone)
        grant_let_go(g, node_gone);
    multi_unref(m);
    begin_next(g);
    grant_unref(g);
}

/* Without the node, or without its session, nothing can be applied; but something may have been. */
static void settle_lost(struct multi *m)
{
    int code = m->session->closing ? ZKL_ECLOSED : ZKL_ELOST;

    settle(m, m->doubt ? ZKL_EUNKNOWN : code, NULL, true);
}

static bool is_over(const struct multi *m)
{
    return zkl_grant_session_id(m->grant) != m->session->id;
}

/* What was never sent is not sent for a grant that is lost. */
static bool may_send(const struct multi *m)
{
    return !m->told && (m->release || zkl_grant_state(m->grant) != ZKL_LOST);
}

static void settle_refused(struct multi *m, const struct store_reply *reply)
{
    static const int codes[] = {
        [STORE_NONODE] = ZKL_ENOENT,       [STORE_EXISTS] = ZKL_EEXIST,
        [STORE_BADVERSION] = ZKL_EVERSION, [STORE_NOAUTH] = ZKL_EACCES,
        [STORE_NOCHILDREN] = ZKL_EPATH,    [STORE_NOTEMPTY] = ZKL_ENOTEMPTY,
        [STORE_BAD] = ZKL_EPROTO,
    };

    settle(m, codes[reply->rc], session_path(m->session, m->changes[reply->failed].path), false);
}

static void on_fence(struct multi *m, const struct store_reply *reply)
{
    if (reply->rc == STORE_NONODE)
        settle_lost(m);
    else if (reply->rc == STORE_BADVERSION && m->tries < TRIES_MAX)
        go_on(m);
    else if (m->doubt)
        settle(m, ZKL_EUNKNOWN, NULL, false);
    else
        settle_refused(m, reply);
}

static void on_answer(struct request *r, const struct store_reply *reply)
{
    struct multi *m = r->owner;
    struct multi_line *line = grant_line(m->grant);

    m->under_way = false;
    if (reply->rc == STORE_OK) {
        line->version++;
        settle(m, 0, NULL, m->release);
    } else if (reply->rc == STORE_GONE || reply->rc == STORE_UNKNOWN) {
        m->doubt = true;
        line->version_unknown = true;
        if (reply->rc == STORE_GONE || m->tries == TRIES_MAX)
            settle(m, ZKL_EUNKNOWN, NULL, false);
        else
            go_on(m);
    } else if (reply->failed == 0) {
        line->version_unknown = true;
        on_fence(m, reply);
    } else {
        settle_refused(m, reply);
    }
    multi_unref(m);
}

static struct request *ask(struct multi *m, enum store_kind kind,
                           void (*done)(struct request *r, const struct store_reply *reply))
{
    m->refs++;
    return request_new(kind, g_strdup(grant_full_node(m->grant)), done, m);
}

/* False: there is no connection. */
static bool send(struct multi *m)
{
    struct request *r = ask(m, STORE_MULTI, on_answer);

    m->changes[0].version = grant_line(m->grant)->version;
    r->once = true; /* sent again only on a connection that was confirmed */
    r->what.changes = m->changes;
    r->what.count = m->count;
    m->tries++;
    m->under_way = true;
    if (request_try(m->session, r))
        return true;
    m->tries--;
    m->under_way = false;
    m->refs--; /* not the last: the line has one */
    return false;
}

/* The version tells what became of a transaction whose answer was lost: it was sent with
 * changes[0].version, which none but itself moves on by one. */
static void on_read(struct request *r, const struct store_reply *reply)
{
    struct multi *m = r->owner;
    struct multi_line *line = grant_line(m->grant);

    if (reply->rc == STORE_OK) {
        line->version = reply->version;
        line->version_unknown = false;
    }
    if (reply->rc == STORE_NONODE || reply->rc == STORE_GONE || is_over(m))
        settle_lost(m);
    else if (line->version_unknown)
        settle(m, m->doubt ? ZKL_EUNKNOWN : ZKL_EACCES, NULL, false);
    else if (m->doubt && line->version == m->changes[0].version + 1)
        settle(m, 0, NULL, false);
    else if (m->doubt && line->version != m->changes[0].version)
        settle(m, ZKL_EUNKNOWN, NULL, false);
    else if (!may_send(m))
        settle(m, ZKL_ELOST, NULL, false);
    else if (!send(m))
        go_on(m);
    multi_unref(m);
}

/* Sent at once on a connection that has answered something, to a node whose version is known; else
 * a read of it comes first, and waits for a connection. */
static void go_on(struct multi *m)
{
    zkl_session *s = m->session;

    if (!m->doubt && (is_over(m) || !may_send(m))) {
        settle(m, ZKL_ELOST, NULL, false);
        return;
    }
    bool ready = !m->doubt && !grant_line(m->grant)->version_unknown && s->up &&
                 s->confirmed == s->connection;
    if (!ready || !send(m))
        request_send(s, ask(m, STORE_GET, on_read));
}

/* ---- the call ---- */

static const char *check_change(const zkl_change *c, const char *own_node)
{
    const char *wrong = path_check(c->path);

    if (wrong)
        return wrong;
    if (strcmp(c->path, own_node) == 0)
        return "the grant's own node is not to be changed";
    if (c->kind < ZKL_CHANGE_CREATE || c->kind > ZKL_CHANGE_CHECK)
        return "no kind of change";
    if (c->size > 0 && !c->data)
        return "data is NULL and size is not 0";
    return NULL;
}

static int check(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags)
{
    size_t bytes = 0;

    if (!g || (count > 0 && !changes) || (flags & ~ZKL_MULTI_RELEASE))
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_multi: a grant, changes and known flags");
    if (grant_is_child(g))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    for (size_t i = 0; i < count; i++) {
        const char *wrong = check_change(&changes[i], zkl_grant_node(g));
        if (wrong)
            return error_set(ZKL_EINVAL, changes[i].path, "change %zu, \"%.100s\": %s", i,
                             changes[i].path ? changes[i].path : "", wrong);
        bytes += strlen(changes[i].path) + MIN(changes[i].size, BYTES_MAX) + BYTES_EACH;
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
    m->changes = g_new0(struct store_change, count + 2);
    m->texts = g_string_chunk_new(1024);
    m->release = release;
    m->link.data = m;
    sem_init(&m->ended, 0, 0);
    add(m, STORE_SET, "", grant_full_node(g));
    set_data(m, grant_payload(g), strlen(grant_payload(g)));
    for (size_t i = 0; i < count; i++)
        add_user(m, &changes[i]);
    if (release)
        add(m, STORE_DELETE, "", grant_full_node(g));
    return m;
}

/* 0, or why it cannot begin. */
static int begin(struct multi *m)
{
    zkl_session *s = m->session;
    zkl_state state = zkl_grant_state(m->grant);

    if (s->closing)
        return ZKL_ECLOSED;
    if (state >= ZKL_LOST || (m->release && !grant_disown(m->grant)))
        return state == ZKL_RELEASED ? ZKL_EPERM : ZKL_ELOST;
    op_arm(s, &m->timer, m->timeout_ms, on_timeout, m);
    g_queue_push_tail_link(&grant_line(m->grant)->waiting, &m->link);
    begin_next(m->grant);
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
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_multi_async: a function is needed");
    return start(g, changes, count, flags, timeout_ms, fn, data, &m);
}

int zkl_grant_multi(zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                    int64_t timeout_ms)
{
    struct multi *m;
    int code, before;

    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_grant_multi: called in a callback");
    code = start(g, changes, count, flags, timeout_ms, NULL, NULL, &m);
    if (code)
        return code;
    /* No point of cancellation: it may have been applied. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    while (sem_wait(&m->ended) != 0 && errno == EINTR)
        continue;
    pthread_setcancelstate(before, NULL);
    code = m->error.code ? error_keep(&m->error) : 0;
    multi_end(m);
    return code;
}
