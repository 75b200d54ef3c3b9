/* ZooKeeper's four-letter words, asked of a server on 127.0.0.1. */
#ifndef SUPPORT_FOURLETTER_H
#define SUPPORT_FOURLETTER_H

#include <stdbool.h>
#include <stdint.h>

/* The reply's text, for free(); NULL when there was none within timeout_ms. */
char *fourletter_send(const char *host, int port, const char *word, int timeout_ms);
char *fourletter(int port, const char *word); /* 127.0.0.1, 5 s */

/* srvr's Mode ("standalone", "leader", "follower") in buf; false while not serving. */
bool fourletter_mode(int port, char *buf, unsigned long size);
bool fourletter_mode_at(const char *host, int port, char *buf, unsigned long size);

/* The server counts data and exists watches in all of these, never child watches. */
struct fourletter_watches {
    int connections, paths, watches;
};
bool fourletter_wchs(int port, struct fourletter_watches *ret);

/* Sessions with a watch on path, paths watched by a session, 1 or 0 for both; -1 without reply. */
int fourletter_watches_on(int port, const char *path);
int fourletter_watches_of(int port, int64_t session);
int fourletter_has_watch(int port, int64_t session, const char *path);

/* mntr's value of a key such as zk_znode_count, zk_watch_count (child watches included),
 * zk_ephemerals_count, zk_packets_received, zk_num_alive_connections; -1 if there is none. */
int64_t fourletter_mntr(int port, const char *key);

#endif
