/* What ZooKeeper and libzookeeper cost before any lock logic: a handle, and waiting for answers. */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <zookeeper/zookeeper.h>

/* A connected handle; ends the process on failure, as all here do. */
zhandle_t *bare_open(const char *address);

/* Makes path and its parents unless they are there. */
void bare_directory(zhandle_t *zh, const char *path);

/* Ends the process unless rc is ZOK. */
void bare_require(int rc, const char *what);

/* An ephemeral sequential node below path. */
void bare_create(zhandle_t *zh, const char *path, string_completion_t created, const void *data);

/* One waits for what the other tells from a callback. */
void bare_await(void);
void bare_answered(void);

#endif
