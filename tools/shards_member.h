/* What a host of zkl shards knows of the others: it is a member of PATH/members, and sees who else
 * is, so that it knows which shards it should have. */
#ifndef ZKL_TOOLS_SHARDS_MEMBER_H
#define ZKL_TOOLS_SHARDS_MEMBER_H

#include "shard.h"

#include <pthread.h>

struct shards_member {
    struct host_common *host;
    char *group; /* its path */
    char *data;
    zkl_watch *observer;
    zkl_member *member;
    atomic_bool is_in;  /* others see it, as it is */
    atomic_bool was_in; /* it was a member once */
    atomic_bool doubt;  /* the members can perhaps not be read: shards_member_read() tells */

    pthread_mutex_t lock; /* of the rest */
    bool *owned;          /* which shards, by the last view */
    GHashTable *others;   /* how many shards each other member shares, where it is not ours */
    uint64_t joined;      /* its token; 0: others may think that it is gone */
    uint64_t seen;        /* the token of its id in the last view */
    int64_t is_in_since;  /* by now_ms(): since when the two are the same, or are not */
    zkl_error denied[2];  /* why it cannot join, and why it cannot see; code 0: it can */
    int64_t denied_since[2];
};

void shards_member_init(struct shards_member *m, struct host_common *host);
void shards_member_free(struct shards_member *m);

/* In a session that is connected. GO_ON, or a status after a message. */
int shards_member_join(struct shards_member *m);

/* Others may see us gone from here on. */
void shards_member_leave(struct shards_member *m);

/* Behind the session's close. */
void shards_member_close(struct shards_member *m);

/* The facts of a host; and which of them is another for each shard. */
void shards_member_facts(struct shards_member *m, struct shard_facts *ret);
bool shards_member_owns(struct shards_member *m, int k);

/* Tries to read the members; by the reader's thread. */
void shards_member_read(struct shards_member *m);

/* Tells why the host cannot be a member or see others; code 0: it can. *ret_last: the reason does
 * not pass, by failure_passes(). */
void shards_member_denied(struct shards_member *m, int64_t bearable_ms, zkl_error *ret_error,
                          bool *ret_last);

#endif
