/* zkl member: runs the command under the grant of the first membership, and ends it before the
 * group may see the member gone; or shows the members. */
#include "connect.h"
#include "contenders.h"
#include "listener.h"
#include "member_options.h"
#include "members.h"
#include "run.h"

#include <string.h>

struct membership {
    struct member_options options;
    zkl_session *session;
    zkl_member *member;
    struct attempt *attempt;
    bool ended; /* the attempt has ended; the library's thread alone uses this */
};

/* ---- on a thread of the library ---- */

static void member_end(struct membership *m, zkl_grant *grant, const zkl_error *error)
{
    m->ended = true;
    attempt_end(grant, error, m->attempt);
}

/* Ends the attempt when the membership has begun, or when another member has the id and we are not
 * to wait. Other events are not needed: a failure ends the wait, and the grant tells what comes
 * after JOINED. */
static void member_on_event(zkl_member *member, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    struct membership *m = data;
    const struct lock_options *o = &m->options.run;
    const zkl_error lost = {.code = ZKL_ELOST}, busy = {.code = ZKL_EBUSY};
    zkl_grant *grant;

    if (m->ended)
        return;
    if (event == ZKL_MEMBER_JOINED) {
        if (zkl_member_grant(member, &grant) == 0)
            member_end(m, grant, NULL);
        else
            member_end(m, NULL, &lost);
    } else if (event == ZKL_MEMBER_BUSY) {
        say_id_is_taken(o->hold.path, m->options.id, news);
        if (o->timeout_ms == 0)
            member_end(m, NULL, &busy);
    }
}

/* Ends the attempt if the wait for the membership has failed. */
static void member_on_waited(const zkl_error *err, void *data)
{
    struct membership *m = data;

    if (err && !m->ended)
        member_end(m, NULL, err);
}

/* ---- joining ---- */

static int member_open(void *self, zkl_session *session)
{
    ((struct membership *)self)->session = session;
    return 0;
}

static int member_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct membership *m = self;
    const struct member_options *o = &m->options;
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;

    m->attempt = attempt;
    options.layout = o->layout;
    options.parents = o->run.parents;
    options.fn = member_on_event;
    options.fn_data = m;
    int code = zkl_member_join(&m->member, m->session, o->run.hold.path, o->id, o->data,
                               o->data ? strlen(o->data) : 0, &options);
    return code ? code : zkl_member_wait_async(m->member, timeout_ms, member_on_waited, m);
}

static void member_give_up(void *self)
{
    const struct membership *m = self;

    leave_group(m->member);
}

static void member_close(void *self)
{
    const struct membership *m = self;

    zkl_member_free(m->member);
}

static const struct acquire_ops acquire_ops = {
    .open = member_open, .seek = member_seek, .give_up = member_give_up, .close = member_close};

/* ---- showing the members ---- */

/* What --list and --listen show: a line for each member, or for each change. */
struct member_look {
    struct listener listener; /* the first member */
    const struct member_options *options;
    zkl_member_layout layout;
};

/* Adds a line for a change: the event's word, and the member's token, id and data. Runs on a thread
 * of the library, which waits for a slow reader. During the wait the library gathers changes, and
 * then it tells the difference. */
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
    if (l->options->json) {
        member_json(line, "event", words[event], member);
    } else {
        g_autofree char *text = g_utf8_make_valid(member->data, (gssize)member->size);

        g_string_append_printf(line, "%s %" G_GUINT64_FORMAT " ", words[event],
                               (guint64)member->token);
        append_visible(line, member->id);
        if (member->size > 0)
            g_string_append_c(line, ' ');
        append_visible(line, text);
    }
    g_string_append_c(line, '\n');
    listener_add(&l->listener, g_string_free(line, FALSE), true);
}

/* Reads the members: only whether that is possible counts. */
static int read_members(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct member_look *l = r->data;
    const struct onlooker *o = r->data;
    g_autoptr(zkl_members) ms = NULL;

    (void)most;
    *ret = NULL;
    return zkl_members_read(&ms, o->session, o->path, l->layout, ZKL_FOREVER);
}

/* Begins to show changes for --listen; or shows the present members for --list. */
static int look_at_group(struct onlooker *o)
{
    struct member_look *l = (struct member_look *)o;
    g_autoptr(zkl_members) ms = NULL;

    if (l->options->mode == MEMBER_LISTEN)
        return zkl_members_watch(&l->listener.observer, o->session, o->path, l->layout, on_members,
                                 l) == 0
                   ? GO_ON
                   : fail_last(o->path);
    if (zkl_members_read(&ms, o->session, o->path, l->layout, o->settings->connect_timeout_ms) != 0)
        return contenders_failed(o->path);
    GString *text = l->options->json ? g_string_new(NULL) : members_table(ms);
    for (size_t i = 0; l->options->json && i < zkl_members_count(ms); i++) {
        member_json(text, NULL, NULL, zkl_members_get(ms, i));
        g_string_append_c(text, '\n');
    }
    print_text(text);
    return zkl_members_count(ms) > 0 ? STATUS_OK : STATUS_CONFLICT;
}

static int member_look(const struct settings *settings, const struct member_options *options,
                       struct events *events)
{
    static const struct onlooker_ops ops = {
        .begin = look_at_group, .see = listener_see, .end = listener_end, .read = read_members};
    struct member_look l = {.options = options, .layout = options->layout};

    return listener_run(&l.listener, settings, options->run.hold.path, events, &ops);
}

/* ---- the verb ---- */

int verb_member(struct settings *settings, int argc, char **argv)
{
    struct membership m = {.ended = false};
    struct events events;
    struct run run = {.settings = settings,
                      .options = &m.options.run,
                      .events = &events,
                      .ops = &acquire_ops,
                      .self = &m};
    int status = member_options_parse(&m.options, settings, argc, argv);

    if (status == GO_ON)
        status = connect_begin(settings, &events);
    if (status == GO_ON && m.options.mode == MEMBER_RUN) {
        status = run_under_cgroup(&run);
    } else if (status == GO_ON) {
        status = member_look(settings, &m.options, &events);
        events_close(&events);
    }
    lock_options_free(&m.options.run);
    return status;
}
