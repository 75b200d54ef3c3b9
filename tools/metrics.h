/* --metrics-file: the numbers of the session, for the textfile collector of Prometheus' node
 * exporter. A thread of its own writes them. Nothing waits for that thread, except for a moment at
 * the end, so a file system that hangs or is full does not harm the lock. */
#ifndef ZKL_TOOLS_METRICS_H
#define ZKL_TOOLS_METRICS_H

#include <stdatomic.h>
#include <zkl.h>

struct metrics;

/* A number of the caller's own, which it may change at any time; a counter, if its name ends in
 * _total. */
struct metrics_gauge {
    const char *name; /* NULL: the end of a list */
    const char *help;
    atomic_int value;
};

/* Writes to file now, and again every few seconds; path becomes a label. The session and gauges,
 * which may be NULL, must live until metrics_end(). file NULL: does nothing and returns NULL. */
struct metrics *metrics_begin(const char *file, const char *path, zkl_session *session,
                              const struct metrics_gauge *gauges);

/* Replaces file by text, once; or says why not. */
void metrics_write(const char *file, const char *text);

/* Writes what there is a last time: that there is no connection any more, and that zkl ends with
 * that status; GO_ON: it goes on with another session. NULL is ignored. */
void metrics_end(struct metrics *m, int status);

#endif
