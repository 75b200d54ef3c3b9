#include "rule.h"

bool rule_exhausted(int32_t number)
{
    return number < 0 || number == INT32_MAX;
}

/* A key that sorts exhausted numbers before all others; never compared by wrap-around. */
static int64_t order_key(int32_t number)
{
    return rule_exhausted(number) ? number - (INT64_C(1) << 33) : number;
}

int rule_compare(int32_t a, int32_t b)
{
    return (order_key(a) > order_key(b)) - (order_key(a) < order_key(b));
}

/* What stands before a contender of the own kind. INCOMPATIBLE is what is not named. */
enum relation { INCOMPATIBLE, WAITS, SHARES };

static enum relation relation(enum child_kind own, enum child_kind other)
{
    static const enum relation to[CHILD_KINDS][CHILD_KINDS] = {
        [CHILD_LOCK] = {[CHILD_LOCK] = WAITS},
        [CHILD_LATCH] = {[CHILD_LATCH] = WAITS},
        [CHILD_APACHE] = {[CHILD_LOCK] = WAITS, [CHILD_APACHE] = WAITS},
        [CHILD_RUBY] = {[CHILD_LOCK] = WAITS, [CHILD_RUBY] = WAITS},
        [CHILD_READ] = {[CHILD_LOCK] = WAITS, [CHILD_READ] = SHARES, [CHILD_WRITE] = WAITS},
        [CHILD_WRITE] = {[CHILD_LOCK] = WAITS, [CHILD_READ] = WAITS, [CHILD_WRITE] = WAITS},
        [CHILD_LEASE] = {[CHILD_LEASE] = WAITS},
    };

    return to[own][other];
}

bool rule_waits(enum child_kind own, enum child_kind other)
{
    return relation(own, other) == WAITS;
}

bool rule_is_shared(enum child_kind kind)
{
    return kind == CHILD_READ || kind == CHILD_WRITE;
}

/* One that stands before the contender of that kind. */
static void see_ahead(struct place *place, const struct child *child, enum child_kind kind,
                      int64_t *nearest)
{
    switch (relation(kind, child->kind)) {
    case INCOMPATIBLE:
        place->incompatible = true;
        place->incompatible_id = child->id;
        break;
    case WAITS:
        place->ahead++;
        place->permits_ahead += child->permits;
        if (place->ahead == 1 || order_key(child->number) > *nearest) {
            *nearest = order_key(child->number);
            place->predecessor = child->id;
            place->retains = child->retains;
        }
        break;
    case SHARES:
        break;
    }
}

static void see_own(struct place *place, const struct child *child, int32_t number)
{
    if (place->found)
        place->spare = true;
    if (child->number == number)
        place->present = true;
    if (!place->found || order_key(child->number) < order_key(place->own)) {
        place->own = child->number;
        place->own_id = child->id;
    }
    place->found = true;
}

static void see_behind(struct place *place, const struct child *child, enum child_kind kind)
{
    if (!rule_waits(child->kind, kind))
        return;
    place->behind = true;
    place->permits_behind += child->permits;
}

struct place rule_place(const struct child *children, size_t count, enum child_kind kind,
                        int32_t number)
{
    struct place place = {.own = 0};
    int64_t key = order_key(number), nearest = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        const struct child *child = &children[i];
        if (child->kind == CHILD_FOREIGN)
            continue;
        if (child->own) {
            see_own(&place, child, number);
            continue;
        }
        if (child->old)
            place.spare = true;
        /* Of Curator's, a writer and a reader of one owner may have the same number. One that is
         * equal to ours can only be a forgery: wait for it, to be safe. */
        if (order_key(child->number) > key)
            see_behind(&place, child, kind);
        else
            see_ahead(&place, child, kind, &nearest);
    }
    return place;
}

bool rule_foreign(const struct child *children, size_t count, uint32_t *ret_id)
{
    for (size_t i = 0; i < count; i++) {
        if (children[i].kind == CHILD_FOREIGN) {
            *ret_id = children[i].id;
            return true;
        }
    }
    return false;
}
