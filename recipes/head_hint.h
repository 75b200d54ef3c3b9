/* What the head of a long queue leaves in its directory's data: its own name. Numbers below one
 * that was the head never come again while the directory stands, so the next in line, once that
 * node is gone, is the head and need not list everybody. docs/design/head-hints.md has
 * the argument. */
#ifndef RECIPES_HEAD_HINT_H
#define RECIPES_HEAD_HINT_H

#include <stdbool.h>
#include <stddef.h>

/* A queue of so many children or more is long: below that, a list takes less time than one more
 * write. */
enum { LONG_QUEUE = 512 };

/* The node's name follows. */
#define HINT_WORDS "zkl head 1 "

enum head_hint {
    HINT_NONE,    /* there is no data */
    HINT_UNREAD,  /* there is some: which is not known */
    HINT_FOREIGN, /* others keep theirs there */
    HINT_OTHER,   /* of some contender that was the head */
    HINT_NAMED    /* of the one with that name */
};

/* What the data is, to one who asks for that name ("": nobody's). */
enum head_hint head_hint_read(const char *data, size_t length, const char *name);

#endif
