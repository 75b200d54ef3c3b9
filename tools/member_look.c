/* A line for each member, or for each change; and a command that is run at changes. */
#include "member_look.h"
#include "closing.h"
#include "connect.h"
#include "members.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Changes that come so soon after one another are one for --exec. */
#define QUIET_MS 100

struct looking {
    const struct settings *settings;
    const struct member_options *options;
    struct events *events;
    zkl_session *session;
    GAsyncQueue *lines; /* of --listen: text, or the members as "\f…" for --exec */
    char *members;      /* for the next run; NULL: it has seen the last change */
    int64_t run_at;     /* by now_ms() */
    GPid running;       /* 0: none */
};

/* ---- as text ---- */

static void append_line(GString *out, const char *event, const zkl_member_info *m)
{
    g_string_append_printf(out, "%s %" G_GUINT64_FORMAT " ", event, (guint64)m->token);
    append_visible(out, m->id);
    if (m->size > 0)
        g_string_append_c(out, ' ');
    append_member_data(out, m);
}

/* ---- --list ---- */

static int failed(const struct looking *l)
{
    zkl_error error = {0};

    zkl_last_error(&error);
    return fail_error(&error, l->options->run.path);
}

static GString *as_json(const zkl_members *ms)
{
    GString *out = g_string_new(NULL);

    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        member_json(out, NULL, NULL, zkl_members_get(ms, i));
        g_string_append_c(out, '\n');
    }
    return out;
}

static int list(const struct looking *l)
{
    const zkl_members_options o = {sizeof o, l->options->layout};
    zkl_members *ms;
    int64_t timeout_ms;
    int status = connect_timeout_ms(l->settings, &timeout_ms);

    if (status != GO_ON)
        return status;
    if (zkl_members_read(&ms, l->session, l->options->run.path, &o, timeout_ms) != 0)
        return failed(l);
    const size_t count = zkl_members_count(ms);
    GString *text = l->options->json ? as_json(ms) : members_table(ms);
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
    zkl_members_free(ms);
    return count > 0 ? STATUS_OK : STATUS_CONFLICT;
}

/* ---- --listen ---- */

static char *ids_of(const zkl_members *all)
{
    GString *ids = g_string_new("\f");

    for (size_t i = 0; i < zkl_members_count(all); i++) {
        if (i > 0)
            g_string_append_c(ids, '\n');
        g_string_append(ids, zkl_members_get(all, i)->id);
    }
    return g_string_free(ids, FALSE);
}

/* On a thread of the library, which must not wait for a slow reader. */
static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    static const char *const words[] = {[ZKL_MEMBERS_JOINED] = "joined",
                                        [ZKL_MEMBERS_LEFT] = "left",
                                        [ZKL_MEMBERS_CHANGED] = "changed"};
    struct looking *l = data;
    GString *line;

    if (event == ZKL_MEMBERS_ALL) {
        g_async_queue_push(l->lines, ids_of(all));
    } else {
        line = g_string_new(NULL);
        if (l->options->json)
            member_json(line, "event", words[event], member);
        else
            append_line(line, words[event], member);
        g_string_append_c(line, '\n');
        g_async_queue_push(l->lines, g_string_free(line, FALSE));
    }
    events_wake(l->events);
}

static void take_members(struct looking *l, char *ids)
{
    g_free(l->members);
    l->members = ids;
    l->run_at = now_ms() + QUIET_MS;
}

static int take_lines(struct looking *l)
{
    char *line;
    int status = GO_ON;

    while (status == GO_ON && (line = g_async_queue_try_pop(l->lines))) {
        if (*line == '\f') {
            take_members(l, line);
            continue;
        }
        status = events_print(l->events, line);
        g_free(line);
    }
    return status;
}

/* ---- --exec ---- */

static void restore_signals(void *data)
{
    const struct events *events = data;

    sigprocmask(SIG_SETMASK, &events->original, NULL);
}

static void run(struct looking *l)
{
    char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)l->options->exec, NULL};
    const char *ids = l->members + 1;
    char **envp = g_environ_setenv(g_get_environ(), "ZKL_MEMBERS", ids, TRUE);
    guint count = *ids ? 1 : 0;
    GError *error = NULL;

    for (const char *at = ids; (at = strchr(at, '\n')); at++)
        count++;
    char *number = g_strdup_printf("%u", count);
    envp = g_environ_setenv(envp, "ZKL_COUNT", number, TRUE);
    envp = g_environ_setenv(envp, "ZKL_PATH", l->options->run.path, TRUE);
    if (!g_spawn_async(NULL, argv, envp, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_CHILD_INHERITS_STDIN,
                       restore_signals, l->events, &l->running, &error)) {
        say("--exec: %s", error->message);
        g_error_free(error);
        l->running = 0;
    }
    g_clear_pointer(&l->members, g_free);
    g_free(number);
    g_strfreev(envp);
}

/* One at a time; when it has ended it is run for what has changed since. */
static void run_if_due(struct looking *l)
{
    if (!l->options->exec)
        g_clear_pointer(&l->members, g_free);
    if (l->running != 0 && waitpid(l->running, NULL, WNOHANG) != 0)
        l->running = 0;
    if (!l->members || l->running != 0)
        return;
    if (now_ms() >= l->run_at)
        run(l);
    else
        events_arm(l->events, l->run_at - now_ms());
}

static int listen_on(struct looking *l)
{
    const zkl_members_options o = {sizeof o, l->options->layout};
    zkl_watch *observer;
    int status = GO_ON;

    l->lines = g_async_queue_new_full(g_free);
    if (zkl_members_watch(&observer, l->session, l->options->run.path, &o, on_members, l) != 0)
        return failed(l);
    while (status == GO_ON) {
        int signo;

        events_wait(l->events);
        signo = events_asked_to_end(l->events);
        status = signo != 0 ? STATUS_SIGNAL + signo : take_lines(l);
        if (status == GO_ON)
            run_if_due(l);
    }
    zkl_watch_free(observer);
    return status;
}

/* ---- both ---- */

int member_look(const struct settings *settings, const struct member_options *options,
                struct events *events)
{
    struct looking l = {.settings = settings, .options = options, .events = events};
    int status = session_open(settings, &l.session);

    if (status == GO_ON)
        status = session_connect(settings, &l.session, ZKL_FOREVER, events);
    if (status == GO_ON)
        status = options->mode == MEMBER_LISTEN ? listen_on(&l) : list(&l);
    closing_close(l.session, CLOSING_PATIENCE_MS);
    if (l.lines)
        g_async_queue_unref(l.lines);
    g_free(l.members);
    return status;
}
