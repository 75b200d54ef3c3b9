/* All functions are called with the monitor held, but zkl_watch_free() and what the callback thread
 * runs, children_watch_deliver() and children_watch_deliver_last(). */
#include "children_watch.h"

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/session/denial.h"
#include "lib/session/participant.h"

struct children_watch *children_watch_of(struct driver *d)
{
    return DRIVER_OWNER(d, struct children_watch);
}

void children_watch_init(struct children_watch *cw, zkl_session *s, const char *directory,
                         const struct children_watch_kind *kind, GQueue *list)
{
    cw->session = session_ref(s);
    cw->directory = g_strdup(directory);
    cw->kind = kind;
    cw->list = list;
    driver_init(&cw->driver, &kind->driver, s, STORE_PERSISTENT);
    driver_join(&cw->driver, list);
}

void children_watch_free(struct driver *d)
{
    struct children_watch *cw = children_watch_of(d);

    driver_clear(d);
    if (cw->told)
        cw->told->free(cw->told);
    session_unref(cw->session);
    g_free(cw->directory);
    cw->kind->free(cw);
}

void children_watch_begin(struct children_watch *cw)
{
    driver_hear(&cw->driver, MACHINE_EV_BEGIN);
}

void children_watch_stop(struct children_watch *cw)
{
    if (cw->stopped)
        return;
    cw->stopped = true;
    driver_hear(&cw->driver, MACHINE_EV_STOP);
    driver_leave(&cw->driver, cw->list);
    driver_unref(&cw->driver); /* the list's */
}

void children_watch_stop_all(GQueue *list)
{
    while (!g_queue_is_empty(list))
        children_watch_stop(children_watch_of(g_queue_peek_head(list)));
}

void children_watches_on_up(struct participant *p)
{
    drivers_hear(&((struct drivers *)p)->list, MACHINE_EV_BEGIN);
}

void children_watches_on_closed(struct participant *p)
{
    children_watch_stop_all(&((struct drivers *)p)->list);
}

/* ---- all of a session that need no more than its list ---- */

/* A watch takes refused credentials as a connection: it queries, and the query fails. */
static const struct participant_ops participant = {
    .on = {[NEWS_UP] = children_watches_on_up,
           [NEWS_REFUSED] = children_watches_on_up,
           [NEWS_CLOSED] = children_watches_on_closed}};

GQueue *children_watch_list_of(zkl_session *s)
{
    return &drivers_of(s, &participant)->list;
}

/* ---- what the user has ---- */

zkl_watch *children_watch_handle(struct children_watch *cw)
{
    driver_ref(&cw->driver);
    return (zkl_watch *)cw;
}

/* Waits until a call of the user's function has returned, but not inside a callback, which may be
 * that very call. */
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
    driver_unref(&cw->driver);
    session_unlock(s);
    session_unref(s);
}

/* ---- for the kinds ---- */

struct children_moment children_watch_moment(const struct children_watch *cw)
{
    return (struct children_moment){
        .now = clock_now().boot, .up = cw->session->up, .barred = cw->session->refused};
}

int children_watch_code(enum children_tell why)
{
    return why == CHILDREN_TELL_DENIED  ? ZKL_EACCES
           : why == CHILDREN_TELL_LIMIT ? ZKL_ELIMIT
                                        : ZKL_EPROTO;
}

void children_watch_log(const struct children_watch *cw, enum children_tell why)
{
    const char *path = session_path(cw->session, cw->directory);
    char *text;

    if (!cw->kind->doing || why == CHILDREN_TELL_BARRED)
        return;
    text = why == CHILDREN_TELL_OLDER ? g_strdup("the server has older data than were read before")
                                      : denial_text(cw->session, children_watch_code(why), path);
    log_line(cw->session->log, ZKL_LOG_WARN, "watch-failed", path, "%s: %s: %s", cw->directory,
             cw->kind->doing, text);
    g_free(text);
}

char *children_watch_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(children_watch_of(d)->directory);
}

/* ---- telling ---- */

static void children_watch_free_message(struct children_watch_message *m)
{
    driver_unref(&m->watch->driver);
    m->free(m);
}

/* Calls the user's function. The monitor is held before and after, but not during the call. */
static void children_watch_call(struct children_watch *cw, struct children_watch_message *m)
{
    zkl_session *s = cw->session;

    if (cw->stopped)
        return;
    cw->calls++;
    session_unlock(s);
    m->call(m);
    session_lock(s);
    cw->calls--;
    pthread_cond_broadcast(&s->changed);
}

static void children_watch_deliver(void *data)
{
    struct children_watch_message *m = data;
    zkl_session *s = m->watch->session; /* open as long as there are callbacks */

    session_lock(s);
    children_watch_call(m->watch, m);
    children_watch_free_message(m);
    session_unlock(s);
}

void children_watch_tell(struct children_watch *cw, struct children_watch_message *m)
{
    m->watch = cw;
    driver_ref(&cw->driver);
    if (!callbacks_push(cw->session->callbacks, children_watch_deliver, m))
        children_watch_free_message(m);
}

/* Tells the last message, and stores it in the place of the one that was told before. If it has
 * replaced messages that were not told, and tells the same as the one told before, it is dropped:
 * the user has seen no change. Its reference to the watch is given up. */
static void children_watch_deliver_last(void *data)
{
    struct children_watch *cw = data;
    zkl_session *s = cw->session;

    session_lock(s);
    struct children_watch_message *done = g_steal_pointer(&cw->last);
    if (!done->others || !cw->told || !done->same(cw->told, done)) {
        struct children_watch_message *m = done;
        children_watch_call(cw, m);
        done = cw->told;
        cw->told = m;
    }
    if (done)
        done->free(done);
    driver_unref(&cw->driver);
    session_unlock(s);
}

void children_watch_tell_last(struct children_watch *cw, struct children_watch_message *m)
{
    struct children_watch_message *before = cw->last;

    m->watch = cw;
    m->others = before != NULL;
    driver_ref(&cw->driver);
    cw->last = m;
    if (before)
        children_watch_free_message(before);
    else if (!callbacks_push(cw->session->callbacks, children_watch_deliver_last, cw))
        children_watch_free_message(g_steal_pointer(&cw->last));
}
