/* A watch of a queue: each look leaves a watch on the children, or on the path's coming, and tells.
 * What changes behind that fires it. */
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/session/participant.h"
#include "look.h"

struct queue_watch {
    struct look look; /* one of the session's; the first member */
    zkl_queue_fn fn;
    void *data;
    bool queued; /* a message is */
};

/* ---- telling ---- */

static void call(struct look_message *m)
{
    struct queue_watch *w = (struct queue_watch *)m->look;

    /* What is found from here on is news again. */
    session_lock(w->look.session);
    w->queued = false;
    session_unlock(w->look.session);
    w->fn(w->data);
}

static void free_message(struct look_message *m)
{
    g_free(m);
}

static void tell(struct look *l)
{
    struct queue_watch *w = (struct queue_watch *)l;

    if (w->queued)
        return;
    struct look_message *m = g_new(struct look_message, 1);
    *m = (struct look_message){.call = call, .free = free_message};
    w->queued = true;
    look_tell(l, m);
}

/* ---- looking ---- */

static void on_listed(struct look *l, const struct store_reply *reply, bool watched)
{
    (void)watched; /* every list of ours is */
    look_found(l, reply->count);
    tell(l);
}

static void on_missing(struct look *l)
{
    look_found(l, 0);
    tell(l);
}

static void free_watch(struct look *l)
{
    g_free((struct queue_watch *)l);
}

/* Short queues are listed ten times a second at most, of long ones 10,000 names a second. */
static const struct look_kind kind = {.doing = "watching the queue",
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
    GQueue list; /* of struct look */
};

static void on_up(struct participant *p)
{
    look_up_all(&((struct watches *)p)->list);
}

static void on_closed(struct participant *p)
{
    look_stop_all(&((struct watches *)p)->list);
}

static void free_watches(struct participant *p)
{
    g_free((struct watches *)p);
}

/* Who is refused is told as who is up: each looks, and finds that out. */
static const struct participant_ops participant = {
    .on = {[NEWS_UP] = on_up, [NEWS_REFUSED] = on_up, [NEWS_CLOSED] = on_closed},
    .free = free_watches};

static GQueue *watches_of(zkl_session *s)
{
    struct watches *found = (struct watches *)participant_find(s, &participant);

    if (!found) {
        found = g_new0(struct watches, 1);
        participant_add(s, &found->participant, &participant);
    }
    return &found->list;
}

/* ---- the handle ---- */

static struct queue_watch *watch_new(zkl_session *s, const char *path, zkl_queue_fn fn, void *data)
{
    struct queue_watch *w = g_new0(struct queue_watch, 1);
    char *directory = g_strconcat(s->chroot, path, NULL);

    w->fn = fn;
    w->data = data;
    look_init(&w->look, s, directory, &kind, watches_of(s));
    g_free(directory);
    return w;
}

int zkl_queue_watch(zkl_watch **ret, zkl_session *s, const char *path, zkl_queue_fn fn, void *data)
{
    int code = session_check(s);
    const char *wrong;

    if (code)
        return code;
    if (!ret || !fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_queue_watch: %s is NULL", ret ? "fn" : "ret");
    if ((wrong = path_check(path)))
        return error_set(ZKL_EINVAL, path, "path \"%.100s\": %s", path ? path : "", wrong);
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct queue_watch *w = watch_new(s, path, fn, data);
        *ret = look_handle(&w->look);
        look_begin(&w->look);
    }
    session_unlock(s);
    return code;
}
