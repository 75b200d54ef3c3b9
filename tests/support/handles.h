/* The handles that every function of the library is called with, as the rows of every_call.inc say:
 * of a holder, of a leader, of a member inside, and of somebody who is nothing yet; at paths below
 * /x. */
#ifndef SUPPORT_HANDLES_H
#define SUPPORT_HANDLES_H

#include <zkl-glib.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

struct handles {
    zkl_session *s;
    const char *servers; /* for calls that want some */
    zkl_mutex_options mutex_options;
    zkl_semaphore_options semaphore_options;
#define FIELD(type, field, made) type *field;
#define HANDLE FIELD
#define RIGHT FIELD
#define VIEW FIELD
#include "every_call.inc"
    zkl_member *joining;    /* see handles_joining() */
    zkl_op *op;             /* of the call, or behind grant */
    const zkl_grant *fence; /* for counters; none at first */
    struct {                /* what calls make and write */
#define OUT(type, function) type *type;
        ZKL_HANDLES(OUT)
#undef OUT
        GSource *source;
        zkl_deadline deadline;
        zkl_part part;
        zkl_session_claim claim;
        zkl_shards_share share;
        zkl_stats stats;
        zkl_election_status status;
        zkl_error error;
        struct zoo_op check;
        const zkl_member_info *owners[2];
        int64_t number;
        char text[ZKL_FENCE_SIZE];
        int limit, code;
    } out;
};
#define HANDLES_INIT                                                                               \
    {                                                                                              \
        .mutex_options = ZKL_MUTEX_OPTIONS_INIT, .semaphore_options = ZKL_SEMAPHORE_OPTIONS_INIT,  \
        .out = {                                                                                   \
            .stats = ZKL_STATS_INIT,                                                               \
            .status = ZKL_ELECTION_STATUS_INIT                                                     \
        }                                                                                          \
    }

extern const char *const handles_paths[2]; /* of a multilock */
extern const zkl_change handles_change;

/* Each makes what there is not. handles_make() asks no server. The others need an answer, and what
 * those before them make. */
void handles_make(struct handles *e);
void handles_acquire(struct handles *e);
void handles_look(struct handles *e);

/* A grant of e->held that any thread may release. Returns 0, or the library's code. */
int handles_lock(struct handles *e);

/* A member that joins when it is asked for. */
zkl_member *handles_joining(struct handles *e);

/* All but the session. */
void handles_free(struct handles *e);

/* What calls have made. */
void handles_free_out(struct handles *e);

/* The callbacks. Each calls handles_heard, unless it is NULL. */
extern void (*handles_heard)(void);
#define HEARD(type, name, parameters, result) type name parameters;
#include "every_call.inc"

/* The same for shards: it gives up each that it is granted. */
void handles_hear_shards(zkl_shards *from, zkl_shards_event event, const zkl_shards_news *news,
                         void *data);

#endif
