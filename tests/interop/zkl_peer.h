/* zkl-peer: libzkl, driven by a test as the programs of the other libraries are. */
#ifndef INTEROP_ZKL_PEER_H
#define INTEROP_ZKL_PEER_H

#include <stdbool.h>
#include <zkl.h>

enum { PEER_THREADS_MAX = 3 };

/* How many threads contend through one mutex of the kind. */
int peer_threads(const char *kind);

/* A mutex of the given kind. Answers as zkl_mutex_new(), ZKL_EINVAL also for an unknown kind. */
int peer_mutex(zkl_mutex **ret, zkl_session *s, const char *path, const char *kind);

/* Whether it is of two paths: PATH and PATH-and. Then the lock is a multilock, and its limit in ms
 * is stored. */
bool peer_is_multi(const char *kind, int64_t *ret_timeout_ms);
int peer_multilock(zkl_multilock **ret, zkl_session *s, const char *path);

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
