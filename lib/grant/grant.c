/* The functions of the interface that only read a grant are called with or without the monitor. The
 * others of them, and grant_register(), are called without it, and take it to change a grant. All
 * others are called with it held, except for those that grant.h names. */
#include "grant.h"

#include <stdio.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/probes.h"

/* A grant is valid while all of its tenures are. Its end is final. The first exchange of .end
 * decides whether that is a release or a loss. A reader that finds a tenure lost makes the loss the
 * grant's end before it answers. */
struct zkl_grant {
    atomic_int refs;
    unsigned generation;
    atomic_uint end; /* its final state, and above STATE_BITS the loss; 0: it has not ended */
    uint32_t count;  /* of .tenures */
    zkl_session *session;
    uint64_t number; /* zkl_grant_turn(): which turn on its tenure it is; 0: it is none */
    int32_t *slots;  /* the numbers of its permits; NULL: they have none */
    uint32_t slots_count;
    /* guarded by the monitor, and so are all members below: */
    zkl_state told_state;          /* the state that its watchers were told last */
    unsigned owned;                /* how many references users have to release */
    int64_t began_ns;              /* when the user got it, CLOCK_BOOTTIME; 0: the statistics do not
                                      count it, or its end was counted */
    struct stats_path *counted_at; /* where they count it */
    GArray *watchers;              /* of struct watcher; emptied with the last call */
    GArray *callees[TENURE_CALLS]; /* of struct watcher, by enum tenure_call; NULL: none */
    bool loss_told;                /* callbacks tell the loss: the nodes are deleted after them */
    const struct grant_ops *ops;   /* NULL: none of these functions is called */
    void *context;                 /* for the ops */
    struct tenure *tenures[];      /* with a reference each, in the order of the caller's paths */
};

/* ---- what a user reads of it ---- */

enum { STATE_BITS = 2 }; /* of .end: its lowest ones */

static zkl_state grant_end_state(unsigned end)
{
    return (zkl_state)(end & ((1U << STATE_BITS) - 1));
}

static unsigned grant_load_end(const zkl_grant *g)
{
    return atomic_load(&((zkl_grant *)(uintptr_t)g)->end);
}

/* Ends the grant with that state and loss, unless it had ended before. Returns its final .end. */
static unsigned grant_set_end(const zkl_grant *g, zkl_state state, zkl_loss loss)
{
    unsigned before = 0;
    const unsigned end = (unsigned)loss << STATE_BITS | (unsigned)state;

    atomic_compare_exchange_strong(&((zkl_grant *)(uintptr_t)g)->end, &before, end);
    return before ? before : end;
}

/* Returns the grant's validity now: the worst of its tenures'. */
static struct validity_view grant_read(const zkl_grant *g)
{
    unsigned end = grant_load_end(g);
    struct validity_view worst = {.state = ZKL_HELD, .left = INT64_MAX};

    for (uint32_t i = 0; i < g->count && end == 0; i++) {
        const struct validity_view view = validity_read(&g->tenures[i]->validity);
        if (view.state >= ZKL_LOST) {
            end = grant_set_end(g, ZKL_LOST, view.loss);
        } else if (view.left < worst.left) {
            worst.deadline = view.deadline;
            worst.left = view.left;
        }
        worst.state = MAX(worst.state, view.state);
    }
    end = end ? end : grant_load_end(g); /* it may have been released since */
    if (end == 0)
        return worst;
    return (struct validity_view){.state = grant_end_state(end),
                                  .loss = (zkl_loss)(end >> STATE_BITS)};
}

/* Returns the grant's state now: see validity_state(). */
static zkl_state grant_state_now(const zkl_grant *g, int64_t *ret_now)
{
    const unsigned end = grant_load_end(g);
    zkl_state worst = ZKL_HELD;

    *ret_now = 0;
    if (end != 0)
        return grant_end_state(end);
    for (uint32_t i = 0; i < g->count; i++) {
        const zkl_state state = validity_state(&g->tenures[i]->validity, ret_now);
        worst = MAX(worst, state);
    }
    const unsigned now = grant_load_end(g); /* it may have been released since */
    if (now != 0)
        return grant_end_state(now);
    return worst < ZKL_LOST ? worst : grant_read(g).state;
}

static uint64_t grant_token(const zkl_grant *g)
{
    return g->tenures[0]->token;
}

const char *grant_node(const zkl_grant *g, uint32_t i)
{
    return session_path(g->session, g->tenures[i]->full_node);
}

static int64_t grant_session_id(const zkl_grant *g)
{
    return g->tenures[0]->session_id;
}

uint64_t zkl_grant_token(const zkl_grant *g)
{
    return g ? grant_token(g) : 0;
}

uint64_t zkl_grant_turn(const zkl_grant *g)
{
    return g ? g->number : 0;
}

int zkl_grant_fence(const zkl_grant *g, char *buf, size_t size)
{
    if (!g || !buf)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_fence: %s is NULL", g ? "buf" : "g");
    if (size < ZKL_FENCE_SIZE)
        return error_set(ZKL_ERANGE, zkl_grant_node(g), "a fence needs %d bytes", ZKL_FENCE_SIZE);
    snprintf(buf, size, "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", zkl_grant_token(g),
             g->number);
    return 0;
}

const char *zkl_grant_node(const zkl_grant *g)
{
    return g ? grant_node(g, 0) : NULL;
}

int64_t zkl_grant_session_id(const zkl_grant *g)
{
    return g ? grant_session_id(g) : 0;
}

int zkl_grant_part(const zkl_grant *g, size_t i, zkl_part *ret)
{
    if (!g || !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_part: %s is NULL", g ? "ret" : "g");
    if (i >= (g->slots ? g->slots_count : g->count))
        return error_set(ZKL_ENOENT, zkl_grant_node(g), "the grant has no part %zu", i);
    /* A grant whose permits are numbered has one tenure: all its parts share that node. */
    const uint32_t nth = g->slots ? 0 : (uint32_t)i;
    *ret = (zkl_part){g->tenures[nth]->token, grant_node(g, nth), g->slots ? g->slots[i] : -1};
    return 0;
}

int64_t zkl_grant_remaining_ms(const zkl_grant *g)
{
    if (!g || fork_is_child(g->generation))
        return 0;
    return grant_read(g).left / CLOCK_MS;
}

int zkl_grant_deadline(const zkl_grant *g, zkl_deadline *ret)
{
    struct validity_view view = {.state = ZKL_LOST};

    if (!g || !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_deadline: %s is NULL", g ? "ret" : "g");
    const bool child = fork_is_child(g->generation);
    if (!child)
        view = grant_read(g);
    *ret = (zkl_deadline){view.deadline.boot, view.deadline.raw};
    const char *node = zkl_grant_node(g);
    return child ? error_set(ZKL_ECHILD, node, "%s: %s", node, zkl_strerror(ZKL_ECHILD))
                 : grant_check_state(g, view.state);
}

zkl_state zkl_grant_state(const zkl_grant *g)
{
    int64_t now;

    return !g || fork_is_child(g->generation) ? ZKL_LOST : grant_state_now(g, &now);
}

zkl_loss zkl_grant_loss(const zkl_grant *g)
{
    if (!g)
        return ZKL_LOSS_NONE;
    return fork_is_child(g->generation) ? ZKL_LOSS_FORKED : grant_read(g).loss;
}

/* ---- the names of losses ---- */

_Static_assert((int)LOSS_NONE == ZKL_LOSS_NONE && (int)LOSS_DEADLINE == ZKL_LOSS_DEADLINE &&
                   (int)LOSS_EXPIRED == ZKL_LOSS_EXPIRED && (int)LOSS_DELETED == ZKL_LOSS_DELETED &&
                   (int)LOSS_CLOSED == ZKL_LOSS_CLOSED && (int)LOSS_REPLACED == ZKL_LOSS_REPLACED &&
                   (int)LOSS_REFUSED == ZKL_LOSS_REFUSED,
               "the same numbers");

const char *zkl_strloss(zkl_loss loss)
{
    static const char *const texts[] = {
        [ZKL_LOSS_NONE] = "not lost",
        [ZKL_LOSS_DEADLINE] = "it could not be renewed before its deadline",
        [ZKL_LOSS_EXPIRED] = "the ZooKeeper session expired, or another client closed it",
        [ZKL_LOSS_DELETED] = "somebody else deleted the node",
        [ZKL_LOSS_CLOSED] = "the session was closed",
        [ZKL_LOSS_REPLACED] = "the servers no longer accept the ZooKeeper session",
        [ZKL_LOSS_REFUSED] = "the server refused the credentials",
        [ZKL_LOSS_FORKED] = "called in a forked child",
    };

    return (unsigned)loss < G_N_ELEMENTS(texts) ? texts[loss] : "unknown reason";
}

/* ---- memory ---- */

struct watcher {
    zkl_grant_fn fn;
    void *data;
};

static GArray *grant_watchers_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(struct watcher));
}

zkl_grant *grant_new(struct tenure *const *tenures, uint32_t count, const struct grant_ops *ops,
                     void *context)
{
    zkl_grant *g = g_malloc0(sizeof *g + count * sizeof g->tenures[0]);

    atomic_init(&g->refs, 1);
    g->session = session_ref(tenures[0]->session);
    g->generation = g->session->generation;
    g->watchers = grant_watchers_new();
    g->ops = ops;
    g->context = context;
    g->count = count;
    for (uint32_t i = 0; i < count; i++) {
        g->tenures[i] = tenure_ref(tenures[i]);
        if (tenures[i]->kept)
            tenures[i]->grant = grant_ref(g);
        g->told_state = MAX(g->told_state, validity_last(&tenures[i]->validity));
    }
    return g;
}

zkl_grant *grant_new_on(struct tenure *t)
{
    zkl_grant *g = grant_new(&t, 1, NULL, NULL);

    tenure_unref(t);
    return g;
}

zkl_grant *grant_of(const zkl_grant *lent)
{
    return (zkl_grant *)(uintptr_t)lent;
}

zkl_grant *grant_ref(zkl_grant *g)
{
    atomic_fetch_add(&g->refs, 1);
    return g;
}

void grant_unref(zkl_grant *g)
{
    if (atomic_fetch_sub(&g->refs, 1) != 1)
        return;
    zkl_session *s = g->session;
    for (uint32_t i = 0; i < g->count; i++)
        tenure_unref(g->tenures[i]);
    g_array_unref(g->watchers);
    for (int call = 0; call < TENURE_CALLS; call++)
        if (g->callees[call])
            g_array_unref(g->callees[call]);
    g_free(g->slots);
    g_free(g);
    session_unref(s);
}

void grant_forget(zkl_grant *g)
{
    g->ops = NULL;
}

void grant_set_slots(zkl_grant *g, const int32_t *slots, uint32_t count)
{
    g->slots = g_memdup2(slots, count * sizeof *slots);
    g->slots_count = count;
}

/* ---- turns ---- */

/* Whether g can serve the next turn on t: it is a grant on t, the caller has the only reference,
 * and the user has no function registered. */
static bool grant_is_reusable(const zkl_grant *g, const struct tenure *t)
{
    if (!g || g->tenures[0] != t || atomic_load(&((zkl_grant *)(uintptr_t)g)->refs) != 1)
        return false;
    guint registered = g->watchers->len;
    for (int call = 0; call < TENURE_CALLS; call++)
        registered += g->callees[call] ? g->callees[call]->len : 0;
    return registered == 0;
}

zkl_grant *grant_new_turn(struct tenure *t, zkl_grant *spare, uint64_t number,
                          const struct grant_ops *ops, void *context)
{
    zkl_grant *turn = spare;

    if (grant_is_reusable(spare, t)) {
        atomic_store_explicit(&turn->end, 0, memory_order_relaxed); /* nobody else has it yet */
        turn->ops = ops;
        turn->context = context;
        turn->told_state = validity_last(&t->validity);
        t->grant = grant_ref(turn);
    } else {
        if (spare)
            grant_unref(spare);
        turn = grant_new(&t, 1, ops, context);
    }
    turn->number = number;
    return turn;
}

/* ---- what is counted, and told by probes ---- */

void grant_began(zkl_grant *g, struct stats_path *at, int64_t wait_ns, int64_t now)
{
    stats_granted(g->session, at, wait_ns);
    g->counted_at = at;
    g->began_ns = MAX(now, 1);
    PROBE(4, granted, grant_full_node(g), grant_session_id(g), grant_token(g), wait_ns);
}

/* ---- callbacks ---- */

/* A call of a user's function. */
struct message {
    zkl_grant *grant;
    struct watcher watcher;
    zkl_state state;
};

static void grant_deliver(void *data)
{
    struct message *m = data;

    m->watcher.fn(m->grant, m->state, m->watcher.data);
    grant_unref(m->grant);
    g_free(m);
}

/* Queues a call of one function of the user's. */
static void grant_tell_one(zkl_grant *g, const struct watcher *watcher, zkl_state state)
{
    struct message *m = g_new(struct message, 1);

    *m = (struct message){grant_ref(g), *watcher, state};
    if (!callbacks_push(g->session->callbacks, grant_deliver, m)) {
        atomic_fetch_sub(&g->refs, 1); /* the caller has one */
        g_free(m);
    }
}

/* Tells all watchers a new state. */
static void grant_tell_state(zkl_grant *g, zkl_state state)
{
    g->told_state = state;
    if (g->began_ns != 0 && state == ZKL_SUSPECT)
        PROBE(3, suspect, grant_full_node(g), grant_session_id(g), grant_token(g));
    else if (g->began_ns != 0 && state == ZKL_HELD)
        PROBE(3, held, grant_full_node(g), grant_session_id(g), grant_token(g));
    for (guint i = 0; i < g->watchers->len; i++)
        grant_tell_one(g, &g_array_index(g->watchers, struct watcher, i), state);
    if (state >= ZKL_LOST && g->watchers->len > 0)
        g_array_set_size(g->watchers, 0);
}

/* ---- what happens to a tenure ---- */

/* Tells the watchers the present state, if it is HELD or SUSPECT and not the one told last. */
static void grant_tell_valid(zkl_grant *g)
{
    const zkl_state state = zkl_grant_state(g);

    if (g->told_state < ZKL_LOST && state < ZKL_LOST && state != g->told_state)
        grant_tell_state(g, state);
}

bool grant_move_deadline(struct tenure *t, struct instant deadline, bool proved)
{
    if (!validity_move_deadline(&t->validity, deadline, proved))
        return false;
    if (proved && t->grant && t->grant->told_state == ZKL_SUSPECT)
        grant_tell_valid(t->grant);
    return true;
}

void grant_suspect(struct tenure *t)
{
    if (validity_suspect(&t->validity) && t->grant)
        grant_tell_valid(t->grant);
}

/* A grant may lose its tenures one after the other. The first loss is told, and the nodes of all go
 * after these callbacks. */
bool grant_lose(struct tenure *t, enum loss loss, void (*then)(void *data), void *data)
{
    zkl_grant *g = t->grant;

    validity_lose(&t->validity, loss);
    if (!g)
        return false;
    g->loss_told = g->watchers->len > 0 || (g->count > 1 && g->loss_told);
    zkl_grant_state(g); /* makes the loss the grant's end */
    if (g->began_ns != 0) {
        const zkl_loss first = zkl_grant_loss(g);
        PROBE(4, lost, grant_full_node(g), grant_session_id(g), grant_token(g), (int)first);
        stats_ended(g->session, g->counted_at, clock_boot() - g->began_ns, first);
        g->began_ns = 0;
    }
    grant_tell_state(g, ZKL_LOST);
    return g->loss_told && then && callbacks_push(g->session->callbacks, then, data);
}

zkl_grant *grant_take_off(struct tenure *t)
{
    return g_steal_pointer(&t->grant);
}

void grant_detach(struct tenure *t)
{
    zkl_grant *g = t->grant;

    t->keeper = NULL;
    t->kept = false;
    t->grant = NULL;
    if (!g)
        return;
    if (g->count == 1 && !(g->ops && g->ops->outlasts))
        grant_forget(g);
    grant_unref(g);
}

/* ---- the end by the user ---- */

/* Makes the grant RELEASED, unless it has ended before. Fills in *end, and tells the watchers. */
static void grant_end(zkl_grant *g, struct grant_end *end)
{
    const zkl_state state = grant_state_now(g, &end->now);

    end->owned = state < ZKL_LOST && grant_set_end(g, ZKL_RELEASED, ZKL_LOSS_NONE) == ZKL_RELEASED;
    end->sure = end->owned && state == ZKL_HELD;
    if (!end->owned)
        return;
    if (g->began_ns != 0) {
        const int64_t held_ns = end->now - g->began_ns;
        PROBE(4, released, grant_full_node(g), grant_session_id(g), grant_token(g), held_ns);
        stats_ended(g->session, g->counted_at, held_ns, ZKL_LOSS_NONE);
        g->began_ns = 0;
    }
    grant_tell_state(g, ZKL_RELEASED);
}

bool grant_disown(zkl_grant *g)
{
    struct grant_end end;

    grant_end(g, &end);
    return end.owned;
}

void grant_let_go(zkl_grant *g, bool node_gone)
{
    struct tenure *t = g->tenures[0];

    if (g->ops && g->ops->let_go)
        g->ops->let_go(g->context, node_gone);
    else if (g->count > 1 || t->grant != g) /* the tenure serves the next turn, or has no keeper */
        return;
    else if (node_gone)
        tenure_node_gone(t);
    else
        tenure_release(t);
}

bool grant_give_back(zkl_grant *g, bool last)
{
    struct grant_end end = {.last = last};

    end.before = grant_end_state(grant_load_end(g)) == ZKL_RELEASED;
    if (end.before)
        end.owned = true;
    else
        grant_end(g, &end);
    if (g->ops && g->ops->given_back)
        g->ops->given_back(g->context, g, &end);
    else if (end.owned && !end.before)
        grant_let_go(g, false);
    return end.owned;
}

void grant_own(zkl_grant *g)
{
    g->owned++;
}

/* A release too many is found as long as the grant exists: then .owned is 0. */
void zkl_grant_release(zkl_grant *g)
{
    if (!g || grant_is_child(g))
        return;
    session_lock(g->session);
    const bool owned = g->owned > 0;
    if (owned) {
        g->owned--;
        if (!g->ops || !g->ops->stays)
            grant_give_back(g, false);
    } else {
        log_line(g->session->log, ZKL_LOG_ERROR, "not-owned", zkl_grant_node(g),
                 "%s: zkl_grant_release() is ignored: the grant is lent, or was released before",
                 zkl_grant_node(g));
    }
    session_unlock(g->session);
    if (owned)
        grant_unref(g);
}

/* ---- what others read of it ---- */

bool grant_is_given_back(const struct tenure *t)
{
    return t->grant && zkl_grant_state(t->grant) == ZKL_RELEASED;
}

zkl_loss grant_loss(const struct tenure *t)
{
    return t->grant ? zkl_grant_loss(t->grant) : validity_read(&t->validity).loss;
}

int grant_check_state(const zkl_grant *g, zkl_state state)
{
    const char *node = zkl_grant_node(g);

    if (state < ZKL_LOST)
        return 0;
    return error_set(state == ZKL_LOST ? ZKL_ELOST : ZKL_EPERM, node, "%s: %s", node,
                     state == ZKL_LOST ? zkl_strerror(ZKL_ELOST) : "the grant was released");
}

zkl_session *grant_session(const zkl_grant *g)
{
    return g->session;
}

uint32_t grant_count(const zkl_grant *g)
{
    return g->count;
}

struct tenure *grant_tenure(const zkl_grant *g, uint32_t i)
{
    return g->tenures[i];
}

const char *grant_full_node(const zkl_grant *g)
{
    return g->tenures[0]->full_node;
}

bool grant_is_child(const zkl_grant *g)
{
    return fork_is_child(g->generation);
}

/* ---- the functions that a user registers ---- */

/* Whether none of its tenures has the grant any more. Then grant_lose() does not tell its loss. */
static bool grant_is_detached(const zkl_grant *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->tenures[i]->grant == g)
            return false;
    }
    return true;
}

void grant_watch(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    struct watcher watcher = {fn, data};
    zkl_state state = zkl_grant_state(g);
    /* If a deadline has passed and the grant is not detached, grant_lose() is still to come, and
     * tells the loss. */
    bool final = state == ZKL_RELEASED || (state == ZKL_LOST && grant_is_detached(g));

    if (state == ZKL_SUSPECT || final)
        grant_tell_one(g, &watcher, state);
    if (!final)
        g_array_append_val(g->watchers, watcher);
}

/* Registers fn for what, a function of the interface. watch does so with the monitor held. Returns
 * 0, or the thread's last error. */
static int grant_register(const zkl_grant *g, zkl_grant_fn fn, void *data, const char *what,
                          void (*watch)(zkl_grant *g, zkl_grant_fn fn, void *data))
{
    int code = 0;

    if (!g || !fn)
        return error_set(ZKL_EINVAL, NULL, "%s: %s is NULL", what, g ? "fn" : "g");
    if (fork_is_child(g->generation))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    session_lock(g->session);
    if (g->session->closed)
        code = error_set(ZKL_ECLOSED, zkl_grant_node(g), "%s: the session was closed",
                         zkl_grant_node(g));
    else
        watch(grant_of(g), fn, data);
    session_unlock(g->session);
    return code;
}

int zkl_grant_on_change(const zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_change", grant_watch);
}

/* ---- calls of a holder's functions: another contender waits, or asks it to give way ---- */

void grant_call(struct tenure *t, enum tenure_call call)
{
    zkl_grant *g = t->grant;
    GArray *callees = g ? g->callees[call] : NULL;

    t->called[call] = true;
    if (!callees || zkl_grant_state(g) >= ZKL_LOST)
        return;
    for (guint i = 0; i < callees->len; i++)
        grant_tell_one(g, &g_array_index(callees, struct watcher, i), zkl_grant_state(g));
    g_array_set_size(callees, 0);
}

/* Registers fn for such a call, and has the keepers find out whether there is reason for it. If
 * there was before, fn is called now. */
static void grant_watch_call(zkl_grant *g, enum tenure_call call, zkl_grant_fn fn, void *data)
{
    struct watcher watcher = {fn, data};
    bool called = false; /* there was reason for it before */

    if (zkl_grant_state(g) >= ZKL_LOST)
        return;
    for (uint32_t i = 0; i < g->count; i++)
        called = called || g->tenures[i]->called[call];
    if (called) {
        grant_tell_one(g, &watcher, zkl_grant_state(g));
        return;
    }
    if (!g->callees[call])
        g->callees[call] = grant_watchers_new();
    g_array_append_val(g->callees[call], watcher);
    for (uint32_t i = 0; i < g->count; i++)
        tenure_find_out(g->tenures[i], call);
}

static void grant_watch_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    grant_watch_call(g, TENURE_WANTED, fn, data);
}

int zkl_grant_on_wanted(const zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_wanted", grant_watch_wanted);
}

static void grant_watch_asked(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    grant_watch_call(g, TENURE_ASKED, fn, data);
}

int zkl_grant_on_revoke(const zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_revoke", grant_watch_asked);
}
