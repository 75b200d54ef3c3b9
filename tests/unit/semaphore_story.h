/* A semaphore at /s over the fake store, by hand: the server's answers, and what the caller is
 * told.
 */
#ifndef UNIT_SEMAPHORE_STORY_H
#define UNIT_SEMAPHORE_STORY_H

#include "by_hand.h"

#define STORY_PATH "/root/s"

struct permit_story {
    zkl_session *s;
    zkl_semaphore *semaphore;
    zkl_op *op;
    zkl_grant *grant;
    zkl_error error;
    int calls;
    char *node;    /* of the newest attempt, number 7; NULL: none */
    uint64_t zxid; /* of the limit, as lists tell it: 9 at first */
    int warnings;  /* that were logged */
};

/* A session over a server that stands alone, so that every answered write is a proof; and the
 * semaphore. Without options, its holders are called "me". */
void permit_story_begin_with(struct permit_story *story, const zkl_semaphore_options *options);
void permit_story_begin(struct permit_story *story, int limit, bool numbered);
void permit_story_acquire(struct permit_story *story, int permits, int64_t timeout_ms);
void permit_story_end(struct permit_story *story);

/* Callbacks that are due are called; then so many were, with this error. */
void permit_story_told(struct permit_story *story, int calls, int code);
void permit_story_release(struct permit_story *story);

/* Another session takes the place of the present one. */
void permit_story_replace(struct permit_story *story, int64_t id);

/* The server's answers. names are of children, each with a kind and a number, "s" numbered and "n"
 * not: "n3 s5 *". Two letters ask for two permits, and "*" is the own node. */
void permit_story_created(struct permit_story *story);
void permit_story_limited(struct permit_story *story, const char *data);
void permit_story_listed(struct permit_story *story, const char *names);

/* A node that is called so in a list, to be freed. */
char *permit_story_node(const struct permit_story *story, const char *name);
/* A read of it, which tells these data. */
void permit_story_read(struct permit_story *story, const char *name, const char *data, int version);

/* What is to be set there. */
void permit_story_sets(struct permit_story *story, const char *path, const char *data, int version);

#endif
