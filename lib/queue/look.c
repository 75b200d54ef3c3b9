#include "look.h"

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "recipes/back_off.h"

void look_init(struct look *l, zkl_session *s, const char *directory, const struct look_kind *kind,
               GQueue *list)
{
    l->refs = 1;
    l->session = session_ref(s);
    l->directory = g_strdup(directory);
    l->kind = kind;
    l->children = (struct interest){.fired = kind->fired, .owner = l};
    l->list = list;
    l->link.data = l;
    g_queue_push_tail_link(list, &l->link);
}

void look_unref(struct look *l)
{
    if (--l->refs > 0)
        return;
    session_unref(l->session);
    g_free(l->directory);
    l->kind->free(l);
}

void look_stop(struct look *l)
{
    if (l->stopped)
        return;
    l->stopped = true;
    l->number++; /* no answer counts any more */
    timers_cancel(&l->timer);
    watch_drop(&l->children, false);
    if (l->kind->stop)
        l->kind->stop(l);
    g_queue_unlink(l->list, &l->link);
    look_unref(l); /* the list's */
}

void look_stop_all(GQueue *list)
{
    while (!g_queue_is_empty(list))
        look_stop(g_queue_peek_head(list));
}

zkl_watch *look_handle(struct look *l)
{
    l->refs++;
    return (zkl_watch *)l;
}

/* Also waits for a call under way. */
void zkl_watch_free(zkl_watch *w)
{
    struct look *l = (struct look *)w;
    zkl_session *s;

    if (!l || fork_is_child(l->session->generation))
        return;
    s = session_ref(l->session);
    session_lock(s);
    look_stop(l);
    while (l->calls > 0 && !callbacks_inside())
        session_wait_change(s, NULL);
    look_unref(l);
    session_unlock(s);
    session_unref(s);
}

/* ---- failures ---- */

static void on_pause_over(void *data)
{
    look_begin(data, true);
}

static void failed(struct look *l, int code)
{
    zkl_session *s = l->session;
    const bool news = code != l->failure;

    if (news)
        log_line(s->log, ZKL_LOG_WARN, "%s: %s: %s", l->directory, l->kind->doing,
                 zkl_strerror(code));
    l->failure = code;
    l->number++;
    l->pause_ms = back_off_next(l->pause_ms);
    timers_arm(s->timers, &l->timer, clock_now().boot + l->pause_ms * CLOCK_MS, on_pause_over, l);
    if (news && l->kind->failed)
        l->kind->failed(l);
}

void look_refused(struct look *l, enum store_rc rc)
{
    if (rc != STORE_GONE) /* the next session's connection begins a look */
        failed(l, rc == STORE_NOAUTH ? ZKL_EACCES : ZKL_EPROTO);
}

void look_done(struct look *l)
{
    l->failure = 0;
    l->pause_ms = 0;
}

/* ---- asking ---- */

void look_ask(struct look *l, enum store_kind kind, char *path,
              void (*done)(struct request *r, const struct store_reply *reply),
              struct interest *interest, uint32_t tag)
{
    struct request *r = request_new(kind, path, done, l);

    r->tag = tag;
    if (interest && !watch_add(l->session, r, interest)) {
        request_free(r);
        failed(l, ZKL_ELIMIT);
        return;
    }
    l->refs++;
    request_send(l->session, r);
}

bool look_answered(struct look *l, struct request *r, const struct store_reply *reply,
                   struct interest *interest, uint32_t tag)
{
    if (interest)
        watch_answered(l->session, r, reply, interest);
    return r->tag == tag;
}

static void on_existence(struct request *r, const struct store_reply *reply)
{
    struct look *l = r->owner;

    if (look_answered(l, r, reply, &l->children, l->number)) {
        if (reply->rc == STORE_NONODE)
            l->kind->missing(l);
        else if (reply->rc == STORE_OK)
            look_list(l, l->kind->watch);
        else
            look_refused(l, reply->rc);
    }
    look_unref(l);
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct look *l = r->owner;
    struct interest *interest = r->what.watch ? &l->children : NULL;

    if (look_answered(l, r, reply, interest, l->number)) {
        if (reply->rc == STORE_NONODE)
            look_ask(l, STORE_STAT, g_strdup(l->directory), on_existence, &l->children, l->number);
        else if (reply->rc != STORE_OK)
            look_refused(l, reply->rc);
        else
            l->kind->listed(l, reply, interest != NULL);
    }
    look_unref(l);
}

void look_list(struct look *l, bool watch)
{
    look_ask(l, STORE_LIST, g_strdup(l->directory), on_listed, watch ? &l->children : NULL,
             l->number);
}

static void on_synced(struct request *r, const struct store_reply *reply)
{
    struct look *l = r->owner;

    if (look_answered(l, r, reply, NULL, l->number)) {
        if (reply->rc == STORE_OK)
            look_list(l, l->kind->watch);
        else
            look_refused(l, reply->rc);
    }
    look_unref(l);
}

void look_begin(struct look *l, bool sync)
{
    l->number++;
    timers_cancel(&l->timer);
    if (l->kind->begin)
        l->kind->begin(l);
    if (l->session->refused && l->kind->failed)
        l->kind->failed(l); /* for good: nothing will be found any more */
    if (!l->session->up)
        return; /* the connection begins one */
    if (sync)
        look_ask(l, STORE_SYNC, g_strdup(l->directory), on_synced, NULL, l->number);
    else
        look_list(l, l->kind->watch);
}

void look_up_all(GQueue *list)
{
    for (GList *i = list->head; i; i = i->next) {
        struct look *l = i->data;
        if (l->kind->up)
            l->kind->up(l);
        look_begin(l, true);
    }
}

/* ---- telling ---- */

static void free_message(struct look_message *m)
{
    look_unref(m->look);
    m->free(m);
}

static void deliver(void *data)
{
    struct look_message *m = data;
    struct look *l = m->look;
    zkl_session *s = l->session; /* open as long as there are callbacks */

    session_lock(s);
    if (!l->stopped) {
        l->calls++;
        session_unlock(s);
        m->call(m);
        session_lock(s);
        l->calls--;
        pthread_cond_broadcast(&s->changed);
    }
    free_message(m);
    session_unlock(s);
}

void look_tell(struct look *l, struct look_message *m)
{
    m->look = l;
    l->refs++;
    if (!callbacks_push(l->session->callbacks, deliver, m))
        free_message(m);
}
