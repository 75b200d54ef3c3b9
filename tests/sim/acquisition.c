#include "acquisition.h"

#include <glib.h>
#include <string.h>

#include "candidate.h"
#include "client.h"
#include "lib/grant/grant.h"
#include "nodes.h"
#include "parts.h"
#include "trace.h"

char *acquisition_name(const struct acquisition *a)
{
    return g_strdup_printf("%s/a%u", host_name(a->process->host), a->number);
}

static void tell(const struct acquisition *a, const char *what, const char *more)
{
    const struct stage *stage = a->process->stage;

    if (!stage->trace)
        return;
    client_tell(a->process, "a%u %s%s", a->number, what, more);
}

static void turn(struct acquisition *a, enum turn what)
{
    if (a->then)
        a->then(a, what);
}

/* ---- what is heard ---- */

static size_t expected_parts(const struct acquisition *a)
{
    return a->with ? PATHS : client_leasing || a->numbered ? (size_t)a->permits : 1;
}

bool acquisition_has_node(const struct acquisition *a, const char *path)
{
    bool has = g_strcmp0(a->node, path) == 0;

    for (int i = 0; i < PERMITS_MAX && a->more[i]; i++)
        has = has || strcmp(a->more[i], path) == 0;
    return has;
}

static void take_grant(struct acquisition *a, const zkl_grant *grant)
{
    zkl_part parts[PERMITS_MAX] = {{0}};
    const size_t count = parts_of(grant, parts, PERMITS_MAX);

    if (count != expected_parts(a))
        stage_wrong(a->process->stage, "a grant has the wrong number of parts");
    for (size_t i = 1; client_leasing && i < MIN(count, PERMITS_MAX); i++)
        a->more[i - 1] = g_strdup(parts[i].node);
    a->grant = grant;
    a->token = parts[a->led].token;
    a->turn = zkl_grant_turn(grant);
    a->node = g_strdup(parts[a->led].node);
    if (a->process->stage->trace) {
        char *node = trace_shorten(a->process->stage->trace, a->node);
        char *more = g_strdup_printf("%s, token %" G_GINT64_MODIFIER "x%s, %s", node, a->token,
                                     a->turn ? " again" : "", state_name(zkl_grant_state(grant)));
        tell(a, "is granted ", more);
        g_free(node);
        g_free(more);
    }
}

static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct acquisition *a = data;

    if (a->abandoned) {
        zkl_grant_release(grant);
        return;
    }
    a->code = err ? err->code : 0;
    a->why = g_strdup(err ? err->text : "");
    a->own = a->led ? NULL : grant;
    if (grant)
        take_grant(a, grant);
    else
        tell(a, "ends: ", err->text);
    oracle_completed(a->process->stage, a);
    a->completed = true;
    turn(a, grant ? TURN_GRANTED : TURN_FAILED);
}

/* A failure is that of one path: the other has nothing to answer for. */
static void on_both_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct acquisition *a = data, *b = a->with;
    const bool first = err && strcmp(err->path, client_paths[b->path]) != 0;

    if (grant && !a->abandoned) {
        on_acquired(grant, err, b);
        a->process->stage->tally.both++;
    } else if (err) {
        b->completed = true;
    }
    if (err && !first && !a->abandoned) { /* it is about the other */
        b->completed = false;
        on_acquired(NULL, err, b);
        a->completed = true;
        turn(a, TURN_FAILED);
        return;
    }
    on_acquired(grant, err, a);
}

static void hear(struct watcher *w, const zkl_grant *grant, zkl_state state)
{
    struct acquisition *a = w->acquisition;

    tell(a, "hears ", state_name(state));
    oracle_changed(a->process->stage, w, grant, state);
    w->any = true;
    w->last = state;
    w->final = w->final || state >= ZKL_LOST;
    if (state == ZKL_LOST && w == &a->watchers[0] && a->grant)
        turn(a, TURN_LOST);
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct watcher *w = data;

    if (!w->acquisition->abandoned)
        hear(w, grant, state);
}

/* ---- what is done ---- */

static struct acquisition *acquisition_new(struct client *p, int path, int64_t timeout_ms)
{
    struct acquisition *a = g_new0(struct acquisition, 1);

    g_ptr_array_add(p->stage->acquisitions, a);
    a->process = p;
    a->number = p->stage->acquisitions->len;
    a->path = path;
    a->timeout_ms = timeout_ms;
    a->entered_at = stage_now(p->stage);
    a->peer = p->peers[path];
    return a;
}

static void tell_entering(const struct acquisition *a, const char *what)
{
    const char *path = client_paths[a->path];

    if (!a->process->stage->trace)
        return;
    char *more = a->timeout_ms == ZKL_FOREVER
                     ? g_strdup_printf("%s, forever", path)
                     : g_strdup_printf("%s, %" G_GINT64_FORMAT " ms", path, a->timeout_ms);
    tell(a, what, more);
    g_free(more);
}

static int ask_for_permits(struct client *p, struct acquisition *a)
{
    a->permits = stage_chance(p->stage, 65) ? 1 : 1 + (int)stage_below(p->stage, PERMITS_MAX);
    a->numbered = !client_leasing && stage_chance(p->stage, 50);
    a->names_limit = p->names_limit[a->path];
    if (p->stage->trace) {
        char *more = g_strdup_printf("%d%s", a->permits, a->numbered ? ", with numbers" : "");
        tell(a, "would have permits: ", more);
        g_free(more);
    }
    return zkl_semaphore_acquire_async(p->semaphore[a->path][a->numbered], a->permits,
                                       a->timeout_ms, on_acquired, a, &a->op);
}

static int ask(struct client *p, struct acquisition *a)
{
    if (client_counting)
        return ask_for_permits(p, a);
    if (!client_sharing)
        return zkl_mutex_lock_async(a->mutex, a->timeout_ms, on_acquired, a, &a->op);
    a->shared = stage_chance(p->stage, 50);
    tell(a, a->shared ? "would read" : "would write", "");
    return (a->shared ? zkl_rwlock_lock_shared_async : zkl_rwlock_lock_async)(
        p->rwlock[a->path], a->timeout_ms, on_acquired, a, &a->op);
}

struct acquisition *acquisition_enter(struct client *p, int path, int64_t timeout_ms,
                                      void (*then)(struct acquisition *a, enum turn turn),
                                      void *data)
{
    struct acquisition *a = acquisition_new(p, path, timeout_ms);
    struct host *before = host_enter(p->host);

    a->mutex = p->mutex[path][a->number % HANDLES];
    a->then = then;
    a->data = data;
    tell_entering(a, "enters ");
    if (ask(p, a) != 0)
        stage_wrong(p->stage, "an acquisition was refused although the session is open");
    host_enter(before);
    return a;
}

struct acquisition *acquisition_enter_both(struct client *p, int64_t timeout_ms,
                                           void (*then)(struct acquisition *a, enum turn turn),
                                           void *data)
{
    struct acquisition *a = acquisition_new(p, 0, timeout_ms),
                       *b = acquisition_new(p, 1, timeout_ms);
    struct host *before = host_enter(p->host);

    a->with = b;
    b->with = a;
    b->led = true;
    a->then = then;
    a->data = data;
    a->peer = b->peer = ZKL_PEER_CURATOR;
    tell_entering(a, "enters both, ");
    if (zkl_multilock_lock_async(p->both, timeout_ms, on_both_acquired, a, &a->op) != 0)
        stage_wrong(p->stage, "an acquisition was refused although the session is open");
    host_enter(before);
    return a;
}

struct acquisition *acquisition_campaign(struct candidate *c, int64_t timeout_ms,
                                         void (*then)(struct acquisition *a, enum turn turn),
                                         void *data)
{
    struct acquisition *a = acquisition_new(c->process, c->line, timeout_ms);
    struct host *before = host_enter(c->process->host);

    a->then = then;
    a->data = data;
    tell_entering(a, "campaigns at ");
    if (zkl_election_campaign_async(c->election, timeout_ms, on_acquired, a, &a->op) != 0)
        stage_wrong(c->process->stage, "a campaign was refused although none is under way");
    host_enter(before);
    return a;
}

struct acquisition *acquisition_of_term(struct candidate *c, const zkl_grant *grant)
{
    struct acquisition *a = acquisition_new(c->process, c->line, ZKL_FOREVER);

    a->lent = true;
    a->watchers[0].acquisition = a;
    a->watching = 1;
    a->released = c->stopping;
    take_grant(a, grant);
    oracle_completed(c->process->stage, a);
    a->completed = true;
    return a;
}

void acquisition_hear(struct acquisition *a, const zkl_grant *grant, zkl_state state)
{
    hear(&a->watchers[0], grant, state);
    if (state < ZKL_LOST)
        return;
    a->grant = NULL;
    oracle_released(a->process->stage, a);
}

void acquisition_free(void *acquisition)
{
    struct acquisition *a = acquisition;

    zkl_op_free(a->op);
    for (int i = 0; i < PERMITS_MAX; i++)
        g_free(a->more[i]);
    g_free(a->node);
    g_free(a->why);
    g_free(a);
}

void acquisition_watch(struct acquisition *a)
{
    if (!a->grant || a->lent || a->watching == WATCHERS)
        return;
    struct watcher *w = &a->watchers[a->watching];
    w->acquisition = a;
    if (zkl_grant_on_change(a->grant, on_change, w) == 0)
        a->watching++;
}

void acquisition_cancel(struct acquisition *a)
{
    struct host *before = host_enter(a->process->host);

    tell(a, "is canceled", a->completed ? ", too late" : "");
    a->canceled = a->canceled || !a->completed;
    if (a->with)
        a->with->canceled = a->canceled;
    zkl_op_cancel(a->op);
    host_enter(before);
}

static void give_up(struct acquisition *a)
{
    a->grant = NULL;
    a->released = true;
    oracle_released(a->process->stage, a);
}

void acquisition_release(struct acquisition *a)
{
    if (!a->grant)
        return;
    struct host *before = host_enter(a->process->host);
    tell(a, "releases", "");
    give_up(a);
    if (a->with)
        give_up(a->with);
    zkl_grant_release(g_steal_pointer(&a->own));
    host_enter(before);
}

void acquisition_expect_closed(struct client *p, int path)
{
    for (guint i = 0; i < p->stage->acquisitions->len; i++) {
        struct acquisition *a = p->stage->acquisitions->pdata[i];
        if (a->process == p && a->path == path && !a->completed)
            a->closed = true;
    }
}

void acquisition_abandon(struct client *p)
{
    for (guint i = 0; i < p->stage->acquisitions->len; i++) {
        struct acquisition *a = p->stage->acquisitions->pdata[i];
        if (a->process != p || a->abandoned)
            continue;
        a->abandoned = true;
        oracle_released(p->stage, a);
        a->grant = NULL;
        zkl_grant_release(g_steal_pointer(&a->own));
        turn(a, TURN_ENDED);
    }
}
