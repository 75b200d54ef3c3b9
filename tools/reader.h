/* Runs a thread that reads a queue, or another thing, when it is asked to, at most five times a
 * second. So the main thread waits for nothing but events. */
#ifndef ZKL_TOOLS_READER_H
#define ZKL_TOOLS_READER_H

#include "events.h"
#include "tool.h"

/* The result of one reading, which may have several owners. */
struct reading {
    zkl_queue *queue; /* NULL: none was read */
    zkl_error error;  /* code 0: there was none */
    int64_t time_ms;  /* when it came, in ms since 1970 */
};

void reading_unref(struct reading *r); /* NULL is ignored */

struct reader;

/* Reads once, without a time limit of its own. Returns 0, or an error of the library. most: as in
 * reader_want(). */
typedef int (*reader_fn)(zkl_queue **ret, struct reader *r, size_t most);

struct reader {
    reader_fn read;
    void *data; /* for .read */
    struct events *events;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    size_t most;
    bool wanted, over;
    struct reading *newest;   /* NULL: it was taken already */
    struct reading *previous; /* the last one, for .read to go on from; NULL: none yet */
};

/* Starts the thread. The caller has set the first three members of r. Returns GO_ON, or a status
 * after a message. */
int reader_start(struct reader *r);

/* Asks for another reading, of at least the first most contenders; 0: of all. Any thread may call
 * it. */
void reader_want(struct reader *r, size_t most);

/* Asks for another reading like the last one. data is the reader. */
void reader_want_again(void *data);

/* Takes the newest reading, which reading_unref() frees. Returns NULL if it was taken already. */
struct reading *reader_take(struct reader *r);

/* A reader ends in three steps. Call reader_stop(): after that no reading begins. Close the
 * session, which ends a reading that is under way; a handle of that session must outlive the
 * reading. Call reader_join(), which waits for the thread. */
void reader_stop(struct reader *r);
void reader_join(struct reader *r);

#endif
