#include "turn.h"

#include <stdio.h>

#include "grant_struct.h"
#include "lib/base/error.h"
#include "multi.h"

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
    snprintf(buf, size, "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", g->token,
             g->number);
    return 0;
}

/* Nobody else has it, nor has anybody asked to be told. */
static bool is_reusable(const zkl_grant *turn, const zkl_grant *span)
{
    return turn && turn->span == span && atomic_load(&turn->refs) == 1 &&
           !grant_is_listened_to(turn);
}

static zkl_grant *turn_new(zkl_grant *span)
{
    zkl_grant *turn =
        grant_new(span->session, NULL, grant_full_node(span), span->payload, span->token);

    turn->span = grant_ref(span);
    return turn;
}

/* Nobody else has the turn yet, so that plain stores do. */
static void follow(zkl_grant *turn, zkl_grant *span)
{
    atomic_store_explicit(&turn->raw, atomic_load(&span->raw), memory_order_relaxed);
    atomic_store_explicit(&turn->sure, atomic_load(&span->sure), memory_order_relaxed);
    atomic_store_explicit(&turn->word, atomic_load(&span->word), memory_order_release);
}

zkl_grant *turn_begin(zkl_grant *span, zkl_grant *spare, struct retained *retained, uint64_t number)
{
    zkl_grant *turn = spare;

    if (is_reusable(spare, span)) {
        grant_ref(turn);
    } else {
        if (spare)
            grant_unref(spare);
        turn = turn_new(span);
    }
    follow(turn, span);
    turn->number = number;
    turn->retained = retained;
    turn->contender = span->contender;
    span->turn = turn;
    return turn;
}

/* The clock that a HELD word, read before, is surely owned by; 0: it takes more to know. */
static int64_t surely_held_at(const zkl_grant *g, uint64_t word)
{
    zkl_grant *mutable_g = (zkl_grant *)(uintptr_t)g;
    const int64_t now = clock_boot();

    return (word & 3) == ZKL_HELD && now < atomic_load(&mutable_g->sure) ? now : 0;
}

zkl_state turn_span_state(const zkl_grant *span, int64_t *ret_now)
{
    zkl_grant *mutable_span = (zkl_grant *)(uintptr_t)span;
    const uint64_t word = atomic_load(&mutable_span->word);

    *ret_now = surely_held_at(span, word);
    if (*ret_now > 0 && atomic_load(&mutable_span->word) == word)
        return ZKL_HELD;
    *ret_now = clock_boot();
    return zkl_grant_state(span);
}

/* By one clock while that is enough, as zkl_grant_state() decides and for the same reason. */
static int64_t end_at_once(zkl_grant *turn)
{
    uint64_t word = atomic_load(&turn->word);
    const int64_t now = turn->watchers->len == 0 ? surely_held_at(turn, word) : 0;

    if (now == 0 ||
        !atomic_compare_exchange_strong(&turn->word, &word, (word & ~UINT64_C(3)) | ZKL_RELEASED))
        return 0;
    return now;
}

struct turn_end turn_end(zkl_grant *turn)
{
    zkl_grant *span = turn->span;
    const bool given_back = (atomic_load(&turn->word) & 3) == ZKL_RELEASED;
    struct turn_end end = {.in_doubt = multi_line_is_in_doubt(span->line)};

    turn->retained = NULL;
    if (!given_back)
        end.now = end_at_once(turn);
    if (end.now > 0)
        grant_ended(turn, end.now);
    end.owned = given_back || end.now > 0 || grant_change(turn, ZKL_RELEASED, LOSS_NONE);
    if (given_back || !end.owned)
        return end;
    span->turn = NULL;
    turn->contender = NULL;
    end.spare = turn;
    return end;
}

struct retained *turn_retained(const zkl_grant *g)
{
    return g->retained;
}
