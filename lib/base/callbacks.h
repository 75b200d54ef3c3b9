/* The queue of what users are told. Either a thread of its own calls the users, or
 * callbacks_flush() does in the user's thread (by_user). Callbacks come in order, one at a time,
 * with no lock of ours held, never on a thread that anything else needs. */
#ifndef LIB_CALLBACKS_H
#define LIB_CALLBACKS_H

#include <stdbool.h>

struct callbacks;

/* Makes a queue. Returns NULL if the system refuses a thread or a descriptor. */
struct callbacks *callbacks_new(bool by_user);

/* Returns a descriptor that is readable while something is queued; -1 unless by_user. */
int callbacks_fd(const struct callbacks *cb);

/* Appends fn(data). Returns false if the queue was stopped: then fn is not called. Callable with
 * any lock held. */
bool callbacks_push(struct callbacks *cb, void (*fn)(void *data), void *data);

/* Returns how many functions wait to be called. */
unsigned callbacks_queued(struct callbacks *cb);

/* Waits until all that was pushed before has returned; if by_user, this thread calls it. Must not
 * be called in a callback. */
void callbacks_flush(struct callbacks *cb);

/* Stops the queue: waits as callbacks_flush() does, and then for the end of its thread. Must not be
 * called in a callback. */
void callbacks_stop(struct callbacks *cb);

/* Tells a forked child that it is in no callback, even if the thread that forked was. */
void callbacks_forked(void);

/* Frees the queue, which was stopped. */
void callbacks_free(struct callbacks *cb);

/* Whether this thread is inside a callback, of whatever session. */
bool callbacks_inside(void);

#endif
