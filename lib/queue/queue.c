/* Queues: a snapshot is a list, then a read of each node. A contender is asked to give way, or
 * removed, after a reading, so that nothing but a contender's node is ever touched. A watch tells
 * that a snapshot may have become another one. The functions of the interface take the monitor;
 * those called begin, or on_…, have it held. */
#include "queue.h"

#include <string.h>

#include "children_watch.h"
#include "lib/base/callbacks.h"
#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/session/call.h"
#include "lib/session/participant.h"
#include "lib/session/request.h"
#include "recipes/holders.h"
#include "recipes/limit.h"
#include "recipes/name.h"
#include "recipes/numbering.h"
#include "recipes/revoke.h"
#include "recipes/rule.h"
#include "recipes/transaction.h"

/* A snapshot. While it is read or changed an exchange has a reference, too. */
struct zkl_queue {
    int refs; /* guarded by the monitor while there is an exchange */
    zkl_session *session;
    char *directory; /* with chroot */
    struct queue_wish wish;
    GArray *list;           /* of zkl_contender, in order from the list on */
    uint64_t made, changed; /* the directory, and its children last: the list's zxids */
    GHashTable *known;      /* of zkl_contender by name: those of wish.previous that were read */
    int32_t limit;          /* of a semaphore of ours; 0: there is none */
    uint64_t limit_zxid;    /* when it was changed; 0: not since the directory was made */
    bool limit_read;
    bool unknown; /* whether a node was removed */
};

/* Many requests about it, and one answer: a call that begins anew with each session. */
struct queue_exchange {
    struct call call; /* the first member */
    zkl_queue *queue;
    void (*begin)(struct queue_exchange *x); /* what it asks the server first */
    unsigned left;                           /* requests under way */
    bool again; /* its session ended, or the first one left: it is all asked anew */
};

static void queue_clear_contender(void *data)
{
    zkl_contender *c = data;

    g_free((char *)(uintptr_t)c->node);
    g_free((char *)(uintptr_t)c->owner);
}

static void queue_unref(zkl_queue *q)
{
    if (--q->refs > 0)
        return;
    g_array_unref(q->list);
    if (q->known)
        g_hash_table_unref(q->known);
    g_free(q->directory);
    g_free(q);
}

/* The contender has left. */
static void queue_forget(zkl_contender *c)
{
    queue_clear_contender(c);
    c->node = c->owner = NULL;
}

/* Takes out the contenders that have left. */
static void queue_compact(zkl_queue *q)
{
    zkl_contender *all = (zkl_contender *)(void *)q->list->data; /* may be NULL */
    guint kept = 0;

    for (guint i = 0; i < q->list->len; i++) {
        const zkl_contender c = all[i];
        all[i] = (zkl_contender){.node = NULL};
        if (!c.node)
            continue;
        all[kept] = c;
        if (!c.owner)
            all[kept].owner = g_strdup("");
        kept++;
    }
    g_array_set_size(q->list, kept);
}

int queue_payload_length(const char *name, const char *data, int length, int32_t version)
{
    uint32_t number;
    size_t payload;

    if (!data || version == 0 || name_maker(name, strlen(name)) != MAKER_ZKL)
        return length;
    payload = transaction_payload(data, (size_t)length, &number);
    numbering_read(data, payload, NULL, 0, &payload);
    return (int)payload;
}

/* ---- who holds ---- */

G_STATIC_ASSERT((int)ZKL_KIND_LEASE == (int)CHILD_LEASE);
G_STATIC_ASSERT((int)ZKL_CLIENT_RUBY == (int)MAKER_RUBY);

/* .holds is an enum holding until the reading ends. */
static struct in_line queue_see(const zkl_contender *c)
{
    struct in_line seen = {.ours = c->client == ZKL_CLIENT_ZKL, .holding = (enum holding)c->holds};

    name_parse(c->node, strlen(c->node), &seen.child);
    return seen;
}

/* c, which was read so, may hold beyond the limit. */
static void queue_mark_earlier(const zkl_queue *q, zkl_contender *c,
                               const struct store_reply *reply)
{
    const char *data = reply->data ? reply->data : "";
    const struct in_line seen = queue_see(c);
    uint32_t transaction;
    size_t length = transaction_payload(data, (size_t)MAX(reply->length, 0), &transaction);
    const bool has_numbers = numbering_read(data, length, NULL, 0, &length) > 0;

    if (holders_may_be_beyond(&seen, reply->czxid < q->limit_zxid, has_numbers))
        c->holds = HOLDS_BEYOND;
}

static void queue_mark_holders(zkl_queue *q)
{
    zkl_contender *all = (zkl_contender *)(void *)q->list->data; /* may be NULL */
    const guint count = q->list->len;
    struct in_line *line = g_new(struct in_line, count);

    for (guint i = 0; i < count; i++)
        line[i] = queue_see(&all[i]);
    holders_mark(line, count, q->limit);
    for (guint i = 0; i < count; i++)
        all[i].holds = (int)line[i].holding;
    g_free(line);
}

/* ---- what is known ---- */

static void queue_know(zkl_queue *q, const zkl_queue *previous)
{
    q->known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < previous->list->len; i++) {
        zkl_contender *c = &g_array_index(previous->list, zkl_contender, i);
        if (c->token != 0)
            g_hash_table_insert(q->known, (char *)(uintptr_t)c->node, c);
    }
}

/* Whether c waits, and wish.previous has what is to be read of it, which is then filled in. */
static bool queue_recall(const zkl_queue *q, zkl_contender *c)
{
    const zkl_contender *old =
        q->known && !c->holds && q->limit_zxid == 0 ? g_hash_table_lookup(q->known, c->node) : NULL;

    if (!old)
        return false;
    c->owner = g_strdup(old->owner);
    c->token = old->token;
    c->session_id = old->session_id;
    c->ctime_ms = old->ctime_ms;
    return true;
}

/* Leaves out contenders that left between list and read. A contender that is not read has no owner.
 * If only a few were wanted, queue_take_list() has marked who holds, while all were known. */
static void queue_finish(zkl_queue *q)
{
    queue_compact(q);
    if (!q->wish.holders && !q->wish.node)
        queue_mark_holders(q);
    for (guint i = q->list->len; i-- > 0;) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        c->holds = c->holds != HOLDS_NOT;
        if (q->wish.holders && !c->holds)
            g_array_remove_index(q->list, i);
    }
    g_clear_pointer(&q->known, g_hash_table_unref);
}

/* ---- exchanges: many requests about a snapshot, and one answer ---- */

static void queue_end(struct queue_exchange *x)
{
    call_end(&x->call, 0, NULL);
}

static void queue_refused(struct queue_exchange *x, enum store_rc rc)
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

/* Makes a request about a contender, and does not send it. Its context is the exchange, and its
 * done ends with queue_answered(). An exchange that has nothing to ask calls queue_end() instead.
 */
static struct request *
queue_request(struct queue_exchange *x, enum store_kind kind, guint contender,
              void (*done)(struct request *r, const struct store_reply *reply))
{
    const zkl_contender *c = &g_array_index(x->queue->list, zkl_contender, contender);
    char *path = g_strconcat(x->queue->directory, "/", c->node, NULL);
    struct request *r = queue_request_for(x, kind, path, done);

    r->tag = contender;
    return r;
}

static void queue_ask_about(struct queue_exchange *x, enum store_kind kind,
                            void (*done)(struct request *r, const struct store_reply *reply))
{
    request_send(x->call.session, queue_request_for(x, kind, g_strdup(x->queue->directory), done));
}

/* One request is answered. After the last of them the exchange ends, or begins again. A session
 * that has no successor stops it. */
static void queue_answered(struct queue_exchange *x, enum store_rc rc)
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

static void queue_exchange_begin(struct call *c)
{
    struct queue_exchange *x = (struct queue_exchange *)c;

    x->begin(x);
}

static void queue_exchange_free(struct call *c)
{
    struct queue_exchange *x = (struct queue_exchange *)c;

    queue_unref(x->queue);
    g_free(x);
}

static const struct call_ops queue_exchange_ops = {
    .waits = true, .begin = queue_exchange_begin, .stop = call_end_as, .free = queue_exchange_free};

/* Asks the server by begin, and waits until all is answered. Returns 0, and nobody else has q any
 * more; or the thread's last error, and q is freed. */
static int queue_run(zkl_queue *q, void (*begin)(struct queue_exchange *x), int64_t timeout_ms)
{
    zkl_session *s = q->session;
    struct queue_exchange *x = g_new0(struct queue_exchange, 1);
    int code, before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    x->queue = q;
    q->refs++;
    x->begin = begin;
    call_init(&x->call, &queue_exchange_ops, s, g_strdup(q->directory), NULL, NULL);
    code = call_run(&x->call, timeout_ms);
    if (code) {
        session_lock(s);
        queue_unref(q);
        session_unlock(s);
    }
    pthread_setcancelstate(before, NULL);
    return code;
}

/* ---- the exchange that fills it ---- */

static void queue_take(const zkl_queue *q, zkl_contender *c, const struct store_reply *reply)
{
    const int length = queue_payload_length(c->node, reply->data, reply->length, reply->version);

    c->owner = q->wish.first ? g_utf8_make_valid(reply->data ? reply->data : "", length)
                             : clean_text(reply->data, length);
    c->token = reply->czxid;
    c->session_id = reply->ephemeral_owner;
    c->ctime_ms = reply->ctime_ms;
    queue_mark_earlier(q, c, reply);
}

static void queue_on_read(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;
    zkl_contender *c = &g_array_index(x->queue->list, zkl_contender, r->tag);
    const bool over = x->call.ended;

    if (reply->rc == STORE_OK && !over)
        queue_take(x->queue, c, reply);
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

static int queue_compare(gconstpointer a, gconstpointer b)
{
    const zkl_contender *x = a, *y = b;

    return rule_compare((int32_t)x->number, (int32_t)y->number);
}

/* The kind says what it is, by whatever word others see it. */
static zkl_kind queue_kind_of(enum child_kind kind)
{
    return kind == CHILD_KAZOO         ? ZKL_KIND_LOCK
           : kind == CHILD_KAZOO_READ  ? ZKL_KIND_READ
           : kind == CHILD_RUBY_SHARED ? ZKL_KIND_RUBY
                                       : (zkl_kind)kind;
}

static void queue_enter(zkl_queue *q, const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    if (child.kind == CHILD_FOREIGN)
        return;
    zkl_contender c = {.node = g_strdup(name),
                       .number = child.number,
                       .kind = queue_kind_of(child.kind),
                       .client = (zkl_client)name_maker(name, strlen(name)),
                       .retains = child.retains};
    g_array_append_val(q->list, c);
}

/* Keeps the contenders that the caller wants. If the limit was changed, all are read, since only
 * their data tell who holds beyond the new limit. */
static void queue_pick(zkl_queue *q)
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
static void queue_read_payloads(struct queue_exchange *x)
{
    zkl_queue *q = x->queue;

    for (guint i = 0; i < q->list->len && !x->call.ended; i++) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        if ((q->wish.max_nodes != 0 && i >= q->wish.max_nodes) || queue_recall(q, c))
            continue;
        request_send(q->session, queue_request(x, STORE_GET, i, queue_on_read));
    }
}

static void queue_on_listed(struct request *r, const struct store_reply *reply);

/* The list is asked for once more, so that it is not older than the limit. */
static void queue_on_limit(struct request *r, const struct store_reply *reply)
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
        queue_ask_about(x, STORE_LIST, queue_on_listed);
    queue_answered(x, reply->rc);
}

static bool queue_lacks_limit(const zkl_queue *q, char *const *names, int count)
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
static void queue_take_zxids(zkl_queue *q, const struct store_reply *reply)
{
    const zkl_queue *previous = q->wish.previous;

    q->made = reply->czxid;
    q->changed = reply->pzxid;
    if (q->known && (q->made != previous->made || q->changed < previous->changed))
        g_clear_pointer(&q->known, g_hash_table_unref);
}

static void queue_take_list(struct queue_exchange *x, const struct store_reply *reply)
{
    zkl_queue *q = x->queue;
    const char *first;

    if (queue_lacks_limit(q, reply->names, reply->count)) {
        queue_ask_about(x, STORE_GET, queue_on_limit);
        return;
    }
    queue_take_zxids(q, reply);
    if (q->wish.first &&
        (first = queue_first((const char *const *)reply->names, reply->count, q->wish.first)))
        queue_enter(q, first);
    for (int i = 0; i < reply->count && !q->wish.first; i++)
        queue_enter(q, reply->names[i]);
    g_array_sort(q->list, queue_compare);
    queue_mark_holders(q);
    queue_pick(q);
    queue_read_payloads(x);
}

static void queue_on_listed(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->call.ended)
        queue_take_list(x, reply);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        queue_refused(x, reply->rc);
    queue_answered(x, reply->rc);
}

static void queue_on_synced(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->call.ended)
        queue_ask_about(x, STORE_LIST, queue_on_listed);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        queue_refused(x, reply->rc);
    queue_answered(x, reply->rc);
}

static void queue_begin_reading(struct queue_exchange *x)
{
    zkl_queue *q = x->queue;

    g_array_set_size(q->list, 0);
    q->limit_read = false;
    if (q->wish.first)
        queue_ask_about(x, STORE_SYNC, queue_on_synced);
    else
        queue_ask_about(x, STORE_LIST, queue_on_listed);
}

/* ---- reading ---- */

static zkl_queue *queue_new(zkl_session *s, const char *directory, const struct queue_wish *wish)
{
    zkl_queue *q = g_new0(zkl_queue, 1);

    q->refs = 1;
    q->session = s;
    q->directory = g_strdup(directory);
    q->wish = *wish;
    q->list = g_array_new(FALSE, TRUE, sizeof(zkl_contender));
    g_array_set_clear_func(q->list, queue_clear_contender);
    if (wish->previous)
        queue_know(q, wish->previous);
    return q;
}

int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms)
{
    int code;

    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, session_path(s, directory),
                         "%s: reading would wait inside a callback", session_path(s, directory));
    session_ref(s); /* closing it ends the reading, and may come first to its end */
    zkl_queue *q = queue_new(s, directory, wish);
    code = queue_run(q, queue_begin_reading, timeout_ms);
    session_unref(s);
    if (code)
        return code;
    queue_finish(q);
    *ret = q;
    return 0;
}

int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path,
                   const zkl_queue_options *options, int64_t timeout_ms)
{
    zkl_queue_options o = ZKL_QUEUE_OPTIONS_INIT;
    const char *wrong;
    int code = session_check(s);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_queue_read: ret is NULL");
    if ((wrong = options_take(&o, sizeof o, options)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if ((code = path_error(s->chroot, path)))
        return code;
    const struct queue_wish wish = {.max_nodes = o.max_nodes, .previous = o.previous};
    char *directory = g_strconcat(s->chroot, path, NULL);
    code = queue_read(ret, s, directory, &wish, timeout_ms);
    g_free(directory);
    return code;
}

size_t zkl_queue_count(const zkl_queue *q)
{
    return q ? q->list->len : 0;
}

const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i)
{
    return i < zkl_queue_count(q) ? &g_array_index(q->list, zkl_contender, i) : NULL;
}

/* All requests were answered: nobody else has it any more. */
void zkl_queue_free(zkl_queue *q)
{
    if (q)
        queue_unref(q);
}

/* ---- what asking and removing begin with ---- */

static int queue_check(const zkl_session *s, const char *path, const char *what, const void *needed)
{
    int code = session_check(s);

    if (code)
        return code;
    if (!needed)
        return error_set(ZKL_EINVAL, NULL, "%s is NULL", what);
    return path_error(s->chroot, path);
}

static int queue_nobody(const char *path, const char *node)
{
    return node ? error_set(ZKL_ENOENT, path, "%s: no contender %.100s", path, node)
                : error_set(ZKL_ENOENT, path, "%s: nobody holds it", path);
}

static int queue_read_some(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                           int64_t timeout_ms)
{
    const struct queue_wish wish = {.holders = !node, .node = node};
    char *directory = g_strconcat(s->chroot, path, NULL);
    int code = queue_read(ret, s, directory, &wish, timeout_ms);

    g_free(directory);
    return code;
}

/* ---- asking ---- */

static void queue_on_numbers(struct request *r, const struct store_reply *reply);

static void queue_ask_numbers(struct queue_exchange *x, guint contender)
{
    request_send(x->call.session, queue_request(x, STORE_GET, contender, queue_on_numbers));
}

/* A contender that has left has given way. */
static void queue_word_answered(struct queue_exchange *x, guint contender, enum store_rc rc)
{
    if (rc == STORE_NONODE)
        queue_forget(&g_array_index(x->queue->list, zkl_contender, contender));
    else if (rc != STORE_OK && rc != STORE_GONE)
        queue_refused(x, rc);
    queue_answered(x, rc);
}

/* The data of numbered permits may have changed since they were read. */
static void queue_on_asked(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc != STORE_BADVERSION || x->call.ended) {
        queue_word_answered(x, r->tag, reply->rc);
        return;
    }
    queue_ask_numbers(x, r->tag);
    queue_answered(x, reply->rc);
}

/* numbers: the line below the word, or "". To ask twice does no harm, so a request without an
 * answer is made again, even in another session. */
static void queue_set_word(struct queue_exchange *x, guint contender, const char *numbers,
                           int32_t version)
{
    struct request *r = queue_request(x, STORE_SET, contender, queue_on_asked);
    char *data = g_strconcat(REVOKE_WORD, numbers, NULL);

    r->what.data = data;
    r->what.length = (int)strlen(data);
    r->what.version = version;
    request_send(x->call.session, r);
}

/* Those behind go by the numbers, and would wait for them. */
static void queue_on_numbers(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->call.ended) {
        const char *data = reply->data ? reply->data : "";
        uint32_t transaction;
        size_t payload, length = transaction_payload(data, (size_t)reply->length, &transaction);
        numbering_read(data, length, NULL, 0, &payload);
        char *numbers = g_strndup(data + payload, length - payload);
        queue_set_word(x, r->tag, numbers, reply->version);
        g_free(numbers);
    }
    queue_word_answered(x, r->tag, reply->rc);
}

/* The word is set for any version, as by Curator's Revoker, but for what Curator does not have. */
static void queue_begin_asking(struct queue_exchange *x)
{
    const zkl_queue *q = x->queue;
    struct child child;

    for (guint i = 0; i < q->list->len; i++) {
        const char *node = g_array_index(q->list, zkl_contender, i).node;
        if (!node)
            continue;
        name_parse(node, strlen(node), &child);
        if (child.numbered)
            queue_ask_numbers(x, i);
        else
            queue_set_word(x, i, "", -1);
    }
    if (x->left == 0)
        queue_end(x);
}

static int queue_ask(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                     int64_t timeout_ms)
{
    const int64_t end = call_due_of_all(s, timeout_ms);
    zkl_queue *q;
    int code = queue_read_some(&q, s, path, node, timeout_ms);

    if (code)
        return code;
    if (zkl_queue_count(q) > 0 && (code = queue_run(q, queue_begin_asking, call_left_ms(end))))
        return code;
    queue_compact(q);
    if (zkl_queue_count(q) == 0) {
        queue_unref(q);
        return queue_nobody(path, node);
    }
    *ret = q;
    return 0;
}

int zkl_queue_revoke(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                     int64_t timeout_ms)
{
    int code = queue_check(s, path, "zkl_queue_revoke: ret", ret);

    if (code)
        return code;
    session_ref(s); /* closing it ends this, and may come first to its end */
    code = queue_ask(ret, s, path, node, timeout_ms);
    session_unref(s);
    return code;
}

/* ---- removing ---- */

/* Gone is gone. */
static void queue_on_removed(struct request *r, const struct store_reply *reply)
{
    struct queue_exchange *x = r->context;
    const bool unknown = reply->rc == STORE_UNKNOWN || reply->rc == STORE_GONE;

    x->queue->unknown = unknown;
    if (!unknown && reply->rc != STORE_OK && reply->rc != STORE_NONODE)
        queue_refused(x, reply->rc);
    queue_answered(x, reply->rc);
}

/* Once, and not in another session either: whose node it is is looked at before each try. */
static void queue_begin_removing(struct queue_exchange *x)
{
    if (x->queue->unknown) {
        queue_end(x);
        return;
    }
    struct request *r = queue_request(x, STORE_DELETE, 0, queue_on_removed);
    r->once = true;
    request_send(x->call.session, r);
}

/* *ret_again: it is not known whether it was removed. */
static int queue_remove_once(zkl_session *s, const char *path, const char *node, uint64_t token,
                             int64_t end, bool *ret_again)
{
    zkl_queue *q;
    int code = queue_read_some(&q, s, path, node, call_left_ms(end));

    if (code)
        return code;
    if (zkl_queue_count(q) == 0 || zkl_queue_get(q, 0)->token != token) {
        queue_unref(q);
        return queue_nobody(path, node);
    }
    if ((code = queue_run(q, queue_begin_removing, call_left_ms(end))))
        return code;
    *ret_again = q->unknown;
    queue_unref(q);
    return 0;
}

int zkl_queue_break(zkl_session *s, const char *path, const char *node, uint64_t token,
                    int64_t timeout_ms)
{
    int code = queue_check(s, path, "zkl_queue_break: node", node);
    bool tried = false, again = true;

    if (code)
        return code;
    session_ref(s);
    const int64_t end = call_due_of_all(s, timeout_ms);
    while (code == 0 && again) {
        code = queue_remove_once(s, path, node, token, end, &again);
        if (code == ZKL_ENOENT && tried)
            code = again = 0;
        tried = true;
    }
    session_unref(s);
    return code;
}

/* ---- watching ---- */

/* Each query leaves a watch on the children, or on the path's coming, and tells. What changes
 * behind that fires it. */
struct queue_watch {
    struct children_watch watch; /* the first member */
    struct children machine;
    zkl_queue_fn fn;
    void *data;
    bool queued; /* a message is */
};

static void queue_watch_call(struct children_watch_message *m)
{
    struct queue_watch *w = (struct queue_watch *)m->watch;

    /* What is found from here on is news again. */
    session_lock(w->watch.session);
    w->queued = false;
    session_unlock(w->watch.session);
    w->fn(w->data);
}

static void queue_watch_free_message(struct children_watch_message *m)
{
    g_free(m);
}

static void queue_watch_push(struct queue_watch *w)
{
    struct children_watch_message *m;

    if (w->queued)
        return;
    m = g_new(struct children_watch_message, 1);
    *m =
        (struct children_watch_message){.call = queue_watch_call, .free = queue_watch_free_message};
    w->queued = true;
    children_watch_tell(&w->watch, m);
}

static struct queue_watch *queue_watch_of(struct driver *d)
{
    return (struct queue_watch *)children_watch_of(d);
}

static void queue_watch_step(struct driver *d, const struct machine_event *ev,
                             struct machine_actions *out)
{
    struct queue_watch *w = queue_watch_of(d);
    const struct children_moment moment = children_watch_moment(&w->watch);

    children_report(&w->machine, ev, &moment, out);
}

/* The user hears of a failure as of a change: reading the queue then says why. */
static void queue_watch_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct queue_watch *w = queue_watch_of(d);

    if (a->verdict < CHILDREN_TELL_OWN)
        children_watch_log(&w->watch, (enum children_tell)a->verdict);
    queue_watch_push(w);
}

static void queue_watch_free(struct children_watch *cw)
{
    g_free((struct queue_watch *)cw);
}

static const struct children_watch_kind queue_watch_kind = {
    .driver = {.step = queue_watch_step,
               .path = children_watch_path,
               .on_verdict = queue_watch_on_verdict,
               .free = children_watch_free},
    .doing = "watching the queue",
    .free = queue_watch_free};

static struct queue_watch *queue_watch_new(zkl_session *s, const char *path, zkl_queue_fn fn,
                                           void *data)
{
    struct queue_watch *w = g_new0(struct queue_watch, 1);
    char *directory = g_strconcat(s->chroot, path, NULL);

    w->fn = fn;
    w->data = data;
    /* Short queues are listed ten times a second at most, of long ones 10,000 names a second. */
    w->machine = (struct children){.watch = true, .gap = 100 * CLOCK_MS, .gap_each = CLOCK_MS / 10};
    children_watch_init(&w->watch, s, directory, &queue_watch_kind, children_watch_list_of(s));
    g_free(directory);
    return w;
}

int zkl_queue_watch(zkl_watch **ret, zkl_session *s, const char *path, zkl_queue_fn fn, void *data)
{
    int code = session_check(s);

    if (code)
        return code;
    if (!ret || !fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_queue_watch: %s is NULL", ret ? "fn" : "ret");
    if ((code = path_error(s->chroot, path)))
        return code;
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct queue_watch *w = queue_watch_new(s, path, fn, data);
        *ret = children_watch_handle(&w->watch);
        children_watch_begin(&w->watch);
    }
    session_unlock(s);
    return code;
}
