#include "joiner.h"

#include <stdio.h>
#include <string.h>

#include "client.h"

/* What is told of the end of its node comes in this time, at the latest behind its deadline. */
#define TOLD_NS INT64_C(1000000000)

static struct stage *stage_of(const struct joiner *j)
{
    return j->process->stage;
}

void joiner_wrong(const struct joiner *j, const char *what)
{
    stage_wrong(stage_of(j), "%s/m%u at %s/%s: %s", host_name(j->process->host), j->number,
                group_paths[j->path], j->id, what);
}

/* ---- what it has at the leader ---- */

static bool is_own(const struct joiner *j, const struct member_node *n)
{
    unsigned number = 0;

    return n->path == j->path && n->owner == j->process &&
           sscanf(n->data->pdata[0], "%u", &number) == 1 && number == j->number;
}

const struct member_node *joiner_node(const struct joiner *j)
{
    const struct group *g = stage_of(j)->group;

    for (guint i = g->nodes->len; i-- > 0;) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER && is_own(j, n))
            return n;
    }
    return NULL;
}

void joiner_stored(struct group *g, const struct member_node *n)
{
    unsigned number = 0, data = 0;

    if (sscanf(n->data->pdata[n->data->len - 1], "%u:%u", &number, &data) != 2 || number == 0 ||
        number > g->joiners->len)
        return;
    struct joiner *j = g->joiners->pdata[number - 1];
    if (data < j->stored && !g->restored)
        joiner_wrong(j, "its node has data that were replaced before");
    j->stored = data;
}

/* ---- what it says ---- */

static struct membership membership_now(const struct joiner *j)
{
    struct host *before = host_enter(j->process->host);
    const struct membership now = membership_of(j->member);

    host_enter(before);
    return now;
}

/* The latest of its deadlines is over by then; a callback has told it, or not. */
static bool is_excused(const struct joiner *j, const struct member_node *n)
{
    const struct stage *stage = stage_of(j);
    const int64_t most = j->process->options.session_timeout_ms * INT64_C(1150000) + TOLD_NS;

    return n->taken && (stage->oracle.refusing || stage_now(stage) <= n->gone_at + most);
}

/* Where the servers' data have gone back there may be several, of different names. */
const struct member_node *joiner_made(const struct joiner *j, uint64_t token)
{
    const struct group *g = stage_of(j)->group;

    for (guint i = g->nodes->len; i-- > 0;) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->path == j->path && n->token == token && n->owner == j->process &&
            (j->path == GROUP_PARTY || strcmp(n->name, j->id) == 0))
            return n;
    }
    return NULL;
}

static void check_claim_of(struct joiner *j, zkl_state state, uint64_t token)
{
    if (state > ZKL_SUSPECT)
        return;
    const struct member_node *n = joiner_made(j, token);
    if (!n)
        joiner_wrong(j, "it says that it is in, but it never made its node");
    else if (n->session != zkl_session_id(j->process->session))
        joiner_wrong(j, "it says that it is in, but its node is not of its session");
    else if (n->gone_at != NEVER && !is_excused(j, n))
        joiner_wrong(j, "it says that it is in, but its node is gone");
}

/* A grant that was lost stays lost, whatever becomes of its member. */
static void check_grant(struct joiner *j)
{
    struct host *before = host_enter(j->process->host);
    const zkl_state state = zkl_grant_state(j->grant);

    host_enter(before);
    if (j->lost && state <= ZKL_SUSPECT)
        joiner_wrong(j, "its grant was lost, and is held again");
    j->lost |= state > ZKL_SUSPECT;
    check_claim_of(j, state, zkl_grant_token(j->grant));
}

static void check_claim(struct joiner *j)
{
    const struct membership now = membership_now(j);

    check_claim_of(j, now.state, now.token);
    if (j->grant)
        check_grant(j);
    if (now.state <= ZKL_SUSPECT)
        joiner_calls_see(j);
}

void joiners_check(struct group *g)
{
    for (guint i = 0; i < g->joiners->len; i++) {
        struct joiner *j = g->joiners->pdata[i];
        if (!j->abandoned && j->member && !j->leaving && !j->closed)
            check_claim(j);
    }
}

bool joiner_wants_in(const struct joiner *j)
{
    return !j->abandoned && j->member && !j->leaving && !j->closed;
}

bool joiner_is_in(const struct joiner *j)
{
    const struct member_node *n =
        joiner_wants_in(j) && j->in ? joiner_made(j, membership_now(j).token) : NULL;

    return n && n->gone_at == NEVER && membership_now(j).state == ZKL_HELD;
}

/* ---- what it does ---- */

struct joiner *joiner_new(struct client *p, int path, const char *id, struct alarm *wake)
{
    struct group *g = p->stage->group;
    struct joiner *j = g_new0(struct joiner, 1);
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;
    struct host *before = host_enter(p->host);

    g_ptr_array_add(g->joiners, j);
    *j = (struct joiner){.process = p, .number = g->joiners->len, .path = path, .wake = wake};
    j->asked = 1;
    j->calls = g_ptr_array_new_with_free_func(g_free);
    j->id = path == GROUP_PARTY ? g_strdup_printf("%u", j->number) : g_strdup(id);
    char *data = path == GROUP_PARTY ? NULL : g_strdup_printf("%u:1", j->number);
    options.layout = path == GROUP_PARTY ? ZKL_MEMBER_PARTY : ZKL_MEMBER_GROUP;
    options.fn = joiner_hears;
    options.fn_data = j;
    trace_line(p->stage->trace, stage_now(p->stage), host_name(p->host), "m%u joins %s/%s",
               j->number, group_paths[path], j->id);
    const int code = zkl_member_join(&j->member, p->session, group_paths[path], j->id, data,
                                     data ? strlen(data) : 0, &options);
    if (code == ZKL_EBUSY) /* another of this process */
        j->leaving = j->ended = true;
    else if (code != 0)
        joiner_wrong(j, "it cannot join");
    host_enter(before);
    g_free(data);
    return j;
}

void joiner_free(void *joiner)
{
    struct joiner *j = joiner;

    g_ptr_array_unref(j->calls);
    g_free(j->id);
    g_free(j);
}

/* None if it was lost before the call came. */
void joiner_take_grant(struct joiner *j)
{
    zkl_grant_release(g_steal_pointer(&j->grant));
    j->lost = false;
    if (j->member)
        zkl_member_grant(j->member, &j->grant);
}

void joiner_give_up(struct joiner *j)
{
    struct host *before = host_enter(j->process->host);

    trace_line(stage_of(j)->trace, stage_now(stage_of(j)), host_name(j->process->host),
               "m%u is freed", j->number);
    j->leaving = true;
    j->wake = NULL;
    zkl_member_free(g_steal_pointer(&j->member));
    host_enter(before);
}

/* ---- the end of its session or process ---- */

void joiners_close(struct client *p)
{
    const struct group *g = p->stage->group;

    for (guint i = 0; i < g->joiners->len; i++) {
        struct joiner *j = g->joiners->pdata[i];
        if (j->process == p)
            j->closed = true;
    }
}

void joiners_closed(struct client *p)
{
    const struct group *g = p->stage->group;

    for (guint i = 0; i < g->joiners->len; i++) {
        struct joiner *j = g->joiners->pdata[i];
        if (j->process != p)
            continue;
        if (!j->abandoned && !j->ended)
            joiner_wrong(j, "it was never told that it has left");
        if (!j->abandoned && joiner_is_waiting(j))
            joiner_wrong(j, "a call of it never ends");
        zkl_grant_release(g_steal_pointer(&j->grant));
        zkl_member_free(g_steal_pointer(&j->member));
    }
}

void joiners_abandon(struct client *p)
{
    const struct group *g = p->stage->group;

    for (guint i = 0; i < g->joiners->len; i++) {
        struct joiner *j = g->joiners->pdata[i];
        if (j->process != p)
            continue;
        j->abandoned = true;
        zkl_grant_release(g_steal_pointer(&j->grant));
    }
}
