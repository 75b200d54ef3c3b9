#include "tenure.h"

#include "lib/base/clock.h"

/* ---- until when it is valid ---- */

/* The parts of a word below its microseconds. */
enum { STATE_BITS = 2, LOSS_BITS = 3, LOW_BITS = STATE_BITS + LOSS_BITS };

/* Takes away the const for atomic_load(), and for a reader that makes a loss final. */
static struct validity *validity_without_const(const struct validity *v)
{
    return (struct validity *)(uintptr_t)v;
}

/* Makes the word of a right that has not ended. */
static uint64_t validity_pack(int64_t boot_ns, zkl_state state)
{
    return (uint64_t)(boot_ns / 1000) << LOW_BITS | (uint64_t)state;
}

static zkl_state validity_word_state(uint64_t word)
{
    return (zkl_state)(word & ((1U << STATE_BITS) - 1));
}

static zkl_loss validity_word_loss(uint64_t word)
{
    return (zkl_loss)(word >> STATE_BITS & ((1U << LOSS_BITS) - 1));
}

static int64_t validity_word_boot(uint64_t word)
{
    return (int64_t)(word >> LOW_BITS) * 1000;
}

static bool validity_is_word_valid(uint64_t word)
{
    return validity_word_state(word) <= ZKL_SUSPECT;
}

/* Returns word, which is valid, with another state and loss. */
static uint64_t validity_change_word(uint64_t word, zkl_state state, enum loss loss)
{
    return (word >> LOW_BITS << LOW_BITS) | (uint64_t)loss << STATE_BITS | (uint64_t)state;
}

/* Writes the other members for a deadline. The caller writes the word next. */
static void validity_set_limits(struct validity *v, struct instant deadline)
{
    atomic_store(&v->raw, deadline.raw);
    atomic_store(&v->sure, instant_sure(clock_now(), deadline));
}

/* Returns the present word, after making the right LOST if its deadline has passed. Fills in .left
 * and .deadline; 0: the right has ended. */
static uint64_t validity_settle(struct validity *v, struct validity_view *ret)
{
    uint64_t word = atomic_load(&v->word);

    while (validity_is_word_valid(word)) {
        ret->deadline = (struct instant){validity_word_boot(word), atomic_load(&v->raw)};
        uint64_t before = word, lost = validity_change_word(word, ZKL_LOST, LOSS_DEADLINE);
        ret->left = instant_left(clock_now(), ret->deadline);
        if (ret->left == 0 && atomic_compare_exchange_weak(&v->word, &word, lost))
            word = lost;
        else if (ret->left > 0 && (word = atomic_load(&v->word)) == before)
            return word;
    }
    *ret = (struct validity_view){.left = 0};
    return word;
}

void validity_begin(struct validity *v, zkl_state state, struct instant deadline)
{
    validity_set_limits(v, deadline);
    atomic_store(&v->word, validity_pack(deadline.boot, state));
}

bool validity_move_deadline(struct validity *v, struct instant deadline, bool proved)
{
    struct validity_view view;
    uint64_t word = validity_settle(v, &view);

    while (validity_is_word_valid(word)) {
        validity_set_limits(v, deadline);
        const zkl_state state = proved ? ZKL_HELD : validity_word_state(word);
        if (atomic_compare_exchange_weak(&v->word, &word, validity_pack(deadline.boot, state)))
            return true;
    }
    return false;
}

/* Changes the state. Returns false if the right had ended before. */
static bool validity_change(struct validity *v, zkl_state state, enum loss loss)
{
    struct validity_view view;
    uint64_t word = validity_settle(v, &view);

    while (validity_is_word_valid(word)) {
        const uint64_t changed = validity_change_word(word, state, loss);
        if (atomic_compare_exchange_weak(&v->word, &word, changed))
            return true;
    }
    return false;
}

bool validity_suspect(struct validity *v)
{
    return validity_change(v, ZKL_SUSPECT, LOSS_NONE);
}

bool validity_lose(struct validity *v, enum loss loss)
{
    return validity_change(v, ZKL_LOST, loss);
}

struct validity_view validity_read(const struct validity *v)
{
    struct validity_view view = {.left = 0};
    const uint64_t word = validity_settle(validity_without_const(v), &view);

    view.state = validity_word_state(word);
    view.loss = validity_word_loss(word);
    return view;
}

zkl_state validity_last(const struct validity *v)
{
    return validity_word_state(atomic_load(&validity_without_const(v)->word));
}

zkl_state validity_state(const struct validity *v, int64_t *ret_now)
{
    struct validity *loadable = validity_without_const(v);
    const uint64_t word = atomic_load(&loadable->word);
    const int64_t sure = atomic_load(&loadable->sure);

    *ret_now = 0;
    if (!validity_is_word_valid(word))
        return validity_word_state(word);
    *ret_now = clock_boot();
    if (*ret_now < sure && atomic_load(&loadable->word) == word)
        return validity_word_state(word);
    return validity_read(v).state;
}

/* ---- the tenure ---- */

struct tenure *tenure_new(zkl_session *s, const struct tenure_ops *ops, struct contender *keeper,
                          const char *full_node, const char *payload, uint64_t token)
{
    struct tenure *t = g_new0(struct tenure, 1);

    atomic_init(&t->refs, 1);
    validity_begin(&t->validity, s->up ? ZKL_HELD : ZKL_SUSPECT, s->proofs.deadline);
    t->token = token;
    t->session_id = s->id;
    t->session = session_ref(s);
    t->full_node = g_strdup(full_node);
    t->payload = g_strdup(payload);
    t->ops = ops;
    t->keeper = keeper;
    t->kept = true;
    return t;
}

struct tenure *tenure_ref(struct tenure *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void tenure_unref(struct tenure *t)
{
    if (atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    zkl_session *s = t->session;
    if (t->multi_queue)
        t->free_multi_queue(t->multi_queue);
    g_free(t->full_node);
    g_free(t->payload);
    g_free(t);
    session_unref(s);
}

void tenure_set_payload(struct tenure *t, const char *payload)
{
    g_free(t->payload);
    t->payload = g_strdup(payload);
}

void tenure_release(struct tenure *t)
{
    if (t->keeper)
        t->ops->release(t->keeper);
}

void tenure_node_gone(struct tenure *t)
{
    if (t->keeper)
        t->ops->node_gone(t->keeper);
}

void tenure_find_out(struct tenure *t, enum tenure_call call)
{
    if (t->keeper)
        t->ops->find_out[call](t->keeper);
}
