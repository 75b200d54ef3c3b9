#include <semaphore.h>
#include <string.h>

#include "callbacks.h"
#include "error.h"
#include "path.h"
#include "queue.h"
#include "recipes/name.h"
#include "recipes/rule.h"
#include "request.h"
#include "thread.h"

/* A snapshot, and while it is being read the reading: requests under way hold it. */
struct zkl_queue {
    int refs; /* guarded by the monitor while reading */
    zkl_session *session;
    char *directory; /* with chroot */
    struct queue_wish wish;
    GArray *list;  /* of zkl_contender */
    unsigned left; /* requests under way */
    bool again;    /* its session ended, or the first one left: it is all asked anew */
    bool over;     /* the caller has its answer */
    sem_t done;
    struct timer timer;
    zkl_error error;
};

static void clear_contender(void *data)
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
    g_free(q->directory);
    sem_destroy(&q->done);
    g_free(q);
}

static void end(zkl_queue *q)
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
        error_fill(&q->error, code, path, "%s: %s", path, zkl_strerror(code));
    end(q);
}

static int rc_to_error(enum store_rc rc)
{
    switch (rc) {
    case STORE_NONODE:
        return ZKL_ENOENT;
    case STORE_NOAUTH:
        return ZKL_EACCES;
    default:
        return ZKL_EPROTO;
    }
}

/* What others wrote is shown to people: valid UTF-8, no control characters. */
static char *clean_text(const char *data, int length)
{
    char *text = g_utf8_make_valid(data ? data : "", length);

    for (char *at = text; *at; at = g_utf8_next_char(at)) {
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            memset(at, '?', (size_t)(g_utf8_next_char(at) - at));
    }
    return text;
}

static void ask(zkl_queue *q, enum store_kind kind, char *path,
                void (*done)(struct request *r, const struct store_reply *reply))
{
    q->refs++;
    q->left++;
    request_send(q->session, request_new(kind, path, done, q));
}

static void take(zkl_queue *q, const char *path, const struct store_reply *reply)
{
    const char *name = strrchr(path, '/') + 1;
    struct child child;

    name_parse(name, strlen(name), &child);
    zkl_contender c = {
        .node = g_strdup(name),
        .owner = q->wish.head ? g_utf8_make_valid(reply->data ? reply->data : "", reply->length)
                              : clean_text(reply->data, reply->length),
        .number = child.number,
        .token = reply->czxid,
        .session_id = reply->owner,
        .ctime_ms = reply->ctime_ms};
    g_array_append_val(q->list, c);
}

static void begin(zkl_queue *q);

/* One request less; with the last of them the reading ends, or begins again. */
static void answered(zkl_queue *q, enum store_rc rc)
{
    q->left--;
    if (rc == STORE_GONE && q->session->closing)
        fail(q, ZKL_ECLOSED);
    else if (rc == STORE_GONE && q->session->refused)
        fail(q, ZKL_EAUTH);
    q->again |= rc == STORE_GONE;
    if (q->left == 0 && q->again && !q->over) {
        q->again = false;
        g_array_set_size(q->list, 0);
        begin(q);
    } else if (q->left == 0) {
        end(q);
    }
    queue_unref(q);
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->owner;

    if (reply->rc == STORE_OK && !q->over)
        take(q, r->what.path, reply);
    else if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        fail(q, rc_to_error(reply->rc));
    q->again |= q->wish.head && reply->rc == STORE_NONODE;
    answered(q, reply->rc);
}

const char *queue_first(char *const *names, int count, enum child_kind kind)
{
    const char *first = NULL;
    int32_t lowest = 0;
    struct child child;

    for (int i = 0; i < count; i++) {
        name_parse(names[i], strlen(names[i]), &child);
        if (child.kind != kind || (first && rule_compare(child.number, lowest) >= 0))
            continue;
        first = names[i];
        lowest = child.number;
    }
    return first;
}

static void ask_payload(zkl_queue *q, const char *name)
{
    ask(q, STORE_GET, g_strconcat(q->directory, "/", name, NULL), on_read);
}

static bool is_wanted(const zkl_queue *q, const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    return child.kind != CHILD_FOREIGN &&
           (q->wish.only == CHILD_FOREIGN || child.kind == q->wish.only);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->owner;
    const char *first;

    if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        fail(q, rc_to_error(reply->rc));
    if (q->wish.head && !q->over) {
        if ((first = queue_first(reply->names, reply->count, q->wish.only)))
            ask_payload(q, first);
    } else {
        for (int i = 0; i < reply->count && !q->over; i++) {
            if (is_wanted(q, reply->names[i]))
                ask_payload(q, reply->names[i]);
        }
    }
    answered(q, reply->rc);
}

static void on_synced(struct request *r, const struct store_reply *reply)
{
    zkl_queue *q = r->owner;

    if (reply->rc == STORE_OK && !q->over)
        ask(q, STORE_LIST, g_strdup(q->directory), on_listed);
    else if (reply->rc != STORE_OK && reply->rc != STORE_GONE)
        fail(q, rc_to_error(reply->rc));
    answered(q, reply->rc);
}

static void begin(zkl_queue *q)
{
    if (q->wish.sync)
        ask(q, STORE_SYNC, g_strdup(q->directory), on_synced);
    else
        ask(q, STORE_LIST, g_strdup(q->directory), on_listed);
}

static void on_timeout(void *data)
{
    zkl_queue *q = data;

    if (q->session->up)
        fail(q, ZKL_ETIMEDOUT);
    else if (!q->over)
        session_why_down(q->session, &q->error);
    end(q);
}

static int compare(gconstpointer a, gconstpointer b)
{
    const zkl_contender *x = a, *y = b;

    return rule_compare((int32_t)x->number, (int32_t)y->number);
}

static void start(zkl_queue *q, int64_t timeout_ms)
{
    zkl_session *s = q->session;
    int64_t now = clock_now().boot, ms = timeout_ms == 0 ? session_patience_ms(s) : timeout_ms;

    if (s->closing) {
        fail(q, ZKL_ECLOSED);
        return;
    }
    if (s->refused) {
        fail(q, ZKL_EAUTH);
        return;
    }
    if (ms >= 0 && ms < (INT64_MAX - now) / CLOCK_MS)
        timers_arm(s->timers, &q->timer, now + ms * CLOCK_MS, on_timeout, q);
    begin(q);
}

static zkl_queue *queue_new(zkl_session *s, const char *directory, const struct queue_wish *wish)
{
    zkl_queue *q = g_new0(zkl_queue, 1);

    q->refs = 1;
    q->session = s;
    q->directory = g_strdup(directory);
    q->wish = *wish;
    q->list = g_array_new(FALSE, TRUE, sizeof(zkl_contender));
    g_array_set_clear_func(q->list, clear_contender);
    sem_init(&q->done, 0, 0);
    return q;
}

/* 0 and nobody else has q any more, or the thread's last error. */
static int await(zkl_queue *q, int64_t timeout_ms)
{
    zkl_session *s = q->session;
    int code = 0, before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    session_lock(s);
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

/* Those that no earlier one keeps waiting. */
static void mark_holders(GArray *list)
{
    bool seen[CHILD_KINDS] = {false};
    struct child child;

    for (guint i = 0; i < list->len; i++) {
        zkl_contender *c = &g_array_index(list, zkl_contender, i);
        name_parse(c->node, strlen(c->node), &child);
        c->holds = 1;
        for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++)
            c->holds &= !(seen[kind] && rule_waits(child.kind, kind));
        seen[child.kind] = true;
    }
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
    code = await(q, timeout_ms);
    session_unref(s);
    if (code)
        return code;
    g_array_sort(q->list, compare);
    mark_holders(q->list);
    *ret = q;
    return 0;
}

int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path, int64_t timeout_ms)
{
    int code = session_check(s);
    const char *wrong;

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_queue_read: ret is NULL");
    if ((wrong = path_check(path)))
        return error_set(ZKL_EINVAL, path, "path \"%.100s\": %s", path ? path : "", wrong);
    char *directory = g_strconcat(s->chroot, path, NULL);
    code = queue_read(ret, s, directory, &(struct queue_wish){.only = CHILD_FOREIGN}, timeout_ms);
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
