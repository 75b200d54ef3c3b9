/* zkl member: the right is a membership. It ends for good when it is GONE once: by then the command
 * has been ended. */
#include "member_look.h"
#include "members.h"
#include "run.h"

#include <string.h>

struct membership {
    struct right right; /* the first member */
    struct member_options options;
    zkl_session *session;
    zkl_member *member;
    struct attempt *attempt;
    char *path; /* of its node */
    atomic_bool joined, over;
    atomic_int loss;      /* a zkl_loss */
    pthread_mutex_t lock; /* of: */
    right_fn fn;
    void *data;
};

static struct membership *member_of(struct right *r)
{
    return (struct membership *)r;
}

/* ---- the right ---- */

static void member_deadline(struct right *r, zkl_deadline *ret)
{
    struct membership *m = member_of(r);

    /* A later one of another node, or of this one after a pause, is none of this right's. */
    if (!atomic_load(&m->over) && zkl_member_deadline(m->member, ret) == 0 &&
        zkl_member_token(m->member) == r->token)
        return;
    atomic_store(&m->over, true);
    *ret = (zkl_deadline){0, 0};
}

static int64_t member_remaining_ms(struct right *r)
{
    struct membership *m = member_of(r);
    const int64_t left = zkl_member_remaining_ms(m->member);

    return atomic_load(&m->over) || zkl_member_token(m->member) != r->token ? 0 : left;
}

static zkl_state member_state(struct right *r)
{
    return member_remaining_ms(r) > 0 ? zkl_member_state(member_of(r)->member) : ZKL_LOST;
}

/* It may be heard later than the end itself. */
static zkl_loss member_loss(struct right *r)
{
    return (zkl_loss)atomic_load(&member_of(r)->loss);
}

static void member_on_change(struct right *r, right_fn fn, void *data)
{
    struct membership *m = member_of(r);

    pthread_mutex_lock(&m->lock);
    m->fn = fn;
    m->data = data;
    pthread_mutex_unlock(&m->lock);
}

static void member_release(struct right *r)
{
    atomic_store(&member_of(r)->over, true);
    leave_group(member_of(r)->member);
}

static char *member_text(struct right *r)
{
    return g_strdup_printf("%s\t%" G_GUINT64_FORMAT, member_of(r)->path, (guint64)r->token);
}

static const struct right_ops right_ops = {.state = member_state,
                                           .loss = member_loss,
                                           .remaining_ms = member_remaining_ms,
                                           .deadline = member_deadline,
                                           .on_change = member_on_change,
                                           .release = member_release,
                                           .text = member_text};

/* ---- events, on a thread of the library ---- */

static void change(struct membership *m, zkl_state now)
{
    pthread_mutex_lock(&m->lock);
    right_fn fn = m->fn;
    void *data = m->data;
    if (now == ZKL_LOST)
        m->fn = NULL; /* once */
    pthread_mutex_unlock(&m->lock);
    if (fn)
        fn(now, data);
}

static void lose(struct membership *m, zkl_member_reason reason)
{
    static const zkl_loss losses[] = {[ZKL_MEMBER_DEADLINE] = ZKL_LOSS_DEADLINE,
                                      [ZKL_MEMBER_SESSION] = ZKL_LOSS_EXPIRED,
                                      [ZKL_MEMBER_DELETED] = ZKL_LOSS_DELETED};

    atomic_store(&m->loss, (int)losses[reason]);
    atomic_store(&m->over, true);
    change(m, ZKL_LOST);
}

static void join(struct membership *m, const zkl_member_news *news)
{
    if (atomic_load(&m->joined))
        return;
    m->right.token = news->token;
    m->right.session_id = zkl_session_id(m->session);
    atomic_store(&m->joined, true);
    attempt_end_as(m->attempt, &m->right, NULL);
}

static void say_busy(struct membership *m, const zkl_member_news *news)
{
    const struct lock_options *o = &m->options.run;
    zkl_error error = {.code = ZKL_EBUSY};

    if (atomic_load(&m->joined))
        return;
    say_id_is_taken(o->path, m->options.id, news);
    if (o->timeout_ms == 0 && !atomic_load(&m->attempt->done))
        attempt_end_as(m->attempt, NULL, &error);
}

static void member_on_event(zkl_member *member, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    struct membership *m = data;

    (void)member;
    switch (event) {
    case ZKL_MEMBER_JOINED:
        join(m, news);
        break;
    case ZKL_MEMBER_SUSPECT:
        change(m, ZKL_SUSPECT);
        break;
    case ZKL_MEMBER_PROVED:
        change(m, ZKL_HELD);
        break;
    case ZKL_MEMBER_GONE:
        lose(m, news->reason);
        break;
    case ZKL_MEMBER_BUSY:
        say_busy(m, news);
        break;
    default: /* the wait hears of a failure */
        break;
    }
}

static void on_waited(const zkl_error *err, void *data)
{
    struct membership *m = data;

    if (err && !atomic_load(&m->joined) && !atomic_load(&m->attempt->done))
        attempt_end_as(m->attempt, NULL, err);
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
    return code ? code : zkl_member_wait_async(m->member, timeout_ms, on_waited, m);
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
    m->path = g_strconcat(m->options.run.path, "/", m->options.id, NULL);
    status = run_once(&run);
    g_free(m->path);
    cgroup_free(hold->cgroup);
    return status;
}

int verb_member(struct settings *settings, int argc, char **argv)
{
    struct membership m = {.right = {.ops = &right_ops, .slot = -1},
                           .lock = PTHREAD_MUTEX_INITIALIZER};
    struct events events;
    int status = member_options_parse(&m.options, settings, argc, argv);

    if (status == GO_ON && !events_open(&events))
        status = STATUS_INTERNAL;
    if (status == GO_ON) {
        status = m.options.mode == MEMBER_RUN ? run_member(&m, settings, &events)
                                              : member_look(settings, &m.options, &events);
        events_close(&events);
    }
    member_options_free(&m.options);
    return status;
}
