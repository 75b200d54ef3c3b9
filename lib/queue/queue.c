/* Queues: a snapshot is a list, then a read of each node. A contender is asked to give way, or
 * removed, after a reading, so that nothing but a contender's node is ever touched. A watch tells
 * that a snapshot may have become another one. recipes/snapshot.h decides what is asked of the
 * server, and recipes/holders.h who holds. What stands in a table of functions is called with
 * the monitor held, and so is what it calls. The functions of the interface are called without it,
 * and so is queue_watch_call(), on the callback thread. */
#include "queue.h"

#include <string.h>

#include "children_watch.h"
#include "lib/base/callbacks.h"
#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/session/driver.h"
#include "recipes/holders.h"
#include "recipes/limit.h"
#include "recipes/name.h"
#include "recipes/payload.h"
#include "recipes/rule.h"
#include "recipes/snapshot.h"

/* A snapshot. While a call reads it, or asks or removes its contenders, the call has a reference,
 * too. */
struct zkl_queue {
    int refs; /* guarded by the monitor while there is a call */
    zkl_session *session;
    char *directory; /* with chroot */
    struct queue_wish wish;
    GArray *list;           /* of zkl_contender, in the order of the queue once the list is read */
    uint64_t made, changed; /* zxids that the list showed: when the directory was made, and when its
                               children last changed */
    GHashTable *known;   /* the contenders of wish.previous that were read: name -> zkl_contender */
    int32_t limit;       /* of a semaphore in our layout; 0: there is none */
    uint64_t limit_zxid; /* zxid of the change of the limit; 0: not changed since the directory was
                            made */
    bool unknown;        /* it is not known whether the node was removed */
};

/* A call that takes a snapshot, asks its contenders to give way, or removes its only one. */
struct queue_call {
    struct driven driven; /* the first member */
    struct snapshot machine;
    zkl_queue *queue;
    char *numbers; /* the line of numbers in the data that were read last, if their contender is to
                      be asked */
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

/* Takes out the contenders that have left, which have no name. Each of the others gets an owner, if
 * only "". */
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

/* ---- who holds ---- */

G_STATIC_ASSERT((int)ZKL_KIND_LEASE == (int)CHILD_LEASE);
G_STATIC_ASSERT((int)ZKL_CLIENT_RUBY == (int)MAKER_RUBY);

/* Returns c as recipes/holders.h sees it. Until queue_finish(), c->holds is an enum holding. */
static struct in_line queue_see(const zkl_contender *c)
{
    struct in_line seen = {.ours = c->client == ZKL_CLIENT_ZKL, .holding = (enum holding)c->holds};

    name_parse(c->node, strlen(c->node), &seen.child);
    return seen;
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

/* Copies what the previous snapshot knows of c, so that c is not read again. A holder is always
 * read again: it may have been asked to give way since. If the limit was ever changed, all are read
 * again: only a contender's data tell whether it holds beyond the limit. */
static void queue_copy_known(const zkl_queue *q, zkl_contender *c)
{
    const zkl_contender *old =
        q->known && !c->holds && q->limit_zxid == 0 ? g_hash_table_lookup(q->known, c->node) : NULL;

    if (!old)
        return;
    c->owner = g_strdup(old->owner);
    c->token = old->token;
    c->session_id = old->session_id;
    c->ctime_ms = old->ctime_ms;
}

/* Ends a reading: takes out the contenders that left between list and read, and makes .holds a
 * bool. If only a few are wanted, queue_store_list() has marked which hold, since it knew all of
 * them. */
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

/* ---- what answers show ---- */

/* Fills in c from the answer to its read, and marks it if it may hold beyond the limit. */
static void queue_fill_in(const zkl_queue *q, zkl_contender *c, const struct machine_event *ev)
{
    const gssize length = (gssize)payload_of_child(c->node, ev->data, ev->length, ev->version);
    const struct in_line seen = queue_see(c);
    const struct payload p = payload_read(ev->data, ev->length);
    const bool older = ev->czxid < q->limit_zxid;

    c->owner = q->wish.first ? g_utf8_make_valid(ev->data ? ev->data : "", length)
                             : clean_text(ev->data, length);
    c->token = ev->czxid;
    c->session_id = ev->owner;
    c->ctime_ms = ev->ctime_ms;
    if (holders_may_be_beyond(&seen, older, p.numbers != 0))
        c->holds = HOLDS_BEYOND;
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

static void queue_add(zkl_queue *q, const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    if (child.kind == CHILD_FOREIGN)
        return;
    /* kinds that differ only by the word in the name are one kind for the user */
    const zkl_kind kind = child.kind == CHILD_KAZOO         ? ZKL_KIND_LOCK
                          : child.kind == CHILD_KAZOO_READ  ? ZKL_KIND_READ
                          : child.kind == CHILD_RUBY_SHARED ? ZKL_KIND_RUBY
                                                            : (zkl_kind)child.kind;
    zkl_contender c = {.node = g_strdup(name),
                       .number = child.number,
                       .kind = kind,
                       .client = (zkl_client)name_maker(name, strlen(name)),
                       .retains = child.retains};
    g_array_append_val(q->list, c);
}

/* Whether the list shows leases in our layout, whose limit is in the directory's data. */
static bool queue_needs_limit(const struct machine_event *ev)
{
    struct child child;

    for (size_t i = 0; i < ev->count; i++) {
        const size_t length = strlen(ev->names[i]);
        name_parse(ev->names[i], length, &child);
        if (child.kind == CHILD_LEASE && name_maker(ev->names[i], length) == MAKER_ZKL)
            return true;
    }
    return false;
}

/* Whether contender i is to be read: it is among the first .max_nodes, and was not filled in yet.
 */
static bool queue_reads(const zkl_queue *q, guint i)
{
    const bool wanted = q->wish.max_nodes == 0 || i < q->wish.max_nodes;

    return wanted && !g_array_index(q->list, zkl_contender, i).owner;
}

/* Stores the contenders of a list that are wanted, in the order of the queue. No contender changes
 * its place after that, since requests name it by its place. */
static void queue_store_list(zkl_queue *q, const struct machine_event *ev)
{
    const struct queue_wish *wish = &q->wish;
    const zkl_queue *previous = wish->previous;
    const char *first;

    g_array_set_size(q->list, 0);
    q->made = ev->czxid;
    q->changed = ev->pzxid;
    /* names repeat if the directory was made anew, or if the data are older */
    if (q->known && (q->made != previous->made || q->changed < previous->changed))
        g_clear_pointer(&q->known, g_hash_table_unref);
    if (wish->first && (first = queue_first(ev->names, (int)ev->count, wish->first)))
        queue_add(q, first);
    for (size_t i = 0; i < ev->count && !wish->first; i++)
        queue_add(q, ev->names[i]);
    g_array_sort(q->list, queue_compare);
    queue_mark_holders(q);
    /* If the limit was changed, contenders that do not hold are read, too: only their data tell
     * whether they hold beyond the new limit. */
    for (guint i = q->list->len; i-- > 0;) {
        const zkl_contender *c = &g_array_index(q->list, zkl_contender, i);
        if ((wish->holders && !c->holds && q->limit_zxid == 0) ||
            (wish->node && strcmp(c->node, wish->node) != 0))
            g_array_remove_index(q->list, i);
    }
    for (guint i = 0; i < q->list->len; i++)
        if (queue_reads(q, i))
            queue_copy_known(q, &g_array_index(q->list, zkl_contender, i));
}

/* ---- a call: the driver's table ---- */

static struct queue_call *queue_call_of(struct driver *d)
{
    return (struct queue_call *)driven_of(d);
}

/* Returns the place in the list of the contender that node stands for. */
static guint queue_place(uint32_t node)
{
    return node - (node >= SNAPSHOT_NUMBERED ? SNAPSHOT_NUMBERED : SNAPSHOT_CONTENDER);
}

/* Whether a request is sent for contender i. */
static bool queue_asks(const struct queue_call *x, guint i)
{
    if (x->machine.goal == SNAPSHOT_ASK)
        return g_array_index(x->queue->list, zkl_contender, i).node != NULL;
    return queue_reads(x->queue, i);
}

static char *queue_call_path(struct driver *d, unsigned node)
{
    const struct queue_call *x = queue_call_of(d);
    const zkl_queue *q = x->queue;
    struct child child;

    if (node == SNAPSHOT_DIRECTORY)
        return g_strdup(q->directory);
    if (x->machine.goal != SNAPSHOT_REMOVE && !queue_asks(x, queue_place(node)))
        return NULL;
    const zkl_contender *c = &g_array_index(q->list, zkl_contender, queue_place(node));
    name_parse(c->node, strlen(c->node), &child);
    if (x->machine.goal == SNAPSHOT_ASK && child.numbered != (node >= SNAPSHOT_NUMBERED))
        return NULL;
    return g_strconcat(q->directory, "/", c->node, NULL);
}

/* Returns the data that ask to give way: the word, then the numbers that the node had. Without the
 * numbers, later contenders of a numbered semaphore would wait for them. */
static char *queue_call_data(struct driver *d, unsigned node, int *ret_length)
{
    const struct queue_call *x = queue_call_of(d);
    char *data = g_strconcat(REVOKE_WORD, node >= SNAPSHOT_NUMBERED ? x->numbers : NULL, NULL);

    *ret_length = (int)strlen(data);
    return data;
}

/* Stores what an answer shows, before the machine decides by it. */
static void queue_call_store(struct queue_call *x, const struct machine_event *ev,
                             struct snapshot_moment *m)
{
    zkl_queue *q = x->queue;
    zkl_contender *c = NULL;

    if (ev->node != SNAPSHOT_DIRECTORY)
        c = &g_array_index(q->list, zkl_contender, queue_place(ev->node));
    if (c && ev->rc == STORE_NONODE) { /* it has left, and so has no name any more */
        queue_clear_contender(c);
        c->node = c->owner = NULL;
    }
    if (ev->rc != STORE_OK)
        return;
    if (ev->verb == STORE_LIST) {
        m->needs_limit = !x->machine.has_limit && queue_needs_limit(ev);
        if (!m->needs_limit)
            queue_store_list(q, ev);
    } else if (ev->verb == STORE_GET && !c) {
        q->limit = limit_read(ev->data, ev->length);
        q->limit_zxid = q->limit > 0 && ev->mzxid > ev->czxid ? ev->mzxid : 0;
    } else if (ev->verb == STORE_GET && x->machine.goal == SNAPSHOT_ASK) {
        const struct payload p = payload_read(ev->data, ev->length);
        g_free(x->numbers);
        x->numbers = g_strndup((const char *)ev->data + p.length, p.numbers_end - p.length);
    } else if (ev->verb == STORE_GET) {
        queue_fill_in(q, c, ev);
    }
}

static void queue_call_step(struct driver *d, const struct machine_event *ev,
                            struct machine_actions *out)
{
    struct queue_call *x = queue_call_of(d);
    struct snapshot_moment m = {.count = 0};

    if (ev->kind == MACHINE_EV_ANSWER)
        queue_call_store(x, ev, &m);
    m.count = x->queue->list->len;
    if (ev->kind != MACHINE_EV_ANSWER || ev->verb == STORE_LIST)
        for (guint i = 0; i < m.count; i++)
            m.left += queue_asks(x, i);
    snapshot_step(&x->machine, ev, &m, out);
}

static void queue_call_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct queue_call *x = queue_call_of(d);
    struct call *c = &x->driven.call;

    x->queue->unknown = a->verdict == SNAPSHOT_UNKNOWN;
    if (a->verdict == SNAPSHOT_STOPPED)
        call_end_as(c, &c->error);
    else
        call_end(c, a->verdict == SNAPSHOT_FAILED ? call_error(a->rc) : 0, NULL);
}

static const struct driver_ops queue_driver = {.step = queue_call_step,
                                               .path = queue_call_path,
                                               .data = queue_call_data,
                                               .on_verdict = queue_call_on_verdict,
                                               .ref_owner = driven_ref,
                                               .free = driven_unref};

static void queue_call_free(struct call *c)
{
    struct queue_call *x = (struct queue_call *)c;

    queue_unref(x->queue);
    g_free(x->numbers);
    driven_free(c);
}

static const struct call_ops queue_call_ops = {.waits = true,
                                               .begin = driven_begin,
                                               .stop = driven_stop,
                                               .replaced = driven_replaced,
                                               .free = queue_call_free};

/* Runs one call on q. Returns 0, and the caller alone has q; or the thread's last error, and q is
 * freed. */
static int queue_run(zkl_queue *q, enum snapshot_goal goal, int64_t timeout_ms)
{
    zkl_session *s = q->session;
    struct queue_call *x = g_new0(struct queue_call, 1);
    int code, before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    x->machine.goal = goal;
    x->queue = q;
    q->refs++;
    call_init(&x->driven.call, &queue_call_ops, s, g_strdup(q->directory), NULL, NULL);
    driver_init(&x->driven.driver, &queue_driver, s, STORE_PERSISTENT);
    code = call_run(&x->driven.call, timeout_ms);
    if (code) {
        session_lock(s);
        queue_unref(q);
        session_unlock(s);
    }
    pthread_setcancelstate(before, NULL);
    return code;
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
    if (!wish->previous)
        return q;
    q->known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < wish->previous->list->len; i++) {
        zkl_contender *c = &g_array_index(wish->previous->list, zkl_contender, i);
        if (c->token != 0)
            g_hash_table_insert(q->known, (char *)(uintptr_t)c->node, c);
    }
    return q;
}

int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms)
{
    int code;

    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, session_path(s, directory),
                         "%s: reading would wait inside a callback", session_path(s, directory));
    session_ref(s); /* another thread's close ends the reading, and may free the session before this
                       returns */
    zkl_queue *q = queue_new(s, directory, wish);
    code = queue_run(q, wish->first ? SNAPSHOT_OF_FIRST : SNAPSHOT_OF_ALL, timeout_ms);
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

/* No lock is needed: all requests were answered, so nobody else has q. */
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

static int queue_error_nobody(const char *path, const char *node)
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

static int queue_ask(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                     int64_t timeout_ms)
{
    const int64_t end = call_due_of_all(s, timeout_ms);
    zkl_queue *q;
    int code = queue_read_some(&q, s, path, node, timeout_ms);

    if (code)
        return code;
    if (zkl_queue_count(q) > 0 && (code = queue_run(q, SNAPSHOT_ASK, call_left_ms(end))))
        return code;
    queue_compact(q);
    if (zkl_queue_count(q) == 0) {
        queue_unref(q);
        return queue_error_nobody(path, node);
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
    session_ref(s); /* another thread's close ends this, and may free the session before it
                       returns */
    code = queue_ask(ret, s, path, node, timeout_ms);
    session_unref(s);
    return code;
}

/* ---- removing ---- */

/* Reads the contender and removes it. end: when the caller's time is over (call_due_of_all()).
 * *ret_again: it is not known whether the node was removed. */
static int queue_remove_once(zkl_session *s, const char *path, const char *node, uint64_t token,
                             int64_t end, bool *ret_again)
{
    zkl_queue *q;
    int code = queue_read_some(&q, s, path, node, call_left_ms(end));

    if (code)
        return code;
    if (zkl_queue_count(q) == 0 || zkl_queue_get(q, 0)->token != token) {
        queue_unref(q);
        return queue_error_nobody(path, node);
    }
    if ((code = queue_run(q, SNAPSHOT_REMOVE, call_left_ms(end))))
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

/* A watch of a queue. Each query leaves a watch on the children, or on the path if that is missing,
 * and tells the user. A later change fires the watch. */
struct queue_watch {
    struct children_watch watch; /* the first member */
    struct children machine;
    zkl_queue_fn fn;
    void *data;
    bool queued; /* a message waits to be told */
};

static void queue_watch_call(struct children_watch_message *m)
{
    struct queue_watch *w = (struct queue_watch *)m->watch;

    /* a change that is found after this is told once more */
    session_lock(w->watch.session);
    w->queued = false;
    session_unlock(w->watch.session);
    w->fn(w->data);
}

static void queue_watch_free_message(struct children_watch_message *m)
{
    g_free(m);
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

/* Tells the user of a change. A failure is told as a change, too: the user then reads the queue,
 * and gets the error. */
static void queue_watch_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct queue_watch *w = queue_watch_of(d);
    struct children_watch_message *m;

    if (a->verdict < CHILDREN_TELL_OWN)
        children_watch_log(&w->watch, (enum children_tell)a->verdict);
    if (w->queued)
        return;
    m = g_new(struct children_watch_message, 1);
    *m =
        (struct children_watch_message){.call = queue_watch_call, .free = queue_watch_free_message};
    w->queued = true;
    children_watch_tell(&w->watch, m);
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
        struct queue_watch *w = g_new0(struct queue_watch, 1);
        char *directory = g_strconcat(s->chroot, path, NULL);
        w->fn = fn;
        w->data = data;
        /* a short queue is listed ten times a second at most; of a long one, 10,000 names a second
         * are listed */
        w->machine =
            (struct children){.watch = true, .gap = 100 * CLOCK_MS, .gap_each = CLOCK_MS / 10};
        children_watch_init(&w->watch, s, directory, &queue_watch_kind, children_watch_list_of(s));
        g_free(directory);
        *ret = children_watch_handle(&w->watch);
        children_watch_begin(&w->watch);
    }
    session_unlock(s);
    return code;
}
