/* What a recipe knows of a child of its directory; the order of contenders, and whom each waits
 * for. Names stay with the driver. docs/design/layouts.md has the argument. */
#ifndef RECIPES_RULE_H
#define RECIPES_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What others see of a contender: the word in its name. */
enum child_kind {
    CHILD_FOREIGN,     /* no contender */
    CHILD_LOCK,        /* a lock, or a candidate of a selector's election */
    CHILD_LATCH,       /* a candidate of a latch's election */
    CHILD_APACHE,      /* a lock of Apache's own recipes */
    CHILD_RUBY,        /* a lock of zk-ruby that is held alone */
    CHILD_READ,        /* a reader of a read-write lock */
    CHILD_WRITE,       /* a writer of one */
    CHILD_LEASE,       /* a contender of a semaphore */
    CHILD_LATER,       /* ours by its form, but of no kind that this version knows */
    CHILD_KAZOO,       /* a lock, or a writer of kazoo's read-write lock */
    CHILD_KAZOO_READ,  /* a reader of kazoo's read-write lock */
    CHILD_RUBY_SHARED, /* a lock of zk-ruby that is held with others */
    CHILD_KINDS
};

/* The library that has such names. */
enum name_maker {
    MAKER_UNKNOWN,
    MAKER_ZKL,
    MAKER_CURATOR,
    MAKER_KAZOO,
    MAKER_GO,
    MAKER_APACHE,
    MAKER_RUBY,
    MAKERS
};

/* Whom a contender waits for: its row in rule.c. */
enum rule {
    RULE_NONE,
    RULE_LOCK,      /* a lock of ours */
    RULE_SELECTOR,  /* a lock of ours that Apache's locks must not stand beside */
    RULE_OWN_KAZOO, /* a lock of ours with a name like kazoo's, which Apache's locks do not see */
    RULE_READ,
    RULE_WRITE,
    RULE_LATCH,
    RULE_LEASE,
    RULE_LATER, /* a contender of a later version: nobody knows whom it waits for */
    RULE_CURATOR,
    RULE_CURATOR_READ,
    RULE_CURATOR_WRITE,
    RULE_KAZOO,
    RULE_KAZOO_READ,
    RULE_GO,
    RULE_APACHE,
    RULE_RUBY,
    RULE_RUBY_SHARED,
    RULES
};

/* A child of the directory. It is valid within one snapshot. */
struct child {
    uint32_t id; /* the driver's index of the name */
    enum child_kind kind;
    enum rule rule;
    int32_t number;   /* the signed number the server put at the end of the name */
    uint32_t permits; /* LEASE: how many it asks for */
    bool numbered;    /* LEASE: each permit is to have a number */
    bool own;         /* it has the present id of this attempt */
    bool old;         /* it has the id that this attempt had before it entered anew */
    bool retains;     /* its name says that its mutex handle retains: a hint */
};

/* From this number on, the driver warns that the directory's numbers will be used up. */
#define RULE_NUMBER_WARN (INT32_MAX - (1 << 20))

/* The place of a contender in a snapshot. */
struct place {
    bool present;             /* the own node is in the list: without it the list proves nothing */
    bool spare;               /* there are more nodes of this attempt, to be deleted */
    bool incompatible;        /* a contender stands before it, beside which it cannot hold */
    uint32_t incompatible_id; /* the id of that contender */
    bool behind;              /* a contender waits for it */
    uint32_t ahead;           /* how many contenders it must wait for */
    uint32_t predecessor;     /* id of the nearest of them, when ahead > 0 */
    bool exhausted; /* a contender ahead has a number that is used up: it may have come last */
    bool retains;   /* the predecessor's name says that it retains */
    uint64_t permits_ahead;  /* of a semaphore: how many permits those ahead ask for */
    uint64_t permits_behind; /* how many permits the contenders that wait for it ask for */
    int32_t own;             /* the lowest number with this attempt's id, if .found */
    uint32_t own_id;         /* the id of that child */
    bool found;
};

/* Whether the server gives out this number only when its numbers are used up. A node of ours that
 * has one is deleted at once. Other libraries order contenders by such numbers: a negative one
 * comes first, so it counts as before all others. */
bool rule_exhausted(int32_t number);

/* Compares two numbers in queue order: below 0 if a is before b. */
int rule_compare(int32_t a, int32_t b);

/* Returns the rule of a contender of that kind, with names of that maker. */
enum rule rule_of(enum child_kind kind, enum name_maker maker);

/* Returns the kind that others see in a contender of that rule. */
enum child_kind rule_kind(enum rule rule);

/* Whether a contender of that rule waits for one of that kind that stands before it. */
bool rule_waits(enum rule rule, enum child_kind kind);

/* Whether a contender of that rule neither waits for one of that kind, nor may hold together with
 * it. Both could then hold by mistake, so a contender of ours is refused. */
bool rule_ignores(enum rule rule, enum child_kind kind);

/* Whether that kind is one of a read-write lock, where several contenders may hold together. There
 * a reader may get the number of a writer of Curator that has gone, so only a list tells who is
 * next. */
bool rule_is_shared(enum child_kind kind);

/* Returns the place of the contender of that rule with that number. */
struct place rule_place(const struct child *children, size_t count, enum rule rule, int32_t number);

/* Whether there is a child that is no contender; *ret_id is its id. */
bool rule_foreign(const struct child *children, size_t count, uint32_t *ret_id);

#endif
