/* A small synchronous client for the tests' own setting up and looking. */
#ifndef SUPPORT_RAW_H
#define SUPPORT_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

struct raw;

/* Waits to be connected; NULL with a sentence on stderr if that does not come. */
struct raw *raw_open(const char *connect);
struct raw *raw_open_timeout(const char *connect, int session_timeout_ms);
void raw_close(struct raw *r);                  /* NULL is fine */
bool raw_can_open(const char *connect, int ms); /* a session, in that time */

zhandle_t *raw_handle(struct raw *r);
int64_t raw_session_id(struct raw *r);
bool raw_has_expired(struct raw *r); /* has been told so */
bool raw_wait_expired(struct raw *r);

/* Results are those of zookeeper.h: ZOK or a negative code. len is -1 for no data. out, if not
 * NULL, takes the name made, RAW_PATH_SIZE bytes. flags: 0, ZOO_EPHEMERAL, ZOO_SEQUENCE… */
enum { RAW_PATH_SIZE = 4096 };
int raw_create(struct raw *r, const char *path, const char *data, int len, int flags, char *out);
int raw_create_acl(struct raw *r, const char *path, const struct ACL_vector *acl);
int raw_set_acl(struct raw *r, const char *path, const struct ACL_vector *acl);
int raw_delete(struct raw *r, const char *path); /* any version; not what is below */
int raw_delete_tree(struct raw *r, const char *path);
int raw_exists(struct raw *r, const char *path, struct Stat *ret); /* ret may be NULL */
int raw_set(struct raw *r, const char *path, const char *data, int len);
char *raw_get(struct raw *r, const char *path,
              struct Stat *ret); /* text for free(); NULL if none */
int raw_sync(struct raw *r, const char *path);

/* Lists for g_strfreev(). Names in order; NULL if the node is missing. */
char **raw_children(struct raw *r, const char *path);

/* All paths below root in order, but not /zookeeper and root itself. */
char **raw_tree_dump(struct raw *r, const char *root);

/* Ends a session by force, as an administrator or a lost network would; needs its password (16
 * bytes of zoo_client_id()). Returns when the server knows the session no more; false after 30 s.
 * Its owner hears of it when it next connects; so put it behind a frozen proxy, or let it come. */
bool raw_close_session(int port, int64_t session, const char passwd[16]);

/* What proves to a server that the session is one's own: it makes it from the id. */
void raw_password(int64_t session, char passwd[16]);
bool raw_expire(int port, int64_t session); /* raw_close_session() with that */

#endif
