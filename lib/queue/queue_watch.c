/* A watch of a queue: each query leaves a watch on the children, or on the path's coming, and
 * tells. What changes behind that fires it. */
#include "children_watch.h"
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/session/participant.h"

struct queue_watch {
    struct children_watch watch; /* one of the session's; the first member */
    struct children machine;
    zkl_queue_fn fn;
    void *data;
    bool queued; /* a message is */
};

/* ---- telling ---- */

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

/* ---- the machine ---- */

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
static void queue_watch_tell(struct driver *d, const struct machine_action *a)
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
               .tell = queue_watch_tell,
               .ref = children_watch_driver_ref,
               .unref = children_watch_driver_unref},
    .doing = "watching the queue",
    .free = queue_watch_free};

/* ---- all of a session ---- */

struct queue_watch_list {
    struct participant participant;
    GQueue list; /* of struct children_watch */
};

static void queue_watch_on_up(struct participant *p)
{
    children_watch_begin_all(&((struct queue_watch_list *)p)->list);
}

static void queue_watch_on_closed(struct participant *p)
{
    children_watch_stop_all(&((struct queue_watch_list *)p)->list);
}

/* A watch hears of refused credentials as of a connection: it queries, and finds that out. */
static const struct participant_ops participant = {.on = {[NEWS_UP] = queue_watch_on_up,
                                                          [NEWS_REFUSED] = queue_watch_on_up,
                                                          [NEWS_CLOSED] = queue_watch_on_closed}};

static GQueue *queue_watch_list_of(zkl_session *s)
{
    return &((struct queue_watch_list *)participant_of(s, &participant,
                                                       sizeof(struct queue_watch_list)))
                ->list;
}

/* ---- the handle ---- */

static struct queue_watch *queue_watch_new(zkl_session *s, const char *path, zkl_queue_fn fn,
                                           void *data)
{
    struct queue_watch *w = g_new0(struct queue_watch, 1);
    char *directory = g_strconcat(s->chroot, path, NULL);

    w->fn = fn;
    w->data = data;
    /* Short queues are listed ten times a second at most, of long ones 10,000 names a second. */
    w->machine = (struct children){.watch = true, .gap = 100 * CLOCK_MS, .gap_each = CLOCK_MS / 10};
    children_watch_init(&w->watch, s, directory, &queue_watch_kind, queue_watch_list_of(s));
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
