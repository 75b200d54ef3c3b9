/* What goes between us and the server for a transaction, until its outcome is known. */
#include <string.h>

#include "callbacks.h"
#include "error.h"
#include "grant.h"
#include "multi.h"
#include "request.h"

enum { TRIES_MAX = 3 };

void multi_unref(struct multi *m)
{
    if (--m->refs > 0)
        return;
    sem_destroy(&m->ended);
    g_string_chunk_free(m->texts);
    g_free(m->changes);
    grant_unref(m->grant);
    g_free(m);
}

void multi_end(struct multi *m)
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

void multi_on_timeout(void *data)
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
    return m->session->refused || zkl_grant_session_id(m->grant) != m->session->id;
}

/* What was never sent is not sent for a grant that is lost. */
static bool may_send(const struct multi *m)
{
    return !m->told && (m->release || zkl_grant_state(m->grant) != ZKL_LOST);
}

static int to_code(enum store_rc rc)
{
    static const int codes[] = {
        [STORE_NONODE] = ZKL_ENOENT,       [STORE_EXISTS] = ZKL_EEXIST,
        [STORE_BADVERSION] = ZKL_EVERSION, [STORE_NOAUTH] = ZKL_EACCES,
        [STORE_NOCHILDREN] = ZKL_EPATH,    [STORE_NOTEMPTY] = ZKL_ENOTEMPTY,
        [STORE_BAD] = ZKL_EPROTO,
    };

    return codes[rc];
}

static bool send(struct multi *m);

/* An earlier sending may still be under way somewhere, and would be applied: the fence alone takes
 * the version that it asks for. */
static void on_refused(struct multi *m, const struct store_reply *reply)
{
    const char *path = session_path(m->session, m->changes[reply->failed].path);

    if (!m->doubt) {
        settle(m, to_code(reply->rc), path, false);
        return;
    }
    m->sealing = true;
    m->refusal = to_code(reply->rc);
    m->refused_path = path;
    if (!send(m))
        settle(m, ZKL_EUNKNOWN, NULL, false);
}

static void on_fence(struct multi *m, const struct store_reply *reply)
{
    if (reply->rc == STORE_NONODE)
        settle_lost(m);
    else if (reply->rc == STORE_BADVERSION && (m->doubt || m->tries < TRIES_MAX))
        go_on(m);
    else
        settle(m, m->doubt ? ZKL_EUNKNOWN : to_code(reply->rc), NULL, false);
}

static void on_applied(struct multi *m)
{
    struct multi_line *line = grant_line(m->grant);

    if (line->version < INT32_MAX)
        line->version++;
    if (m->sealing)
        settle(m, m->refusal, m->refused_path, false);
    else
        settle(m, 0, NULL, m->release);
}

static void on_answer(struct request *r, const struct store_reply *reply)
{
    struct multi *m = r->owner;
    struct multi_line *line = grant_line(m->grant);

    m->under_way = false;
    if (reply->rc == STORE_OK) {
        on_applied(m);
    } else if (reply->rc == STORE_GONE || reply->rc == STORE_UNKNOWN) {
        m->doubt = true;
        line->version_unknown = true;
        if (reply->rc == STORE_GONE || m->tries == TRIES_MAX || m->sealing)
            settle(m, ZKL_EUNKNOWN, NULL, false);
        else
            go_on(m);
    } else if (reply->failed == 0) {
        line->version_unknown = true;
        on_fence(m, reply);
    } else {
        on_refused(m, reply);
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
    r->what.count = m->sealing ? 1 : m->count;
    m->tries++;
    m->under_way = true;
    if (request_try(m->session, r))
        return true;
    m->tries--;
    m->under_way = false;
    m->refs--; /* not the last: the line has one */
    return false;
}

/* One set by ourselves and nobody else: then the transaction was applied. With the release there
 * would be no node. */
static bool shows_applied(const struct multi *m, const struct store_reply *reply)
{
    const struct store_change *fence = &m->changes[0];

    return !m->release && reply->version == fence->version + 1 && reply->length == fence->length &&
           memcmp(reply->data, fence->data, (size_t)fence->length) == 0;
}

/* What a read says about a transaction in doubt: EUNKNOWN, unless it shows that it was applied or
 * is to be sent again. A version not moved on yet proves nothing: the reader may lag behind. */
static void settle_doubt(struct multi *m, const struct store_reply *reply)
{
    if (shows_applied(m, reply))
        settle(m, 0, NULL, false);
    else if (reply->version != m->changes[0].version || m->tries == TRIES_MAX || m->sealing ||
             !may_send(m))
        settle(m, ZKL_EUNKNOWN, NULL, false);
    else if (!send(m))
        go_on(m);
}

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
        settle(m, m->doubt ? ZKL_EUNKNOWN : to_code(reply->rc), NULL, false);
    else if (m->doubt)
        settle_doubt(m, reply);
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

    if (is_over(m)) {
        settle_lost(m);
        return;
    }
    if (!m->doubt && !may_send(m)) {
        settle(m, ZKL_ELOST, NULL, false);
        return;
    }
    bool ready = !m->doubt && !grant_line(m->grant)->version_unknown && s->up &&
                 s->confirmed == s->connection;
    if (!ready || !send(m))
        request_send(s, ask(m, STORE_GET, on_read));
}

void multi_enter(struct multi *m)
{
    g_queue_push_tail_link(&grant_line(m->grant)->waiting, &m->link);
    begin_next(m->grant);
}
