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

/* Makes a log. Its lines up to level go to fn by the queue of callbacks, which must outlive the
 * log; fn NULL: to stderr. */
struct log *log_new(zkl_log_fn fn, void *data, zkl_log_level level, struct callbacks *callbacks);
void log_free(struct log *log);

/* Sets the id of the ZooKeeper session that lines have from now on; 0: there is none. */
void log_session(struct log *log, int64_t id);

/* Called before the callback queue ends: writes how many lines were left out, and takes no more
 * lines of libzookeeper's. */
void log_retire(struct log *log);

/* Waits as log_stderr_flush() does, if lines go to stderr. The caller holds no lock. */
void log_flush(const struct log *log);

/* Called before and after fork(). In a child log_after_fork() forgets the lines of the parent. */
void log_before_fork(void);
void log_after_fork(bool child);

/* Queues a line, unless it is above the log's level, or log is NULL. event is a literal; path may
 * be NULL. Callable with any lock held. */
void log_line(struct log *log, zkl_log_level level, const char *event, const char *path,
              const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- libzookeeper's lines ---- */

enum library_line {
    LIBRARY_LINE,
    LIBRARY_CONNECTS, /* about an attempt to connect */
    LIBRARY_FAILED    /* about an attempt to connect that has failed */
};

/* Queues a line of libzookeeper's for the callback. It never goes to stderr: losing a connection is
 * told by other means. */
void log_library(struct log *log, zkl_log_level level, enum library_line kind, const char *text);

/* Counts an attempt to connect that has failed. Callable with any lock held. */
void log_attempt(struct log *log);

/* Returns how many attempts have failed. */
unsigned log_attempts(struct log *log);

/* ---- lines for stderr, for tests ---- */

/* Appends "zkl: TEXT" and a newline. Callable with any lock held. */
void log_stderr(const char *text);

/* Waits until everything is written, for log_stderr_flush_ms at most. If an earlier wait was in
 * vain and nothing was written since, it does not wait. The caller holds no lock. */
void log_stderr_flush(void);

extern int log_stderr_flush_ms;

#endif
