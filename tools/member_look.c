/* A line for each member, or for each change. */
#include "member_look.h"
#include "contenders.h"
#include "listener.h"
#include "members.h"

#include <stdio.h>

struct member_look {
    struct listener listener; /* the first member */
    const struct member_options *options;
    zkl_member_layout layout;
};

/* ---- as text ---- */

static void append_line(GString *out, const char *event, const zkl_member_info *m)
{
    char *data = g_utf8_make_valid(m->data, (gssize)m->size);

    g_string_append_printf(out, "%s %" G_GUINT64_FORMAT " ", event, (guint64)m->token);
    append_visible(out, m->id);
    if (m->size > 0)
        g_string_append_c(out, ' ');
    append_visible(out, data);
    g_free(data);
}

/* ---- --list ---- */

static GString *member_look_as_json(const zkl_members *ms)
{
    GString *out = g_string_new(NULL);

    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        member_json(out, NULL, NULL, zkl_members_get(ms, i));
        g_string_append_c(out, '\n');
    }
    return out;
}

static int list_members(struct onlooker *o)
{
    const struct member_look *l = (const struct member_look *)o;
    zkl_members *ms;

    if (zkl_members_read(&ms, o->session, o->path, l->layout, o->settings->connect_timeout_ms) != 0)
        return contenders_failed(o->path);
    const size_t count = zkl_members_count(ms);
    GString *text = l->options->json ? member_look_as_json(ms) : members_table(ms);
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
    zkl_members_free(ms);
    return count > 0 ? STATUS_OK : STATUS_CONFLICT;
}

/* ---- --listen ---- */

/* Runs on a thread of the library, which waits for a slow reader. Meanwhile the library gathers
 * changes, and then tells the difference. */
static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    static const char *const words[] = {[ZKL_MEMBERS_JOINED] = "joined",
                                        [ZKL_MEMBERS_LEFT] = "left",
                                        [ZKL_MEMBERS_CHANGED] = "changed"};
    struct member_look *l = data;

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
    struct member_look *l = (struct member_look *)o;

    return zkl_members_watch(&l->listener.observer, o->session, o->path, l->layout, on_members,
                             l) == 0
               ? GO_ON
               : fail_last(o->path);
}

static int read_members(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct member_look *l = r->data;
    const struct onlooker *o = r->data;
    zkl_members *ms = NULL;
    const int code = zkl_members_read(&ms, o->session, o->path, l->layout, ZKL_FOREVER);

    (void)most;
    *ret = NULL;
    zkl_members_free(ms);
    return code;
}

/* ---- both ---- */

static int look_at_group(struct onlooker *o)
{
    const struct member_look *l = (const struct member_look *)o;

    return l->options->mode == MEMBER_LISTEN ? observe_members(o) : list_members(o);
}

int member_look(const struct settings *settings, const struct member_options *options,
                struct events *events)
{
    static const struct onlooker_ops ops = {
        .begin = look_at_group, .see = listener_see, .end = listener_end, .read = read_members};
    struct member_look l = {.options = options, .layout = options->layout};

    return listener_run(&l.listener, settings, options->run.path, events, &ops);
}
