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

/* The words before the node's name. */
#define HINT_WORDS "zkl head 1 "

enum head_hint {
    HINT_NONE,    /* there are no data */
    HINT_UNREAD,  /* there are data, which were not read */
    HINT_FOREIGN, /* the data of other programs */
    HINT_OTHER,   /* a hint that names another contender */
    HINT_NAMED    /* a hint that names the contender asked for */
};

/* Tells what the data are for a caller that asks for the contender of that name; "" is the name of
 * none. */
enum head_hint head_hint_read(const char *data, size_t length, const char *name);

#endif
