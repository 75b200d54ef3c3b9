#include "look.h"

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

static void step(struct look *l, struct children_event ev);

static void on_fired(void *owner, bool gone)
{
    (void)gone;
    look_fired(owner);
}

void look_init(struct look *l, zkl_session *s, const char *directory, const struct look_kind *kind,
               GQueue *list)
{
    l->refs = 1;
    l->session = session_ref(s);
    l->directory = g_strdup(directory);
    l->kind = kind;
    l->machine =
        (struct children){.watch = kind->watch, .gap = kind->gap_ns, .gap_each = kind->gap_each_ns};
    l->children = (struct subscription){.fired = on_fired, .owner = l};
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
    step(l, (struct children_event){.kind = CHILDREN_EV_STOP});
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
    struct look *l = r->owner;
    struct children_event ev = refusal(reply->rc, r->tag);

    if (r->what.watch)
        watch_answered(l->session, r, reply, &l->children);
    if (reply->rc == STORE_OK)
        ev.kind = CHILDREN_EV_DONE;
    else if (reply->rc == STORE_NONODE)
        ev.kind = CHILDREN_EV_NO_NODE;
    l->listed = reply;
    step(l, ev);
    look_unref(l);
}

void look_begin(struct look *l)
{
    step(l, (struct children_event){.kind = CHILDREN_EV_BEGIN});
}

void look_up_all(GQueue *list)
{
    for (GList *i = list->head; i; i = i->next) {
        struct look *l = i->data;
        if (l->kind->up)
            l->kind->up(l);
        look_begin(l);
    }
}

void look_again(struct look *l, bool watch)
{
    step(l, (struct children_event){.kind = CHILDREN_EV_AGAIN, .watch = watch});
}

void look_fired(struct look *l)
{
    step(l, (struct children_event){.kind = CHILDREN_EV_FIRED});
}

void look_reread(struct look *l)
{
    step(l, (struct children_event){.kind = CHILDREN_EV_REREAD});
}

void look_found(struct look *l, int count)
{
    step(l, (struct children_event){.kind = CHILDREN_EV_FOUND, .count = (uint32_t)count});
}

void look_refused(struct look *l, enum store_rc rc)
{
    step(l, refusal(rc, l->machine.tag));
}

uint32_t look_number(const struct look *l)
{
    return l->machine.tag;
}

/* ---- actions ---- */

void look_ask(struct look *l, enum store_kind kind, char *path,
              void (*done)(struct request *r, const struct store_reply *reply),
              struct subscription *subscription, uint32_t tag)
{
    struct request *r = request_new(kind, path, done, l);

    r->tag = tag;
    if (subscription && !watch_add(l->session, r, subscription)) {
        request_free(r);
        step(l, (struct children_event){
                    .kind = CHILDREN_EV_REFUSED, .tag = l->machine.tag, .why = CHILDREN_LIMIT});
        return;
    }
    l->refs++;
    request_send(l->session, r);
}

static void ask(struct look *l, enum store_kind kind, const struct children_action *a, bool watch)
{
    look_ask(l, kind, g_strdup(l->directory), on_answer, watch ? &l->children : NULL, a->tag);
}

static void log_failure(const struct look *l, enum children_refusal why)
{
    static const int codes[] = {
        [CHILDREN_DENIED] = ZKL_EACCES, [CHILDREN_ODD] = ZKL_EPROTO, [CHILDREN_LIMIT] = ZKL_ELIMIT};

    log_line(l->session->log, ZKL_LOG_WARN, "%s: %s: %s", l->directory, l->kind->doing,
             zkl_strerror(codes[why]));
}

static void perform(struct look *l, const struct children_action *a)
{
    switch (a->kind) {
    case CHILDREN_ACT_BEGIN:
        if (l->kind->begin)
            l->kind->begin(l);
        break;
    case CHILDREN_ACT_SYNC:
        ask(l, STORE_SYNC, a, false);
        break;
    case CHILDREN_ACT_LIST:
        ask(l, STORE_LIST, a, a->watch);
        break;
    case CHILDREN_ACT_STAT:
        ask(l, STORE_STAT, a, true);
        break;
    case CHILDREN_ACT_LISTED:
        l->kind->listed(l, l->listed, a->watch);
        break;
    case CHILDREN_ACT_MISSING:
        l->kind->missing(l);
        break;
    case CHILDREN_ACT_LOG:
        log_failure(l, a->why);
        break;
    case CHILDREN_ACT_FAILED:
        if (l->kind->failed)
            l->kind->failed(l);
        break;
    case CHILDREN_ACT_ARM:
        timers_arm(l->session->timers, &l->timer, a->at, on_timer, l);
        break;
    case CHILDREN_ACT_DISARM:
        timers_cancel(&l->timer);
        break;
    case CHILDREN_ACT_STOP:
        timers_cancel(&l->timer);
        watch_drop(&l->children, false);
        break;
    }
}

static void step(struct look *l, struct children_event ev)
{
    struct children_actions actions;

    ev.now = clock_now().boot;
    ev.up = l->session->up;
    ev.barred = l->session->refused;
    children_step(&l->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(l, &actions.list[i]);
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
