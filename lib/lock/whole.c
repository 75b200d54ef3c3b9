#include "whole.h"

#include "grant_struct.h"
#include "lib/base/error.h"

/* Where a part is in doubt, the whole is until the next proof. */
zkl_grant *whole_new(zkl_grant *const *parts, uint32_t count, struct multi_attempt *attempt)
{
    const zkl_grant *first = parts[0];
    zkl_grant *whole =
        grant_new(first->session, first->contender, first->full_node, first->payload, first->token);

    atomic_store(&whole->refs, 1); /* the parts have a reference each, instead of a contender */
    whole->parts = g_new(zkl_grant *, count);
    whole->part_count = count;
    whole->attempt = attempt;
    for (uint32_t i = 0; i < count; i++) {
        whole->parts[i] = grant_ref(parts[i]);
        if (parts[i]->contender) /* which lets go of it at its end */
            parts[i]->turn = grant_ref(whole);
        for (int call = 0; call < GRANT_CALLS; call++)
            whole->called[call] = whole->called[call] || parts[i]->called[call];
        if (zkl_grant_state(parts[i]) != ZKL_HELD)
            grant_change(whole, zkl_grant_state(parts[i]), (enum loss)zkl_grant_loss(parts[i]));
    }
    return whole;
}

void whole_detach(zkl_grant *whole)
{
    whole->attempt = NULL;
}

struct multi_attempt *whole_attempt(const zkl_grant *g)
{
    return g->attempt;
}

uint32_t whole_count(const zkl_grant *g)
{
    return g->parts ? g->part_count : 1;
}

zkl_grant *whole_part(const zkl_grant *g, uint32_t i)
{
    return g->parts ? g->parts[i] : (zkl_grant *)(uintptr_t)g;
}

/* ---- what the user asks ---- */

size_t zkl_grant_count(const zkl_grant *g)
{
    return g ? whole_count(g) : 0;
}

int zkl_grant_tokens(const zkl_grant *g, uint64_t *tokens, size_t count)
{
    if (!g || !tokens)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_tokens: %s is NULL", g ? "tokens" : "g");
    if (count < whole_count(g))
        return error_set(ZKL_ERANGE, zkl_grant_node(g), "the grant has %u tokens", whole_count(g));
    for (uint32_t i = 0; i < whole_count(g); i++)
        tokens[i] = whole_part(g, i)->token;
    return 0;
}

const char *zkl_grant_node_at(const zkl_grant *g, size_t i)
{
    return g && i < whole_count(g) ? zkl_grant_node(whole_part(g, (uint32_t)i)) : NULL;
}
