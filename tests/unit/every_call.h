/* Each function that returns an error, in a form that a table can name. It is called with handles
 * of an estate, at paths below /x. */
#ifndef UNIT_EVERY_CALL_H
#define UNIT_EVERY_CALL_H

#include "fake_store.h"

#include <stdatomic.h>

/* What can become of a call. */
enum {
    GETS_NULL = 1 << 0,   /* ZKL_EINVAL, without its handle */
    IN_CHILD = 1 << 1,    /* ZKL_ECHILD */
    CLOSED = 1 << 2,      /* ZKL_ECLOSED, when the session of its handle was closed */
    CLOSING = 1 << 3,     /* the same, in the last callback of the session that it gets */
    BLOCKS = 1 << 4,      /* ZKL_EDEADLK in a callback */
    CONNECTED = 1 << 5,   /* ZKL_EUNREACHABLE, ZKL_EHOST or ZKL_EAUTH without a connection */
    ANSWERED = 1 << 6,    /* ZKL_ETIMEDOUT without an answer */
    PERMITTED = 1 << 7,   /* ZKL_EACCES */
    UNDERSTOOD = 1 << 8,  /* ZKL_EPROTO, when the server refuses without a good reason */
    CREATES = 1 << 9,     /* ZKL_EPATH, when the parent is ephemeral */
    LOCKS = 1 << 10,      /* as a contender: ZKL_EBUSY, ZKL_ELAYOUT, ZKL_ELIMIT, ZKL_EOVERFLOW */
    LATCH = 1 << 16,      /* of those, an election's */
    REENTERS = 1 << 11,   /* ZKL_ELOST, when what the thread holds was lost */
    CANCELABLE = 1 << 12, /* ZKL_ECANCELED */
    HOLDER = 1 << 13,     /* ZKL_ELOST and ZKL_EPERM, when its grant was lost or released */
    ENDED = 1 << 14,      /* ZKL_EAUTH only if the credentials are refused meanwhile */
    WATCHES = 1 << 17,    /* ZKL_ELIMIT without room for a watch; of contenders see LOCKS */
    OF_SESSION = 1 << 18, /* ZKL_ECLOSED when the session is closed meanwhile */
    WRITES = 1 << 19,     /* a counter: ZKL_EBUSY, ZKL_ELAYOUT, ZKL_EUNKNOWN; the fence's errors */
    CHANGES = 1 << 20, /* in a transaction: ZKL_EUNKNOWN when it was sent, or else ZKL_ETIMEDOUT */
    MEMBERS = 1 << 21, /* a member: ZKL_EBUSY, and ZKL_EPERM when it has left */
    MEETS = 1 << 22,   /* enters a double barrier: ZKL_EBUSY, and ZKL_ELOST */
    LEAVES = 1 << 24,  /* leaves it: the same */
    LIMITED = 1 << 23, /* a semaphore: ZKL_ENOENT when the data is no limit */
    PATIENT = 1 << 15, /* waits for a session timeout, whatever its own limit; needs no grant */
};

/* The handles of a holder, of a leader, of a member inside, and of somebody who is nothing yet. */
struct estate {
    zkl_session *s;
    zkl_barrier *barrier;
    zkl_double_barrier *pair, *inside;
    zkl_counter *counter;
    zkl_election *candidate, *leader;
    zkl_mutex *mutex, *held;
    zkl_multilock *multilock;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_member *joined, *joining;
    zkl_grant *own;                 /* of leader */
    const zkl_grant *grant, *fence; /* of held; for counters, none at first */
    zkl_op *op;                     /* of the call */
    bool cancels;                   /* it as soon as it has begun */
    atomic_int asked; /* below /x, since the estate was begun; or a completion is awaited */
    atomic_int told, code;
};

struct every_call {
    const char *name;
    int (*fn)(struct estate *e, int64_t timeout_ms); /* what it returned, or told if that was 0 */
    unsigned may;
};

enum { SHORT_MS = 5, LONG_MS = 1000, SHORT_SESSION_MS = 300 };

extern struct estate estate; /* of the call that is tried */

extern const struct every_call every_call[]; /* ends with a NULL name */

void estate_begin(struct estate *e); /* connected; the store answers no more */
void estate_begin_bare(struct estate *e, int session_timeout_ms); /* without grants and members */
void estate_close(struct estate *e);                              /* the session */
void estate_end(struct estate *e);

void estate_silence(struct estate *e); /* no request is answered; they are counted in asked */
zkl_member *estate_joining(struct estate *e); /* joins it at first; NULL without a session */

void every_check(const struct every_call *c, int64_t timeout_ms, int code);
/* Each function of that kind, and not of the other, with an estate of its own that was prepared. */
void every_check_but(unsigned may, unsigned not, void (*prepare)(void), int64_t timeout_ms,
                     int code);
void every_check_all(unsigned may, void (*prepare)(void), int64_t timeout_ms, int code);

/* Answers of a server without other contenders. */
bool estate_alone(const struct store_request *request, struct store_reply *reply);

#endif
