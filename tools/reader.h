/* A thread that reads a queue, or another thing, when it is asked to, at most five times a second,
 * so that the main thread waits for nothing but events. */
#ifndef ZKL_TOOLS_READER_H
#define ZKL_TOOLS_READER_H

#include "events.h"
#include "tool.h"

/* The result of one reading, which may have several owners. */
struct reading {
    zkl_queue *queue; /* NULL: none was read, or */
    zkl_error error;
    int64_t time_ms; /* wall clock, when it came */
};

void reading_unref(struct reading *r); /* NULL is ignored */

struct reader;

/* Reads once, without a time limit of its own: 0, or an error of the library's. most: as in
 * reader_want(). */
typedef int (*reader_fn)(zkl_queue **ret, struct reader *r, size_t most);

struct reader {
    reader_fn read;
    void *data; /* its own */
    struct events *events;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    size_t most;
    bool wanted, over;
    struct reading *newest, *before;
};

/* r has its first three members. GO_ON, or a status after a message. */
int reader_start(struct reader *r);

/* Asks for another reading, of at least the first most contenders; 0: of all. From any thread. */
void reader_want(struct reader *r, size_t most);

/* Asks for the same as last time; data is the reader. */
void reader_want_again(void *data);

/* The newest reading, once, for reading_unref(); NULL: it was taken already. */
struct reading *reader_take(struct reader *r);

/* To end a reader: reader_stop(), after which no reading begins. Then close the session, which ends
 * a reading that is under way, and keep another handle made from it. Then reader_join(), which
 * waits. */
void reader_stop(struct reader *r);
void reader_join(struct reader *r);

#endif
