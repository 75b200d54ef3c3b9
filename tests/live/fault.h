/* What the suites of faults share: a server with short ticks, a proxy in front of it for each test,
 * sessions through either, and recorders of what the library tells. */
#ifndef LIVE_FAULT_H
#define LIVE_FAULT_H

#include "progress.h"
#include "proxy.h"
#include "raw.h"
#include "runner.h"
#include "server.h"

#include <glib.h>
#include <stdatomic.h>
#include <zkl.h>

enum {
    FAULT_TICK_MS = 200,
    FAULT_SHORT_MS = 2000, /* a session timeout for tests that wait for its end, and not sooner */
    FAULT_LONG_MS = 8000   /* and for those where nothing may be lost */
};

/* Waits until the condition holds, and fails the test if it never does. */
#define EVENTUALLY(condition)                                                                      \
    runner_check(AWAIT(condition), "eventually " #condition, __FILE__, __LINE__)

struct fault {
    struct zk_server *server;
    int port;
    struct raw *direct;
    struct proxy *proxy; /* this test's */
    char *path;          /* this test's lock directory, not made yet */
};
extern struct fault fault;

int fault_start(void); /* a suite's init */
int fault_stop(void);  /* a suite's done */
bool fault_raw_open(void);

void fault_begin(void);
/* Waits until nothing is left at the server, closes the test's sessions and frees its mutexes. */
void fault_end(void);
void fault_at_rest(void);   /* no contender of fault.path, no watch, no ephemeral node */
void fault_close_all(void); /* the sessions and mutexes, without the wait */

/* Sessions and mutexes that fault_end() closes and frees. */
zkl_session *fault_session(const char *connect, int timeout_ms);
zkl_session *fault_session_options(const char *connect, const zkl_session_options *options);
zkl_session *fault_direct(int timeout_ms);
zkl_session *fault_proxied(int timeout_ms); /* returns when it is established */
zkl_mutex *fault_mutex(zkl_session *s);     /* on fault.path */
zkl_mutex *fault_mutex_options(zkl_session *s, const char *path, const zkl_mutex_options *options);
zkl_rwlock *fault_rwlock(zkl_session *s); /* as fault_mutex() */
void fault_mutex_free(zkl_mutex *m);      /* before fault_end() does */
void fault_close(zkl_session *s);         /* before fault_end() does */

/* Ends the present session of s by force. Its proxy should be frozen meanwhile. */
bool fault_expire(int64_t session);

int fault_children(void);                        /* of fault.path */
char *fault_waiting_node(const zkl_grant *head); /* of two there the other one; for g_free() */
int fault_count(const char *directory);          /* entries, as of /proc/self/fd */
int64_t fault_boot_ns(void);
int fault_scaled(int rounds); /* by $ZKL_TEST_SCALE percent, at least 1 */

/* What a grant's owner was told. */
enum { TOLD_MAX = 256 };
struct told {
    atomic_int count;
    zkl_state state[TOLD_MAX];
    int64_t at[TOLD_MAX];
};
void told_fn(const zkl_grant *grant, zkl_state state, void *told); /* for zkl_grant_on_change() */
int told_times(struct told *t, zkl_state state);
int64_t told_at(struct told *t, zkl_state state); /* the first time; INT64_MAX: never */

/* An asynchronous acquisition. */
struct acquisition {
    atomic_int done; /* completions so far */
    zkl_op *op;
    zkl_grant *grant;
    int code;
    int64_t at; /* CLOCK_BOOTTIME of the completion */
    struct told told;
};
void acquisition_start(struct acquisition *a, zkl_mutex *m, int64_t timeout_ms);
bool acquisition_try_start(struct acquisition *a, zkl_mutex *m,
                           int64_t timeout_ms); /* false: closed */
void acquisition_start_rw(struct acquisition *a, zkl_rwlock *l, bool shared, int64_t timeout_ms);
void acquisition_start_permits(struct acquisition *a, zkl_semaphore *m, int permits);
void acquisition_start_run(struct acquisition *a, zkl_once *o);
/* Starts one and waits until it stands at that place; the first is granted when this returns. */
void acquisition_queue(struct acquisition *a, zkl_mutex *m, int place);
bool acquisition_granted(struct acquisition *a);          /* waits for it */
bool acquisition_failed(struct acquisition *a, int code); /* waits for it */
void acquisition_end(struct acquisition *a);              /* releases the grant, if any */

/* Holds, to prove that they never overlapped. */
struct history;
struct history *history_new(void);
/* From begin, taken after the grant, to an instant at which it was still owned. */
void history_add(struct history *h, int64_t begin, int64_t end, uint64_t token);
int history_count(struct history *h);
void history_check(struct history *h); /* and frees it */

#endif
