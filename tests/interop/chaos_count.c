/* What has happened so far, and whether that is all that a run is to show. */
#include "chaos_play.h"

#include <string.h>

static void count_in(struct chaos *c, const struct record *r)
{
    for (guint i = 0; i < r->acts->len; i++) {
        const act *a = &g_array_index(r->acts, act, i);
        int k = 0;

        while (k < KINDS - 1 && strcmp(a->kind, kind_name((enum kind)k)) != 0)
            k++;
        c->granted[k] += a->word == ACT_BEGIN || a->word == ACT_READ;
        c->refused[k] += chaos_refused(r->acts, i);
        c->skipped += a->word == ACT_SKIP;
    }
}

void chaos_count(struct chaos *c, const struct roles *roles)
{
    for (int k = 0; k < KINDS; k++)
        c->granted[k] = c->refused[k] = 0;
    c->skipped = 0;
    count_in(c, &roles->reg);
    count_in(c, &roles->plain);
}

bool chaos_late(const struct chaos *c)
{
    return c->refused[CURATOR] + c->refused[KAZOO] > 0;
}

bool chaos_all_granted(const struct chaos *c)
{
    for (int k = 0; k < KINDS; k++)
        if (c->granted[k] < (guint)c->grants)
            return false;
    return true;
}

static bool is_spoilt(const struct roles *roles, const struct record *r)
{
    struct chaos_verdict v;

    roles_judge(roles, r, &v);
    return v.lost + v.stale > 0;
}

bool chaos_enough(struct chaos *c, const struct roles *roles)
{
    for (int k = 0; k < KINDS; k++)
        for (int f = 0; f < FAULTS; f++)
            if (c->done[f][k] == 0 && (f != FAULT_CUT || roles->slot[k * EACH].way))
                return false;
    chaos_count(c, roles);
    if (!chaos_all_granted(c))
        return false;
    if (!c->with.careful)
        return is_spoilt(roles, &roles->plain);
    return c->with.fenced ? chaos_late(c) : is_spoilt(roles, &roles->reg);
}
