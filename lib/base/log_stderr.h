/* Lines for stderr, from under any lock. A thread writes them, so that only this thread waits if
 * nobody reads stderr. Lines that find no room meanwhile are dropped and counted. */
#ifndef LIB_LOG_STDERR_H
#define LIB_LOG_STDERR_H

#include <stdbool.h>

/* Appends "zkl: TEXT" and a newline. Callable with any lock held. */
void log_stderr(const char *text);

/* Waits until everything is written, but not for long where stderr takes nothing. Without locks. */
void log_stderr_flush(void);

/* Around fork(), and in the child, where the parent's lines are not to be written again. */
void log_stderr_before_fork(void);
void log_stderr_after_fork(bool child);

#endif
