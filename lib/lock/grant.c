#include "grant_struct.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "multi.h"

/* What a word is made of. */
enum { STATE_BITS = 2, LOSS_BITS = 3, LOW_BITS = STATE_BITS + LOSS_BITS };

static uint64_t pack(int64_t boot_ns, zkl_state state)
{
    return (uint64_t)(boot_ns / 1000) << LOW_BITS | (uint64_t)state;
}

static zkl_state word_state(uint64_t word)
{
    return (zkl_state)(word & 3);
}

static int64_t word_boot(uint64_t word)
{
    return (int64_t)(word >> LOW_BITS) * 1000;
}

static zkl_loss word_loss(uint64_t word)
{
    return (zkl_loss)(word >> STATE_BITS & ((1U << LOSS_BITS) - 1));
}

/* An owned word, ended. */
static uint64_t to_state(uint64_t word, zkl_state state, enum loss loss)
{
    return (word & ~UINT64_C(3)) | (uint64_t)loss << STATE_BITS | (uint64_t)state;
}

static bool is_owned(uint64_t word)
{
    return word_state(word) <= ZKL_SUSPECT;
}

/* The word is to follow. */
static void set_limits(zkl_grant *g, struct instant deadline)
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
static uint64_t settle(const zkl_grant *g, struct view *ret)
{
    zkl_grant *mutable_g = (zkl_grant *)(uintptr_t)g;
    uint64_t word = atomic_load(&mutable_g->word);

    while (is_owned(word)) {
        ret->deadline = (struct instant){word_boot(word), atomic_load(&mutable_g->raw)};
        uint64_t before = word, lost = to_state(word, ZKL_LOST, LOSS_DEADLINE);
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
    settle(g, &view);
    return view.left / CLOCK_MS;
}

int zkl_grant_deadline(const zkl_grant *g, zkl_deadline *ret)
{
    struct view view = {.left = 0};

    if (!g || !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_deadline: %s is NULL", g ? "ret" : "g");
    const bool child = fork_is_child(g->generation);
    const zkl_state state = child ? ZKL_LOST : word_state(settle(g, &view));
    *ret = (zkl_deadline){view.deadline.boot, view.deadline.raw};
    const char *node = zkl_grant_node(g);
    return child ? error_set(ZKL_ECHILD, node, "%s: %s", node, zkl_strerror(ZKL_ECHILD))
                 : grant_check_state(g, state);
}

/* Whether it is owned by one clock, which is enough until the deadline comes nearer. */
static bool grant_is_surely_owned(const zkl_grant *g, uint64_t word)
{
    int64_t sure = atomic_load(&g->sure);

    return is_owned(word) && clock_boot() < sure && atomic_load(&g->word) == word;
}

zkl_state zkl_grant_state(const zkl_grant *g)
{
    struct view view;

    if (!g || fork_is_child(g->generation))
        return ZKL_LOST;
    uint64_t word = atomic_load(&g->word);
    return word_state(grant_is_surely_owned(g, word) ? word : settle(g, &view));
}

zkl_loss zkl_grant_loss(const zkl_grant *g)
{
    struct view view;

    if (!g)
        return ZKL_LOSS_NONE;
    return fork_is_child(g->generation) ? ZKL_LOSS_FORKED : word_loss(settle(g, &view));
}

/* ---- the runtime's side ---- */

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
    set_limits(g, s->proofs.deadline);
    atomic_init(&g->word, pack(s->proofs.deadline.boot, s->up ? ZKL_HELD : ZKL_SUSPECT));
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

static bool set_deadline(zkl_grant *g, struct instant deadline, bool proved)
{
    struct view view;
    uint64_t word = settle(g, &view);

    for (;;) {
        if (!is_owned(word))
            return word_state(word) == ZKL_RELEASED;
        zkl_state before = word_state(word);
        set_limits(g, deadline);
        if (atomic_compare_exchange_weak(&g->word, &word,
                                         pack(deadline.boot, proved ? ZKL_HELD : before))) {
            if (proved && before == ZKL_SUSPECT)
                grant_tell(g, ZKL_HELD);
            return true;
        }
    }
}

bool grant_set_deadline(zkl_grant *g, struct instant deadline, bool proved)
{
    return set_deadline(g, deadline, proved) &&
           (!g->turn || set_deadline(g->turn, deadline, proved));
}

/* From an owned state to another; false if it was not owned any more. */
bool grant_change(zkl_grant *g, zkl_state to, enum loss loss)
{
    struct view view;
    uint64_t word = settle(g, &view);

    while (is_owned(word)) {
        if (word_state(word) == to)
            return true;
        if (atomic_compare_exchange_weak(&g->word, &word, to_state(word, to, loss))) {
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
