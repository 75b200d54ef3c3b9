/* Exchanges with the server for a snapshot; the one that fills it: list, then a read of each node.
 */
#include "lib/base/clean.h"
#include "lib/session/request.h"
#include "queue.h"
#include "recipes/limit.h"
#include "recipes/name.h"
#include "recipes/rule.h"

void queue_end(struct queue_exchange *x)
{
    call_end(&x->call, 0, NULL);
}

void queue_refused(struct queue_exchange *x, enum store_rc rc)
{
    call_end(&x->call, call_error(rc), NULL);
}

static struct request *queue_request_for(struct queue_exchange *x, enum store_kind kind, char *path,
                                         void (*done)(struct request *r,
                                                      const struct store_reply *reply))
{
    call_ref(&x->call);
    x->left++;
    return request_new(kind, path, done, x);
}

struct request *queue_request(struct queue_exchange *x, enum store_kind kind, guint contender,
                              void (*done)(struct request *r, const struct store_reply *reply))
{
    const zkl_contender *c = &g_array_index(x->queue->list, zkl_contender, contender);
    char *path = g_strconcat(x->queue->directory, "/", c->node, NULL);
    struct request *r = queue_request_for(x, kind, path, done);

    r->tag = contender;
    return r;
}

static void ask(struct queue_exchange *x, enum store_kind kind,
                void (*done)(struct request *r, const struct store_reply *reply))
{
    request_send(x->call.session, queue_request_for(x, kind, g_strdup(x->queue->directory), done));
}

static void take(const zkl_queue *q, zkl_contender *c, const struct store_reply *reply)
{
    const int length = queue_payload_length(c->node, reply->data, reply->length, reply->version);

    c->owner = q->wish.first ? g_utf8_make_valid(reply->data ? reply->data : "", length)
                             : clean_text(reply->data, length);
    c->token = reply->czxid;
    c->session_id = reply->ephemeral_owner;
    c->ctime_ms = reply->ctime_ms;
    queue_mark_earlier(q, c, reply);
}

/* One request less; with the last of them it ends, or begins again. A session that has no successor
 * stops it. */
void queue_answered(struct queue_exchange *x, enum store_rc rc)
{
    const zkl_session *s = x->call.session;

    x->left--;
    x->again |= rc == STORE_GONE;
    if (x->left == 0 && !x->again) {
        queue_end(x);
    } else if (x->left == 0 && !x->call.ended && !s->closing && !s->refused) {
        x->again = false;
        x->begin(x);
    }
    call_unref(&x->call);
}

void queue_forget(zkl_contender *c)
{
    g_free((char *)(uintptr_t)c->node);
    g_free((char *)(uintptr_t)c->owner);
    c->node = c->owner = NULL;
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;
    zkl_contender *c = &g_array_index(x->queue->list, zkl_contender, r->tag);
    const bool over = x->call.ended;

    if (reply->rc == STORE_OK && !over)
        take(x->queue, c, reply);
    else if (reply->rc == STORE_NONODE && !over)
        queue_forget(c);
    else if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        queue_refused(x, reply->rc);
    x->again |= x->queue->wish.first && reply->rc == STORE_NONODE;
    queue_answered(x, reply->rc);
}

const char *queue_first(const char *const *names, int count, enum rule rule)
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
static void read_payloads(struct queue_exchange *x)
{
    zkl_queue *q = x->queue;

    for (guint i = 0; i < q->list->len && !x->call.ended; i++) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        if ((q->wish.max_nodes != 0 && i >= q->wish.max_nodes) || queue_recall(q, c))
            continue;
        request_send(q->session, queue_request(x, STORE_GET, i, on_read));
    }
}

static void on_listed(struct request *r, const struct store_reply *reply);

/* The list is asked for once more, so that it is not older than the limit. */
static void on_limit(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;
    zkl_queue *q = x->queue;

    q->limit_read = true;
    if (reply->rc == STORE_OK) {
        q->limit = limit_read(reply->data, (size_t)reply->length);
        q->limit_zxid = q->limit > 0 && reply->mzxid > reply->czxid ? reply->mzxid : 0;
    } else if (reply->rc != STORE_GONE) {
        queue_refused(x, reply->rc);
    }
    if (!x->call.ended && reply->rc == STORE_OK)
        ask(x, STORE_LIST, on_listed);
    queue_answered(x, reply->rc);
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

static void take_list(struct queue_exchange *x, const struct store_reply *reply)
{
    zkl_queue *q = x->queue;
    const char *first;

    if (lacks_limit(q, reply->names, reply->count)) {
        ask(x, STORE_GET, on_limit);
        return;
    }
    take_zxids(q, reply);
    if (q->wish.first &&
        (first = queue_first((const char *const *)reply->names, reply->count, q->wish.first)))
        enter(q, first);
    for (int i = 0; i < reply->count && !q->wish.first; i++)
        enter(q, reply->names[i]);
    g_array_sort(q->list, compare);
    queue_mark_holders(q);
    pick(q);
    read_payloads(x);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->call.ended)
        take_list(x, reply);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        queue_refused(x, reply->rc);
    queue_answered(x, reply->rc);
}

static void on_synced(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->call.ended)
        ask(x, STORE_LIST, on_listed);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        queue_refused(x, reply->rc);
    queue_answered(x, reply->rc);
}

void queue_begin_reading(struct queue_exchange *x)
{
    zkl_queue *q = x->queue;

    g_array_set_size(q->list, 0);
    q->limit_read = false;
    if (q->wish.first)
        ask(x, STORE_SYNC, on_synced);
    else
        ask(x, STORE_LIST, on_listed);
}

/* ---- the call ---- */

static void on_begin(struct call *c)
{
    struct queue_exchange *x = (struct queue_exchange *)c;

    x->begin(x);
}

static void on_free(struct call *c)
{
    struct queue_exchange *x = (struct queue_exchange *)c;

    queue_unref(x->queue);
    g_free(x);
}

static const struct call_ops ops = {
    .waits = true, .begin = on_begin, .stop = call_end_as, .free = on_free};

int queue_run(zkl_queue *q, void (*begin)(struct queue_exchange *x), int64_t timeout_ms)
{
    zkl_session *s = q->session;
    struct queue_exchange *x = g_new0(struct queue_exchange, 1);
    int code, before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    x->queue = q;
    q->refs++;
    x->begin = begin;
    call_init(&x->call, &ops, s, g_strdup(q->directory), NULL, NULL);
    code = call_run(&x->call, timeout_ms);
    if (code) {
        session_lock(s);
        queue_unref(q);
        session_unlock(s);
    }
    pthread_setcancelstate(before, NULL);
    return code;
}
