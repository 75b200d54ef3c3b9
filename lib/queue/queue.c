/* Snapshots of queues: what is asked for, what is known already, who holds. */
#include "queue.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "recipes/name.h"
#include "recipes/numbering.h"
#include "recipes/rule.h"
#include "recipes/transaction.h"

static void clear_contender(void *data)
{
    zkl_contender *c = data;

    g_free((char *)(uintptr_t)c->node);
    g_free((char *)(uintptr_t)c->owner);
}

void queue_unref(zkl_queue *q)
{
    if (--q->refs > 0)
        return;
    g_array_unref(q->list);
    if (q->known)
        g_hash_table_unref(q->known);
    g_free(q->directory);
    g_free(q);
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

/* By one seen as of that kind: it waits, or, as one of ours, is refused. Of a semaphore's the limit
 * tells. */
static bool is_kept(const zkl_contender *c, const struct child *child, enum child_kind by)
{
    if (child->kind == CHILD_LEASE)
        return false;
    return rule_waits(child->rule, by) ||
           (c->client == ZKL_CLIENT_ZKL && rule_ignores(child->rule, by));
}

/* Curator's writer that reads has two nodes: what one is, the other is. */
static bool is_of_one_owner(const zkl_contender *a, const zkl_contender *b)
{
    return a->number == b->number && a->kind != b->kind &&
           rule_is_shared((enum child_kind)a->kind) && rule_is_shared((enum child_kind)b->kind);
}

/* Beyond the limit, which was higher when it came. */
enum { HOLDS_BEYOND = 2 };

void queue_mark_earlier(const zkl_queue *q, zkl_contender *c, const struct store_reply *reply)
{
    const char *data = reply->data ? reply->data : "";
    struct child child;
    uint32_t transaction;
    size_t length = transaction_payload(data, (size_t)reply->length, &transaction);

    name_parse(c->node, strlen(c->node), &child);
    if (child.kind != CHILD_LEASE || c->holds || reply->czxid >= q->limit_zxid)
        return;
    if (!child.numbered || numbering_read(data, length, NULL, 0, &length) > 0)
        c->holds = HOLDS_BEYOND;
}

/* Of a semaphore: as long as they and all before them ask for no more than the limit. */
static void mark_admitted(zkl_queue *q)
{
    uint64_t permits = 0;
    struct child child;

    for (guint i = 0; i < q->list->len; i++) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        name_parse(c->node, strlen(c->node), &child);
        permits += child.permits;
        if (child.kind == CHILD_LEASE && c->holds != HOLDS_BEYOND)
            c->holds = permits <= (uint64_t)q->limit;
    }
}

/* Those that no earlier one keeps waiting. */
void queue_mark_holders(zkl_queue *q)
{
    bool seen[CHILD_KINDS] = {false};
    struct child child;

    for (guint i = 0; i < q->list->len; i++) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        name_parse(c->node, strlen(c->node), &child);
        c->holds = MAX(c->holds, 1);
        for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++)
            c->holds *= !(seen[kind] && is_kept(c, &child, kind));
        if (i > 0 && is_of_one_owner(c, c - 1))
            c->holds = c[-1].holds;
        seen[child.kind] = true;
    }
    if (q->limit > 0)
        mark_admitted(q);
}

/* ---- what is known ---- */

static void know(zkl_queue *q, const zkl_queue *previous)
{
    q->known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < previous->list->len; i++) {
        zkl_contender *c = &g_array_index(previous->list, zkl_contender, i);
        if (c->token != 0)
            g_hash_table_insert(q->known, (char *)(uintptr_t)c->node, c);
    }
}

bool queue_recall(const zkl_queue *q, zkl_contender *c)
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

void queue_compact(zkl_queue *q)
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

/* Who left between list and read is no more; who is not read has no owner. Of a few who holds was
 * told when all were known. */
static void finish(zkl_queue *q)
{
    queue_compact(q);
    if (!q->wish.holders && !q->wish.node)
        queue_mark_holders(q);
    for (guint i = q->list->len; i-- > 0;) {
        zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        c->holds = c->holds != 0;
        if (q->wish.holders && !c->holds)
            g_array_remove_index(q->list, i);
    }
    g_clear_pointer(&q->known, g_hash_table_unref);
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
    g_array_set_clear_func(q->list, clear_contender);
    if (wish->previous)
        know(q, wish->previous);
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
    finish(q);
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
