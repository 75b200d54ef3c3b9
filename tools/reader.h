/* A thread that reads a queue when it is asked to, at most five times a second, so that the main
 * thread waits for nothing but events. */
#ifndef ZKL_TOOLS_READER_H
#define ZKL_TOOLS_READER_H

#include "events.h"
#include "tool.h"

/* What one reading came to; any number of owners. */
struct reading {
    zkl_queue *queue; /* NULL: */
    zkl_error error;
    int64_t time_ms; /* wall clock, when it came */
};

void reading_unref(struct reading *r); /* NULL is ignored */

struct reader {
    zkl_session *session;
    const char *path;
    struct events *events;
    bool keeps; /* who waits is not read again: for who shows all */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    size_t most;
    bool wanted, over;
    struct reading *newest, *before;
};

/* r has its first four members. GO_ON, or a status after a message. */
int reader_start(struct reader *r);

/* From any thread: another reading, of at least the first most contenders; 0: of all. */
void reader_want(struct reader *r, size_t most);

/* The same as last time; data is the reader. */
void reader_want_again(void *data);

/* The newest reading, once, for reading_unref(); NULL: it was taken already. */
struct reading *reader_take(struct reader *r);

/* No reading begins any more; then close the session, which ends one under way, keeping another
 * handle made from it; then wait. */
void reader_stop(struct reader *r);
void reader_join(struct reader *r);

#endif
