/* Where lines go: to the session's callback, in order with its other callbacks, or to stderr. */
#ifndef LIB_LOG_H
#define LIB_LOG_H

#include <stdbool.h>
#include <zkl.h>

struct log;
struct callbacks;

/* fn may be NULL: stderr. The queue must outlive the log. */
struct log *log_new(zkl_log_fn fn, void *data, zkl_log_level level, struct callbacks *callbacks);
void log_free(struct log *log);

/* The callback queue ends: no more lines of the library. */
void log_retire(struct log *log);

/* What went to stderr is written, if that takes it. Without locks. */
void log_flush(const struct log *log);

/* Around fork(), and in the child, where the parent's logs are nobody's. */
void log_before_fork(void);
void log_after_fork(bool child);

/* Callable with any lock held: they only queue. */
void log_line(struct log *log, zkl_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line of libzookeeper, which does not say whose it is: to every log of the process that has a
 * callback. It never goes to stderr: losing a connection is told by other means. */
void log_library(zkl_log_level level, const char *line);

#endif
