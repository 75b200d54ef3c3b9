/* A call: somebody asks for something and waits for it. It ends once, by its answer, by its time
 * limit, or with the session. It is the first member of a larger struct. The caller holds the
 * monitor, unless a function says otherwise, or nobody else has the call yet. */
#ifndef LIB_CALL_H
#define LIB_CALL_H

#include <semaphore.h>

#include "core.h"

struct call;

/* All are called with the monitor held. */
struct call_ops {
    /* Whether the call takes as long as others please, and goes on in the next session. Such a call
     * is no user of this one. */
    bool waits;
    /* Lets the call into its handle: 0, or the thread's last error, which ends the call. May be
     * NULL. */
    int (*enter)(struct call *c);
    /* Sends its first request. */
    void (*begin)(struct call *c);
    /* Ends the call, now or soon, with why or with what is known. Called when the time has passed
     * (why is ZKL_ETIMEDOUT, or why there is no connection), or when the session has ended for
     * good. */
    void (*stop)(struct call *c, const zkl_error *why);
    /* Called when the session has ended, and its watches with it, and another one has begun. May be
     * NULL. */
    void (*replaced)(struct call *c);
    void (*free)(struct call *c); /* frees the call; NULL: g_free() does */
};

struct call {
    const struct call_ops *ops;
    int refs; /* each caller that waits, its driver or each request, and the call until it has ended
               */
    zkl_session *session;
    char *path; /* full */
    GList link; /* in the list of the session's calls that have not ended */
    bool told;  /* the caller was told the result */
    bool ended;
    bool by_default; /* its time limit is the default: timeout_ms was 0 */
    struct timer timer;
    zkl_done_fn fn; /* NULL: somebody waits in call_run() */
    void *data;
    sem_t done;
    zkl_error error; /* .code 0: none */
};

/* Checks the arguments of a function of the interface, doing, about path. Returns 0, or the
 * thread's last error. blocking: it would wait. The monitor is not held. */
int call_check(zkl_session *s, const char *doing, const char *path, bool blocking);

/* Fills in a call that is all zero, and takes path. One reference is the caller's, the other one
 * the call's own, until it has ended. */
void call_init(struct call *c, const struct call_ops *ops, zkl_session *s, char *path,
               zkl_done_fn fn, void *data);

/* Begins the call. From then on the call is stopped when its time has passed (0: one session
 * timeout), or with the session, perhaps at once. With a fn, returns 0 as soon as the call has
 * begun. Otherwise waits for its end, and returns the thread's last error if it fails. Gives up the
 * caller's reference. The monitor is not held. */
int call_run(struct call *c, int64_t timeout_ms);

/* End the call with a result; the first one counts. */
void call_end(struct call *c, int code, const char *text); /* text NULL: that of the code */
void call_end_as(struct call *c, const zkl_error *why);    /* NULL, or its code is 0: success */

/* Tell the caller the result, but the call goes on until it is ended. It still sees to the requests
 * that it has under way, is a user of the session, and hears of the session's end. */
void call_tell(struct call *c, int code, const char *text);
void call_tell_as(struct call *c, const zkl_error *why);

/* Lifts the default time limit: the call was answered, and waits only until what was lost cannot be
 * done any more. That wait ends by itself, and is longer than the default. A time limit that the
 * caller has chosen stays. */
void call_outlast_default(struct call *c);

void call_ref(struct call *c);
void call_unref(struct call *c);

/* Gives up a reference that was taken before call_run(). The monitor is not held. */
void call_free(struct call *c);

/* Returns the ZKL_E… of a server's refusal. */
int call_error(enum store_rc rc);

/* Returns the instant at which a timeout_ms of the public interface that begins now will have
 * passed, as clock_end() does; but 0 is a session timeout. The monitor is held. */
int64_t call_due(zkl_session *s, int64_t timeout_ms);

/* Does the same without the monitor held, for functions that make several calls in turn. */
int64_t call_due_of_all(zkl_session *s, int64_t timeout_ms);

/* Returns what is left until due, as the timeout_ms of the next call: at least 1, since 0 would
 * mean a session timeout. */
int64_t call_left_ms(int64_t due);

/* Arms timer for a timeout_ms, unless that is for ever. The monitor is held. */
void call_arm(zkl_session *s, struct timer *timer, int64_t timeout_ms, void (*fn)(void *data),
              void *data);

#endif
