/* zkl watch: the queue of one path as it changes: on a terminal drawn over and over, else a line
 * for each change or a JSON object for each snapshot.
 *
 * The library tells that something may have changed, a thread reads (reader.c), the main thread
 * writes. */
#include "connect.h"
#include "contenders.h"
#include "json.h"
#include "onlooker.h"
#include "screen.h"

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

/* What is shown: the last reading, and whether there is a connection. */
struct view {
    struct reading *reading; /* NULL: none yet; without a queue: no such path */
    bool up;                 /* there is a connection */
    int64_t since_ms;        /* when .up last changed; ms since 1970 */
};

static const zkl_queue *queue_of(const struct view *v)
{
    return v->reading ? v->reading->queue : NULL;
}

static bool is_missing(const struct view *v)
{
    return v->reading && !v->reading->queue;
}

/* ---- a view as lines: what became of a queue between two snapshots ---- */

/* 2026-11-21T23:06:47.123Z */
static void append_time(GString *out, int64_t time_ms)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_ms / 1000);
    g_autofree char *text = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");

    g_string_append_printf(out, "%s.%03dZ", text, (int)(time_ms % 1000));
}

/* "TIME EVENT" */
static void change_line(GString *out, int64_t time_ms, const char *event)
{
    append_time(out, time_ms);
    g_string_append_printf(out, " %s\n", event);
}

/* In one piece: a blank would begin the next column. */
static void append_word(GString *out, const char *text)
{
    g_autoptr(GString) word = g_string_new(NULL);

    append_visible(word, text);
    g_string_replace(word, " ", "\\x20", 0);
    g_string_append(out, word->str);
}

static void contender_line(GString *out, int64_t time_ms, const char *event, const zkl_contender *c)
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

static GHashTable *changes_by_name(const zkl_queue *q)
{
    GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);

    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        const zkl_contender *c = zkl_queue_get(q, i);

        g_hash_table_insert(table, (void *)(uintptr_t)c->node, (void *)(uintptr_t)c);
    }
    return table;
}

/* The same one: a name may be used again, a token only by nodes that were made at once. */
static const zkl_contender *changes_same(GHashTable *table, const zkl_contender *c)
{
    const zkl_contender *found = g_hash_table_lookup(table, c->node);

    return found && found->token == c->token ? found : NULL;
}

static void compare(GString *out, int64_t time_ms, const zkl_contender *old,
                    const zkl_contender *new)
{
    const bool began = new->holds > (old ? old->holds : 0);

    if (!old || old->holds != new->holds)
        contender_line(out, time_ms, new->holds ? "holds" : "waits", new);
    if (began && new->retains)
        contender_line(out, time_ms, "retains", new);
    if (contender_is_asked(new) && (!old || !contender_is_asked(old)))
        contender_line(out, time_ms, "asked", new);
}

/* Adds a line for each contender that left, then for each that came, holds now or was asked to give
 * up. NULL instead of a snapshot means an empty queue. */
static void changes_between(GString *out, int64_t time_ms, const zkl_queue *old,
                            const zkl_queue *new)
{
    g_autoptr(GHashTable) before = changes_by_name(old), after = changes_by_name(new);

    for (size_t i = 0; i < zkl_queue_count(old); i++) {
        const zkl_contender *c = zkl_queue_get(old, i);

        if (!changes_same(after, c))
            contender_line(out, time_ms, "left", c);
    }
    for (size_t i = 0; i < zkl_queue_count(new); i++) {
        const zkl_contender *c = zkl_queue_get(new, i);

        compare(out, time_ms, changes_same(before, c), c);
    }
}

/* A line for each difference, as zkl-watch(1) has them; old may be the first, empty one. */
static GString *view_lines(const struct view *old, const struct view *new)
{
    GString *out = g_string_new(NULL);

    if (old->up != new->up)
        change_line(out, new->since_ms, new->up ? "connected" : "disconnected");
    if (!new->reading || new->reading == old->reading)
        return out;
    if (is_missing(old) && !is_missing(new))
        change_line(out, new->reading->time_ms, "exists");
    changes_between(out, new->reading->time_ms, queue_of(old), queue_of(new));
    if (is_missing(new) && !is_missing(old))
        change_line(out, new->reading->time_ms, "missing");
    return out;
}

/* ---- a view as JSON ---- */

/* A JSON object, with its newline. */
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

/* Takes time. */
static void append_clock(GString *out, GDateTime *time)
{
    g_autofree char *text = g_date_time_format(time, "%H:%M:%S");

    g_string_append(out, text);
    g_date_time_unref(time);
}

static void append_state(GString *out, const struct view *v)
{
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
}

static void append_title(GString *out, const char *path, const struct view *v)
{
    const zkl_queue *q = queue_of(v);
    const size_t holders = contenders_holding(q), waiting = zkl_queue_count(q) - holders;

    append_visible(out, path);
    g_string_append_printf(out, "  %zu hold%s, %zu wait%s  ", holders, holders == 1 ? "s" : "",
                           waiting, waiting == 1 ? "s" : "");
    append_state(out, v);
    g_string_append(out, "  ");
    append_clock(out, g_date_time_new_now_local());
}

/* At most rows lines: a title, the table, and how many more there are. */
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
        case SIGCONT: /* another program may have changed the terminal */
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

    w->onlooker.path = w->path;
    w->onlooker.events = &w->events;
    w->onlooker.prints = w->json || !terminal_draws(STDOUT_FILENO);
    w->onlooker.ops = &ops;
    const int status = onlooker_run(&w->onlooker);
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
