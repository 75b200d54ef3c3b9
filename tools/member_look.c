/* A line for each member, or for each change. */
#include "member_look.h"
#include "closing.h"
#include "connect.h"
#include "contenders.h"
#include "listener.h"
#include "members.h"

#include <stdio.h>

struct looking {
    const struct settings *settings;
    const struct member_options *options;
    struct events *events;
    zkl_session *session;
};

struct listening {
    struct listener listener; /* the first member */
    const struct member_options *options;
    zkl_watch *observer;
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

static GString *as_json(const zkl_members *ms)
{
    GString *out = g_string_new(NULL);

    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        member_json(out, NULL, NULL, zkl_members_get(ms, i));
        g_string_append_c(out, '\n');
    }
    return out;
}

static int list(struct looking *l)
{
    const zkl_members_options o = {sizeof o, l->options->layout};
    zkl_members *ms;
    int64_t timeout_ms;
    int status = session_open(l->settings, &l->session);

    if (status == GO_ON)
        status = session_connect(l->settings, &l->session, ZKL_FOREVER, l->events);
    if (status == GO_ON)
        status = connect_timeout_ms(l->settings, &timeout_ms);
    if (status != GO_ON)
        return status;
    if (zkl_members_read(&ms, l->session, l->options->run.path, &o, timeout_ms) != 0)
        return contenders_failed(l->options->run.path);
    const size_t count = zkl_members_count(ms);
    GString *text = l->options->json ? as_json(ms) : members_table(ms);
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
    zkl_members_free(ms);
    return count > 0 ? STATUS_OK : STATUS_CONFLICT;
}

/* ---- --listen ---- */

/* On a thread of the library, which waits for a slow reader: meanwhile the library gathers what
 * changes, and tells the difference. */
static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    static const char *const words[] = {[ZKL_MEMBERS_JOINED] = "joined",
                                        [ZKL_MEMBERS_LEFT] = "left",
                                        [ZKL_MEMBERS_CHANGED] = "changed"};
    struct listening *l = data;

    (void)all;
    if (event == ZKL_MEMBERS_ALL)
        return;
    GString *line = g_string_new(NULL);
    if (l->options->json)
        member_json(line, "event", words[event], member);
    else
        append_line(line, words[event], member);
    g_string_append_c(line, '\n');
    listener_tell(&l->listener, g_string_free(line, FALSE), true);
}

static int observe_members(struct onlooker *o)
{
    struct listening *l = (struct listening *)o;
    const zkl_members_options options = {sizeof options, l->options->layout};

    return zkl_members_watch(&l->observer, o->session, o->path, &options, on_members, l) == 0
               ? GO_ON
               : fail_last(o->path);
}

static int read_members(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct listening *l = r->data;
    const zkl_members_options options = {sizeof options, l->options->layout};

    (void)most;
    return members_try_read(ret, l->listener.onlooker.session, l->listener.onlooker.path, &options);
}

static int listen_to_members(const struct settings *settings, const struct member_options *options,
                             struct events *events)
{
    static const struct onlooker_ops ops = {
        .begin = observe_members, .see = listener_see, .end = listener_end, .read = read_members};
    struct listening l = {.options = options};
    int status;

    listener_init(&l.listener, settings, options->run.path, events, &ops);
    status = onlooker_run(&l.listener.onlooker);
    zkl_watch_free(l.observer);
    listener_clear(&l.listener);
    return status;
}

/* ---- both ---- */

int member_look(const struct settings *settings, const struct member_options *options,
                struct events *events)
{
    struct looking l = {.settings = settings, .options = options, .events = events};
    int status;

    if (options->mode == MEMBER_LISTEN)
        return listen_to_members(settings, options, events);
    status = list(&l);
    closing_close(l.session, CLOSING_PATIENCE_MS);
    return status;
}
