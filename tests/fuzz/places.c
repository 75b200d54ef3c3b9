/* Lists of children, against the list sorted. The input: the own number, then one child after the
 * other: a byte of flags, then a number of one byte or four. */
#include "targets.h"

#include "input.h"
#include "recipes/name.h"
#include "recipes/rule.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

enum {
    CHILDREN_MAX = 64,
    TRIPLES_MAX = 12, /* of numbers that are compared each with each */
    FLAG_OWN = 1,
    FLAG_OLD = 2,
    FLAG_FOREIGN = 4,
    FLAG_KAZOO = 8,
    FLAG_SMALL = 16,
    FLAG_KIND = 32 /* three bits: which of forms[] */
};

/* What may stand before a number, the first being ours; l: a lock waits for it, a: one of Apache's
 * does. */
static const struct {
    const char *text, *waits;
} forms[] = {{"lock-", "la"},  {"latch-", "a"},  {"x-5-", "a"},   {"ex", ""},
             {"__READ__", ""}, {"__WRIT__", ""}, {"lease-", "a"}, {"__rlock__", ""}};

static struct {
    struct child children[CHILDREN_MAX];
    const char *waits[100 + CHILDREN_MAX]; /* of each by its id */
    size_t count;
    int32_t number;
} list;

static int oracle_compare(int32_t a, int32_t b)
{
    return a < b ? -1 : a > b;
}

/* The last number is before low ones, and further off than any other. */
static bool is_from_before(int32_t number)
{
    return number == G_MAXINT32 && list.number <= G_MAXINT32 / 2 - 1;
}

static bool is_ahead(const struct child *c)
{
    return c->number <= list.number || is_from_before(c->number);
}

static bool is_nearer(const struct child *a, const struct child *b)
{
    if (is_from_before(a->number) || is_from_before(b->number))
        return is_from_before(b->number) && !is_from_before(a->number);
    return a->number > b->number;
}

static int32_t take_number(struct input *in, unsigned flags)
{
    return flags & FLAG_SMALL ? (int8_t)input_byte(in) : (int32_t)input_number(in, 4);
}

static void take_child(struct input *in)
{
    char name[64];
    unsigned flags = input_byte(in);
    struct child *c = &list.children[list.count];
    const unsigned form = flags / FLAG_KIND;
    int length = snprintf(name, sizeof name, "%s%010d%s",
                          flags & FLAG_KAZOO && form == 0 ? "__lock__" : forms[form].text,
                          take_number(in, flags), flags & FLAG_FOREIGN ? "~" : "");

    *c = (struct child){.id = 100 + (uint32_t)list.count,
                        .own = (flags & FLAG_OWN) != 0,
                        .old = (flags & FLAG_OLD) != 0};
    name_parse(name, (size_t)length, c);
    c->retains = c->number % 2;
    list.waits[c->id] = c->kind == CHILD_KAZOO ? "l" : forms[form].waits;
    list.count++;
}

static const struct child *child_of(uint32_t id)
{
    for (size_t i = 0; i < list.count; i++)
        if (list.children[i].id == id)
            return &list.children[i];
    return NULL;
}

static void check_order(void)
{
    size_t n = MIN(list.count, TRIPLES_MAX);
    const struct child *c = list.children;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int ij = rule_compare(c[i].number, c[j].number);
            CHECK_INT(ij, oracle_compare(c[i].number, c[j].number));
            CHECK_INT(ij, -rule_compare(c[j].number, c[i].number));
            CHECK_INT(ij == 0, c[i].number == c[j].number);
            for (size_t k = 0; k < n; k++)
                if (ij <= 0 && rule_compare(c[j].number, c[k].number) <= 0)
                    CHECK(rule_compare(c[i].number, c[k].number) <= 0);
        }
}

/* What must be found, by looking at each child alone. */
static void check_place(const struct place *p, char waiter)
{
    unsigned ahead = 0, own = 0, old = 0, same = 0, incompatible_count = 0;
    const struct child *nearest = NULL, *lowest = NULL;

    for (size_t i = 0; i < list.count; i++) {
        const struct child *c = &list.children[i];
        if (c->kind == CHILD_FOREIGN)
            continue;
        own += c->own;
        old += c->old && !c->own;
        same += c->own && c->number == list.number;
        if (c->own && (!lowest || oracle_compare(c->number, lowest->number) < 0))
            lowest = c;
        if (c->own || !is_ahead(c))
            continue;
        if (!strchr(list.waits[c->id], waiter)) {
            incompatible_count++;
            continue;
        }
        ahead++;
        if (!nearest || is_nearer(c, nearest))
            nearest = c;
    }
    CHECK_INT(p->present, same > 0);
    CHECK_INT(p->found, own > 0);
    CHECK_INT(p->spare, own > 1 || old > 0);
    CHECK_INT(p->ahead, ahead);
    CHECK_INT(p->incompatible, incompatible_count > 0);
    const struct child *predecessor = child_of(p->predecessor), *kept = child_of(p->own_id);
    if (ahead > 0 && CHECK(predecessor && !predecessor->own)) {
        CHECK_INT(predecessor->number, nearest->number);
        CHECK_INT(p->retains, predecessor->retains);
    }
    const struct child *incompatible = child_of(p->incompatible_id);
    if (incompatible_count > 0 && CHECK(incompatible && !incompatible->own))
        CHECK(!strchr(list.waits[p->incompatible_id], waiter) && is_ahead(incompatible));
    if (own > 0 && CHECK(kept && kept->own)) {
        CHECK_INT(p->own, lowest->number);
        CHECK_INT(kept->number, lowest->number);
    }
}

static void swap(size_t i, size_t j)
{
    struct child c = list.children[i];

    list.children[i] = list.children[j];
    list.children[j] = c;
}

void fuzz_places(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    unsigned flags = input_byte(&in);

    list.count = 0;
    list.number = take_number(&in, flags);
    while (in.size > 0 && list.count < CHILDREN_MAX)
        take_child(&in);
    CHECK_INT(rule_exhausted(list.number), list.number < 0 || list.number == G_MAXINT32);
    check_order();
    /* The order of the list is nobody's: as it came, turned around, and riffled. */
    for (int order = 0; order < 3; order++) {
        struct place place = rule_place(list.children, list.count, RULE_SELECTOR, list.number);
        check_place(&place, 'l');
        place = rule_place(list.children, list.count, RULE_APACHE, list.number);
        check_place(&place, 'a');
        for (size_t i = 0; i < list.count / 2; i++)
            swap(i, order == 0 ? list.count - 1 - i : list.count / 2 + i);
    }
}
