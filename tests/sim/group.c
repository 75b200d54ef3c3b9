#include "group.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "lib/session/core.h"
#include "membership.h"

const char *const group_paths[GROUP_PATHS] = {"/g", "/p"};

/* What is told of the end of its node comes in this time, at the latest behind its deadline. */
#define TOLD_NS INT64_C(1000000000)

/* ---- looking ---- */

static struct member_node *group_find(const struct group *g, int path, const char *name,
                                      uint64_t token)
{
    for (guint i = g->nodes->len; i-- > 0;) {
        struct member_node *n = g->nodes->pdata[i];
        if (n->path == path && n->token == token && strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

static struct member_node *group_standing(const struct group *g, int path, const char *name)
{
    for (guint i = g->nodes->len; i-- > 0;) {
        struct member_node *n = g->nodes->pdata[i];
        if (n->path == path && n->gone_at == NEVER && strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

static guint group_size(const struct group *g, int path)
{
    guint size = 0;

    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        size += n->path == path && n->gone_at == NEVER;
    }
    return size;
}

static char *full_path(const struct member_node *n)
{
    return g_strconcat(group_paths[n->path], "/", n->name, NULL);
}

char *group_some_node(const struct group *g, uint32_t random)
{
    const guint all = group_size(g, 0) + group_size(g, GROUP_PARTY);
    guint at = all ? random % all : 0;

    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER && at-- == 0)
            return full_path(n);
    }
    return NULL;
}

int64_t group_restored(const struct group *g)
{
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER && n->undone)
            return n->session;
    }
    return 0;
}

char *group_remains(const struct group *g)
{
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER)
            return full_path(n);
    }
    return NULL;
}

/* ---- those who join: what they have at the leader ---- */

static struct stage *stage_of_joiner(const struct joiner *j)
{
    return j->process->stage;
}

static void joiner_wrong(const struct joiner *j, const char *what)
{
    stage_wrong(stage_of_joiner(j), "%s/m%u at %s/%s: %s", host_name(j->process->host), j->number,
                group_paths[j->path], j->id, what);
}

static bool is_own(const struct joiner *j, const struct member_node *n)
{
    unsigned number = 0;

    return n->path == j->path && n->owner == j->process &&
           sscanf(n->data->pdata[0], "%u", &number) == 1 && number == j->number;
}

/* gone: or none that stands. */
static const struct member_node *joiner_node_of(const struct joiner *j, bool gone)
{
    const struct group *g = stage_of_joiner(j)->group;

    for (guint i = g->nodes->len; i-- > 0;) {
        const struct member_node *n = g->nodes->pdata[i];
        if ((gone || n->gone_at == NEVER) && is_own(j, n))
            return n;
    }
    return NULL;
}

static const struct member_node *joiner_node(const struct joiner *j)
{
    return joiner_node_of(j, false);
}

/* late: on a node that was made since an administrator has deleted that for which it was asked,
 * perhaps. */
static void joiner_stored(struct group *g, const struct member_node *n, bool late)
{
    unsigned number = 0, data = 0;

    if (sscanf(n->data->pdata[n->data->len - 1], "%u:%u", &number, &data) != 2 || number == 0 ||
        number > g->joiners->len)
        return;
    struct joiner *j = g->joiners->pdata[number - 1];
    if (data < j->stored && !g->restored && !(late && g->administered[n->path]))
        joiner_wrong(j, "its node has data that were replaced before");
    j->stored = data;
}

/* Where the servers' data have gone back there may be several, of different names. */
static const struct member_node *joiner_made(const struct joiner *j, uint64_t token)
{
    const struct group *g = stage_of_joiner(j)->group;

    for (guint i = g->nodes->len; i-- > 0;) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->path == j->path && n->token == token && n->owner == j->process &&
            (j->path == GROUP_PARTY || strcmp(n->name, j->id) == 0))
            return n;
    }
    return NULL;
}

/* Half of them never do. */
static bool joiner_asks(const struct joiner *j)
{
    return j->number % 2 != 0;
}

/* None if it was lost before the call came, or is not proved yet. */
static void joiner_take_grant(struct joiner *j)
{
    zkl_grant_release(g_steal_pointer(&j->grant));
    j->lost = false;
    if (j->member && joiner_asks(j))
        zkl_member_grant(j->member, &j->grant);
}

/* ---- what they are told ---- */

static const char *check_joined(const struct joiner *j, const zkl_member_news *news)
{
    const struct group *g = j->process->stage->group;

    if (j->in)
        return "it is told JOINED twice";
    if (!joiner_made(j, news->token))
        return "it is told JOINED with a token that no node of it has";
    if (news->token < j->token && !g->restored)
        return "it is told JOINED with an older token";
    return news->again == j->joined ? NULL : "it is told wrongly whether it has joined before";
}

static const char *check_busy(const struct joiner *j, const zkl_member_news *news)
{
    const struct member_node *n = group_find(j->process->stage->group, j->path, j->id, news->token);

    if (j->in || !n)
        return "it is told BUSY, and there was no such node";
    if (n->session != news->session_id)
        return "it is told another session than the one that had its id";
    if (!g_ptr_array_find_with_equal_func(n->data, news->data, g_str_equal, NULL))
        return "it is told what the node that had its id never held";
    return NULL;
}

static const char *check_left(const struct joiner *j, const zkl_member_news *news)
{
    const int code = news->err ? news->err->code : 0;

    if (code == ZKL_ECLOSED)
        return j->closed ? NULL : "it is told that its session was closed";
    return code == 0 && (j->leaving || j->closed) ? NULL : "it is told LEFT without a reason";
}

static const char *check_event(const struct joiner *j, zkl_member_event event,
                               const zkl_member_news *news)
{
    if (j->ended)
        return "it is told something behind its end";
    switch (event) {
    case ZKL_MEMBER_JOINED:
        return check_joined(j, news);
    case ZKL_MEMBER_SUSPECT:
        return j->in && !j->suspect && joiner_asks(j)
                   ? NULL
                   : "it is told SUSPECT, and was not in, or was so, or has no grant";
    case ZKL_MEMBER_HELD:
        return j->in && (j->suspect || (joiner_asks(j) && !j->held))
                   ? NULL
                   : "it is told HELD without having been SUSPECT";
    case ZKL_MEMBER_LOST:
        if (news->loss == ZKL_LOSS_DEADLINE && !joiner_asks(j))
            return "it is told that a deadline was over, and has none";
        return j->in && news->token == j->token && news->loss != ZKL_LOSS_NONE
                   ? NULL
                   : "it is told LOST, and was not in, or with another token";
    case ZKL_MEMBER_BUSY:
        return check_busy(j, news);
    case ZKL_MEMBER_FAILED:
        return j->process->stage->oracle.refusing && news->err ? NULL
                                                               : "it is told that it was refused";
    case ZKL_MEMBER_LEFT:
        return check_left(j, news);
    }
    return "it is told something unknown";
}

static void take(struct joiner *j, zkl_member_event event, const zkl_member_news *news)
{
    struct tally *t = &j->process->stage->tally;

    t->joins += event == ZKL_MEMBER_JOINED;
    t->gone += event == ZKL_MEMBER_LOST;
    t->busy += event == ZKL_MEMBER_BUSY;
    j->suspect = event == ZKL_MEMBER_SUSPECT;
    j->held |= event == ZKL_MEMBER_HELD;
    j->busy = event == ZKL_MEMBER_BUSY;
    j->ended = event == ZKL_MEMBER_LEFT;
    if (event == ZKL_MEMBER_JOINED) {
        j->in = j->joined = true;
        j->token = news->token;
        joiner_take_grant(j);
    } else if (event == ZKL_MEMBER_HELD && !j->grant) {
        joiner_take_grant(j);
    } else if (event == ZKL_MEMBER_LOST || event == ZKL_MEMBER_LEFT) {
        j->in = false;
    }
}

static void joiner_hears(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                         void *data)
{
    static const char *const names[] = {"",     "JOINED", "SUSPECT", "HELD",
                                        "LOST", "BUSY",   "FAILED",  "LEFT"};
    struct joiner *j = data;

    (void)m;
    if (j->abandoned)
        return;
    client_tell(j->process, "m%u is told %s %" G_GINT64_MODIFIER "x", j->number, names[event],
                news->token);
    const char *what = check_event(j, event, news);
    if (what)
        joiner_wrong(j, what);
    take(j, event, news);
    if (j->wake)
        j->wake->at = MIN(j->wake->at, stage_now(j->process->stage) + 1);
}

/* ---- what they wait for ---- */

enum joiner_wish { JOINER_WAITS, JOINER_UPDATES, JOINER_LEAVES };

struct joiner_call {
    struct joiner *joiner;
    enum joiner_wish wish;
    unsigned data; /* UPDATES: its number */
    int64_t timeout_ms, begun_at;
    bool was_in; /* at some time since */
    bool ended;
};

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

    if (c->wish == JOINER_WAITS && !c->was_in && !j->in)
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
    client_tell(j->process, "m%u: its %s ends: %s", j->number, wishes[c->wish],
                err ? err->text : "well");
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

static void joiner_call(struct joiner *j, enum joiner_wish wish, int64_t timeout_ms)
{
    struct stage *stage = j->process->stage;
    struct joiner_call *c = g_new0(struct joiner_call, 1);
    struct host *before = host_enter(j->process->host);

    *c = (struct joiner_call){.joiner = j, .wish = wish, .timeout_ms = timeout_ms};
    c->begun_at = stage_now(stage);
    c->was_in = j->in;
    g_ptr_array_add(j->calls, c);
    client_tell(j->process, "m%u is to %s", j->number, wishes[wish]);
    j->leaving |= wish == JOINER_LEAVES;
    if (ask(j, c) != 0)
        joiner_wrong(j, "it can do nothing");
    c->was_in |= joiner_asks(j) ? membership_of(j->member).state <= ZKL_SUSPECT
                                : joiner_node_of(j, true) != NULL; /* and found out by that */
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

static void joiner_calls_see(struct joiner *j)
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

/* ---- what it says ---- */

static struct membership membership_now(const struct joiner *j)
{
    struct host *before = host_enter(j->process->host);
    const struct membership now =
        joiner_asks(j) ? membership_of(j->member) : (struct membership){.state = ZKL_LOST};

    host_enter(before);
    return now;
}

/* The latest of its deadlines is over by then; a callback has told it, or not. */
static bool is_excused(const struct joiner *j, const struct member_node *n)
{
    const struct stage *stage = stage_of_joiner(j);
    const int64_t most = j->process->options.session_timeout_ms * INT64_C(1150000) + TOLD_NS;

    return n->taken && (stage->oracle.refusing || stage_now(stage) <= n->gone_at + most);
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
    if (now.state <= ZKL_SUSPECT || (!joiner_asks(j) && joiner_node_of(j, true)))
        joiner_calls_see(j);
}

static void joiners_check(struct group *g)
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
    const struct member_node *n = joiner_wants_in(j) && j->in ? joiner_made(j, j->token) : NULL;

    return n && n->gone_at == NEVER && (!joiner_asks(j) || membership_now(j).state == ZKL_HELD);
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
    client_tell(p, "m%u joins %s/%s", j->number, group_paths[path], j->id);
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

static void joiner_free(void *joiner)
{
    struct joiner *j = joiner;

    g_ptr_array_unref(j->calls);
    g_free(j->id);
    g_free(j);
}

void joiner_give_up(struct joiner *j)
{
    struct host *before = host_enter(j->process->host);

    client_tell(j->process, "m%u is freed", j->number);
    j->leaving = true;
    j->wake = NULL;
    zkl_member_free(g_steal_pointer(&j->member));
    host_enter(before);
}

/* ---- the end of its session or process ---- */

static void on_joiner_closing(void *joiner)
{
    ((struct joiner *)joiner)->closed = true;
}

static void on_joiner_closed(void *joiner)
{
    struct joiner *j = joiner;

    if (!j->abandoned && !j->ended)
        joiner_wrong(j, "it was never told that it has left");
    if (!j->abandoned && joiner_is_waiting(j))
        joiner_wrong(j, "a call of it never ends");
    zkl_grant_release(g_steal_pointer(&j->grant));
    zkl_member_free(g_steal_pointer(&j->member));
}

static void on_joiner_dead(void *joiner)
{
    struct joiner *j = joiner;

    j->abandoned = true;
    zkl_grant_release(g_steal_pointer(&j->grant));
}

const story_end joiner_ends[STORY_ENDS] = {on_joiner_closing, on_joiner_closed, on_joiner_dead};

/* ---- those who observe ---- */

/* One member as it was told. */
struct told {
    const struct member_node *node;
    guint at; /* in its data */
};

static struct stage *stage_of_viewer(const struct viewer *v)
{
    return v->process->stage;
}

static void viewer_wrong(const struct viewer *v, const char *name, const char *what)
{
    stage_wrong(stage_of_viewer(v), "%s/v%u at %s, of %s: %s", host_name(v->process->host),
                v->number, group_paths[v->path], name, what);
}

/* ---- the story that they are told ---- */

/* A party's ids are data. */
static const char *data_of(const zkl_member_info *m, int path)
{
    return path == GROUP_PARTY ? m->id : m->data;
}

/* Where the node had these data, from then on; -1: it never had. */
static int find_data(const struct member_node *n, const zkl_member_info *m, guint from)
{
    const char *data = data_of(m, n->path);

    for (guint i = from; i < n->data->len; i++)
        if (strcmp(n->data->pdata[i], data) == 0)
            return (int)i;
    return -1;
}

static const char *on_joined(struct viewer *v, const zkl_member_info *m)
{
    const struct group *g = v->process->stage->group;
    const struct member_node *n = group_find(g, v->path, m->node, m->token);
    const uint64_t *last = g_hash_table_lookup(v->last, m->node);
    const int at = n ? find_data(n, m, 0) : -1;

    if (g_hash_table_contains(v->told, m->node))
        return "it joins, and has not left";
    if (last && m->token <= *last && !g->restored)
        return "it joins again with a token that is not above the last one";
    if (v->batch >= m->token && !g->restored)
        return "it joins, and one that joined later was told before";
    if (!n || n->session != m->session_id || at < 0)
        return "it was never so";
    const struct told t = {n, (guint)at};
    g_hash_table_insert(v->told, g_strdup(m->node), g_memdup2(&t, sizeof t));
    g_hash_table_insert(v->last, g_strdup(m->node), g_memdup2(&m->token, sizeof m->token));
    v->batch = m->token;
    v->others = true;
    return NULL;
}

static const char *on_left(struct viewer *v, const zkl_member_info *m)
{
    const struct told *t = g_hash_table_lookup(v->told, m->node);

    if (!t || t->node->token != m->token)
        return "it leaves, and is not there";
    if (v->others)
        return "it leaves, and one that joined was told before";
    if (strcmp(t->node->data->pdata[t->at], data_of(m, v->path)) != 0)
        return "it leaves with other data than it had";
    if (t->node->gone_at == NEVER && !v->process->stage->group->restored)
        return "it leaves, and is there all the time";
    g_hash_table_remove(v->told, m->node);
    return NULL;
}

/* Another node may have the same token where the servers' data have gone back. */
static const char *on_changed(struct viewer *v, const zkl_member_info *m)
{
    struct group *g = v->process->stage->group;
    struct told *t = g_hash_table_lookup(v->told, m->node);
    int at = t ? find_data(t->node, m, t->at + 1) : -1;

    if (!t || t->node->token != m->token)
        return "it changes, and is not there";
    if (at < 0 && g->restored) {
        t->node = group_find(g, v->path, m->node, m->token);
        at = find_data(t->node, m, 0);
    }
    if (at < 0)
        return "it changes, and had no such data since";
    t->at = (guint)at;
    v->others = true;
    return NULL;
}

static const char *on_all(struct viewer *v, const zkl_members *all)
{
    if (!v->news && v->any)
        return "all are told again";
    if (zkl_members_count(all) != g_hash_table_size(v->told))
        return "all are more or fewer than it was told";
    for (size_t i = 0; i < zkl_members_count(all); i++) {
        const zkl_member_info *m = zkl_members_get(all, i);
        const struct told *t = g_hash_table_lookup(v->told, m->node);
        if (!t || t->node->token != m->token ||
            strcmp(t->node->data->pdata[t->at], data_of(m, v->path)) != 0)
            return "one of all is not as it was told";
    }
    v->any = true;
    v->news = v->others = false;
    v->batch = 0;
    return NULL;
}

static void viewer_hears(zkl_members_event event, const zkl_member_info *m, const zkl_members *all,
                         void *data)
{
    static const char signs[] = " +-~=";
    struct viewer *v = data;
    const char *what;

    if (v->abandoned)
        return;
    client_tell(v->process, "v%u is told %c%s %" G_GINT64_MODIFIER "x", v->number, signs[event],
                m ? m->node : "", m ? m->token : zkl_members_count(all));
    what = v->ended                       ? "it is told something behind its end"
           : event == ZKL_MEMBERS_JOINED  ? on_joined(v, m)
           : event == ZKL_MEMBERS_LEFT    ? on_left(v, m)
           : event == ZKL_MEMBERS_CHANGED ? on_changed(v, m)
                                          : on_all(v, all);
    if (what)
        viewer_wrong(v, m ? m->node : "all", what);
    v->news |= event != ZKL_MEMBERS_ALL;
    v->process->stage->tally.seen += event != ZKL_MEMBERS_ALL;
}

static bool viewer_is_there(const struct viewer *v)
{
    return v->watch && !v->ended && !v->abandoned;
}

/* ---- the truth ---- */

const char *viewer_errs(const struct viewer *v)
{
    const struct group *g = stage_of_viewer(v)->group;

    if (!v->any)
        return "nobody has told it who is there";
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        const struct told *t = g_hash_table_lookup(v->told, n->name);
        const bool told = t && t->node == n;
        if (n->path != v->path)
            continue;
        if (told != (n->gone_at == NEVER))
            return told ? "one has left, and it was not told" : "one is there, and it was not told";
        if (told && strcmp(n->data->pdata[t->at], n->data->pdata[n->data->len - 1]) != 0)
            return "one has other data, and it was not told";
    }
    return NULL;
}

/* What has been so since then is known. */
static bool is_known(const struct viewer *v, int64_t at)
{
    const struct stage *stage = stage_of_viewer(v);
    const int64_t since = MAX(MAX(at, v->well_since), v->process->running_since);

    return stage_now(stage) - since > stage->group->stale_ns;
}

void viewer_check(struct viewer *v)
{
    const struct stage *stage = stage_of_viewer(v);
    const struct group *g = stage->group;

    if (!viewer_is_there(v) || !client_runs(v->process) || !v->process->session->up ||
        stage->oracle.refusing || g->restored)
        return;
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        const struct told *t = g_hash_table_lookup(v->told, n->name);
        const bool told = t && t->node == n;
        if (n->path != v->path)
            continue;
        if (told && n->gone_at != NEVER && is_known(v, n->gone_at))
            viewer_wrong(v, n->name, "it has left long ago, and that was not told");
        if (!told && n->gone_at == NEVER && is_known(v, n->made_at))
            viewer_wrong(v, n->name, "it has been there for long, and that was not told");
    }
}

/* ---- the handle ---- */

struct viewer *viewer_new(struct client *p, int path)
{
    struct viewer *v = g_new0(struct viewer, 1);
    struct host *before = host_enter(p->host);

    g_ptr_array_add(p->stage->group->viewers, v);
    v->process = p;
    v->number = p->stage->group->viewers->len;
    v->path = path;
    v->well_since = stage_now(p->stage);
    v->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    v->last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    const zkl_member_layout layout = path == GROUP_PARTY ? ZKL_MEMBER_PARTY : ZKL_MEMBER_GROUP;
    client_tell(p, "v%u observes %s", v->number, group_paths[path]);
    if (zkl_members_watch(&v->watch, p->session, group_paths[path], layout, viewer_hears, v) != 0)
        viewer_wrong(v, "all", "nothing can be observed");
    host_enter(before);
    return v;
}

static void viewer_free(void *viewer)
{
    struct viewer *v = viewer;

    g_hash_table_unref(v->told);
    g_hash_table_unref(v->last);
    g_free(v);
}

void viewer_end(struct viewer *v)
{
    struct host *before = host_enter(v->process->host);

    client_tell(v->process, "v%u observes no more", v->number);
    v->ended = true;
    zkl_watch_free(g_steal_pointer(&v->watch));
    host_enter(before);
}

static void viewers_shaken(struct group *g, const struct host *host)
{
    for (guint i = 0; i < g->viewers->len; i++) {
        struct viewer *v = g->viewers->pdata[i];
        if (v->process->host == host)
            v->well_since = stage_now(g->stage);
    }
}

static void on_viewer_closed(void *viewer)
{
    struct viewer *v = viewer;

    v->ended = true;
    zkl_watch_free(g_steal_pointer(&v->watch));
}

static void on_viewer_dead(void *viewer)
{
    ((struct viewer *)viewer)->abandoned = true;
}

const story_end viewer_ends[STORY_ENDS] = {NULL, on_viewer_closed, on_viewer_dead};

/* ---- what the servers commit ---- */

static int path_of(const char *node, const char **ret_name)
{
    for (int i = 0; i < GROUP_PATHS; i++) {
        const size_t length = strlen(group_paths[i]);
        if (strncmp(node, group_paths[i], length) == 0 && node[length] == '/') {
            *ret_name = node + length + 1;
            return i;
        }
    }
    return -1;
}

static void add_data(struct member_node *n, const char *data, size_t length)
{
    g_ptr_array_add(n->data, g_strndup(data ? data : "", data ? length : 0));
}

static void wrong(const struct group *g, const struct member_node *n, const struct host *who,
                  const char *what)
{
    stage_wrong(g->stage, "%s %s %s/%s, of %s", who ? host_name(who) : "nobody", what,
                group_paths[n->path], n->name, n->owner ? host_name(n->owner->host) : "nobody");
}

static void note_created(struct group *g, const struct note *note, int path, const char *name)
{
    struct member_node *n = g_new0(struct member_node, 1);

    n->path = path;
    n->name = g_strdup(name);
    n->token = note->zxid;
    n->session = note->session;
    n->owner = client_on(g->stage, note->host);
    n->data = g_ptr_array_new_with_free_func(g_free);
    n->made_at = stage_now(g->stage);
    n->gone_at = NEVER;
    add_data(n, note->data, note->length);
    g_ptr_array_add(g->nodes, n);
    if (path != GROUP_PARTY)
        joiner_stored(g, n, note->late);
}

/* Third parties, and the one case that is left (see above). */
static bool is_taken(const struct group *g, const struct member_node *n, const struct note *note)
{
    if (note->cause != CAUSE_REQUEST)
        return note->cause == CAUSE_ADMIN || note->cause == CAUSE_FORCED;
    return g->administered[n->path] && (note->late || n->session != note->asker);
}

static void note_deleted(struct group *g, const struct note *note, int path, const char *name)
{
    struct member_node *n = group_standing(g, path, name);

    if (!n)
        return;
    n->gone_at = stage_now(g->stage);
    n->taken = is_taken(g, n, note);
    g->administered[path] |= note->cause == CAUSE_ADMIN;
    if (note->cause == CAUSE_REQUEST && !n->taken && n->session != note->asker)
        wrong(g, n, note->host, "deletes");
}

static void note_changed(struct group *g, const struct note *note, int path, const char *name)
{
    struct member_node *n = group_standing(g, path, name);

    if (!n)
        return;
    if (!n->owner || (n->owner->host != note->host && !g->administered[path]))
        wrong(g, n, note->host, "writes into");
    add_data(n, note->data, note->length);
    joiner_stored(g, n, note->late);
}

/* Nodes are as they were. */
static void note_restored(struct group *g)
{
    g->restored = true;
    for (guint i = 0; i < g->nodes->len; i++) {
        struct member_node *n = g->nodes->pdata[i];
        char *path = full_path(n);
        uint64_t token = 0;
        size_t length = 0;
        const bool stands = world_exists(g->stage->world, path, NULL, &token) && token == n->token;
        n->undone = n->undone || (stands && n->gone_at != NEVER);
        n->taken = n->taken || (!stands && n->gone_at == NEVER);
        if (stands != (n->gone_at == NEVER))
            n->gone_at = stands ? NEVER : stage_now(g->stage);
        if (stands) {
            const char *data = world_data(g->stage->world, path, &length);
            add_data(n, data, length);
        }
        g_free(path);
    }
}

void group_note(struct stage *stage, const struct note *note)
{
    static void (*const handlers[])(struct group * g, const struct note *note, int path,
                                    const char *name) = {[NOTE_CREATED] = note_created,
                                                         [NOTE_DELETED] = note_deleted,
                                                         [NOTE_CHANGED] = note_changed};
    struct group *g = stage->group;
    const char *name;
    int path;

    if (g && note->kind == NOTE_RESTORED)
        note_restored(g);
    else if (g && note->kind == NOTE_EVENT)
        viewers_shaken(g, note->host);
    if (!g || note->kind > NOTE_CHANGED || (path = path_of(note->path, &name)) < 0)
        return;
    handlers[note->kind](g, note, path, name);
}

/* ---- all of them ---- */

static void free_node(void *node)
{
    struct member_node *n = node;

    g_ptr_array_unref(n->data);
    g_free(n->name);
    g_free(n);
}

struct group *group_new(struct stage *stage)
{
    struct group *g = g_new0(struct group, 1);

    g->stage = stage;
    g->nodes = g_ptr_array_new_with_free_func(free_node);
    g->joiners = g_ptr_array_new_with_free_func(joiner_free);
    g->viewers = g_ptr_array_new_with_free_func(viewer_free);
    return g;
}

void group_free(struct group *g)
{
    if (!g)
        return;
    g_ptr_array_unref(g->viewers);
    g_ptr_array_unref(g->joiners);
    g_ptr_array_unref(g->nodes);
    g_free(g);
}

void group_check(struct stage *stage)
{
    if (stage->group)
        joiners_check(stage->group);
}
