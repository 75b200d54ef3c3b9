/* zkl-peer: libzkl, driven by a test as the programs of the other libraries are. */
#ifndef INTEROP_ZKL_PEER_H
#define INTEROP_ZKL_PEER_H

#include <stdbool.h>
#include <zkl.h>

enum { PEER_THREADS_MAX = 3 };

/* How many threads contend through one lock of the kind. */
int peer_threads(const char *kind);

/* Whether it shares the lock, by which it reads and does not write; so does one of a semaphore. */
bool peer_reads(const char *kind);

/* Whether it takes permits with numbers: nobody else has those. */
bool peer_numbers(const char *kind);

/* A mutex, either side of a read-write lock, a multilock of two paths, PATH and PATH-and, or a
 * semaphore. */
struct peer_lock;

/* Returns as zkl_mutex_new(); ZKL_EINVAL: also if the kind is unknown. */
int peer_lock_new(struct peer_lock **ret, zkl_session *s, const char *path, const char *kind);
int peer_lock_take(struct peer_lock *l, int64_t timeout_ms, const zkl_grant **ret);
uint64_t peer_lock_numbers(const struct peer_lock *l); /* bit n: it has number n */
int peer_lock_release(struct peer_lock *l);
void peer_lock_free(struct peer_lock *l); /* releases; NULL is ignored */

struct attempt;

/* Threads that increment under the lock. args: PATH KIND COUNTER HISTORY SECONDS GRANTS FENCED.
 * NULL if any of them is wrong. */
struct attempt *contend_start(zkl_session *s, char **args);

/* Waits for their end, by themselves or, with now, after their present turns, and frees it. */
void contend_end(struct attempt *c, bool now, long *grants, long *errors);

/* Barriers and counters. False: no such command. */
bool shared_obey(zkl_session *s, char **words, int count);
void shared_end(void);

#endif
