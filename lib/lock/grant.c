#include "grant_struct.h"

#include "contender.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/probes.h"
#include "lib/session/stats.h"
#include "multi.h"
#include "whole.h"

/* What a word is made of. */
enum { STATE_BITS = 2, LOSS_BITS = 3, LOW_BITS = STATE_BITS + LOSS_BITS };

static uint64_t grant_pack(int64_t boot_ns, zkl_state state)
{
    return (uint64_t)(boot_ns / 1000) << LOW_BITS | (uint64_t)state;
}

static zkl_state grant_word_state(uint64_t word)
{
    return (zkl_state)(word & 3);
}

static int64_t grant_word_boot(uint64_t word)
{
    return (int64_t)(word >> LOW_BITS) * 1000;
}

static zkl_loss grant_word_loss(uint64_t word)
{
    return (zkl_loss)(word >> STATE_BITS & ((1U << LOSS_BITS) - 1));
}

/* An owned word, ended. */
static uint64_t grant_end_word(uint64_t word, zkl_state state, enum loss loss)
{
    return (word & ~UINT64_C(3)) | (uint64_t)loss << STATE_BITS | (uint64_t)state;
}

static bool grant_is_word_owned(uint64_t word)
{
    return grant_word_state(word) <= ZKL_SUSPECT;
}

/* The word is to follow. */
static void grant_set_limits(zkl_grant *g, struct instant deadline)
{
    atomic_store(&g->raw, deadline.raw);
    atomic_store(&g->sure, instant_sure(clock_now(), deadline));
}

/* What a reading of the clocks has found; all 0 if it is not owned. */
struct view {
    struct instant deadline;
    int64_t left; /* ns */
};

/* The word now, LOST from the deadline on: the first reader past it makes that final. */
static uint64_t grant_settle(const zkl_grant *g, struct view *ret)
{
    zkl_grant *mutable_g = (zkl_grant *)(uintptr_t)g;
    uint64_t word = atomic_load(&mutable_g->word);

    while (grant_is_word_owned(word)) {
        ret->deadline = (struct instant){grant_word_boot(word), atomic_load(&mutable_g->raw)};
        uint64_t before = word, lost = grant_end_word(word, ZKL_LOST, LOSS_DEADLINE);
        ret->left = instant_left(clock_now(), ret->deadline);
        if (ret->left == 0 && atomic_compare_exchange_weak(&mutable_g->word, &word, lost))
            word = lost;
        else if (ret->left > 0 && (word = atomic_load(&mutable_g->word)) == before)
            return word;
    }
    *ret = (struct view){.left = 0};
    return word;
}

uint64_t zkl_grant_token(const zkl_grant *g)
{
    return g ? g->token : 0;
}

/* As the user sees it: the end of the full one. */
const char *zkl_grant_node(const zkl_grant *g)
{
    return g ? session_path(g->session, grant_full_node(g)) : NULL;
}

int64_t zkl_grant_session_id(const zkl_grant *g)
{
    return g ? g->session_id : 0;
}

int64_t zkl_grant_remaining_ms(const zkl_grant *g)
{
    struct view view;

    if (!g || fork_is_child(g->generation))
        return 0;
    grant_settle(g, &view);
    return view.left / CLOCK_MS;
}

int zkl_grant_deadline(const zkl_grant *g, zkl_deadline *ret)
{
    struct view view = {.left = 0};

    if (!g || !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_deadline: %s is NULL", g ? "ret" : "g");
    const bool child = fork_is_child(g->generation);
    const zkl_state state = child ? ZKL_LOST : grant_word_state(grant_settle(g, &view));
    *ret = (zkl_deadline){view.deadline.boot, view.deadline.raw};
    const char *node = zkl_grant_node(g);
    return child ? error_set(ZKL_ECHILD, node, "%s: %s", node, zkl_strerror(ZKL_ECHILD))
                 : grant_check_state(g, state);
}

/* Whether it is owned by one clock, which is enough until the deadline comes nearer. */
static bool grant_is_surely_owned(const zkl_grant *g, uint64_t word)
{
    int64_t sure = atomic_load(&g->sure);

    return grant_is_word_owned(word) && clock_boot() < sure && atomic_load(&g->word) == word;
}

zkl_state zkl_grant_state(const zkl_grant *g)
{
    struct view view;

    if (!g || fork_is_child(g->generation))
        return ZKL_LOST;
    uint64_t word = atomic_load(&g->word);
    return grant_word_state(grant_is_surely_owned(g, word) ? word : grant_settle(g, &view));
}

zkl_loss zkl_grant_loss(const zkl_grant *g)
{
    struct view view;

    if (!g)
        return ZKL_LOSS_NONE;
    return fork_is_child(g->generation) ? ZKL_LOSS_FORKED : grant_word_loss(grant_settle(g, &view));
}

/* ---- how it was lost ---- */

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

zkl_grant *grant_new(zkl_session *s, struct contender *c, const char *node, const char *payload,
                     uint64_t token)
{
    zkl_grant *g = g_new0(zkl_grant, 1);

    atomic_init(&g->refs, 2);
    g->generation = s->generation;
    g->token = token;
    g->session_id = s->id;
    g->full_node = g_strdup(node);
    g->payload = g_strdup(payload);
    g->session = session_ref(s);
    grant_set_limits(g, s->proofs.deadline);
    atomic_init(&g->word, grant_pack(s->proofs.deadline.boot, s->up ? ZKL_HELD : ZKL_SUSPECT));
    g->contender = c;
    g->watchers = grant_watchers_new();
    return g;
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
    if (g->span)
        grant_unref(g->span);
    for (uint32_t i = 0; i < g->part_count; i++)
        grant_unref(g->parts[i]);
    g_free(g->parts);
    g_array_unref(g->watchers);
    for (int call = 0; call < GRANT_CALLS; call++)
        if (g->callees[call])
            g_array_unref(g->callees[call]);
    g_free(g->full_node);
    g_free(g->payload);
    g_free(g->slots);
    multi_line_free(g->line);
    g_free(g);
    session_unref(s);
}

/* ---- what is counted, and told by probes: spans and parts, which no user knows, are not ---- */

void grant_began(zkl_grant *g, int64_t wait_ns, int64_t now)
{
    zkl_stats *stats = &g->session->stats;

    stats->acquisitions++;
    stats->held++;
    stats_add_time(&stats->wait, wait_ns);
    g->since = MAX(now, 1);
    PROBE(4, granted, grant_full_node(g), g->session_id, g->token, wait_ns);
}

static void grant_count_end(zkl_grant *g, int64_t now)
{
    zkl_stats *stats = &g->session->stats;

    stats->held--;
    stats_add_time(&stats->hold, now - g->since);
    g->since = 0;
}

void grant_ended(zkl_grant *g, int64_t now)
{
    if (g->since == 0)
        return;
    PROBE(4, released, grant_full_node(g), g->session_id, g->token, now - g->since);
    grant_count_end(g, now);
}

static void grant_add_loss(zkl_stats *stats, zkl_loss loss)
{
    switch (loss) {
    case ZKL_LOSS_NONE:
    case ZKL_LOSS_FORKED: /* neither is a loss of ours */
        break;
    case ZKL_LOSS_DEADLINE:
        stats->lost_deadline++;
        break;
    case ZKL_LOSS_EXPIRED:
        stats->lost_expired++;
        break;
    case ZKL_LOSS_DELETED:
        stats->lost_deleted++;
        break;
    case ZKL_LOSS_CLOSED:
        stats->lost_closed++;
        break;
    case ZKL_LOSS_REPLACED:
        stats->lost_replaced++;
        break;
    case ZKL_LOSS_REFUSED:
        stats->lost_refused++;
        break;
    }
}

static void grant_count_loss(zkl_grant *g)
{
    if (g->since == 0)
        return;
    const zkl_loss loss = zkl_grant_loss(g);
    PROBE(4, lost, grant_full_node(g), g->session_id, g->token, (int)loss);
    grant_add_loss(&g->session->stats, loss);
    grant_count_end(g, clock_boot());
}

/* ---- callbacks ---- */

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

static void grant_tell_one(zkl_grant *g, const struct watcher *watcher, zkl_state state)
{
    struct message *m = g_new(struct message, 1);

    *m = (struct message){grant_ref(g), *watcher, state};
    if (!callbacks_push(g->session->callbacks, grant_deliver, m)) {
        atomic_fetch_sub(&g->refs, 1); /* the caller has one */
        g_free(m);
    }
}

/* A change of state. */
static void grant_tell(zkl_grant *g, zkl_state state)
{
    if (g->since != 0 && state == ZKL_SUSPECT)
        PROBE(3, suspect, grant_full_node(g), g->session_id, g->token);
    else if (g->since != 0 && state == ZKL_HELD)
        PROBE(3, held, grant_full_node(g), g->session_id, g->token);
    for (guint i = 0; i < g->watchers->len; i++)
        grant_tell_one(g, &g_array_index(g->watchers, struct watcher, i), state);
    if (state == ZKL_LOST || state == ZKL_RELEASED)
        g_array_set_size(g->watchers, 0);
}

bool grant_is_listened_to(const zkl_grant *g)
{
    guint count = g->watchers->len;

    for (int call = 0; call < GRANT_CALLS; call++)
        count += g->callees[call] ? g->callees[call]->len : 0;
    return count > 0;
}

/* ---- its deadline and its end ---- */

static bool grant_set_own_deadline(zkl_grant *g, struct instant deadline, bool proved)
{
    struct view view;
    uint64_t word = grant_settle(g, &view);

    for (;;) {
        if (!grant_is_word_owned(word))
            return grant_word_state(word) == ZKL_RELEASED;
        zkl_state before = grant_word_state(word);
        grant_set_limits(g, deadline);
        if (atomic_compare_exchange_weak(&g->word, &word,
                                         grant_pack(deadline.boot, proved ? ZKL_HELD : before))) {
            if (proved && before == ZKL_SUSPECT)
                grant_tell(g, ZKL_HELD);
            return true;
        }
    }
}

bool grant_set_deadline(zkl_grant *g, struct instant deadline, bool proved)
{
    return grant_set_own_deadline(g, deadline, proved) &&
           (!g->turn || grant_set_own_deadline(g->turn, deadline, proved));
}

/* From an owned state to another; false if it was not owned any more. */
bool grant_change(zkl_grant *g, zkl_state to, enum loss loss)
{
    struct view view;
    uint64_t word = grant_settle(g, &view);

    while (grant_is_word_owned(word)) {
        if (grant_word_state(word) == to)
            return true;
        if (atomic_compare_exchange_weak(&g->word, &word, grant_end_word(word, to, loss))) {
            if (to == ZKL_RELEASED && g->since != 0)
                grant_ended(g, clock_boot());
            if (to != ZKL_LOST)
                grant_tell(g, to);
            return true;
        }
    }
    return false;
}

void grant_suspect(zkl_grant *g)
{
    grant_change(g, ZKL_SUSPECT, LOSS_NONE);
    if (g->turn)
        grant_change(g->turn, ZKL_SUSPECT, LOSS_NONE);
}

bool grant_lose(zkl_grant *g, enum loss loss, void (*then)(void *data), void *data)
{
    zkl_grant *told = g->turn ? g->turn : g; /* nobody knows a span or a part */
    bool anybody = told->watchers->len > 0 || (told != g && told->loss_heard);

    told->loss_heard = anybody;
    grant_change(g, ZKL_LOST, loss);
    if (told != g)
        grant_change(told, ZKL_LOST, loss);
    grant_count_loss(told);
    grant_tell(told, ZKL_LOST);
    return anybody && callbacks_push(g->session->callbacks, then, data);
}

zkl_state grant_told_state(const zkl_grant *g)
{
    return zkl_grant_state(g->turn ? g->turn : g);
}

zkl_loss grant_told_loss(const zkl_grant *g)
{
    return zkl_grant_loss(g->turn ? g->turn : g);
}

bool grant_disown(zkl_grant *g)
{
    return grant_change(g, ZKL_RELEASED, LOSS_NONE);
}

void grant_detach(zkl_grant *g)
{
    g->contender = NULL;
    if (!g->turn)
        return;
    g->turn->contender = NULL;
    g->turn->retained = NULL;
    grant_unref(g->turn);
    g->turn = NULL;
}

struct contender *grant_contender(const zkl_grant *g)
{
    return g->contender;
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

zkl_grant *grant_of_node(zkl_grant *g)
{
    return g->span ? g->span : g;
}

struct multi_line **grant_line(zkl_grant *g)
{
    return &g->line;
}

const char *grant_full_node(const zkl_grant *g)
{
    return g->full_node;
}

const char *grant_payload(const zkl_grant *g)
{
    return g->payload;
}

bool grant_is_child(const zkl_grant *g)
{
    return fork_is_child(g->generation);
}

/* ---- numbers ---- */

void grant_set_slots(zkl_grant *g, const int32_t *slots, uint32_t count, const char *payload)
{
    g->slots = g_memdup2(slots, count * sizeof *slots);
    g->slots_count = count;
    g_free(g->payload);
    g->payload = g_strdup(payload);
}

int zkl_grant_slots(const zkl_grant *g, int *buf, size_t count)
{
    if (!g || !buf)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_slots: %s is NULL", g ? "buf" : "g");
    if (count < g->slots_count)
        return error_set(ZKL_ERANGE, zkl_grant_node(g), "the grant has %u numbers", g->slots_count);
    for (uint32_t i = 0; i < g->slots_count; i++)
        buf[i] = g->slots[i];
    return (int)g->slots_count;
}

/* ---- what the user asks to be told of ---- */

void grant_watch(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    struct watcher watcher = {fn, data};
    zkl_state state = zkl_grant_state(g);
    /* Lost by its deadline, but the contender has not said so yet: that will be the one call. */
    bool final = state == ZKL_RELEASED || (state == ZKL_LOST && !g->contender);

    if (state == ZKL_SUSPECT || final)
        grant_tell_one(g, &watcher, state);
    if (!final)
        g_array_append_val(g->watchers, watcher);
}

/* An entry point called what, without the monitor held: watch, unless it returns an error. */
static int grant_register(zkl_grant *g, zkl_grant_fn fn, void *data, const char *what,
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
        watch(g, fn, data);
    session_unlock(g->session);
    return code;
}

int zkl_grant_on_change(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_change", grant_watch);
}

/* ---- what a holder is called for ---- */

void grant_call(zkl_grant *g, enum grant_call call)
{
    zkl_grant *told = g->turn ? g->turn : g;
    GArray *callees = told->callees[call];

    g->called[call] = true;
    if (told->parts)
        told->called[call] = true;
    if (zkl_grant_state(told) >= ZKL_LOST)
        return;
    for (guint i = 0; callees && i < callees->len; i++)
        grant_tell_one(told, &g_array_index(callees, struct watcher, i), zkl_grant_state(told));
    if (callees)
        g_array_set_size(callees, 0);
}

/* As grant_watch(), of such a call. True: whether there is reason for one must be found out. */
static bool grant_watch_call(zkl_grant *g, enum grant_call call, zkl_grant_fn fn, void *data)
{
    struct watcher watcher = {fn, data};

    if (zkl_grant_state(g) >= ZKL_LOST)
        return false;
    if ((g->span ? g->span : g)->called[call]) {
        grant_tell_one(g, &watcher, zkl_grant_state(g));
        return false;
    }
    if (!g->callees[call])
        g->callees[call] = grant_watchers_new();
    g_array_append_val(g->callees[call], watcher);
    return true;
}

/* fn looks for a reason; it does so for each part of a whole. */
static void grant_find_out(zkl_grant *g, void (*fn)(struct contender *c))
{
    for (uint32_t i = 0; i < whole_count(g); i++) {
        if (grant_contender(whole_part(g, i)))
            fn(grant_contender(whole_part(g, i)));
    }
}

static void grant_watch_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_call(g, GRANT_WANTED, fn, data))
        grant_find_out(g, contender_look);
}

int zkl_grant_on_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_wanted", grant_watch_wanted);
}

static void grant_watch_asked(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_call(g, GRANT_ASKED, fn, data))
        grant_find_out(g, contender_heed);
}

int zkl_grant_on_revoke(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_revoke", grant_watch_asked);
}
