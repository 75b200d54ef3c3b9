#include "children_watch.h"

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/session/denial.h"

static void step(struct children_watch *cw, struct children_event ev);

static void on_fired(void *context, bool gone)
{
    (void)gone;
    children_watch_fired(context);
}

void children_watch_init(struct children_watch *cw, zkl_session *s, const char *directory,
                         const struct children_watch_kind *kind, GQueue *list)
{
    cw->refs = 1;
    cw->session = session_ref(s);
    cw->directory = g_strdup(directory);
    cw->kind = kind;
    cw->machine =
        (struct children){.watch = kind->watch, .gap = kind->gap_ns, .gap_each = kind->gap_each_ns};
    cw->children = (struct subscription){.fired = on_fired, .context = cw};
    cw->list = list;
    cw->link.data = cw;
    g_queue_push_tail_link(list, &cw->link);
}

void children_watch_unref(struct children_watch *cw)
{
    if (--cw->refs > 0)
        return;
    session_unref(cw->session);
    g_free(cw->directory);
    cw->kind->free(cw);
}

void children_watch_stop(struct children_watch *cw)
{
    if (cw->stopped)
        return;
    cw->stopped = true;
    step(cw, (struct children_event){.kind = CHILDREN_EV_STOP});
    if (cw->kind->stop)
        cw->kind->stop(cw);
    g_queue_unlink(cw->list, &cw->link);
    children_watch_unref(cw); /* the list's */
}

void children_watch_stop_all(GQueue *list)
{
    while (!g_queue_is_empty(list))
        children_watch_stop(g_queue_peek_head(list));
}

zkl_watch *children_watch_handle(struct children_watch *cw)
{
    cw->refs++;
    return (zkl_watch *)cw;
}

/* Also waits for a call under way. */
void zkl_watch_free(zkl_watch *w)
{
    struct children_watch *cw = (struct children_watch *)w;
    zkl_session *s;

    if (!cw || fork_is_child(cw->session->generation))
        return;
    s = session_ref(cw->session);
    session_lock(s);
    children_watch_stop(cw);
    while (cw->calls > 0 && !callbacks_inside())
        session_wait_change(s, NULL);
    children_watch_unref(cw);
    session_unlock(s);
    session_unref(s);
}

/* ---- events ---- */

static void on_timer(void *data)
{
    step(data, (struct children_event){.kind = CHILDREN_EV_TIMER});
}

static struct children_event refusal(enum store_rc rc, uint32_t tag)
{
    struct children_event ev = {.kind = CHILDREN_EV_REFUSED, .tag = tag, .why = CHILDREN_ODD};

    if (rc == STORE_NOAUTH)
        ev.why = CHILDREN_DENIED;
    else if (rc == STORE_GONE)
        ev.kind = CHILDREN_EV_GONE;
    return ev;
}

/* To a sync, a list or a stat of the directory. */
static void on_answer(struct request *r, const struct store_reply *reply)
{
    struct children_watch *cw = r->context;
    struct children_event ev = refusal(reply->rc, r->tag);

    if (r->what.watch)
        watch_answered(cw->session, r, reply, &cw->children);
    if (reply->rc == STORE_OK)
        ev.kind = CHILDREN_EV_DONE;
    else if (reply->rc == STORE_NONODE)
        ev.kind = CHILDREN_EV_NO_NODE;
    cw->listed = reply;
    step(cw, ev);
    children_watch_unref(cw);
}

void children_watch_query(struct children_watch *cw)
{
    step(cw, (struct children_event){.kind = CHILDREN_EV_BEGIN});
}

void children_watch_up_all(GQueue *list)
{
    for (GList *i = list->head; i; i = i->next) {
        struct children_watch *cw = i->data;
        if (cw->kind->up)
            cw->kind->up(cw);
        children_watch_query(cw);
    }
}

void children_watch_again(struct children_watch *cw, bool watch)
{
    step(cw, (struct children_event){.kind = CHILDREN_EV_AGAIN, .watch = watch});
}

void children_watch_fired(struct children_watch *cw)
{
    step(cw, (struct children_event){.kind = CHILDREN_EV_FIRED});
}

void children_watch_reread(struct children_watch *cw)
{
    step(cw, (struct children_event){.kind = CHILDREN_EV_REREAD});
}

void children_watch_found(struct children_watch *cw, int count)
{
    step(cw, (struct children_event){.kind = CHILDREN_EV_FOUND, .count = (uint32_t)count});
}

void children_watch_refused(struct children_watch *cw, enum store_rc rc)
{
    step(cw, refusal(rc, cw->machine.tag));
}

void children_watch_older(struct children_watch *cw)
{
    step(cw, (struct children_event){
                 .kind = CHILDREN_EV_REFUSED, .tag = cw->machine.tag, .why = CHILDREN_OLDER});
}

uint32_t children_watch_number(const struct children_watch *cw)
{
    return cw->machine.tag;
}

/* ---- actions ---- */

void children_watch_ask(struct children_watch *cw, enum store_kind kind, char *path,
                        void (*done)(struct request *r, const struct store_reply *reply),
                        struct subscription *subscription, uint32_t tag)
{
    struct request *r = request_new(kind, path, done, cw);

    r->tag = tag;
    if (subscription && !watch_add(cw->session, r, subscription)) {
        request_free(r);
        step(cw, (struct children_event){
                     .kind = CHILDREN_EV_REFUSED, .tag = cw->machine.tag, .why = CHILDREN_LIMIT});
        return;
    }
    cw->refs++;
    request_send(cw->session, r);
}

static void ask(struct children_watch *cw, enum store_kind kind, const struct children_action *a,
                bool watch)
{
    children_watch_ask(cw, kind, g_strdup(cw->directory), on_answer, watch ? &cw->children : NULL,
                       a->tag);
}

static void log_failure(const struct children_watch *cw, enum children_refusal why)
{
    static const int codes[] = {
        [CHILDREN_DENIED] = ZKL_EACCES, [CHILDREN_ODD] = ZKL_EPROTO, [CHILDREN_LIMIT] = ZKL_ELIMIT};
    const char *path;
    char *text;

    if (!cw->kind->doing)
        return;
    path = session_path(cw->session, cw->directory);
    text = why == CHILDREN_OLDER ? g_strdup("the server has older data than were read before")
                                 : denial_text(cw->session, codes[why], path);
    log_line(cw->session->log, ZKL_LOG_WARN, "watch-failed", path, "%s: %s: %s", cw->directory,
             cw->kind->doing, text);
    g_free(text);
}

static void perform(struct children_watch *cw, const struct children_action *a)
{
    switch (a->kind) {
    case CHILDREN_ACT_BEGIN:
        if (cw->kind->begin)
            cw->kind->begin(cw);
        break;
    case CHILDREN_ACT_SYNC:
        ask(cw, STORE_SYNC, a, false);
        break;
    case CHILDREN_ACT_LIST:
        ask(cw, STORE_LIST, a, a->watch);
        break;
    case CHILDREN_ACT_STAT:
        ask(cw, STORE_STAT, a, true);
        break;
    case CHILDREN_ACT_LISTED:
        cw->kind->listed(cw, cw->listed, a->watch);
        break;
    case CHILDREN_ACT_MISSING:
        cw->kind->missing(cw);
        break;
    case CHILDREN_ACT_LOG:
        log_failure(cw, a->why);
        break;
    case CHILDREN_ACT_FAILED:
        if (cw->kind->failed)
            cw->kind->failed(cw);
        break;
    case CHILDREN_ACT_ARM:
        timers_arm(cw->session->timers, &cw->timer, a->at, on_timer, cw);
        break;
    case CHILDREN_ACT_DISARM:
        timers_cancel(&cw->timer);
        break;
    case CHILDREN_ACT_STOP:
        timers_cancel(&cw->timer);
        watch_drop(&cw->children, false);
        break;
    }
}

static void step(struct children_watch *cw, struct children_event ev)
{
    struct children_actions actions;

    ev.now = clock_now().boot;
    ev.up = cw->session->up;
    ev.barred = cw->session->refused;
    children_step(&cw->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(cw, &actions.list[i]);
}

/* ---- telling ---- */

static void free_message(struct children_watch_message *m)
{
    children_watch_unref(m->watch);
    m->free(m);
}

static void deliver(void *data)
{
    struct children_watch_message *m = data;
    struct children_watch *cw = m->watch;
    zkl_session *s = cw->session; /* open as long as there are callbacks */

    session_lock(s);
    if (!cw->stopped) {
        cw->calls++;
        session_unlock(s);
        m->call(m);
        session_lock(s);
        cw->calls--;
        pthread_cond_broadcast(&s->changed);
    }
    free_message(m);
    session_unlock(s);
}

void children_watch_tell(struct children_watch *cw, struct children_watch_message *m)
{
    m->watch = cw;
    cw->refs++;
    if (!callbacks_push(cw->session->callbacks, deliver, m))
        free_message(m);
}
