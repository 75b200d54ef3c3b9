/* Opens a session by the settings, and waits until a server has confirmed it. */
#include "connect.h"
#include "closing.h"
#include "credentials.h"
#include "credentials_shared.h"

#include <string.h>

#define DEFAULT_CONNECT "127.0.0.1:2181"

const char *connect_string(const struct settings *settings)
{
    const char *env = g_getenv("ZKL_CONNECT");

    if (settings->connect)
        return settings->connect;
    return env && *env ? env : DEFAULT_CONNECT;
}

const char *connect_chroot(const struct settings *settings)
{
    const char *chroot = strchr(connect_string(settings), '/');

    return chroot && chroot[1] ? chroot : "";
}

/* Writes what the library logs, for -v. Without -v a failure is told once, by its result. */
static void connect_log_line(const zkl_log_record *record, void *data)
{
    (void)data;
    say("%s", record->text);
}

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record;
    (void)data;
}

/* Says why the session cannot be opened, and returns the status. The library's message names its
 * own options, but the user has given ours. */
static int fail_to_open(const struct settings *settings, const zkl_error *error)
{
    if (error->code == ZKL_EINVAL && g_str_has_prefix(error->text, "acl "))
        return fail(STATUS_USAGE, "--acl %s: %s%s", settings->acl, error->text,
                    strstr(error->text, "credentials") ? " (--auth or --auth-file)" : "");
    if (error->code == ZKL_EINVAL && (settings->cacert || settings->cert || settings->key) &&
        strcmp(error->path, "options") == 0)
        return fail(STATUS_USAGE, "--cacert, --cert, --key: %s",
                    strstr(error->text, "all of") ? "all of them are needed" : error->text);
    if (error->code == ZKL_EINVAL && g_str_has_prefix(error->text, "tick_ms "))
        return fail(STATUS_USAGE,
                    "--tick: %g s is too much for a session timeout of %.1f s: no lock could be "
                    "renewed in time",
                    (double)settings->tick_ms / 1000, settings->session_timeout_ms / 1000.0);
    if (error->code == ZKL_EINVAL && strstr(error->text, " SASL"))
        return fail(STATUS_USAGE, "--auth: %s", error->text);
    return fail_error(error, connect_string(settings));
}

zkl_session_options connect_options(const struct settings *settings)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.session_timeout_ms = settings->session_timeout_ms;
    options.tick_ms = (int)MIN(settings->tick_ms, G_MAXINT);
    options.tls_ca = settings->cacert;
    options.tls_cert = settings->cert;
    options.tls_key = settings->key;
    options.fixed_servers = settings->fixed_servers;
    return options;
}

int connect_begin(const struct settings *settings, struct events *events)
{
    const int status = credentials_begin(settings);

    if (status != GO_ON)
        return status;
    return events_open(events) ? GO_ON : STATUS_INTERNAL;
}

int session_open_logged(const struct settings *settings, zkl_session **ret, zkl_log_fn on_log,
                        void *data)
{
    zkl_session_options options = connect_options(settings);
    zkl_error error = {0};
    g_autoptr(GArray) credentials = NULL;
    int status = credentials_read(settings, &credentials);

    if (status != GO_ON)
        return status;
    options.credentials = (const zkl_credential *)(const void *)credentials->data;
    options.credential_count = credentials->len;
    credentials_leave(credentials);
    options.acl = settings->acl;
    options.log = on_log;
    options.log_data = data;
    options.log_level = settings->verbose ? ZKL_LOG_INFO : ZKL_LOG_WARN;
    closing_prepare();
    if (zkl_session_open(ret, connect_string(settings), &options, &error) != 0)
        status = fail_to_open(settings, &error);
    credentials_forget();
    return status;
}

int session_open(const struct settings *settings, zkl_session **ret)
{
    return session_open_logged(settings, ret, settings->verbose ? connect_log_line : log_nothing,
                               NULL);
}

/* Wakes the main thread, which waits for the session. Runs on a thread of the library. */
static void connect_on_session(zkl_session *session, zkl_session_event event, int64_t id,
                               void *events)
{
    (void)session;
    (void)event;
    (void)id;
    events_wake(events);
}

int session_connect(const struct settings *settings, zkl_session **session, int64_t limit_ms,
                    struct events *events)
{
    const int64_t most = MIN(limit_ms, settings->connect_timeout_ms);
    zkl_error error = {0};
    int result = 0, signo = 0;

    if (settings->verbose)
        say("connecting to %s", connect_string(settings));
    zkl_session_on_change(*session, connect_on_session, events);
    const int64_t end = now_ms() + most;
    /* zkl_session_wait() does not return at a signal, so we ask it again after each event. */
    while (signo == 0) {
        const int64_t left = end - now_ms();

        result = zkl_session_wait(*session, 0);
        if ((result != ZKL_EUNREACHABLE && result != ZKL_EHOST) || left <= 0)
            break;
        signo = events_wait_at_most(events, left);
    }
    if (signo != 0) {
        closing_close(*session, 0);
        *session = NULL;
        return STATUS_SIGNAL + signo;
    }
    if (result == 0)
        return GO_ON;
    zkl_last_error(&error);
    return fail_error(&error, connect_string(settings));
}
