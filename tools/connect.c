/* From the settings to a session that a server has confirmed. */
#include "connect.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define DEFAULT_CONNECT "127.0.0.1:2181"

static const char *connect_string(const struct settings *settings)
{
    const char *env = g_getenv("ZKL_CONNECT");

    if (settings->connect)
        return settings->connect;
    return env && *env ? env : DEFAULT_CONNECT;
}

/* The library's own lines are for -v; a failure is told once, by its result. */
static void log_line(zkl_log_level level, const char *line, void *data)
{
    size_t length = strlen(line);

    (void)level;
    (void)data;
    while (length > 0 && g_ascii_isspace(line[length - 1]))
        length--; /* libzookeeper ends some of its lines itself */
    say("%.*s", (int)length, line);
}

static void log_nothing(zkl_log_level level, const char *line, void *data)
{
    (void)level;
    (void)line;
    (void)data;
}

/* "scheme:credentials" from --auth or --auth-file; *ret stays NULL when neither was given. */
static int read_auth(const struct settings *settings, char **ret)
{
    GError *error = NULL;
    char *text;

    if (settings->auth && settings->auth_file)
        return fail(STATUS_USAGE, "--auth and --auth-file exclude each other");
    if (settings->auth) {
        text = g_strdup(settings->auth);
    } else if (!settings->auth_file) {
        return GO_ON;
    } else if (g_file_get_contents(settings->auth_file, &text, NULL, &error)) {
        g_strchomp(text);
    } else {
        int status = fail(STATUS_USAGE, "--auth-file: %s", error->message);

        g_error_free(error);
        return status;
    }
    if (!strchr(text, ':') || text[0] == ':') {
        g_free(text);
        return fail(STATUS_USAGE,
                    "--auth: expected SCHEME:CREDENTIALS, as in digest:user:password");
    }
    *ret = text;
    return GO_ON;
}

/* The library names its own options; whoever reads this has given ours. */
static int open_failed(const struct settings *settings, const zkl_error *error)
{
    if (error->code == ZKL_EINVAL && g_str_has_prefix(error->text, "acl "))
        return fail(STATUS_USAGE, "--acl %s: %s", settings->acl, error->text);
    if (error->code == ZKL_EINVAL && g_str_has_prefix(error->text, "session_timeout_ms "))
        return fail(STATUS_USAGE, "--session-timeout %d: %s", settings->session_timeout_ms,
                    error->text + strlen("session_timeout_ms "));
    return fail_error(error, connect_string(settings));
}

int session_open(const struct settings *settings, zkl_session **ret)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_error error = {0};
    char *auth = NULL;
    int status = read_auth(settings, &auth);

    if (status != GO_ON)
        return status;
    if (auth) {
        char *colon = strchr(auth, ':');

        *colon = '\0';
        options.auth_scheme = auth;
        options.auth = colon + 1;
    }
    options.session_timeout_ms = settings->session_timeout_ms;
    options.acl = settings->acl;
    options.log = settings->verbose ? log_line : log_nothing;
    options.log_level = settings->verbose ? ZKL_LOG_INFO : ZKL_LOG_ERROR;
    if (zkl_session_open(ret, connect_string(settings), &options, &error) != 0)
        status = open_failed(settings, &error);
    g_free(auth);
    return status;
}

int connect_timeout_ms(const struct settings *settings, int64_t *ret)
{
    if (seconds_to_ms(settings->connect_timeout_s, ret) && *ret > 0)
        return GO_ON;
    return fail(STATUS_USAGE, "--connect-timeout: not a time to connect in: %g",
                settings->connect_timeout_s);
}

/* zkl_session_wait() cannot hear signals, so that it waits on a thread beside us. */
struct waiting {
    zkl_session *session;
    struct events *events;
    int64_t limit_ms;
    zkl_error error; /* written before done is set */
    atomic_bool done;
};

static void *wait_thread(void *data)
{
    struct waiting *w = data;
    int result = zkl_session_wait(w->session, w->limit_ms);

    if (result != 0)
        zkl_last_error(&w->error);
    w->error.code = result;
    atomic_store(&w->done, true);
    events_wake(w->events);
    return NULL;
}

int session_connect(const struct settings *settings, zkl_session **session, int64_t limit_ms,
                    struct events *events)
{
    struct waiting w = {.session = *session, .events = events};
    pthread_t thread;
    int signo;
    int err;

    err = connect_timeout_ms(settings, &w.limit_ms);
    if (err != GO_ON)
        return err;
    if (limit_ms != ZKL_FOREVER && limit_ms < w.limit_ms)
        w.limit_ms = limit_ms;
    if (settings->verbose)
        say("connecting to %s", connect_string(settings));
    err = pthread_create(&thread, NULL, wait_thread, &w);
    if (err != 0)
        return fail(STATUS_INTERNAL, "no thread: %s", g_strerror(err));
    signo = events_until(events, &w.done);
    if (signo != 0) {
        zkl_session_close(*session); /* which also ends the wait */
        *session = NULL;
    }
    pthread_join(thread, NULL);
    if (signo != 0)
        return STATUS_SIGNAL + signo;
    return w.error.code == 0 ? GO_ON : fail_error(&w.error, connect_string(settings));
}
