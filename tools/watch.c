/* zkl watch: the queue of one path as it changes: on a terminal drawn over and over, else a line
 * for each change or a JSON object for each snapshot.
 *
 * The library tells that something may have changed, a thread reads (reader.c), the main thread
 * writes. */
#include "closing.h"
#include "connect.h"
#include "contenders.h"
#include "screen.h"
#include "view.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The ages change, and what is written into a node is told by nobody. */
#define TICK_MS 1000
#define LOOK_MS 5000

struct watch {
    const struct settings *settings;
    const char *path;
    gboolean once, json;
    struct events events;
    zkl_session *session;
    zkl_watch *told; /* by the library */
    struct reader reader;
    struct screen screen;
    int64_t look_ms;         /* when a look is due without a change */
    struct view view, shown; /* shown owns its reading too */
    pthread_mutex_t lock;    /* guards what callbacks of the session write: */
    bool up;
    int64_t since_ms;
};

/* ---- once ---- */

static int show_once(const struct watch *w)
{
    struct reading reading = {.time_ms = g_get_real_time() / 1000};
    const struct view view = {.reading = &reading, .up = true};
    int64_t timeout_ms;
    int status = connect_timeout_ms(w->settings, &timeout_ms);
    GString *line;

    if (status != GO_ON)
        return status;
    status = contenders_read(&reading.queue, w->session, w->path, timeout_ms);
    if (status != STATUS_OK)
        return status;
    if (w->json) {
        line = view_json(w->path, &view);
        fputs(line->str, stdout);
        g_string_free(line, TRUE);
    } else {
        contenders_print(reading.queue, w->path);
    }
    zkl_queue_free(reading.queue);
    return status;
}

/* ---- the terminal ---- */

static void take_screen(struct watch *w)
{
    screen_enter(&w->screen);
    if (w->screen.set)
        events_add(&w->events, w->screen.terminal.fd);
    reader_want(&w->reader, (size_t)w->screen.rows);
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
    reader_want(&w->reader, (size_t)w->screen.rows);
}

/* ---- what happens ---- */

static void on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct watch *w = data;
    const bool up = event == ZKL_SESSION_CONNECTED;

    (void)s, (void)id;
    pthread_mutex_lock(&w->lock);
    if (w->up != up)
        w->since_ms = g_get_real_time() / 1000;
    w->up = up;
    pthread_mutex_unlock(&w->lock);
    if (event == ZKL_SESSION_REFUSED)
        reader_want_again(&w->reader); /* which says so */
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

/* The reader of our pipe is gone. */
static int look_at_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) > 0 && out.revents & POLLERR ? STATUS_SIGNAL + SIGPIPE : GO_ON;
}

static int see_reading(struct watch *w)
{
    struct reading *newest = reader_take(&w->reader);
    int status;

    if (!newest)
        return GO_ON;
    if (newest->queue || newest->error.code == ZKL_ENOENT) {
        reading_unref(w->view.reading);
        w->view.reading = newest;
        return GO_ON;
    }
    give_screen(w); /* before what is said on it */
    status = fail_error(&newest->error, w->path);
    reading_unref(newest);
    return status;
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
    GString *text = view_screen(w->path, &w->view, w->screen.rows);
    bool there = screen_draw(&w->screen, &w->events, text->str);

    g_string_free(text, TRUE);
    if (now_ms() >= w->look_ms) {
        reader_want_again(&w->reader);
        w->look_ms = now_ms() + LOOK_MS;
    }
    events_arm(&w->events, TICK_MS);
    return there ? GO_ON : STATUS_SIGNAL + SIGHUP;
}

static int print(struct watch *w)
{
    GString *text;
    int status;

    if (w->view.reading == w->shown.reading && w->view.up == w->shown.up)
        return GO_ON;
    text = w->json ? view_json(w->path, &w->view) : view_lines(&w->shown, &w->view);
    status = events_print(&w->events, text->str);
    g_string_free(text, TRUE);
    reading_unref(w->shown.reading);
    w->shown = w->view;
    if (w->shown.reading)
        g_atomic_rc_box_acquire(w->shown.reading);
    return status;
}

static int show(struct watch *w)
{
    return w->screen.on ? draw(w) : print(w);
}

static int wait_for_more(struct watch *w)
{
    int status;

    events_wait(&w->events);
    status = obey_signals(w);
    if (status != GO_ON)
        return status;
    return w->screen.on ? obey_keys(w) : look_at_reader();
}

/* Looks before it waits: what came while we were connecting wakes nobody any more. */
static int go_on(struct watch *w)
{
    int status = GO_ON;

    while (status == GO_ON) {
        see_connection(w);
        status = see_reading(w);
        if (status == GO_ON)
            status = show(w);
        if (status == GO_ON)
            status = wait_for_more(w);
    }
    give_screen(w);
    return status;
}

/* ---- beginning and end ---- */

/* A pipe that only we write to can be asked whether somebody reads it. */
static bool is_pipe(void)
{
    struct stat stat;

    return fstat(STDOUT_FILENO, &stat) == 0 && S_ISFIFO(stat.st_mode) &&
           (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY;
}

static int failed(const struct watch *w)
{
    zkl_error error = {0};

    zkl_last_error(&error);
    return fail_error(&error, w->path);
}

static int run(struct watch *w)
{
    const bool on_screen = !w->json && screen_is_there();
    int status;

    w->reader = (struct reader){
        .session = w->session, .path = w->path, .events = &w->events, .keeps = !on_screen};
    status = reader_start(&w->reader);
    if (status != GO_ON) {
        zkl_session_close(w->session);
        return status;
    }
    if (zkl_session_on_change(w->session, on_session, w) != 0 ||
        zkl_queue_watch(&w->told, w->session, w->path, reader_want_again, &w->reader) != 0)
        status = failed(w);
    if (status == GO_ON)
        status = session_connect(w->settings, &w->session, ZKL_FOREVER, &w->events);
    if (status == GO_ON && on_screen) {
        events_catch(&w->events, SIGTSTP);
        take_screen(w);
    } else if (status == GO_ON && is_pipe()) {
        events_add(&w->events, STDOUT_FILENO);
    }
    if (status == GO_ON)
        status = go_on(w);
    reader_stop(&w->reader);
    closing_close(w->session, CLOSING_PATIENCE_MS); /* told keeps what the reader may still ask */
    w->session = NULL;
    reader_join(&w->reader);
    zkl_watch_free(w->told);
    reading_unref(w->view.reading);
    reading_unref(w->shown.reading);
    return status;
}

static int watch(struct watch *w)
{
    int status;

    if (w->once) {
        status = session_open(w->settings, &w->session);
        if (status == GO_ON)
            status = show_once(w);
        zkl_session_close(w->session);
        return status;
    }
    if (!events_open(&w->events)) /* before there are threads */
        return STATUS_INTERNAL;
    status = session_open(w->settings, &w->session);
    if (status == GO_ON)
        status = run(w);
    events_close(&w->events);
    return status;
}

int verb_watch(struct settings *settings, int argc, char **argv)
{
    struct watch w = {.settings = settings,
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

    return status == GO_ON ? watch(&w) : status;
}
