/* A line for each member, or for each change. */
#include "member_look.h"
#include "closing.h"
#include "connect.h"
#include "members.h"

#include <stdio.h>

struct looking {
    const struct settings *settings;
    const struct member_options *options;
    struct events *events;
    zkl_session *session;
    GAsyncQueue *lines; /* of --listen */
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

/* On a thread of the library, which must not wait for a slow reader. */
static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    static const char *const words[] = {[ZKL_MEMBERS_JOINED] = "joined",
                                        [ZKL_MEMBERS_LEFT] = "left",
                                        [ZKL_MEMBERS_CHANGED] = "changed"};
    struct looking *l = data;

    (void)all;
    if (event == ZKL_MEMBERS_ALL)
        return;
    GString *line = g_string_new(NULL);
    if (l->options->json)
        member_json(line, "event", words[event], member);
    else
        append_line(line, words[event], member);
    g_string_append_c(line, '\n');
    g_async_queue_push(l->lines, g_string_free(line, FALSE));
    events_wake(l->events);
}

static int take_lines(const struct looking *l)
{
    char *line;
    int status = GO_ON;

    while (status == GO_ON && (line = g_async_queue_try_pop(l->lines))) {
        status = events_print(l->events, line);
        g_free(line);
    }
    return status;
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
    return status;
}
