/* The head of a long queue leaves its own name in its directory's data. Numbers below that of a
 * former head never come again while the directory stands. So once that node is gone, the next in
 * line is the head and need not list everybody. docs/design/head-hints.md has the argument. */
#ifndef RECIPES_HEAD_HINT_H
#define RECIPES_HEAD_HINT_H

#include <stdbool.h>
#include <stddef.h>

/* A queue of this many children or more is long. In a shorter one, a list takes less time than one
 * more write. */
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
