#include "store_rules.h"

#include <glib.h>
#include <string.h>

#include "lib/session/core.h"
#include "lib/session/participant.h"
#include "parts.h"
#include "runner.h"

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
        MUST(token > stage.newest_token[i]);
        stage.newest_token[i] = token;
    }
    check_node(t, t->node, parts[0].token);
    if (t->other)
        check_node(t, t->other_node, parts[1].token);
}

/* A third party may take a node away from under its grant: then only the token protects. */
void rules_at_step(void)
{
    const struct acquisition *valid[LOCK_PATHS] = {NULL};

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
           s->orphans == 0 && g_hash_table_size(s->watches) == 0 && s->watched_bytes == 0;
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
