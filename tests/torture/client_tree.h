/* The server behind client.c: nodes and one-shot watches. Callers hold the client's lock. */
#ifndef TORTURE_CLIENT_TREE_H
#define TORTURE_CLIENT_TREE_H

#include <glib.h>
#include <zookeeper/zookeeper.h>

/* All answer a code of ZooKeeper's. */
int tree_create(const char *path, const char *data, int length, int mode, int64_t session,
                char **ret_path, struct Stat *ret);
int tree_delete(const char *path, int version);
int tree_set(const char *path, const char *data, int length, int version, struct Stat *ret);
/* watcher: the session that sets a watch; 0: none. */
int tree_get(const char *path, int64_t watcher, GBytes **ret_data, struct Stat *ret);
/* ret_names: an array of names that has a free function. */
int tree_list(const char *path, GPtrArray *ret_names, struct Stat *ret);
int tree_check(const char *path, int version);

void tree_unwatch(const char *path);
void tree_end_session(int64_t session);
int tree_count(const char *prefix);
int tree_watches(void);
void tree_forget(void);

/* client.c: a watch of the session fires. */
void client_fire(int64_t session, int type, const char *path);

#endif
