/* What those who join wait for. */
#include "joiner.h"

#include <string.h>

#include "client.h"

static const char *const wishes[] = {
    [JOINER_WAITS] = "wait", [JOINER_UPDATES] = "update", [JOINER_LEAVES] = "leave"};

/* A time: its end, a third more for slow clocks, and for callbacks that hang. */
static bool is_in_time(const struct joiner_call *c)
{
    const struct client *p = c->joiner->process;
    if (c->timeout_ms == ZKL_FOREVER)
        return true;
    const int64_t ms = c->timeout_ms == 0 ? p->options.session_timeout_ms : c->timeout_ms;
    const int64_t limit = (ms * 4 / 3 + 3 * p->options.session_timeout_ms) * INT64_C(1000000);

    return p->running_since > c->begun_at || stage_now(p->stage) - c->begun_at <= limit;
}

/* One whose session is over is as good as gone: its end may have to be committed yet. */
static bool stands(const struct joiner *j)
{
    const struct member_node *n = joiner_node(j);

    return n && n->session == zkl_session_id(j->process->session);
}

static const char *check_success(const struct joiner_call *c)
{
    const struct joiner *j = c->joiner;

    if (c->wish == JOINER_WAITS && !c->was_in)
        return "it waited, but was never in";
    if (c->wish == JOINER_UPDATES && j->stored < c->data && !j->process->stage->group->restored)
        return "its update succeeds, but the servers do not have the data";
    if (c->wish == JOINER_LEAVES && !j->closed && stands(j) && !j->process->stage->group->restored)
        return "it has left, but its node stands";
    return NULL;
}

static bool fits(const struct joiner_call *c, int code)
{
    const struct joiner *j = c->joiner;

    switch (code) {
    case ZKL_EACCES:
        return j->process->stage->oracle.refusing;
    case ZKL_EBUSY:
        return c->timeout_ms != ZKL_FOREVER && c->wish != JOINER_LEAVES && j->path != GROUP_PARTY;
    case ZKL_ETIMEDOUT:
    case ZKL_EUNREACHABLE:
        return c->timeout_ms != ZKL_FOREVER;
    case ZKL_EPERM:
        return j->leaving && c->wish != JOINER_LEAVES;
    case ZKL_ECLOSED:
        return j->closed || !j->member;
    default:
        return false;
    }
}

static void on_done(const zkl_error *err, void *data)
{
    struct joiner_call *c = data;
    const struct joiner *j = c->joiner;
    const int code = err ? err->code : 0;
    const char *what;

    if (j->abandoned)
        return;
    trace_line(j->process->stage->trace, stage_now(j->process->stage), host_name(j->process->host),
               "m%u: its %s ends: %s", j->number, wishes[c->wish], err ? err->text : "well");
    what = c->ended         ? "a call of it ends twice"
           : code == 0      ? check_success(c)
           : !fits(c, code) ? "a call of it fails without a reason"
           : !is_in_time(c) ? "a call of it ends long after its time"
                            : NULL;
    c->ended = true;
    if (what)
        joiner_wrong(j, what);
    j->process->stage->tally.updates += code == 0 && c->wish == JOINER_UPDATES;
    j->process->stage->tally.leaves += code == 0 && c->wish == JOINER_LEAVES;
}

static int ask(struct joiner *j, struct joiner_call *c)
{
    char data[32];

    if (c->wish == JOINER_WAITS)
        return zkl_member_wait_async(j->member, c->timeout_ms, on_done, c);
    if (c->wish == JOINER_LEAVES)
        return zkl_member_leave_async(j->member, c->timeout_ms, on_done, c);
    c->data = ++j->asked;
    g_snprintf(data, sizeof data, "%u:%u", j->number, c->data);
    return zkl_member_update_async(j->member, data, strlen(data), c->timeout_ms, on_done, c);
}

void joiner_call(struct joiner *j, enum joiner_wish wish, int64_t timeout_ms)
{
    struct stage *stage = j->process->stage;
    struct joiner_call *c = g_new0(struct joiner_call, 1);
    struct host *before = host_enter(j->process->host);

    *c = (struct joiner_call){.joiner = j, .wish = wish, .timeout_ms = timeout_ms};
    c->begun_at = stage_now(stage);
    c->was_in = j->in;
    g_ptr_array_add(j->calls, c);
    trace_line(stage->trace, stage_now(stage), host_name(j->process->host), "m%u is to %s",
               j->number, wishes[wish]);
    j->leaving |= wish == JOINER_LEAVES;
    if (ask(j, c) != 0)
        joiner_wrong(j, "it can do nothing");
    c->was_in |= membership_of(j->member).state <= ZKL_SUSPECT; /* it may have found out by that */
    host_enter(before);
}

void joiner_update(struct joiner *j, int64_t timeout_ms)
{
    joiner_call(j, JOINER_UPDATES, timeout_ms);
}

void joiner_wait(struct joiner *j, int64_t timeout_ms)
{
    joiner_call(j, JOINER_WAITS, timeout_ms);
}

void joiner_leave(struct joiner *j, int64_t timeout_ms)
{
    joiner_call(j, JOINER_LEAVES, timeout_ms);
}

void joiner_calls_see(struct joiner *j)
{
    for (guint i = 0; i < j->calls->len; i++)
        ((struct joiner_call *)j->calls->pdata[i])->was_in = true;
}

bool joiner_is_waiting(const struct joiner *j)
{
    for (guint i = 0; i < j->calls->len; i++)
        if (!((const struct joiner_call *)j->calls->pdata[i])->ended)
            return true;
    return false;
}
