/* --metrics-file: the numbers of the session, for the textfile collector of Prometheus' node
 * exporter. A thread of its own writes them. Nothing waits for that thread, except for a moment at
 * the end, so a file system that hangs or is full does not harm the lock. */
#ifndef ZKL_TOOLS_METRICS_H
#define ZKL_TOOLS_METRICS_H

#include <glib.h>
#include <stdatomic.h>
#include <zkl.h>

struct metrics;

/* A number of the caller's own, which the caller may change at any time. It is a counter if its
 * name ends in _total, and else a gauge. */
struct metrics_gauge {
    const char *name; /* NULL: the end of a list */
    const char *help;
    atomic_int value;
};

/* Writes to file now, and again every few seconds; path becomes a label. The session and gauges,
 * which may be NULL, must live until metrics_end(). file NULL: does nothing and returns NULL. */
struct metrics *metrics_begin(const char *file, const char *path, zkl_session *session,
                              const struct metrics_gauge *gauges);

/* Appends a metric, as in struct metrics_gauge, with these labels and that value. */
void metrics_append(GString *text, const char *labels, const char *name, const char *help,
                    const char *value);

/* Replaces the file by one with that text. If that fails, says why. */
void metrics_write(const char *file, const char *text);

/* Writes the file a last time: there is no connection any more, and zkl ends with that status.
 * GO_ON: zkl goes on with another session. Waits a moment at most. m NULL is ignored. */
void metrics_end(struct metrics *m, int status);

#endif
