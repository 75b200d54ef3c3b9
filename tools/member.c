/* zkl member: the command runs under the grant of the first membership. It ends before the group
 * may see the member gone. */
#include "member_look.h"
#include "members.h"
#include "run.h"

#include <string.h>

struct membership {
    struct member_options options;
    zkl_session *session;
    zkl_member *member;
    struct attempt *attempt;
    bool ended; /* the attempt; on the library's thread */
};

/* ---- on a thread of the library ---- */

static void member_end(struct membership *m, zkl_grant *grant, const zkl_error *error)
{
    m->ended = true;
    attempt_end(grant, error, m->attempt);
}

static void member_join(struct membership *m, zkl_member *member)
{
    const zkl_error lost = {.code = ZKL_ELOST};
    zkl_grant *grant;

    if (m->ended)
        return;
    if (zkl_member_grant(member, &grant) == 0)
        member_end(m, grant, NULL);
    else
        member_end(m, NULL, &lost);
}

static void member_say_busy(struct membership *m, const zkl_member_news *news)
{
    const struct lock_options *o = &m->options.run;
    const zkl_error error = {.code = ZKL_EBUSY};

    if (m->ended)
        return;
    say_id_is_taken(o->path, m->options.id, news);
    if (o->timeout_ms == 0)
        member_end(m, NULL, &error);
}

/* The wait hears of a failure, and the grant of what comes behind JOINED. */
static void member_on_event(zkl_member *member, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    if (event == ZKL_MEMBER_JOINED)
        member_join(data, member);
    else if (event == ZKL_MEMBER_BUSY)
        member_say_busy(data, news);
}

static void member_on_waited(const zkl_error *err, void *data)
{
    struct membership *m = data;

    if (err && !m->ended)
        member_end(m, NULL, err);
}

/* ---- the way there ---- */

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
    int code = zkl_member_join(&m->member, m->session, o->run.path, o->id, o->data,
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

static int run_member(struct membership *m, struct settings *settings, struct events *events)
{
    struct hold_options *hold = &m->options.run.hold;
    struct run run = {.settings = settings,
                      .options = &m->options.run,
                      .events = events,
                      .ops = &acquire_ops,
                      .self = m};
    int status;

    hold->cgroup = cgroup_new(hold->leave_daemons);
    status = run_once(&run);
    cgroup_free(hold->cgroup);
    return status;
}

int verb_member(struct settings *settings, int argc, char **argv)
{
    struct membership m = {.ended = false};
    struct events events;
    int status = member_options_parse(&m.options, settings, argc, argv);

    if (status == GO_ON && !events_open(&events))
        status = STATUS_INTERNAL;
    if (status == GO_ON) {
        status = m.options.mode == MEMBER_RUN ? run_member(&m, settings, &events)
                                              : member_look(settings, &m.options, &events);
        events_close(&events);
    }
    lock_options_free(&m.options.run);
    return status;
}
