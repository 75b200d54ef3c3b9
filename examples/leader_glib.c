/* A daemon that leads or follows, by the GLib main loop. A leader says where it is: here, by its
 * process. At HUP it lets the next candidate lead. */
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>
#include <zkl-glib.h>

struct daemon {
    GMainLoop *loop;
    zkl_election *election;
    const zkl_grant *term; /* while we lead */
};

static void on_proclaimed(const zkl_error *err, void *data)
{
    (void)data;
    g_printerr("%s\n", err ? err->text : "proclaimed");
}

static void say_where(zkl_election *e)
{
    g_autofree char *where = g_strdup_printf("pid %d", (int)getpid());

    zkl_election_proclaim_async(e, where, strlen(where), 10000, on_proclaimed, NULL);
}

/* By the loop, so that nothing here needs a lock. */
static void on_election(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                        const zkl_error *err, void *data)
{
    struct daemon *d = data;

    if (event == ZKL_ELECTION_LEADING) {
        d->term = grant;
        say_where(e);
        g_print("leading with token %" G_GUINT64_FORMAT "\n", zkl_grant_token(grant));
    } else if (event == ZKL_ELECTION_LOST || event == ZKL_ELECTION_RESIGNED) {
        d->term = NULL;
        g_print("following, after token %" G_GUINT64_FORMAT "\n", zkl_grant_token(grant));
    } else if (event == ZKL_ELECTION_FAILED) {
        g_printerr("%s\n", err->text);
    }
}

/* Right before each thing that only a leader may do: a callback may still be on its way. */
static gboolean work(void *data)
{
    const struct daemon *d = data;

    if (d->term && zkl_grant_remaining_ms(d->term) > 0)
        g_printerr("working\n");
    return G_SOURCE_CONTINUE;
}

static gboolean stop(void *data)
{
    const struct daemon *d = data;

    g_main_loop_quit(d->loop);
    return G_SOURCE_CONTINUE;
}

/* It queues again, as the last one. */
static gboolean on_hangup(void *data)
{
    const struct daemon *d = data;

    zkl_election_yield(d->election);
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    struct daemon d = {NULL, NULL, NULL};
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    GSource *source;
    zkl_session *s;

    options.dispatch = 1;
    if (argc != 4 || zkl_session_open(&s, argv[1], &options, NULL) != 0)
        return 64;
    d.loop = g_main_loop_new(NULL, FALSE);
    source = zkl_glib_source_new(s);
    g_source_attach(source, NULL);
    g_unix_signal_add(SIGTERM, stop, &d);
    g_unix_signal_add(SIGHUP, on_hangup, &d);
    g_timeout_add_seconds(1, work, &d);
    if (zkl_election_new(&d.election, s, argv[2], argv[3], NULL) == 0 &&
        zkl_election_start(d.election, on_election, &d) == 0)
        g_main_loop_run(d.loop);
    g_source_destroy(source);
    g_source_unref(source);
    zkl_election_free(d.election); /* resigns */
    zkl_session_close(s);          /* calls what is left */
    g_main_loop_unref(d.loop);
    return 0;
}
