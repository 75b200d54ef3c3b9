/* The functions of the interface, multi_run() and what checks and makes a transaction for them are
 * called without the monitor. All others are called with it held. */
#include "multi.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "recipes/payload.h"

/* A transaction, as the user has called for it. */
struct multi {
    struct call call;
    zkl_grant *grant;
    struct multi_queue *queue;
    struct store_change *changes; /* after the fence: checks of the grant's other nodes, the user's
                                     changes, the deletes of a release */
    int count;
    GStringChunk *texts; /* the paths and data of .changes */
    bool release;        /* it gives the grant back */
    bool begun;          /* it is the first of its queue, or was */
    GList link;
};

/* ---- what is asked for ---- */

enum {
    BYTES_MAX = 1000000, /* a server drops the connection after a packet of more than 1 MiB */
    BYTES_EACH = 64,     /* what a change takes besides its path and data */
    ACL_BYTES_EACH = 3   /* what a character of the ACL's text takes, at most */
};

/* Returns what is wrong with a change; NULL: nothing. */
static const char *multi_check_change(const zkl_change *c, const zkl_grant *g)
{
    const char *wrong = path_check(c->path);

    if (wrong)
        return wrong;
    for (uint32_t i = 0; i < grant_count(g); i++)
        if (strcmp(c->path, grant_node(g, i)) == 0)
            return "the grant's own node cannot be changed";
    if (c->kind < ZKL_CHANGE_CREATE || c->kind > ZKL_CHANGE_CHECK)
        return "kind is none of zkl_change_kind";
    if (c->size > 0 && !c->data)
        return "data is NULL and size is not 0";
    return NULL;
}

/* Checks the arguments of a transaction. Returns 0, or the thread's last error. */
static int multi_check(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags)
{
    size_t bytes = 0;

    if (!g || (count > 0 && !changes) || (flags & ~ZKL_MULTI_RELEASE))
        return error_set(ZKL_EINVAL, NULL,
                         "zkl_grant_multi: g or changes is NULL, or a flag is unknown");
    if (grant_is_child(g))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    if (!grant_tenure(g, 0)->payload)
        return error_set(ZKL_EINVAL, zkl_grant_node(g), "a membership has no transactions");
    const zkl_session *s = grant_session(g);
    const size_t chroot = strlen(s->chroot), acl = strlen(s->acl ? s->acl : "");
    /* each other node of the grant is checked, and may be deleted */
    for (uint32_t i = 1; i < grant_count(g); i++)
        bytes += 2 * (strlen(grant_tenure(g, i)->full_node) + BYTES_EACH);
    for (size_t i = 0; i < count; i++) {
        const char *wrong = multi_check_change(&changes[i], g);
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

/* Appends a change of the node at chroot and path. */
static void multi_add(struct multi *m, enum store_kind kind, const char *chroot, const char *path)
{
    char *full = g_strconcat(chroot, path, NULL);

    m->changes[m->count++] = (struct store_change){
        .kind = kind, .path = g_string_chunk_insert(m->texts, full), .length = -1, .version = -1};
    g_free(full);
}

/* Appends a change of the user's. */
static void multi_add_users(struct multi *m, const zkl_change *c)
{
    static const enum store_kind kinds[] = {
        [ZKL_CHANGE_CREATE] = STORE_CREATE,
        [ZKL_CHANGE_SET] = STORE_SET,
        [ZKL_CHANGE_DELETE] = STORE_DELETE,
        [ZKL_CHANGE_CHECK] = STORE_GET,
    };

    multi_add(m, kinds[c->kind], grant_session(m->grant)->chroot, c->path);
    struct store_change *added = &m->changes[m->count - 1];
    added->version = c->version;
    if (c->data && (c->kind == ZKL_CHANGE_CREATE || c->kind == ZKL_CHANGE_SET)) {
        added->data = g_string_chunk_insert_len(m->texts, c->data, (gssize)c->size);
        added->length = (int)c->size;
    }
}

static struct multi *multi_new(const zkl_grant *g, const zkl_change *changes, size_t count,
                               bool release)
{
    struct multi *m = g_new0(struct multi, 1);

    m->grant = grant_ref(grant_of(g));
    m->changes = g_new0(struct store_change, count + 2 * (size_t)grant_count(g));
    m->texts = g_string_chunk_new(1024);
    m->release = release;
    m->link.data = m;
    for (uint32_t i = 1; i < grant_count(g); i++)
        multi_add(m, STORE_GET, "", grant_tenure(g, i)->full_node);
    for (size_t i = 0; i < count; i++)
        multi_add_users(m, &changes[i]);
    for (uint32_t i = 0; release && i < grant_count(g); i++)
        multi_add(m, STORE_DELETE, "", grant_tenure(g, i)->full_node);
    return m;
}

/* ---- the driver's table ---- */

/* Returns the transaction under way; NULL: there is none. */
static struct multi *multi_first(const struct multi_queue *q)
{
    return g_queue_peek_head((GQueue *)(uintptr_t)&q->waiting);
}

/* Begins the first transaction of the queue. If the present connection has answered a request, the
 * transaction is first sent on that connection alone. */
static void multi_begin_first(struct multi_queue *q)
{
    const zkl_session *s = q->driver.session;
    const bool confirmed = s->up && s->confirmed == s->connection;

    driver_hear_event(&q->driver,
                      (struct machine_event){.kind = MACHINE_EV_BEGIN,
                                             .connection = confirmed ? s->connection : 0});
}

/* Returns the number of the transaction of ours that has written the data in ev; 0: none has. If
 * another client has asked the holder to give way, REVOKE_WORD stands in place of the payload. */
static uint32_t multi_number_in(struct multi_queue *q, const struct machine_event *ev)
{
    const char *payload = q->tenure->payload, *data = ev->data ? ev->data : "";
    const struct payload p = payload_read(data, ev->length);

    q->asked = payload_asks(data, ev->length, ev->version);
    const bool ours = p.numbers_end == strlen(payload) && memcmp(data, payload, p.numbers_end) == 0;
    return ours || q->asked ? p.transaction : 0;
}

/* Returns the tenure whose node the server did not find, if that is not the grant's first one: then
 * the grant is lost. Otherwise NULL. */
static struct tenure *multi_missing_part(const struct multi *m, enum store_rc rc, int failed)
{
    const bool of_part = failed > 0 && (uint32_t)failed < grant_count(m->grant);

    return rc == STORE_NONODE && of_part ? grant_tenure(m->grant, (uint32_t)failed) : NULL;
}

static void multi_step(struct driver *d, const struct machine_event *ev,
                       struct machine_actions *out)
{
    struct multi_queue *q = DRIVER_OWNER(d, struct multi_queue);
    struct multi *m = multi_first(q);
    struct tenure *missing = multi_missing_part(m, ev->rc, ev->failed);

    m->begun |= ev->kind == MACHINE_EV_BEGIN;
    /* the grant ends at once, even if an earlier sending is still in doubt */
    if (missing)
        tenure_node_gone(missing);
    const bool read = ev->kind == MACHINE_EV_ANSWER && ev->verb == STORE_GET && ev->rc == STORE_OK;
    const struct transaction_moment now = {.lost =
                                               !m->release && zkl_grant_state(m->grant) == ZKL_LOST,
                                           .number = read ? multi_number_in(q, ev) : 0,
                                           .release = m->release,
                                           .told = m->call.told};
    transaction_step(&q->machine, ev, &now, out);
}

static char *multi_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(DRIVER_OWNER(d, struct multi_queue)->tenure->full_node);
}

/* Returns the data that the set of the own node writes: the payload with its numbers, and the
 * transaction's number. If a client has asked the holder to give way, REVOKE_WORD stays in place
 * of the payload. The set asks for the version of another client's data only after a read of them,
 * so it overwrites no REVOKE_WORD that was not read. */
static char *multi_data(struct driver *d, unsigned node, int *ret_length)
{
    const struct multi_queue *q = DRIVER_OWNER(d, struct multi_queue);
    const char *payload = q->tenure->payload;
    const uint32_t number = transaction_written(&q->machine);
    const struct payload p = payload_read(payload, strlen(payload));
    char *text;

    (void)node;
    if (q->asked)
        text = g_strdup_printf(REVOKE_WORD "%.*s" TRANSACTION_WORDS "%u",
                               (int)(p.numbers_end - p.length), payload + p.length, number);
    else
        text = g_strdup_printf("%s" TRANSACTION_WORDS "%u", payload, number);
    *ret_length = (int)strlen(text);
    return text;
}

static const struct store_change *multi_changes(struct driver *d, int *ret_count)
{
    const struct multi *m = multi_first(DRIVER_OWNER(d, struct multi_queue));

    *ret_count = m->count;
    return m->changes;
}

/* Tells the caller which change the server has refused. */
static void multi_tell_refused(struct multi *m, enum store_rc rc, int failed)
{
    zkl_session *s = m->call.session;
    const int code = multi_missing_part(m, rc, failed) ? ZKL_ELOST : call_error(rc);
    const char *path = failed > 0 ? m->changes[failed - 1].path : m->call.path;
    zkl_error why;

    denial_fill(s, &why, code, session_path(s, path));
    call_tell_as(&m->call, &why);
}

static void multi_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct multi_queue *q = DRIVER_OWNER(d, struct multi_queue);
    struct multi *m = multi_first(q);
    bool node_gone;

    switch ((enum transaction_verdict)a->verdict) {
    case TX_TOLD_APPLIED:
        call_tell(&m->call, 0, NULL);
        break;
    case TX_TOLD_REFUSED:
        multi_tell_refused(m, a->rc, q->machine.failed);
        break;
    case TX_TOLD_LOST:
        call_tell(&m->call, d->session->closing ? ZKL_ECLOSED : ZKL_ELOST, NULL);
        break;
    case TX_TOLD_LATE:
        call_tell(&m->call, m->call.error.code, NULL);
        break;
    case TX_TOLD_UNKNOWN:
        call_tell(&m->call, ZKL_EUNKNOWN, NULL);
        break;
    case TX_ENDED:
    case TX_ENDED_GONE:
        node_gone = a->verdict == TX_ENDED_GONE;
        g_queue_unlink(&q->waiting, &m->link);
        if (m->release || node_gone)
            grant_let_go(m->grant, node_gone);
        call_end(&m->call, 0, NULL);
        if (multi_first(q))
            multi_begin_first(q);
        break;
    }
}

static void multi_queue_ref(struct driver *d)
{
    tenure_ref(DRIVER_OWNER(d, struct multi_queue)->tenure);
}

static void multi_queue_unref(struct driver *d)
{
    tenure_unref(DRIVER_OWNER(d, struct multi_queue)->tenure);
}

static const struct driver_ops multi_driver = {.step = multi_step,
                                               .path = multi_path,
                                               .data = multi_data,
                                               .rest = multi_changes,
                                               .on_verdict = multi_on_verdict,
                                               .ref_owner = multi_queue_ref,
                                               .free = multi_queue_unref};

/* ---- the queue ---- */

static void multi_queue_free(struct multi_queue *q)
{
    driver_clear(&q->driver);
    g_free(q);
}

/* Returns the queue of a tenure. Makes it if there is none. */
static struct multi_queue *multi_queue_of(struct tenure *t)
{
    if (!t->multi_queue) {
        t->multi_queue = g_new0(struct multi_queue, 1);
        t->free_multi_queue = multi_queue_free;
        t->multi_queue->tenure = t;
        driver_init(&t->multi_queue->driver, &multi_driver, t->session, STORE_PERSISTENT);
    }
    return t->multi_queue;
}

void multi_go_on_from(struct tenure *t, int32_t version)
{
    multi_queue_of(t)->machine.version = version;
}

bool multi_is_in_doubt(const struct multi_queue *q)
{
    return q && (q->machine.loose || multi_first(q));
}

/* ---- the call ---- */

static struct multi *multi_of_call(struct call *c)
{
    return (struct multi *)c;
}

/* Lets a transaction into its queue, and disowns the grant if it gives that back. Returns 0, or the
 * thread's last error. */
static int multi_enter(struct call *c)
{
    struct multi *m = multi_of_call(c);
    const zkl_state state = zkl_grant_state(m->grant);
    int code = 0;

    m->queue = multi_queue_of(grant_tenure(m->grant, 0));
    if (c->session->closing)
        code = ZKL_ECLOSED;
    else if (m->queue->machine.version == INT32_MAX)
        code = ZKL_ELIMIT; /* after it comes -1, by which a set asks for any version */
    else if (state >= ZKL_LOST || (m->release && !grant_disown(m->grant)))
        code = state == ZKL_RELEASED ? ZKL_EPERM : ZKL_ELOST;
    if (code == 0)
        return 0;
    return error_set(code, zkl_grant_node(m->grant), "%s: %s", zkl_grant_node(m->grant),
                     zkl_strerror(code));
}

static void multi_begin(struct call *c)
{
    struct multi *m = multi_of_call(c);

    g_queue_push_tail_link(&m->queue->waiting, &m->link);
    if (multi_first(m->queue) == m)
        multi_begin_first(m->queue);
}

/* Sees to it that the caller is told that the time has passed, or the session has ended. The
 * transaction stays in the queue: what was sent may be applied, and the node of a grant that it
 * gives back has to go. */
static void multi_stop(struct call *c, const zkl_error *why)
{
    struct multi *m = multi_of_call(c);
    const bool over = c->session->closing || c->session->refused;

    if (!m->begun) {
        call_tell(c, why->code, NULL);
        return;
    }
    if (!c->told)
        c->error = *why;
    driver_hear(&m->queue->driver, over ? MACHINE_EV_OVER : MACHINE_EV_STOP);
}

/* Tells the machine that another session has begun. The transaction is the first of the queue: the
 * same event has ended those before it. */
static void multi_replaced(struct call *c)
{
    driver_hear(&multi_of_call(c)->queue->driver, MACHINE_EV_SESSION);
}

static void multi_free(struct call *c)
{
    struct multi *m = multi_of_call(c);

    g_string_chunk_free(m->texts);
    g_free(m->changes);
    grant_unref(m->grant);
    g_free(m);
}

static const struct call_ops multi_call = {.enter = multi_enter,
                                           .begin = multi_begin,
                                           .stop = multi_stop,
                                           .replaced = multi_replaced,
                                           .free = multi_free};

/* Runs a transaction for a function of the interface; fn NULL: waits for its end. */
static int multi_run(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                     int64_t timeout_ms, zkl_multi_fn fn, void *data)
{
    const int code = multi_check(g, changes, count, flags);

    if (code)
        return code;
    struct multi *m = multi_new(g, changes, count, flags & ZKL_MULTI_RELEASE);
    call_init(&m->call, &multi_call, grant_session(g), g_strdup(grant_full_node(g)), fn, data);
    return call_run(&m->call, timeout_ms);
}

int zkl_grant_multi_async(const zkl_grant *g, const zkl_change *changes, size_t count,
                          unsigned flags, int64_t timeout_ms, zkl_multi_fn fn, void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_multi_async: fn is NULL");
    return multi_run(g, changes, count, flags, timeout_ms, fn, data);
}

int zkl_grant_multi(const zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                    int64_t timeout_ms)
{
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_grant_multi: called in a callback");
    return multi_run(g, changes, count, flags, timeout_ms, NULL, NULL);
}
