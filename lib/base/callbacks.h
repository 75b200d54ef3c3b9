/* The queue of what users are told. Either a thread of its own calls the users, or
 * callbacks_flush() does in the user's thread. Callbacks come in order, one at a time, with no
 * lock of ours held, never on a thread that anything else needs. */
#ifndef LIB_CALLBACKS_H
#define LIB_CALLBACKS_H

#include <stdbool.h>

struct callbacks;

/* NULL when the system refuses a thread or a descriptor. */
struct callbacks *callbacks_new(bool by_user);

/* A descriptor that is readable while something is queued; only by_user. */
int callbacks_fd(const struct callbacks *cb);

/* Appends fn(data). False when stopped: it will not be called. Callable with any lock held. */
bool callbacks_push(struct callbacks *cb, void (*fn)(void *data), void *data);

/* How many wait to be called. */
unsigned callbacks_queued(struct callbacks *cb);

/* Waits until everything pushed so far has returned; by_user, calls it. Not from a callback. */
void callbacks_flush(struct callbacks *cb);

/* Runs what is queued, and ends the thread, waiting for it. Not from a callback. */
void callbacks_stop(struct callbacks *cb);

/* Tells a forked child that it is in no callback, even if the thread that forked was. */
void callbacks_forked(void);

/* After callbacks_stop(). */
void callbacks_free(struct callbacks *cb);

/* Whether this thread is inside a callback, of whatever session. */
bool callbacks_inside(void);

#endif
