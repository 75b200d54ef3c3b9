/* What is done to the contenders of a queue: they are asked to give way, or removed. Each begins
 * with a reading, so that nothing but a contender's node is ever touched. */
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/path.h"
#include "queue.h"
#include "recipes/name.h"
#include "recipes/numbering.h"
#include "recipes/revoke.h"
#include "recipes/transaction.h"

/* ---- the time that both exchanges have ---- */

struct patience {
    int64_t timeout_ms;
    int64_t began; /* ns */
};

static struct patience patience_new(zkl_session *s, int64_t timeout_ms)
{
    session_lock(s);
    const struct patience p = {timeout_ms == 0 ? session_patience_ms(s) : timeout_ms,
                               clock_now().boot};
    session_unlock(s);
    return p;
}

/* Never 0, which means something else. */
static int64_t patience_left_ms(const struct patience *p)
{
    const int64_t passed_ms = (clock_now().boot - p->began) / CLOCK_MS;

    return p->timeout_ms < 0 ? p->timeout_ms : MAX(p->timeout_ms - passed_ms, 1);
}

/* ---- what both begin with ---- */

static int check(const zkl_session *s, const char *path, const char *what, const void *needed)
{
    int code = session_check(s);

    if (code)
        return code;
    if (!needed)
        return error_set(ZKL_EINVAL, NULL, "%s is NULL", what);
    return path_error(s->chroot, path);
}

static int nobody(const char *path, const char *node)
{
    return node ? error_set(ZKL_ENOENT, path, "%s: no contender %.100s", path, node)
                : error_set(ZKL_ENOENT, path, "%s: nobody holds it", path);
}

static int read_some(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                     int64_t timeout_ms)
{
    const struct queue_wish wish = {.holders = !node, .node = node};
    char *directory = g_strconcat(s->chroot, path, NULL);
    int code = queue_read(ret, s, directory, &wish, timeout_ms);

    g_free(directory);
    return code;
}

/* ---- asking ---- */

static void on_numbers(struct request *r, const struct store_reply *reply);

static void ask_numbers(struct queue_exchange *x, guint contender)
{
    request_send(x->call.session, queue_request(x, STORE_GET, contender, on_numbers));
}

/* A contender that has left has given way. */
static void answered(struct queue_exchange *x, guint contender, enum store_rc rc)
{
    if (rc == STORE_NONODE)
        queue_forget(&g_array_index(x->queue->list, zkl_contender, contender));
    else if (rc != STORE_OK && rc != STORE_GONE)
        queue_refused(x, rc);
    queue_answered(x, rc);
}

/* Of numbered permits the data may have changed since they were read. */
static void on_asked(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc != STORE_BADVERSION || x->call.ended) {
        answered(x, r->tag, reply->rc);
        return;
    }
    ask_numbers(x, r->tag);
    queue_answered(x, reply->rc);
}

/* numbers: the line below the word, or "". To ask twice does no harm, so that a request without an
 * answer is made again, in another session, too. */
static void set_word(struct queue_exchange *x, guint contender, const char *numbers,
                     int32_t version)
{
    struct request *r = queue_request(x, STORE_SET, contender, on_asked);
    char *data = g_strconcat(REVOKE_WORD, numbers, NULL);

    r->what.data = data;
    r->what.length = (int)strlen(data);
    r->what.version = version;
    request_send(x->call.session, r);
}

/* Those behind go by the numbers, and would wait for them. */
static void on_numbers(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->call.ended) {
        const char *data = reply->data ? reply->data : "";
        uint32_t transaction;
        size_t payload, length = transaction_payload(data, (size_t)reply->length, &transaction);
        numbering_read(data, length, NULL, 0, &payload);
        char *numbers = g_strndup(data + payload, length - payload);
        set_word(x, r->tag, numbers, reply->version);
        g_free(numbers);
    }
    answered(x, r->tag, reply->rc);
}

/* Of any version, as Curator's Revoker has it, but for what Curator does not have. */
static void begin_asking(struct queue_exchange *x)
{
    const zkl_queue *q = x->queue;
    struct child child;

    for (guint i = 0; i < q->list->len; i++) {
        const char *node = g_array_index(q->list, zkl_contender, i).node;
        if (!node)
            continue;
        name_parse(node, strlen(node), &child);
        if (child.numbered)
            ask_numbers(x, i);
        else
            set_word(x, i, "", -1);
    }
    if (x->left == 0)
        queue_end(x);
}

static int ask(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
               int64_t timeout_ms)
{
    const struct patience patience = patience_new(s, timeout_ms);
    zkl_queue *q;
    int code = read_some(&q, s, path, node, timeout_ms);

    if (code)
        return code;
    if (zkl_queue_count(q) > 0 && (code = queue_run(q, begin_asking, patience_left_ms(&patience))))
        return code;
    queue_compact(q);
    if (zkl_queue_count(q) == 0) {
        queue_unref(q);
        return nobody(path, node);
    }
    *ret = q;
    return 0;
}

int zkl_queue_revoke(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                     int64_t timeout_ms)
{
    int code = check(s, path, "zkl_queue_revoke: ret", ret);

    if (code)
        return code;
    session_ref(s); /* closing it ends this, and may come first to its end */
    code = ask(ret, s, path, node, timeout_ms);
    session_unref(s);
    return code;
}

/* ---- removing ---- */

/* Gone is gone. */
static void on_removed(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;
    const bool unknown = reply->rc == STORE_UNKNOWN || reply->rc == STORE_GONE;

    x->queue->unknown = unknown;
    if (!unknown && reply->rc != STORE_OK && reply->rc != STORE_NONODE)
        queue_refused(x, reply->rc);
    queue_answered(x, reply->rc);
}

/* Once, and not in another session either: whose node it is is looked at before each try. */
static void begin_removing(struct queue_exchange *x)
{
    if (x->queue->unknown) {
        queue_end(x);
        return;
    }
    struct request *r = queue_request(x, STORE_DELETE, 0, on_removed);
    r->once = true;
    request_send(x->call.session, r);
}

/* *ret_again: it is not known whether it was removed. */
static int remove_once(zkl_session *s, const char *path, const char *node, uint64_t token,
                       const struct patience *patience, bool *ret_again)
{
    zkl_queue *q;
    int code = read_some(&q, s, path, node, patience_left_ms(patience));

    if (code)
        return code;
    if (zkl_queue_count(q) == 0 || zkl_queue_get(q, 0)->token != token) {
        queue_unref(q);
        return nobody(path, node);
    }
    if ((code = queue_run(q, begin_removing, patience_left_ms(patience))))
        return code;
    *ret_again = q->unknown;
    queue_unref(q);
    return 0;
}

int zkl_queue_break(zkl_session *s, const char *path, const char *node, uint64_t token,
                    int64_t timeout_ms)
{
    int code = check(s, path, "zkl_queue_break: node", node);
    bool tried = false, again = true;

    if (code)
        return code;
    session_ref(s);
    const struct patience patience = patience_new(s, timeout_ms);
    while (code == 0 && again) {
        code = remove_once(s, path, node, token, &patience, &again);
        if (code == ZKL_ENOENT && tried)
            code = again = 0;
        tried = true;
    }
    session_unref(s);
    return code;
}
