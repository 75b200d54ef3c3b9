#include "store_stage.h"

#include <glib.h>
#include <string.h>

#include "blocked.h"
#include "lib/base/layout.h"
#include "lib/contender/contender.h"
#include "lib/grant/grant.h"
#include "lib/session/core.h"
#include "lib/session/participant.h"
#include "parts.h"
#include "runner.h"

/* ---- what must be true on the stage whatever fails ---- */

/* Long enough for what is under way, too short for a proof of the session. */
enum { CALM_MS = 500 };

static struct {
    const char *scene;
    enum way way;
    unsigned nth;
} run;

void rules_name(const char *scene, enum way way, unsigned nth)
{
    run.scene = scene;
    run.way = way;
    run.nth = nth;
}

bool rules_mere_loss(void)
{
    return run.way == WAY_NONE || way_is_loss(run.way);
}

void rules_fail(const char *file, int line, const char *what)
{
    /* One is enough of a run, and often follows from the other. */
    if (!stage.failed)
        runner_fail(file, line, "%s, %s, request %u, after %" G_GINT64_FORMAT " ms: %s", run.scene,
                    way_names[run.way], run.nth, world_now(stage.world) / CLOCK_MS, what);
    stage.failed = true;
}

/* ---- grants ---- */

static bool is_valid(const struct acquisition *t)
{
    if (!t->grant)
        return false;
    struct host *before = host_enter(t->actor->host);
    bool valid = zkl_grant_remaining_ms(t->grant) > 0;
    host_enter(before);
    return valid;
}

static bool stands(const struct acquisition *t)
{
    return world_exists(stage.world, zkl_grant_node(t->grant), NULL, NULL) &&
           (!t->other || world_exists(stage.world, t->other_node, NULL, NULL));
}

static bool is_at(const struct acquisition *t, unsigned i)
{
    return strcmp(lock_paths[i], t->path) == 0 || g_strcmp0(lock_paths[i], t->other) == 0;
}

static void check_node(const struct acquisition *t, const char *node, uint64_t token)
{
    uint64_t czxid = 0;
    int64_t owner = 0;

    if (!world_exists(stage.world, node, &owner, &czxid)) {
        MUST(stage.third_party);
        return;
    }
    MUST(czxid == token);
    MUST(owner == zkl_grant_session_id(t->grant));
}

void rules_granted(const struct acquisition *t)
{
    zkl_part parts[2];

    MUST(parts_of(t->grant, parts, G_N_ELEMENTS(parts)) == (t->other ? 2 : 1));
    MUST(zkl_grant_token(t->grant) == parts[0].token);
    for (unsigned i = 0; i < LOCK_PATHS; i++) {
        const uint64_t token = parts[strcmp(lock_paths[i], t->path) != 0].token;
        if (!is_at(t, i))
            continue;
        MUST(token + (zkl_grant_turn(t->grant) != 0) > stage.newest_token[i]);
        stage.newest_token[i] = token;
    }
    check_node(t, t->node, parts[0].token);
    if (t->other)
        check_node(t, t->other_node, parts[1].token);
}

/* ---- nodes with fixed names ---- */

void rules_let_go(void)
{
    g_clear_pointer(&stage.still.data, g_bytes_unref);
    stage.still = (struct still){.path = NULL};
}

static struct still look_at(const char *path)
{
    struct still now = {.path = path};
    size_t length = 0;

    world_exists(stage.world, path, NULL, &now.czxid);
    const char *data = world_data(stage.world, path, &length);
    now.data = g_bytes_new(data, data ? length : 0);
    return now;
}

void rules_keep(const char *path, bool stands)
{
    rules_let_go();
    stage.still = look_at(path);
    MUST((stage.still.czxid != 0) == stands);
}

/* A request that comes late changes what was told. */
static void check_still(void)
{
    struct still now;

    if (!stage.still.path)
        return;
    now = look_at(stage.still.path);
    MUST(now.czxid == stage.still.czxid && g_bytes_equal(now.data, stage.still.data));
    g_bytes_unref(now.data);
}

/* ---- at each step ---- */

/* A third party may take a node away from under its grant: then only the token protects. */
void rules_at_step(void)
{
    const struct acquisition *valid[LOCK_PATHS] = {NULL};

    check_still();
    for (unsigned i = 0; i < stage.acquisition_count; i++) {
        const struct acquisition *t = &stage.acquisitions[i];
        if (!is_valid(t))
            continue;
        if (!stands(t)) {
            MUST(stage.third_party);
            continue;
        }
        for (unsigned k = 0; k < LOCK_PATHS; k++) {
            if (!is_at(t, k))
                continue;
            MUST(!valid[k] || (stage_shares(valid[k]) && stage_shares(t)));
            valid[k] = t;
        }
    }
}

/* ---- the end ---- */

static bool any_contender(void)
{
    bool any = false;

    for (unsigned i = 0; i < LOCK_PATHS; i++) {
        char **names = world_children(stage.world, lock_paths[i]);
        any |= names && names[0];
        g_strfreev(names);
    }
    return any;
}

static bool is_idle(const zkl_session *s)
{
    return s->up && g_queue_is_empty((GQueue *)(uintptr_t)&s->parked) &&
           !participants_are_busy(s) && g_queue_is_empty((GQueue *)(uintptr_t)&s->refusals) &&
           s->orphans == 0 && g_hash_table_size(s->watches) == 0 && s->watched_bytes == 0 &&
           s->owned_bytes == 0;
}

static bool is_clean(const void *unused)
{
    bool clean = !any_contender() && world_watch_count(stage.world) == 0;

    (void)unused;
    for (unsigned i = 0; i < stage.actor_count && clean; i++) {
        session_lock(stage.actors[i].session);
        clean = is_idle(stage.actors[i].session);
        session_unlock(stage.actors[i].session);
    }
    return clean;
}

/* Applied exactly when it says so. */
static void check_transaction(const struct transaction *m)
{
    bool applied = world_exists(stage.world, m->path, NULL, NULL);

    MUST(m->calls == (m->begun ? 1 : 0));
    if (!m->begun || m->code != ZKL_EUNKNOWN)
        MUST(applied == (m->begun && m->code == 0));
}

void rules_at_end(void)
{
    if (way_is_late(run.way))
        stage_run(WORLD_LATE_MS);
    rules_let_go();
    MUST(stage_until(is_clean, NULL));
    stage_run(CALM_MS);
    for (unsigned i = 0; i < stage.acquisition_count; i++) {
        const struct acquisition *t = &stage.acquisitions[i];
        MUST(t->calls == 1);
        MUST(t->endings == (t->node ? 1 : 0));
    }
    for (unsigned i = 0; i < stage.transaction_count; i++)
        check_transaction(&stage.transactions[i]);
}

struct outcomes rules_outcomes(void)
{
    struct outcomes o;

    memset(&o, 0, sizeof o);
    for (unsigned i = 0; i < stage.acquisition_count; i++) {
        o.codes[i] = stage.acquisitions[i].code;
        o.lost[i] = stage.acquisitions[i].lost;
    }
    for (unsigned i = 0; i < stage.transaction_count; i++)
        o.answers[i] = stage.transactions[i].code;
    return o;
}

/* ---- what callers may be told ---- */

static int refusal_code(enum way way)
{
    static const int codes[WAYS] = {
        [WAY_NOAUTH] = ZKL_EACCES,
        [WAY_BAD] = ZKL_EPROTO,
        [WAY_BAD_AT_ONCE] = ZKL_EPROTO,
    };

    return codes[way];
}

static bool is_expired(enum way way)
{
    return way == WAY_EXPIRED_BEFORE || way == WAY_EXPIRED_BEHIND;
}

static bool takes_away(enum way way)
{
    return way == WAY_NONODE || is_expired(way);
}

/* A delete that is not done on a connection that stands is late for what was sent behind it. */
static bool is_as_refused(void)
{
    return refusal_code(run.way) ||
           (run.way == WAY_UNKNOWN_UNDONE && store_fault_kind() == STORE_DELETE);
}

/* Nobody is told of a mere loss. A contender that is refused, or loses its node, makes room for
 * others. */
static bool is_allowed(int usual, int code)
{
    return code == usual || (!way_is_loss(run.way) && (code == 0 || code == refusal_code(run.way)));
}

static bool is_allowed_loss(int usual, int lost, int code)
{
    return lost == usual || takes_away(run.way) || (code != 0 && lost == 0);
}

/* Whether a node that is gone went with the transaction cannot be told. */
static bool is_allowed_answer(int usual, const struct transaction *m)
{
    if (is_allowed(usual, m->code) || (m->code == ZKL_ELOST && takes_away(run.way)))
        return true;
    return m->code == ZKL_EUNKNOWN && (is_expired(run.way) || (m->release && way_is_loss(run.way)));
}

void rules_compare(const struct outcomes *usual, const struct outcomes *now, int also)
{
    for (unsigned i = 0; i < ACQUISITIONS_MAX; i++) {
        MUST(is_allowed(usual->codes[i], now->codes[i]) ||
             (also && now->codes[i] == also && is_as_refused()));
        MUST(is_allowed_loss(usual->lost[i], now->lost[i], now->codes[i]));
    }
    for (unsigned i = 0; i < TRANSACTIONS_MAX; i++)
        MUST(is_allowed_answer(usual->answers[i], &stage.transactions[i]));
}

/* ---- the stage ---- */

const char *const lock_paths[LOCK_PATHS] = {LOCK_PATH, LOCK_OTHER, LOCK_FAR};
struct stage stage;

enum { SESSION_TIMEOUT_MS = 10000, PATIENCE_MS = 120000 };

/* ---- begin and end ---- */

void stage_begin(int servers)
{
    stage = (struct stage){
        .world = world_new(&(struct world_config){.seed = 1, .servers = servers, .tick_ms = 2000})};
    g_random_set_seed(1);
    layout_random = world_random;
    world_admin_create(stage.world, "/dir", NULL, false);
    world_admin_create(stage.world, "/data", NULL, false);
    timers_by_hand = true;
    session_store = &fault_store;
}

static void free_acquisition(struct acquisition *t)
{
    stage_release(t);
    zkl_op_free(t->op);
    STAGE_DO(t->actor, zkl_mutex_free(t->mutex));
    zkl_rwlock_free(t->rwlock);
    zkl_semaphore_free(t->semaphore);
    zkl_multilock_free(t->both);
    g_free(t->node);
    g_free(t->other_node);
}

void stage_end(void)
{
    for (unsigned i = 0; i < stage.acquisition_count; i++)
        free_acquisition(&stage.acquisitions[i]);
    for (unsigned i = 0; i < stage.actor_count; i++) {
        struct host *before = host_enter(stage.actors[i].host);
        zkl_session_close(stage.actors[i].session);
        host_enter(before);
    }
    stage.actor_count = 0;
    stage_run(1000);
    if (stage.cut_off)
        stage_run(2 * SESSION_TIMEOUT_MS);
    MUST(world_session_count(stage.world) == 0);
    MUST(world_watch_count(stage.world) == 0);
    for (unsigned i = 0; i < stage.transaction_count; i++)
        g_free(stage.transactions[i].path);
    world_free(stage.world);
    session_store = &store_zk;
    timers_by_hand = false;
}

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record;
    (void)data;
}

struct actor *stage_join(const char *name)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct actor *a = &stage.actors[stage.actor_count++];

    options.dispatch = 1;
    options.session_timeout_ms = SESSION_TIMEOUT_MS;
    options.log = log_nothing;
    a->host = world_host(stage.world, name, 0);
    struct host *before = host_enter(a->host);
    MUST(zkl_session_open(&a->session, "any:1", &options, NULL) == 0);
    host_enter(before);
    return a;
}

/* ---- acquisitions ---- */

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct acquisition *t = data;

    (void)grant;
    t->lost += state == ZKL_LOST;
    t->endings += state >= ZKL_LOST;
}

static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct acquisition *t = data;
    zkl_part parts[2] = {{0}};

    t->calls++;
    t->code = err ? err->code : 0;
    t->grant = grant;
    MUST(!grant == !!err);
    if (!grant)
        return;
    parts_of(grant, parts, G_N_ELEMENTS(parts));
    t->node = g_strdup(parts[0].node);
    t->other_node = g_strdup(parts[1].node);
    MUST(zkl_grant_on_change(grant, on_change, t) == 0);
    rules_granted(t);
}

struct acquisition *stage_lock(struct actor *a, const char *path, int64_t timeout_ms)
{
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];
    struct host *before = host_enter(a->host);

    *t = (struct acquisition){.actor = a, .path = path};
    MUST(zkl_mutex_new(&t->mutex, a->session, path, NULL) == 0);
    MUST(zkl_mutex_lock_async(t->mutex, timeout_ms, on_acquired, t, &t->op) == 0);
    host_enter(before);
    return t;
}

struct acquisition *stage_share(struct actor *a, const char *path, bool shared)
{
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];
    struct host *before = host_enter(a->host);

    *t = (struct acquisition){.actor = a, .path = path};
    MUST(zkl_rwlock_new(&t->rwlock, a->session, path, NULL) == 0);
    MUST((shared ? zkl_rwlock_lock_shared_async
                 : zkl_rwlock_lock_async)(t->rwlock, ZKL_FOREVER, on_acquired, t, &t->op) == 0);
    host_enter(before);
    return t;
}

struct acquisition *stage_acquire(struct actor *a, const char *path, bool numbered)
{
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];
    struct host *before = host_enter(a->host);
    zkl_semaphore_options options = ZKL_SEMAPHORE_OPTIONS_INIT;

    options.limit = 1;
    options.numbered = numbered;
    *t = (struct acquisition){.actor = a, .path = path};
    MUST(zkl_semaphore_new(&t->semaphore, a->session, path, &options) == 0);
    MUST(zkl_semaphore_acquire_async(t->semaphore, 1, ZKL_FOREVER, on_acquired, t, &t->op) == 0);
    host_enter(before);
    return t;
}

struct acquisition *stage_lock_both(struct actor *a, int64_t timeout_ms)
{
    static const char *const paths[] = {LOCK_PATH, LOCK_OTHER};
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];
    struct host *before = host_enter(a->host);

    *t = (struct acquisition){.actor = a, .path = LOCK_PATH, .other = LOCK_OTHER};
    MUST(zkl_multilock_new(&t->both, a->session, paths, G_N_ELEMENTS(paths), NULL) == 0);
    MUST(zkl_multilock_lock_async(t->both, timeout_ms, on_acquired, t, &t->op) == 0);
    host_enter(before);
    return t;
}

struct acquisition *stage_retain(struct actor *a)
{
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.retain_ms = RETAIN_MS;
    *t = (struct acquisition){.actor = a, .path = LOCK_PATH};
    STAGE_CALL(a, 0, zkl_mutex_new(&t->mutex, a->session, LOCK_PATH, &options));
    STAGE_CALL(a, 0, zkl_mutex_lock_async(t->mutex, ZKL_FOREVER, on_acquired, t, &t->op));
    return t;
}

struct acquisition *stage_lock_again(const struct acquisition *t)
{
    struct acquisition *next = &stage.acquisitions[stage.acquisition_count++];

    *next = (struct acquisition){.actor = t->actor, .path = t->path};
    STAGE_CALL(t->actor, 0,
               zkl_mutex_lock_async(t->mutex, ZKL_FOREVER, on_acquired, next, &next->op));
    return next;
}

struct acquisition *stage_begin_once(struct actor *a, zkl_once *o)
{
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];

    *t = (struct acquisition){.actor = a, .path = WORK_PATH};
    STAGE_CALL(a, 0, zkl_once_begin_async(o, ZKL_FOREVER, on_acquired, t, &t->op));
    return t;
}

struct acquisition *stage_campaign(struct actor *a, zkl_election *e)
{
    struct acquisition *t = &stage.acquisitions[stage.acquisition_count++];

    *t = (struct acquisition){.actor = a, .path = LOCK_PATH};
    STAGE_CALL(a, 0, zkl_election_campaign_async(e, ZKL_FOREVER, on_acquired, t, &t->op));
    return t;
}

bool stage_shares(const struct acquisition *t)
{
    return strstr(zkl_grant_node(t->grant), "-__READ__") != NULL;
}

void stage_cancel(struct acquisition *t)
{
    struct host *before = host_enter(t->actor->host);

    zkl_op_cancel(t->op);
    host_enter(before);
}

void stage_release(struct acquisition *t)
{
    struct host *before = host_enter(t->actor->host);

    zkl_grant_release(t->grant);
    t->grant = NULL;
    host_enter(before);
}

static void on_applied(const zkl_error *err, void *data)
{
    struct transaction *m = data;

    m->calls++;
    m->code = err ? err->code : 0;
}

void stage_multi(struct acquisition *t, unsigned flags)
{
    unsigned number = stage.transaction_count++;
    struct transaction *m = &stage.transactions[number];

    m->path = g_strdup_printf("/data/%u", number);
    if (!t->grant)
        return;
    struct host *before = host_enter(t->actor->host);
    const zkl_change change = {.kind = ZKL_CHANGE_CREATE, .path = m->path};
    m->begun = true;
    m->release = flags & ZKL_MULTI_RELEASE;
    int code = zkl_grant_multi_async(t->grant, &change, 1, flags, ZKL_FOREVER, on_applied, m);
    if (code)
        on_applied(&(zkl_error){.code = code}, m);
    host_enter(before);
}

/* ---- time ---- */

static int64_t next_timer(const struct actor *a)
{
    session_lock(a->session);
    int64_t due = timers_next(a->session->timers);
    session_unlock(a->session);
    return due == INT64_MAX ? INT64_MAX : host_when(a->host, due);
}

static void run_actor(const struct actor *a)
{
    struct host *before = host_enter(a->host);

    session_lock(a->session);
    timers_run(a->session->timers);
    session_unlock(a->session);
    zkl_session_dispatch(a->session);
    host_enter(before);
}

void stage_step(int64_t until)
{
    for (unsigned i = 0; i < stage.actor_count; i++)
        until = MIN(until, next_timer(&stage.actors[i]));
    world_run_next(stage.world, MAX(until, world_now(stage.world)));
    for (unsigned i = 0; i < stage.actor_count; i++)
        run_actor(&stage.actors[i]);
    rules_at_step();
}

static int64_t after(int64_t ms)
{
    return world_now(stage.world) + ms * CLOCK_MS;
}

void stage_run(int64_t ms)
{
    int64_t end = after(ms);

    while (world_now(stage.world) < end)
        stage_step(end);
}

bool stage_until(bool (*condition)(const void *data), const void *data)
{
    int64_t end = after(PATIENCE_MS);

    while (!condition(data) && world_now(stage.world) < end)
        stage_step(end);
    return condition(data);
}

static bool is_completed(const void *data)
{
    return ((const struct acquisition *)data)->calls > 0;
}

void stage_await(const struct acquisition *t)
{
    MUST(stage_until(is_completed, t));
}

void blocked_go_on(sem_t *done)
{
    struct host *before = host_enter(NULL);

    MUST(stage_until(blocked_has_ended, done));
    host_enter(before);
}

/* ---- third parties ---- */

void stage_admin_delete(const char *path)
{
    stage.third_party = true;
    world_admin_delete(stage.world, path);
}

void stage_delete_node(const struct acquisition *t)
{
    if (t->node)
        stage_admin_delete(t->node);
}

void stage_expire(int64_t session)
{
    stage.third_party = true;
    world_expire(stage.world, session);
}

int64_t stage_session_id(void)
{
    for (unsigned i = 0; i < stage.actor_count; i++) {
        if (stage.actors[i].host == host_entered())
            return stage.actors[i].session->id;
    }
    return 0;
}
