#include "holders.h"

/* Whether a contender cannot hold after one of that kind: it waits for that kind, or it is ours and
 * is refused because of that kind. */
static bool holders_exclude(const struct in_line *c, enum child_kind before)
{
    if (c->child.kind == CHILD_LEASE)
        return false;
    return rule_waits(c->child.rule, before) || (c->ours && rule_ignores(c->child.rule, before));
}

static bool holders_is_reader(const struct in_line *c)
{
    return c->child.kind == CHILD_READ || c->child.kind == CHILD_KAZOO_READ;
}

/* Whether both have one owner: Curator's writer that reads has two nodes with one number. Either
 * both hold or none does. */
static bool holders_have_one_owner(const struct in_line *a, const struct in_line *b)
{
    return a->child.number == b->child.number &&
           ((holders_is_reader(a) && b->child.kind == CHILD_WRITE) ||
            (holders_is_reader(b) && a->child.kind == CHILD_WRITE));
}

void holders_mark(struct in_line *line, size_t count, int32_t limit)
{
    bool seen[CHILD_KINDS] = {false};
    uint64_t permits = 0;

    for (size_t i = 0; i < count; i++) {
        struct in_line *c = &line[i];
        permits += c->child.permits;
        if (c->holding != HOLDS_BEYOND)
            c->holding = limit > 0 && c->child.kind == CHILD_LEASE && permits > (uint64_t)limit
                             ? HOLDS_NOT
                             : HOLDS;
        for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++) {
            if (seen[kind] && holders_exclude(c, kind))
                c->holding = HOLDS_NOT;
        }
        if (i > 0 && holders_have_one_owner(c, c - 1))
            c->holding = c[-1].holding;
        seen[c->child.kind] = true;
    }
}

bool holders_may_be_beyond(const struct in_line *c, bool older, bool has_numbers)
{
    return c->holding == HOLDS_NOT && older && c->child.kind == CHILD_LEASE &&
           (!c->child.numbered || has_numbers);
}
