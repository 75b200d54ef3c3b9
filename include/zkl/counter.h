/* Counters: nodes whose data is a number. The format is that of Curator's SharedCount,
 * DistributedAtomicInteger and DistributedAtomicLong. zkl(3) says what all functions have in
 * common. */
#ifndef ZKL_COUNTER_H
#define ZKL_COUNTER_H

#include <zkl/api.h>
#include <zkl/error.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* The width of a counter's number, which is stored big-endian, in two's complement. The library
 * never guesses the width. */
typedef enum zkl_counter_width {
    ZKL_COUNTER_32 = 4, /* 4 bytes, -2^31 to 2^31 - 1: Curator's SharedCount and
                           DistributedAtomicInteger, kazoo's Counter with support_curator=True */
    ZKL_COUNTER_64 = 8  /* 8 bytes, -2^63 to 2^63 - 1: Curator's DistributedAtomicLong */
} zkl_counter_width;

/* Creates a handle for the counter at path and stores it in *ret. path is as for zkl_mutex_new().
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_counter_new(zkl_counter **ret, zkl_session *s, const char *path,
                            zkl_counter_width width);

/* Frees the handle; the node stays. Calls in progress end as if the handle were there, and watches
 * go on. */
ZKL_API void zkl_counter_free(zkl_counter *c);

/* The functions below that have a timeout_ms block for that long at most; 0 means one session
 * timeout. Each returns 0; or
 *   ZKL_ELAYOUT: the node's data has neither the width's number of bytes nor none; no data is 0;
 *   ZKL_EINVAL: c or a required output is NULL, or fence is not allowed;
 *   ZKL_EACCES, ZKL_EPROTO, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EDEADLK,
 *     ZKL_ECLOSED, ZKL_ECHILD.
 *
 * The functions that write also return
 *   ZKL_EPATH: path is below an ephemeral node;
 *   ZKL_EOVERFLOW: the new number does not fit the width;
 *   ZKL_EBUSY: other clients wrote the counter first, 1,000 times in a row;
 *   ZKL_EUNKNOWN: the number may have been written, or may be written later. The connection broke,
 *     the time passed or the session ended before the answer came, and the node's present data does
 *     not tell. Or, without a fence, somebody deleted the node and made it anew between the read
 *     and the write: zkl_counter_add() and zkl_counter_compare_and_set() have written the number
 *     that was due in the former node.
 * After every result except 0 and ZKL_EUNKNOWN, the number was not written and will not be. A
 * missing node may get the number 0 all the same.
 *
 * These functions write once at most, unless somebody deletes the node. A missing node is created
 * as a persistent one, but not if the number itself is refused (ZKL_EVERSION, ZKL_EOVERFLOW).
 * Without a fence, or if a parent is missing, it is 0 first. Missing parents become containers.
 *
 * fence may be NULL. Otherwise it is a grant of the counter's own session, but not of a membership,
 * and the number is written only while the grant's node exists, as by zkl_grant_multi(). Functions
 * with a fence also return
 *   ZKL_ELOST, ZKL_EPERM: the grant was lost or released.
 */

/* Stores the number in *ret; 0 if the node does not exist. The server first catches up with its
 * leader. So the function sees every write that had returned before this call began. */
ZKL_API int zkl_counter_get(zkl_counter *c, int64_t timeout_ms, int64_t *ret);

/* Writes value, whatever the number was before. */
ZKL_API int zkl_counter_set(zkl_counter *c, int64_t value, const zkl_grant *fence,
                            int64_t timeout_ms);

/* Adds delta, which may be negative, and stores the new number in *ret; ret may be NULL. */
ZKL_API int zkl_counter_add(zkl_counter *c, int64_t delta, const zkl_grant *fence,
                            int64_t timeout_ms, int64_t *ret);

/* Writes value if the number is expected. A missing node has the number 0.
 *
 * Also returns
 *   ZKL_EVERSION: the number is not equal to expected. */
ZKL_API int zkl_counter_compare_and_set(zkl_counter *c, int64_t expected, int64_t value,
                                        const zkl_grant *fence, int64_t timeout_ms);

/* Called on a library thread, as zkl_counter_watch() says. */
typedef void (*zkl_counter_fn)(int64_t value, void *data);

/* Watches the counter and stores the watch in *ret. The library calls fn(value, data) when it has
 * read the number for the first time, and whenever it reads another one; a missing node has the
 * number 0. Numbers that follow each other quickly may be left out, but the last one is told.
 * Without a connection no number is read. While the node's data is no number of the width, or the
 * server refuses to read it, no number is told, a line is logged, and the watch goes on. After data
 * that were no number, a number may be told again. Costs one watch on the node's data and one on
 * its children. Never waits. c may be freed before the watch. End the watch with zkl_watch_free();
 * when the session is closed its calls end.
 *
 * A count-down latch is a counter that is set to the number of those to be waited for. Each of them
 * adds -1 when it is done:
 *
 *     struct latch {
 *         sem_t open;
 *     };
 *
 *     static void on_count(int64_t value, void *data)
 *     {
 *         struct latch *latch = data;
 *
 *         if (value <= 0)
 *             sem_post(&latch->open);
 *     }
 *
 *     zkl_counter_watch(&watch, counter, on_count, &latch);
 *     sem_wait(&latch.open);
 *     zkl_watch_free(watch);
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_counter_watch(zkl_watch **ret, zkl_counter *c, zkl_counter_fn fn, void *data);

ZKL_END

#endif
