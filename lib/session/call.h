/* A call: somebody asks for something and waits for it. It ends once, by its answer, by its time
 * limit, or with the session. It is the first member of a larger struct. The caller holds the
 * monitor, unless a function says otherwise. */
#ifndef LIB_CALL_H
#define LIB_CALL_H

#include <semaphore.h>

#include "core.h"

struct call;

struct call_ops {
    /* Whether the call takes as long as others please, and goes on in the next session. Such a call
     * is no user of this one. */
    bool waits;
    /* Lets the call into its handle: 0, or the thread's last error, which ends the call. May be
     * NULL. */
    int (*enter)(struct call *c);
    /* Sends its first request. */
    void (*begin)(struct call *c);
    /* The time has passed (ZKL_ETIMEDOUT, or why there is no connection), or the session has ended
     * for good. This must end the call, now or soon, with why or with what is known. */
    void (*stop)(struct call *c, const zkl_error *why);
    /* The session has ended, and its watches with it; another one has begun. May be NULL. */
    void (*replaced)(struct call *c);
    void (*free)(struct call *c); /* NULL: g_free() does */
};

struct call {
    const struct call_ops *ops;
    int refs; /* each caller that waits, its driver or each request, and the call until it has ended
               */
    zkl_session *session;
    char *path; /* full */
    GList link; /* in all of the session's that have not ended */
    bool told;  /* what came of it, perhaps before it has ended */
    bool ended;
    struct timer timer;
    zkl_done_fn fn; /* NULL: somebody waits in call_run() */
    void *data;
    sem_t done;
    zkl_error error; /* .code 0: none */
};

/* Checks a call of doing (a function's name) about path. Returns 0, or the thread's last error.
 * blocking: it would wait. The monitor is not held. */
int call_check(zkl_session *s, const char *doing, const char *path, bool blocking);

/* Fills in a call that is all zero, and takes path. One reference is the caller's, and the other
 * one belongs to the call under way. */
void call_init(struct call *c, const struct call_ops *ops, zkl_session *s, char *path,
               zkl_done_fn fn, void *data);

/* Begins the call; without the monitor held. From then on the call is stopped when its time has
 * passed (0: one session timeout), or with the session, perhaps at once. With a fn, returns 0 as
 * soon as the call has begun. Otherwise waits for its end. Returns the thread's last error if it
 * fails. Gives up the caller's reference. */
int call_run(struct call *c, int64_t timeout_ms);

/* The result; the first one counts. */
void call_end(struct call *c, int code, const char *text); /* text NULL: that of the code */
void call_end_as(struct call *c, const zkl_error *why);    /* NULL, or code 0: it is done */

/* Tells the caller the result, but the call goes on until it is ended. It still sees to what it has
 * under way, is a user of the session, and hears of the session's end. */
void call_tell(struct call *c, int code, const char *text);
void call_tell_as(struct call *c, const zkl_error *why);

void call_ref(struct call *c);
void call_unref(struct call *c);

/* Without the monitor held: gives up a reference that was taken before call_run(). */
void call_free(struct call *c);

/* The error that a refusal of the server is. */
int call_error(enum store_rc rc);

/* When a timeout_ms of the public interface ends, as clock_end() says; but 0 is a session timeout.
 * With the monitor held. */
int64_t call_end_of(zkl_session *s, int64_t timeout_ms);

/* The same without the monitor held, for calls that ask for several things in turn; and what is
 * left then, as the timeout_ms of the next one: at least 1, since 0 would mean something else. */
int64_t call_end_of_all(zkl_session *s, int64_t timeout_ms);
int64_t call_left_ms(int64_t end);

/* Arms timer for a timeout_ms, unless that is for ever. With the monitor held. */
void call_arm(zkl_session *s, struct timer *timer, int64_t timeout_ms, void (*fn)(void *data),
              void *data);

#endif
