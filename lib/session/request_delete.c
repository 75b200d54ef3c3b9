/* Deletes that the server refuses are tried again, and the session ends when nothing else helps. */
#include "request.h"

#include <string.h>

#include "denial.h"
#include "flush.h"
#include "incarnation.h"
#include "lib/base/log.h"

struct refusal {
    zkl_session *session;
    char *path;
    int64_t pause; /* ns */
    struct timer timer;
    GList link;
};

enum { PAUSE_FIRST_MS = 500, PAUSE_LAST_MS = 30000 };

static void free_refusal(struct refusal *refusal)
{
    timers_cancel(&refusal->timer);
    g_queue_unlink(&refusal->session->refusals, &refusal->link);
    pthread_cond_broadcast(&refusal->session->changed);
    g_free(refusal->path);
    g_free(refusal);
}

static void on_redeleted(struct request *r, const struct store_reply *reply);

static void redelete(void *data)
{
    struct refusal *refusal = data;

    request_send(refusal->session,
                 request_new(STORE_DELETE, g_strdup(refusal->path), on_redeleted, refusal));
}

static struct refusal *find_refusal(zkl_session *s, const char *path)
{
    for (GList *l = s->refusals.head; l; l = l->next) {
        struct refusal *refusal = l->data;
        if (strcmp(refusal->path, path) == 0)
            return refusal;
    }
    return NULL;
}

static void pause_refusal(struct refusal *refusal)
{
    timers_arm(refusal->session->timers, &refusal->timer, clock_now().boot + refusal->pause,
               redelete, refusal);
    refusal->pause = MIN(refusal->pause * 2, PAUSE_LAST_MS * CLOCK_MS);
}

static void refuse(zkl_session *s, const char *path)
{
    struct refusal *refusal;

    if (find_refusal(s, path))
        return;
    refusal = g_new0(struct refusal, 1);
    char *text = denial_text(s, ZKL_EACCES, session_path(s, path));
    log_line(s->log, ZKL_LOG_ERROR, "delete-refused", session_path(s, path),
             "%s: cannot delete it: %s", path, text);
    g_free(text);
    refusal->session = s;
    refusal->path = g_strdup(path);
    refusal->pause = PAUSE_FIRST_MS * CLOCK_MS;
    refusal->link.data = refusal;
    g_queue_push_tail_link(&s->refusals, &refusal->link);
    pause_refusal(refusal);
    incarnation_purge(s);
}

/* The refusal is there still: it has one delete under way, and those of a session are answered
 * before its refusals are forgotten. */
static void on_redeleted(struct request *r, const struct store_reply *reply)
{
    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE)
        free_refusal(r->context);
    else
        pause_refusal(r->context);
}

static void on_deleted(struct request *r, const struct store_reply *reply)
{
    if (reply->rc != STORE_OK && reply->rc != STORE_NONODE && reply->rc != STORE_GONE)
        refuse(r->context, r->what.path);
    flush_answered(r->context);
}

void request_delete(zkl_session *s, char *path)
{
    flush_asked(s);
    request_send(s, request_new(STORE_DELETE, path, on_deleted, s));
}

const char *request_refused(const zkl_session *s)
{
    const struct refusal *first = g_queue_peek_head((GQueue *)(uintptr_t)&s->refusals);

    return first ? first->path : NULL;
}

void request_forget_refusals(zkl_session *s)
{
    while (!g_queue_is_empty(&s->refusals))
        free_refusal(s->refusals.head->data);
}
