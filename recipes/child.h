/* What a recipe knows of a child of its directory. Names stay with the driver. */
#ifndef RECIPES_CHILD_H
#define RECIPES_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What others see of a contender: the word in its name. */
enum child_kind {
    CHILD_FOREIGN, /* no contender */
    CHILD_LOCK,    /* a lock, or a candidate of a selector's election */
    CHILD_LATCH,   /* a candidate of a latch's election */
    CHILD_APACHE,  /* a lock of Apache's own recipes */
    CHILD_RUBY,    /* a lock of zk-ruby that is held alone */
    CHILD_READ,    /* a read-write lock's readers and writers */
    CHILD_WRITE,
    CHILD_LEASE,      /* a semaphore's */
    CHILD_KAZOO,      /* a lock, or a writer of kazoo's read-write lock */
    CHILD_KAZOO_READ, /* and its readers */
    CHILD_RUBY_SHARED,
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
    RULE_LOCK,      /* ours */
    RULE_SELECTOR,  /* one of ours that is not to be beside Apache's locks */
    RULE_OWN_KAZOO, /* one of ours called as kazoo's, whom Apache's do not see */
    RULE_READ,
    RULE_WRITE,
    RULE_LATCH,
    RULE_LEASE,
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

/* Valid within one snapshot. */
struct child {
    uint32_t id; /* the driver's index of the name */
    enum child_kind kind;
    enum rule rule;
    int32_t number;   /* the signed number the server put at the end of the name */
    uint32_t permits; /* LEASE: how many it asks for */
    bool numbered;    /* LEASE: each of which is to have a number */
    bool own;         /* carries the present id of this attempt */
    bool old;         /* carries an id this attempt had in an earlier session */
    bool retains;     /* its name says that its mutex handle retains: a hint */
};

#endif
