/* Lines go to the session's callback, in order with its other callbacks, or to stderr. Each event
 * has a limit of lines in a minute; the others are counted, and a later line gives their number. A
 * thread writes the lines for stderr, so that only this thread waits if nobody reads stderr. Lines
 * that find no room while it waits are dropped and counted. */
#ifndef LIB_LOG_H
#define LIB_LOG_H

#include <stdbool.h>
#include <zkl.h>

struct log;
struct callbacks;

/* fn may be NULL: stderr. The queue must outlive the log. */
struct log *log_new(zkl_log_fn fn, void *data, zkl_log_level level, struct callbacks *callbacks);
void log_free(struct log *log);

/* The id of the ZooKeeper session, for the lines from now on; 0: there is none. */
void log_session(struct log *log, int64_t id);

/* The callback queue ends: no more lines of the library. */
void log_retire(struct log *log);

/* What went to stderr is written, if that takes it. Without locks. */
void log_flush(const struct log *log);

/* Around fork(), and in the child, where the parent's logs are nobody's. */
void log_before_fork(void);
void log_after_fork(bool child);

/* Callable with any lock held: it only queues. log NULL: nobody. event is a literal; path may be
 * NULL. */
void log_line(struct log *log, zkl_log_level level, const char *event, const char *path,
              const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- libzookeeper's lines ---- */

enum library_line {
    LIBRARY_LINE,
    LIBRARY_CONNECTS, /* it is about an attempt to connect */
    LIBRARY_FAILED    /* which has failed */
};

/* A line for the callback. It never goes to stderr: losing a connection is told by other means. */
void log_library(struct log *log, zkl_log_level level, enum library_line kind, const char *text);

/* An attempt to connect has failed; how many have. With any lock held. */
void log_attempt(struct log *log);
unsigned log_attempts(struct log *log);

/* ---- lines for stderr, for tests ---- */

/* Appends "zkl: TEXT" and a newline. Callable with any lock held. */
void log_stderr(const char *text);

/* Waits until everything is written, but not for long where stderr takes nothing. Without locks. */
void log_stderr_flush(void);

/* How long at most. */
extern int log_stderr_flush_ms;

#endif
