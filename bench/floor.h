/* What ZooKeeper and libzookeeper cost before any lock logic. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

struct floor;

/* A connected handle and the directory path (made if needed); ends the process on failure. */
struct floor *floor_open(const char *connect, const char *path);
void floor_close(struct floor *f);

/* Creates an ephemeral sequential node, waits, deletes it, waits. */
void floor_pair(struct floor *f);

#endif
