#include "rule.h"

bool rule_exhausted(int32_t number)
{
    return number < 0 || number == INT32_MAX;
}

int rule_compare(int32_t a, int32_t b)
{
    return (a > b) - (a < b);
}

/* Returns the key by which a contender with that number is ordered, seen from our own number. The
 * key is the number, with one exception. If our own number is low, a contender with INT32_MAX is
 * ordered first: that contender is older than the restart of the directory's numbers. It cannot be
 * younger than we are, because half of all numbers do not pass while one contender stands.
 * INT64_MIN stays free, since rule_place() begins with it. */
static int64_t key_seen_from(int32_t number, int32_t own)
{
    return number == INT32_MAX && own < INT32_MAX / 2 ? INT64_MIN + 1 : number;
}

#define OF(kind) (1U << CHILD_##kind)
#define BY(maker) (1U << MAKER_##maker)

enum {
    LOCKS = OF(LOCK) | OF(KAZOO),
    READERS = OF(READ) | OF(KAZOO_READ),
    ALL = (1 << CHILD_KINDS) - 1,
    ANYBODY = (1 << MAKERS) - 1,
    OTHERS = ANYBODY & ~BY(ZKL)
};

/* A row says what others see of a contender, and which kinds it waits for. Libraries whose names
 * are alike share a row, and so does one library with several options: the row has each kind for
 * which any of them may wait. tests/interop/sees.sh shows it. */
static const struct {
    enum child_kind kind;
    unsigned makers; /* the makers whose names show this rule; 0: none's do */
    unsigned waits, shares;
} rules[RULES] = {
    [RULE_LOCK] = {CHILD_LOCK, BY(ZKL), LOCKS | OF(APACHE), 0},
    [RULE_SELECTOR] = {CHILD_LOCK, 0, LOCKS, 0},
    [RULE_OWN_KAZOO] = {CHILD_KAZOO, BY(ZKL), LOCKS, 0},
    [RULE_READ] = {CHILD_READ, BY(ZKL), LOCKS | OF(WRITE), READERS},
    [RULE_WRITE] = {CHILD_WRITE, BY(ZKL), LOCKS | READERS | OF(WRITE), 0},
    [RULE_LATCH] = {CHILD_LATCH, ANYBODY, OF(LATCH), 0},
    [RULE_LEASE] = {CHILD_LEASE, ANYBODY, OF(LEASE), 0},
    [RULE_LATER] = {CHILD_LATER, ANYBODY, 0, 0},
    [RULE_CURATOR] = {CHILD_LOCK, BY(CURATOR) | BY(KAZOO), OF(LOCK), 0},
    [RULE_CURATOR_READ] = {CHILD_READ, OTHERS, OF(WRITE), READERS},
    [RULE_CURATOR_WRITE] = {CHILD_WRITE, OTHERS, OF(READ) | OF(WRITE), 0},
    [RULE_KAZOO] = {CHILD_KAZOO, OTHERS, LOCKS | READERS | OF(WRITE), 0},
    [RULE_KAZOO_READ] = {CHILD_KAZOO_READ, ANYBODY, OF(KAZOO) | OF(WRITE), READERS},
    [RULE_GO] = {CHILD_LOCK, BY(GO) | BY(UNKNOWN), LOCKS | READERS | OF(WRITE), 0},
    [RULE_APACHE] = {CHILD_APACHE, ANYBODY, OF(LOCK) | OF(APACHE) | OF(LATCH) | OF(LEASE), 0},
    [RULE_RUBY] = {CHILD_RUBY, ANYBODY, ALL, 0},
    [RULE_RUBY_SHARED] = {CHILD_RUBY_SHARED, ANYBODY, OF(RUBY), OF(RUBY_SHARED)},
};

enum rule rule_of(enum child_kind kind, enum name_maker maker)
{
    enum rule rule = RULES - 1;

    while (rule > RULE_NONE && (rules[rule].kind != kind || !(rules[rule].makers >> maker & 1)))
        rule--;
    return rule;
}

enum child_kind rule_kind(enum rule rule)
{
    return rules[rule].kind;
}

bool rule_waits(enum rule rule, enum child_kind kind)
{
    return rules[rule].waits >> kind & 1;
}

bool rule_ignores(enum rule rule, enum child_kind kind)
{
    return !((rules[rule].waits | rules[rule].shares) >> kind & 1);
}

bool rule_is_shared(enum child_kind kind)
{
    return kind == CHILD_READ || kind == CHILD_WRITE;
}

/* Counts a child that stands before the contender of that rule. */
static void rule_count_ahead(struct place *place, const struct child *child, enum rule rule,
                             int64_t key, int64_t *nearest)
{
    if (rule_ignores(rule, child->kind)) {
        place->incompatible = true;
        place->incompatible_id = child->id;
    } else if (rule_waits(rule, child->kind)) {
        place->ahead++;
        place->permits_ahead += child->permits;
        place->exhausted |= rule_exhausted(child->number);
        if (place->ahead == 1 || key > *nearest) {
            *nearest = key;
            place->predecessor = child->id;
            place->retains = child->retains;
        }
    }
}

/* Counts a child of this attempt. The one with the lowest number is found, and all others are
 * spare. */
static void rule_count_own(struct place *place, const struct child *child, int32_t number)
{
    if (place->found)
        place->spare = true;
    if (child->number == number)
        place->present = true;
    if (!place->found || child->number < place->own) {
        place->own = child->number;
        place->own_id = child->id;
    }
    place->found = true;
}

struct place rule_place(const struct child *children, size_t count, enum rule rule, int32_t number)
{
    struct place place = {.own = 0};
    int64_t nearest = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        const struct child *child = &children[i];
        if (child->kind == CHILD_FOREIGN)
            continue;
        if (child->own) {
            rule_count_own(&place, child, number);
            continue;
        }
        if (child->old)
            place.spare = true;
        /* A writer and a reader of Curator may have the same number, if they have one owner.
         * Any other child with our number is a forgery. We wait for it, to be safe. */
        const int64_t key = key_seen_from(child->number, number);
        if (key <= number) {
            rule_count_ahead(&place, child, rule, key, &nearest);
        } else if (rule_waits(child->rule, rule_kind(rule))) {
            place.behind = true;
            /* a contender of another recipe counts as asking for more than any limit */
            place.permits_behind += child->kind == CHILD_LEASE ? child->permits : UINT32_MAX;
        }
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
