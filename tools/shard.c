/* The way to the grant is a mutex, and who asks for it is reported: the host decides. */
#include "shard.h"
#include "run.h"
#include "status_line.h"

struct shard {
    struct lock_options options;
    struct shard_report *report;
    struct events *above;
    struct attempt *attempt;
    zkl_mutex *mutex;
    zkl_op *op;
};

static int shard_open(void *self, zkl_session *session)
{
    struct shard *s = self;
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.name = s->options.name;
    options.parents = s->options.parents;
    return zkl_mutex_new(&s->mutex, session, s->options.path, &options);
}

/* ---- on a thread of the library ---- */

static void tell(const struct shard *s, atomic_bool *what)
{
    atomic_store(what, true);
    events_wake(s->above);
}

static void on_wanted(zkl_grant *grant, zkl_state state, void *data)
{
    const struct shard *s = data;

    (void)grant;
    (void)state;
    tell(s, &s->report->wanted);
}

static void on_revoke(zkl_grant *grant, zkl_state state, void *data)
{
    const struct shard *s = data;

    (void)grant;
    (void)state;
    tell(s, &s->report->revoked);
}

static void won(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct shard *s = data;

    if (grant) {
        atomic_store(&s->report->token, zkl_grant_token(grant));
        tell(s, &s->report->granted);
        zkl_grant_on_wanted(grant, on_wanted, s);
        zkl_grant_on_revoke(grant, on_revoke, s);
    }
    attempt_end(grant, error, s->attempt);
}

/* ---- the way there ---- */

static int shard_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct shard *s = self;

    s->attempt = attempt;
    return zkl_mutex_lock_async(s->mutex, timeout_ms, won, s, &s->op);
}

static void shard_give_up(void *self)
{
    const struct shard *s = self;

    zkl_op_cancel(s->op);
}

static void shard_close(void *self)
{
    struct shard *s = self;

    zkl_op_free(s->op);
    zkl_mutex_free(s->mutex);
}

static const struct acquire_ops shard_ops = {
    .open = shard_open, .seek = shard_seek, .give_up = shard_give_up, .close = shard_close};

/* The command inherits it. */
static void set_number(const char *name, int number)
{
    char *text = g_strdup_printf("%d", number);

    g_setenv(name, text, TRUE);
    g_free(text);
}

int shard_run(const struct settings *settings, const struct shards_options *options, int number,
              struct events *events, struct events *above, struct shard_report *report)
{
    struct cgroup *cgroup = options->run.leave_daemons ? NULL : cgroup_new();
    struct shard s = {.options = options->run, .report = report, .above = above};
    struct run run = {.settings = settings,
                      .options = &s.options,
                      .cgroup = cgroup,
                      .events = events,
                      .ops = &shard_ops,
                      .self = &s};
    int status;

    s.options.path = g_strdup_printf("%s/shards/%d", options->run.path, number);
    s.options.name = options->id;
    s.options.status_fd = STATUS_FD_NONE; /* the host tells */
    set_number("ZKL_SHARD", number);
    set_number("ZKL_SHARDS", options->count);
    status = run_once(&run);
    atomic_store(&report->cause, (int)run.cause);
    g_free(s.options.path);
    cgroup_free(cgroup);
    return status;
}
