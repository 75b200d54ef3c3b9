/* A lock at /b, /a and /c (given in this order) over the fake store, by hand: the server's answers
 * at each path, and what the caller is told. */
#ifndef UNIT_MULTILOCK_STORY_H
#define UNIT_MULTILOCK_STORY_H

#include "by_hand.h"

enum { STORY_PATHS = 3 };

struct multi_story {
    zkl_session *s;
    zkl_multilock *lock;
    zkl_op *op;
    zkl_grant *grant;
    zkl_error error;
    int calls;
    char *node[STORY_PATHS];           /* that was named last, of /a, /b, /c */
    int losses, releases, wanted;      /* told of the grant */
    int warnings;                      /* that were logged */
    int nodes_deleted_before_the_loss; /* asked for by then */
};

/* A session that stands alone, so that every answered write is a proof, and the lock. */
void multi_story_begin(struct multi_story *story);
void multi_story_lock(struct multi_story *story, int64_t timeout_ms);
void multi_story_end(struct multi_story *story);

/* Callbacks that are due are called. */
void multi_story_dispatch(struct multi_story *story);

/* The create and the list at the path of the letter are answered: the node is the first there, or
 * another is ahead. The token is 100 and the letter's place. */
void multi_story_first(struct multi_story *story, char path);
void multi_story_behind(struct multi_story *story, char path);

/* The contender that was ahead there has gone. */
void multi_story_head_gone(struct multi_story *story, char path);

/* What is asked and not answered, as letters of paths: "abc". */
bool multi_story_asked(enum store_kind kind, const char *paths);

/* All are granted, and the grant is watched. */
void multi_story_hold(struct multi_story *story);

/* The node at the path of the letter. */
const char *multi_story_node(const struct multi_story *story, char path);

#endif
