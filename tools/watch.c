/* zkl watch: the queue of one path as it changes: on a terminal drawn over and over, else a line
 * for each change or a JSON object for each snapshot.
 *
 * The library tells that something may have changed, a thread reads (reader.c), the main thread
 * writes. */
#include "connect.h"
#include "contenders.h"
#include "onlooker.h"
#include "screen.h"
#include "view.h"

#include <pthread.h>
#include <unistd.h>

/* The ages change, and what is written into a node is told by nobody. */
#define TICK_MS 1000
#define LOOK_MS 5000

struct watch {
    struct onlooker onlooker; /* the first member */
    const char *path;
    gboolean once, json;
    struct events events;
    zkl_watch *told; /* by the library */
    struct screen screen;
    int64_t look_ms;         /* when a look is due without a change */
    struct view view, shown; /* shown owns its reading too */
    pthread_mutex_t lock;    /* guards what callbacks of the session write: */
    bool up;
    int64_t since_ms;
};

/* ---- once ---- */

static int show_once(const struct watch *w, zkl_session *session)
{
    g_autoptr(zkl_queue) queue = NULL;
    const int status =
        contenders_read(&queue, session, w->path, w->onlooker.settings->connect_timeout_ms);

    if (status != STATUS_OK)
        return status;
    if (w->json) {
        struct reading reading = {.queue = queue, .time_ms = g_get_real_time() / 1000};
        const struct view view = {.reading = &reading, .up = true};
        print_text(view_json(w->path, &view));
    } else {
        contenders_print(queue, w->path);
    }
    return status;
}

/* ---- the terminal ---- */

static void take_screen(struct watch *w)
{
    screen_enter(&w->screen);
    if (w->screen.set)
        events_add(&w->events, w->screen.terminal.fd);
    reader_want(&w->onlooker.reader, (size_t)w->screen.rows);
}

static void give_screen(struct watch *w)
{
    if (w->screen.set)
        events_remove(&w->events, w->screen.terminal.fd);
    screen_leave(&w->screen);
}

static void resize(struct watch *w)
{
    if (!w->screen.on)
        return;
    screen_measure(&w->screen);
    reader_want(&w->onlooker.reader, (size_t)w->screen.rows);
}

/* ---- what happens ---- */

static void watch_on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct watch *w = data;
    const bool up = event == ZKL_SESSION_CONNECTED;

    (void)s, (void)id;
    pthread_mutex_lock(&w->lock);
    if (w->up != up)
        w->since_ms = g_get_real_time() / 1000;
    w->up = up;
    pthread_mutex_unlock(&w->lock);
    events_wake(&w->events);
}

static int obey_signals(struct watch *w)
{
    int signo;

    while ((signo = events_signal(&w->events)) != 0) {
        switch (signo) {
        case SIGCHLD:
            break;
        case SIGWINCH:
            resize(w);
            break;
        case SIGTSTP:
            give_screen(w);
            terminal_stop_us(signo);
            take_screen(w);
            break;
        case SIGCONT: /* whoever had the terminal meanwhile may have changed it */
            if (w->screen.on) {
                give_screen(w);
                take_screen(w);
            }
            break;
        default:
            return STATUS_SIGNAL + signo;
        }
    }
    return GO_ON;
}

static int obey_keys(struct watch *w)
{
    int key;

    while ((key = screen_key(&w->screen)) != 0) {
        if (key == 'q' || key == 'Q' || key < 0)
            return STATUS_OK;
    }
    return GO_ON;
}

static void see_connection(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->view.up = w->up;
    w->view.since_ms = w->since_ms;
    pthread_mutex_unlock(&w->lock);
}

/* ---- showing ---- */

static int draw(struct watch *w)
{
    g_autoptr(GString) text = view_screen(w->path, &w->view, w->screen.rows);
    const bool there = screen_draw(&w->screen, &w->events, text->str);

    if (now_ms() >= w->look_ms) {
        reader_want_again(&w->onlooker.reader);
        w->look_ms = now_ms() + LOOK_MS;
    }
    events_arm(&w->events, TICK_MS);
    return there ? GO_ON : STATUS_SIGNAL + SIGHUP;
}

static int watch_print(struct watch *w)
{
    if (w->view.reading == w->shown.reading && w->view.up == w->shown.up)
        return GO_ON;
    g_autoptr(GString) text =
        w->json ? view_json(w->path, &w->view) : view_lines(&w->shown, &w->view);
    const int status = events_print(&w->events, text->str);
    reading_unref(w->shown.reading);
    w->shown = w->view;
    if (w->shown.reading)
        g_atomic_rc_box_acquire(w->shown.reading);
    return status;
}

static int watch_see(struct onlooker *o, struct reading *newest)
{
    struct watch *w = (struct watch *)o;

    if (newest) {
        reading_unref(w->view.reading);
        w->view.reading = newest;
    }
    see_connection(w);
    return w->screen.on ? draw(w) : watch_print(w);
}

static int watch_heed(struct onlooker *o)
{
    struct watch *w = (struct watch *)o;
    const int status = obey_signals(w);

    return status == GO_ON && w->screen.on ? obey_keys(w) : status;
}

/* ---- beginning and end ---- */

static int watch_open(struct onlooker *o)
{
    struct watch *w = (struct watch *)o;

    return zkl_session_on_change(o->session, watch_on_session, w) == 0 &&
                   zkl_queue_watch(&w->told, o->session, w->path, reader_want_again, &o->reader) ==
                       0
               ? GO_ON
               : fail_last(o->path);
}

static int watch_begin(struct onlooker *o)
{
    struct watch *w = (struct watch *)o;

    if (!o->prints) {
        events_catch(&w->events, SIGTSTP);
        take_screen(w);
    }
    return GO_ON;
}

static void watch_end(struct onlooker *o)
{
    give_screen((struct watch *)o);
}

/* A contender that waits is not read again where all of them are shown. */
static int read_watched(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct onlooker *o = r->data;
    zkl_queue_options options = ZKL_QUEUE_OPTIONS_INIT;

    options.max_nodes = most;
    if (o->prints && r->before)
        options.previous = r->before->queue;
    return zkl_queue_read(ret, o->session, o->path, &options, ZKL_FOREVER);
}

static int watch_on(struct watch *w)
{
    static const struct onlooker_ops ops = {.open = watch_open,
                                            .begin = watch_begin,
                                            .see = watch_see,
                                            .heed = watch_heed,
                                            .end = watch_end,
                                            .read = read_watched};
    int status;

    w->onlooker.path = w->path;
    w->onlooker.events = &w->events;
    w->onlooker.prints = w->json || !terminal_draws(STDOUT_FILENO);
    w->onlooker.ops = &ops;
    status = onlooker_run(&w->onlooker);
    zkl_watch_free(w->told);
    reading_unref(w->view.reading);
    reading_unref(w->shown.reading);
    return status;
}

static int watch_watch(struct watch *w)
{
    g_autoptr(zkl_session) session = NULL;
    int status;

    if (w->once) {
        status = session_open(w->onlooker.settings, &session);
        return status == GO_ON ? show_once(w, session) : status;
    }
    if (!events_open(&w->events)) /* before there are threads */
        return STATUS_INTERNAL;
    status = watch_on(w);
    events_close(&w->events);
    return status;
}

int verb_watch(struct settings *settings, int argc, char **argv)
{
    struct watch w = {.onlooker = {.settings = settings},
                      .view = {.up = true},
                      .shown = {.up = true},
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .up = true};
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &w.json, "Write a JSON object for each snapshot", NULL},
        {"once", 0, 0, G_OPTION_ARG_NONE, &w.once, "Write one snapshot, like zkl ls", NULL},
        G_OPTION_ENTRY_NULL};
    const char *summary = "Shows who holds the lock PATH and who waits, as it changes.";
    int status = options_parse_path(settings, entries, summary, argc, argv, &w.path, NULL, NULL);

    return status == GO_ON ? watch_watch(&w) : status;
}
