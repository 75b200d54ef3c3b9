/* A watch of a queue: each query leaves a watch on the children, or on the path's coming, and
 * tells. What changes behind that fires it. */
#include "children_watch.h"
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/session/participant.h"

struct queue_watch {
    struct children_watch watch; /* one of the session's; the first member */
    zkl_queue_fn fn;
    void *data;
    bool queued; /* a message is */
};

/* ---- telling ---- */

static void call(struct children_watch_message *m)
{
    struct queue_watch *w = (struct queue_watch *)m->watch;

    /* What is found from here on is news again. */
    session_lock(w->watch.session);
    w->queued = false;
    session_unlock(w->watch.session);
    w->fn(w->data);
}

static void free_message(struct children_watch_message *m)
{
    g_free(m);
}

static void tell(struct children_watch *cw)
{
    struct queue_watch *w = (struct queue_watch *)cw;

    if (w->queued)
        return;
    struct children_watch_message *m = g_new(struct children_watch_message, 1);
    *m = (struct children_watch_message){.call = call, .free = free_message};
    w->queued = true;
    children_watch_tell(cw, m);
}

/* ---- querying ---- */

static void on_listed(struct children_watch *cw, const struct store_reply *reply, bool watched)
{
    (void)watched; /* every list of ours is */
    children_watch_found(cw, reply->count);
    tell(cw);
}

static void on_missing(struct children_watch *cw)
{
    children_watch_found(cw, 0);
    tell(cw);
}

static void free_watch(struct children_watch *cw)
{
    g_free((struct queue_watch *)cw);
}

/* Short queues are listed ten times a second at most, of long ones 10,000 names a second. */
static const struct children_watch_kind kind = {.doing = "watching the queue",
                                                .watch = true,
                                                .gap_ns = 100 * CLOCK_MS,
                                                .gap_each_ns = CLOCK_MS / 10,
                                                .listed = on_listed,
                                                .missing = on_missing,
                                                .failed = tell,
                                                .free = free_watch};

/* ---- all of a session ---- */

struct watches {
    struct participant participant;
    GQueue list; /* of struct children_watch */
};

static void on_up(struct participant *p)
{
    children_watch_up_all(&((struct watches *)p)->list);
}

static void on_closed(struct participant *p)
{
    children_watch_stop_all(&((struct watches *)p)->list);
}

/* Who is refused is told as who is up: each queries, and finds that out. */
static const struct participant_ops participant = {
    .on = {[NEWS_UP] = on_up, [NEWS_REFUSED] = on_up, [NEWS_CLOSED] = on_closed}};

static GQueue *watches_of(zkl_session *s)
{
    return &((struct watches *)participant_of(s, &participant, sizeof(struct watches)))->list;
}

/* ---- the handle ---- */

static struct queue_watch *watch_new(zkl_session *s, const char *path, zkl_queue_fn fn, void *data)
{
    struct queue_watch *w = g_new0(struct queue_watch, 1);
    char *directory = g_strconcat(s->chroot, path, NULL);

    w->fn = fn;
    w->data = data;
    children_watch_init(&w->watch, s, directory, &kind, watches_of(s));
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
        struct queue_watch *w = watch_new(s, path, fn, data);
        *ret = children_watch_handle(&w->watch);
        children_watch_query(&w->watch);
    }
    session_unlock(s);
    return code;
}
