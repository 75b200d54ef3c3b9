/* What the tests of fenced transactions share: a holder over the fake store, and its transactions.
 */
#ifndef UNIT_MULTI_STORY_H
#define UNIT_MULTI_STORY_H

#include "fake_store.h"

#include <stdatomic.h>

#define LOCK "/l"
#define NAME "who" /* what is in the grant's node */

struct story {
    zkl_session *session;
    zkl_mutex *mutex;
    zkl_grant *grant;
    char *node;
    atomic_int acquired, lost, released;
};

struct ending {
    atomic_int calls;
    zkl_error error;
};

extern const zkl_change story_change; /* creates /x */

void story_begin(struct story *story);           /* holds, with the watch on the own node set */
void story_begin_retaining(struct story *story); /* the same, of a mutex that retains */
void story_end(struct story *story);

void story_apply(struct story *story, struct ending *e, unsigned flags, int64_t timeout_ms);
void on_ended(const zkl_error *error, void *ending);
void check_ended(struct ending *e, int code);

/* What is asked: the fence with that version of the own node, and then the changes. */
void check_asked(const struct story *story, int version, const char *rest);

/* The answer of the transaction under way is lost with the connection, and there is another. */
void lose_answer(struct story *story);

/* Somebody's data is in the node, ours or another's. */
bool read_data(const struct story *story, int version, const char *data);
/* number: of our set that has left the data; 0: none has yet. */
void answer_read(const struct story *story, int version, unsigned number);

void wait_for(const atomic_int *count, int wanted);

#endif
