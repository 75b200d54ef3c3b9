/* zkl watch: shows the queue of one path as it changes. On a terminal it draws the queue again and
 * again. Elsewhere it writes a line for each change. With --json it writes an object for each
 * snapshot.
 *
 * A callback of the library says that something may have changed. Then a thread reads the queue
 * (reader.c), and the main thread shows it. */
#include "connect.h"
#include "contenders.h"
#include "json.h"
#include "onlooker.h"
#include "screen.h"

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

/* What is shown at one time: the last reading, and whether there is a connection. */
struct view {
    struct reading *reading; /* NULL: none yet. If its .queue is NULL, the path does not exist */
    bool up;                 /* there is a connection */
    int64_t since_ms;        /* when .up last changed; ms since 1970 */
};

static const zkl_queue *queue_of(const struct view *v)
{
    return v->reading ? v->reading->queue : NULL;
}

/* Whether the path did not exist at the last reading. */
static bool is_missing(const struct view *v)
{
    return v->reading && !v->reading->queue;
}

/* ---- two views as lines: what has changed between them ---- */

/* Appends a time in ms since 1970 as 2026-11-21T23:06:47.123Z. */
static void append_time(GString *out, int64_t time_ms)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_ms / 1000);
    g_autofree char *text = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");

    g_string_append_printf(out, "%s.%03dZ", text, (int)(time_ms % 1000));
}

/* Appends the line "TIME EVENT". */
static void append_event(GString *out, int64_t time_ms, const char *event)
{
    append_time(out, time_ms);
    g_string_append_printf(out, " %s\n", event);
}

/* Appends text as one column: its blanks become \x20. */
static void append_word(GString *out, const char *text)
{
    g_autoptr(GString) word = g_string_new(NULL);

    append_visible(word, text);
    g_string_replace(word, " ", "\\x20", 0);
    g_string_append(out, word->str);
}

/* Appends the line of an event that concerns one contender. */
static void append_contender(GString *out, int64_t time_ms, const char *event,
                             const zkl_contender *c)
{
    g_autofree char *host = contender_host(c), *owner = contender_owner(c);
    const char *client = contender_client(c);

    append_time(out, time_ms);
    g_string_append_printf(out, " %s %" PRIu64 " %s %s ", event, c->token, contender_kind(c),
                           client ? client : "?");
    append_word(out, host ? host : "-");
    g_string_append_c(out, ' ');
    append_word(out, c->node);
    g_string_append_printf(out, " %s\n", owner);
}

/* Returns a table of a queue's contenders by the names of their nodes. */
static GHashTable *changes_by_name(const zkl_queue *q)
{
    GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);

    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        const zkl_contender *c = zkl_queue_get(q, i);

        g_hash_table_insert(table, (void *)(uintptr_t)c->node, (void *)(uintptr_t)c);
    }
    return table;
}

/* Finds c in the table of another snapshot; NULL: it is not there. A name alone may be used again
 * by a later node, and nodes that one transaction makes share a token. */
static const zkl_contender *changes_find_same(GHashTable *table, const zkl_contender *c)
{
    const zkl_contender *found = g_hash_table_lookup(table, c->node);

    return found && found->token == c->token ? found : NULL;
}

/* Appends a line for each contender that left, then for each that came, holds now or was asked to
 * give way. NULL instead of a snapshot means an empty queue. */
static void append_changes(GString *out, int64_t time_ms, const zkl_queue *old,
                           const zkl_queue *new)
{
    g_autoptr(GHashTable) before = changes_by_name(old), after = changes_by_name(new);

    for (size_t i = 0; i < zkl_queue_count(old); i++) {
        const zkl_contender *c = zkl_queue_get(old, i);

        if (!changes_find_same(after, c))
            append_contender(out, time_ms, "left", c);
    }
    for (size_t i = 0; i < zkl_queue_count(new); i++) {
        const zkl_contender *c = zkl_queue_get(new, i);
        const zkl_contender *was = changes_find_same(before, c); /* NULL: it has come */

        if (!was || was->holds != c->holds)
            append_contender(out, time_ms, c->holds ? "holds" : "waits", c);
        if (c->retains && c->holds > (was ? was->holds : 0))
            append_contender(out, time_ms, "retains", c);
        if (contender_is_asked(c) && (!was || !contender_is_asked(was)))
            append_contender(out, time_ms, "asked", c);
    }
}

/* Returns a line for each difference, as in zkl-watch(1). old has no reading if nothing was shown
 * yet. */
static GString *view_lines(const struct view *old, const struct view *new)
{
    GString *out = g_string_new(NULL);

    if (old->up != new->up)
        append_event(out, new->since_ms, new->up ? "connected" : "disconnected");
    if (!new->reading || new->reading == old->reading)
        return out;
    if (is_missing(old) && !is_missing(new))
        append_event(out, new->reading->time_ms, "exists");
    append_changes(out, new->reading->time_ms, queue_of(old), queue_of(new));
    if (is_missing(new) && !is_missing(old))
        append_event(out, new->reading->time_ms, "missing");
    return out;
}

/* ---- a view as JSON ---- */

/* Returns the view as a JSON object, with a newline. */
static GString *view_json(const char *path, const struct view *v)
{
    const zkl_queue *q = queue_of(v);
    const size_t holders = contenders_holding(q);
    GString *out = g_string_new("{\"time\": \"");

    append_time(out, v->up && v->reading ? v->reading->time_ms : v->since_ms);
    g_string_append(out, "\", \"path\": ");
    json_string(out, path);
    g_string_append_printf(out, ", \"connected\": %s, \"exists\": %s", v->up ? "true" : "false",
                           q ? "true" : "false");
    g_string_append_printf(out, ", \"holding\": %zu, \"waiting\": %zu, \"contenders\": ", holders,
                           zkl_queue_count(q) - holders);
    contenders_json(out, q, "");
    g_string_append(out, "]}\n");
    return out;
}

/* ---- a view on a terminal ---- */

/* Appends the time of day, and frees time. */
static void append_clock(GString *out, GDateTime *time)
{
    g_autofree char *text = g_date_time_format(time, "%H:%M:%S");

    g_string_append(out, text);
    g_date_time_unref(time);
}

/* Appends the first line of the screen: the path, how many hold and wait, whether that is up to
 * date, and the time of day. */
static void append_title(GString *out, const char *path, const struct view *v)
{
    const zkl_queue *q = queue_of(v);
    const size_t holders = contenders_holding(q), waiting = zkl_queue_count(q) - holders;

    append_visible(out, path);
    g_string_append_printf(out, "  %zu hold%s, %zu wait%s  ", holders, holders == 1 ? "s" : "",
                           waiting, waiting == 1 ? "s" : "");
    if (!v->up) {
        g_string_append(out, "disconnected, as of ");
        append_clock(out, g_date_time_new_from_unix_local(v->since_ms / 1000));
    } else if (!v->reading) {
        g_string_append(out, "reading");
    } else if (is_missing(v)) {
        g_string_append(out, "no such path, waiting for it");
    } else {
        g_string_append(out, "connected");
    }
    g_string_append(out, "  ");
    append_clock(out, g_date_time_new_now_local());
}

/* Returns rows lines at most: a title, the table, and how many contenders it leaves out. */
static GString *view_screen(const char *path, const struct view *v, int rows)
{
    const zkl_queue *q = queue_of(v);
    const size_t count = zkl_queue_count(q);
    size_t fit = rows > 2 ? (size_t)rows - 2 : 0; /* below title and heads */
    GString *out = g_string_new(NULL);

    append_title(out, path, v);
    if (count == 0)
        return out;
    if (count > fit && fit > 0)
        fit--; /* for the last line */
    g_autoptr(GString) table = contenders_table(q, fit, true);
    g_string_append_c(out, '\n');
    g_string_append_len(out, table->str, (gssize)table->len - 1);
    if (count > fit)
        g_string_append_printf(out, "\n… %zu more", count - fit);
    return out;
}

/* ---- the watch ---- */

#define TICK_MS 1000 /* how often the queue is drawn, because the contenders' ages change */

/* How often it reads without a change: the queue's watch is on the children, and does not tell when
 * a child gets new data. */
#define LOOK_MS 5000

struct watch {
    struct onlooker onlooker; /* the first member */
    const char *path;
    gboolean once, json;
    struct events events;
    zkl_watch *queue_watch;
    struct screen screen;
    int64_t look_ms;         /* by now_ms(): when to read again even without a change */
    struct view view, shown; /* the present one, and the one printed last; each owns its reading */
    pthread_mutex_t lock;    /* guards the members below, which callbacks of the session write: */
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

/* Begins to draw on the terminal, and to read its keys. */
static void take_screen(struct watch *w)
{
    screen_enter(&w->screen);
    if (w->screen.set)
        events_add(&w->events, w->screen.terminal.fd);
    reader_want(&w->onlooker.reader, (size_t)w->screen.rows);
}

/* Leaves the terminal to others. */
static void leave_screen(struct watch *w)
{
    if (w->screen.set)
        events_remove(&w->events, w->screen.terminal.fd);
    screen_leave(&w->screen);
}

/* ---- what happens ---- */

/* Stores whether there is a connection. Runs as a callback. */
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

/* Handles the signals that have come. Returns GO_ON, or the status to end with. */
static int handle_signals(struct watch *w)
{
    int signo;

    while ((signo = events_signal(&w->events)) != 0) {
        switch (signo) {
        case SIGCHLD:
            break;
        case SIGWINCH:
            if (w->screen.on) {
                screen_measure(&w->screen);
                reader_want(&w->onlooker.reader, (size_t)w->screen.rows);
            }
            break;
        case SIGTSTP:
            leave_screen(w);
            terminal_stop_us(signo);
            take_screen(w);
            break;
        case SIGCONT: /* another program may have changed the terminal */
            if (w->screen.on) {
                leave_screen(w);
                take_screen(w);
            }
            break;
        default:
            return STATUS_SIGNAL + signo;
        }
    }
    return GO_ON;
}

/* ---- showing ---- */

/* Draws the view on the terminal. Asks for another reading if that is due. Returns GO_ON, or a
 * status if the terminal is gone. */
static int draw_screen(struct watch *w)
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

/* Prints the view if it differs from the one printed last. Returns GO_ON, or a status if nobody
 * reads standard output any more. */
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
    pthread_mutex_lock(&w->lock);
    w->view.up = w->up;
    w->view.since_ms = w->since_ms;
    pthread_mutex_unlock(&w->lock);
    return w->screen.on ? draw_screen(w) : watch_print(w);
}

static int watch_on_event(struct onlooker *o)
{
    struct watch *w = (struct watch *)o;
    int key, status = handle_signals(w);

    while (status == GO_ON && w->screen.on && (key = screen_key(&w->screen)) != 0)
        if (key == 'q' || key == 'Q' || key < 0)
            status = STATUS_OK;
    return status;
}

/* ---- beginning and end ---- */

static int watch_open(struct onlooker *o)
{
    struct watch *w = (struct watch *)o;

    return zkl_session_on_change(o->session, watch_on_session, w) == 0 &&
                   zkl_queue_watch(&w->queue_watch, o->session, w->path, reader_want_again,
                                   &o->reader) == 0
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
    leave_screen((struct watch *)o);
}

/* Reads the queue on the reader's thread. For lines and JSON the nodes of those that wait are not
 * read again if the last reading has them. */
static int read_watched(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct onlooker *o = r->data;
    zkl_queue_options options = ZKL_QUEUE_OPTIONS_INIT;

    options.max_nodes = most;
    if (o->prints && r->previous)
        options.previous = r->previous->queue;
    return zkl_queue_read(ret, o->session, o->path, &options, ZKL_FOREVER);
}

/* Shows the queue: one snapshot with --once, and else its changes until something ends that.
 * Returns the exit status. */
static int watch_run(struct watch *w)
{
    static const struct onlooker_ops ops = {.open = watch_open,
                                            .begin = watch_begin,
                                            .see = watch_see,
                                            .on_event = watch_on_event,
                                            .end = watch_end,
                                            .read = read_watched};
    g_autoptr(zkl_session) session = NULL;
    int status;

    if (w->once) {
        status = session_open(w->onlooker.settings, &session);
        return status == GO_ON ? show_once(w, session) : status;
    }
    status = connect_begin(w->onlooker.settings, &w->events); /* before there are threads */
    if (status != GO_ON)
        return status;
    w->onlooker.path = w->path;
    w->onlooker.events = &w->events;
    w->onlooker.prints = w->json || !terminal_draws(STDOUT_FILENO);
    w->onlooker.ops = &ops;
    status = onlooker_run(&w->onlooker);
    zkl_watch_free(w->queue_watch);
    reading_unref(w->view.reading);
    reading_unref(w->shown.reading);
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

    return status == GO_ON ? watch_run(&w) : status;
}
