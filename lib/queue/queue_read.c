/* Exchanges with the server for a snapshot; the one that fills it: list, then a read of each node.
 */
#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/thread.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/request.h"
#include "queue.h"
#include "recipes/limit.h"
#include "recipes/name.h"
#include "recipes/rule.h"

void queue_end(zkl_queue *q)
{
    if (q->over)
        return;
    q->over = true;
    timers_cancel(&q->timer);
    sem_post(&q->done);
}

static void fail(zkl_queue *q, int code)
{
    const char *path = session_path(q->session, q->directory);

    if (!q->over)
        denial_fill(q->session, &q->error, code, path);
    queue_end(q);
}

void queue_refused(zkl_queue *q, enum store_rc rc)
{
    fail(q, call_error(rc));
}

static struct request *request_for(zkl_queue *q, enum store_kind kind, char *path,
                                   void (*done)(struct request *r, const struct store_reply *reply))
{
    q->refs++;
    q->left++;
    return request_new(kind, path, done, q);
}

struct request *queue_request(zkl_queue *q, enum store_kind kind, guint contender,
                              void (*done)(struct request *r, const struct store_reply *reply))
{
    const zkl_contender *c = &g_array_index(q->list, zkl_contender, contender);
    struct request *r = request_for(q, kind, g_strconcat(q->directory, "/", c->node, NULL), done);

    r->tag = contender;
    return r;
}

static void ask(zkl_queue *q, enum store_kind kind,
                void (*done)(struct request *r, const struct store_reply *reply))
{
    request_send(q->session, request_for(q, kind, g_strdup(q->directory), done));
}

static void take(const zkl_queue *q, zkl_contender *c, const struct store_reply *reply)
{
    const int length = queue_payload_length(c->node, reply);

    c->owner = q->wish.first ? g_utf8_make_valid(reply->data ? reply->data : "", length)
                             : clean_text(reply->data, length);
    c->token = reply->czxid;
    c->session_id = reply->ephemeral_owner;
    c->ctime_ms = reply->ctime_ms;
    queue_mark_earlier(q, c, reply);
}

/* One request less; with the last of them it ends, or begins again. */
void queue_answered(zkl_queue *q, enum store_rc rc)
{
    q->left--;
    if (rc == STORE_GONE && q->session->closing)
        fail(q, ZKL_ECLOSED);
    else if (rc == STORE_GONE && q->session->refused)
        fail(q, ZKL_EAUTH);
    q->again |= rc == STORE_GONE;
    if (q->left == 0 && q->again && !q->over) {
        q->again = false;
        q->begin(q);
    } else if (q->left == 0) {
        queue_end(q);
    }
    queue_unref(q);
}

void queue_forget(zkl_contender *c)
{
    g_free((char *)(uintptr_t)c->node);
    g_free((char *)(uintptr_t)c->owner);
    c->node = c->owner = NULL;
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->context;

    if (reply->rc == STORE_OK && !q->over)
        take(q, &g_array_index(q->list, zkl_contender, r->tag), reply);
    else if (reply->rc == STORE_NONODE && !q->over)
        queue_forget(&g_array_index(q->list, zkl_contender, r->tag));
    else if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        queue_refused(q, reply->rc);
    q->again |= q->wish.first && reply->rc == STORE_NONODE;
    queue_answered(q, reply->rc);
}

const char *queue_first(char *const *names, int count, enum rule rule)
{
    const char *first = NULL;
    int32_t lowest = 0;
    struct child child;

    for (int i = 0; i < count; i++) {
        name_parse(names[i], strlen(names[i]), &child);
        if (!rule_waits(rule, child.kind) || (first && rule_compare(child.number, lowest) >= 0))
            continue;
        first = names[i];
        lowest = child.number;
    }
    return first;
}

/* ---- whom to read ---- */

static int compare(gconstpointer a, gconstpointer b)
{
    const zkl_contender *x = a, *y = b;

    return rule_compare((int32_t)x->number, (int32_t)y->number);
}

/* What it is, by whatever word others see it. */
static zkl_kind kind_of(enum child_kind kind)
{
    return kind == CHILD_KAZOO         ? ZKL_KIND_LOCK
           : kind == CHILD_KAZOO_READ  ? ZKL_KIND_READ
           : kind == CHILD_RUBY_SHARED ? ZKL_KIND_RUBY
                                       : (zkl_kind)kind;
}

static void enter(zkl_queue *q, const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    if (child.kind == CHILD_FOREIGN)
        return;
    zkl_contender c = {.node = g_strdup(name),
                       .number = child.number,
                       .kind = kind_of(child.kind),
                       .client = (zkl_client)name_maker(name, strlen(name)),
                       .retains = child.retains};
    g_array_append_val(q->list, c);
}

/* Picks what the wish is for. What holds beyond a limit that was changed is known when all were
 * read. */
static void pick(zkl_queue *q)
{
    const struct queue_wish *wish = &q->wish;

    for (guint i = q->list->len; i-- > 0;) {
        const zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        if ((wish->holders && !c->holds && q->limit_zxid == 0) ||
            (wish->node && strcmp(c->node, wish->node) != 0))
            g_array_remove_index(q->list, i);
    }
}

/* All entries stay where they are from here on: requests name them by their place. */
static void read_payloads(zkl_queue *q)
{
    for (guint i = 0; i < q->list->len && !q->over; i++) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        if ((q->wish.max_nodes != 0 && i >= q->wish.max_nodes) || queue_recall(q, c))
            continue;
        request_send(q->session, queue_request(q, STORE_GET, i, on_read));
    }
}

static void on_listed(struct request *r, const struct store_reply *reply);

/* The list is asked for once more, so that it is not older than the limit. */
static void on_limit(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->context;

    q->limit_read = true;
    if (reply->rc == STORE_OK) {
        q->limit = limit_read(reply->data, (size_t)reply->length);
        q->limit_zxid = q->limit > 0 && reply->mzxid > reply->czxid ? reply->mzxid : 0;
    } else if (reply->rc != STORE_GONE) {
        queue_refused(q, reply->rc);
    }
    if (!q->over && reply->rc == STORE_OK)
        ask(q, STORE_LIST, on_listed);
    queue_answered(q, reply->rc);
}

static bool lacks_limit(const zkl_queue *q, char *const *names, int count)
{
    struct child child;

    for (int i = 0; i < count && !q->limit_read; i++) {
        name_parse(names[i], strlen(names[i]), &child);
        if (child.kind == CHILD_LEASE && name_maker(names[i], strlen(names[i])) == MAKER_ZKL)
            return true;
    }
    return false;
}

/* In a directory that was made anew, and in older data, names come again. */
static void take_zxids(zkl_queue *q, const struct store_reply *reply)
{
    const zkl_queue *previous = q->wish.previous;

    q->made = reply->czxid;
    q->changed = reply->pzxid;
    if (q->known && (q->made != previous->made || q->changed < previous->changed))
        g_clear_pointer(&q->known, g_hash_table_unref);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->context;
    const char *first;

    if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        queue_refused(q, reply->rc);
    if (q->over) {
        queue_answered(q, reply->rc);
        return;
    }
    if (lacks_limit(q, reply->names, reply->count)) {
        ask(q, STORE_GET, on_limit);
        queue_answered(q, reply->rc);
        return;
    }
    take_zxids(q, reply);
    if (q->wish.first && (first = queue_first(reply->names, reply->count, q->wish.first)))
        enter(q, first);
    for (int i = 0; i < reply->count && !q->wish.first; i++)
        enter(q, reply->names[i]);
    g_array_sort(q->list, compare);
    queue_mark_holders(q);
    pick(q);
    read_payloads(q);
    queue_answered(q, reply->rc);
}

static void on_synced(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->context;

    if (reply->rc == STORE_OK && !q->over)
        ask(q, STORE_LIST, on_listed);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        queue_refused(q, reply->rc);
    queue_answered(q, reply->rc);
}

void queue_begin_reading(zkl_queue *q)
{
    g_array_set_size(q->list, 0);
    q->limit_read = false;
    if (q->wish.first)
        ask(q, STORE_SYNC, on_synced);
    else
        ask(q, STORE_LIST, on_listed);
}

static void on_timeout(void *data)
{
    zkl_queue *q = data;

    if (q->session->up)
        fail(q, ZKL_ETIMEDOUT);
    else if (!q->over)
        session_why_down(q->session, &q->error);
    queue_end(q);
}

static void start(zkl_queue *q, int64_t timeout_ms)
{
    zkl_session *s = q->session;

    if (s->closing) {
        fail(q, ZKL_ECLOSED);
        return;
    }
    if (s->refused) {
        fail(q, ZKL_EAUTH);
        return;
    }
    call_arm(s, &q->timer, timeout_ms, on_timeout, q);
    q->begin(q);
}

int queue_run(zkl_queue *q, void (*begin)(zkl_queue *q), int64_t timeout_ms)
{
    zkl_session *s = q->session;
    int code = 0, before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    session_lock(s);
    q->begin = begin;
    q->over = false;
    start(q, timeout_ms);
    session_unlock(s);
    thread_wait(&q->done);
    /* Whoever posted still has the monitor, and may have a reference to give up. */
    session_lock(s);
    if (q->error.code) {
        code = error_keep(&q->error);
        queue_unref(q);
    }
    session_unlock(s);
    pthread_setcancelstate(before, NULL);
    return code;
}
