/* Paths and connect strings, checked before anything is asked of a server. */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* Longer paths would leave too little of the server's 1 MiB packets, and of our watch budget. */
enum { PATH_LENGTH_MAX = 8192 };

/* Returns what is wrong with an absolute path; NULL: nothing. */
const char *path_check(const char *path);

/* Checks only the characters, of a path or of a node's name. */
const char *path_check_characters(const char *text);

/* Returns 0, or ZKL_EINVAL if a path is bad, or is the servers' own: then that is the thread's last
 * error. chroot: the session's, "" if none. */
int path_error(const char *chroot, const char *path);

/* Whether path is root, or lies below it. All paths lie below "/". */
bool path_is_within(const char *path, const char *root);

/* Splits "host:port,…/chroot" into hosts with ports, as libzookeeper wants them, and the chroot
 * ("" if none); both to be freed. Returns NULL, or what is wrong, and then nothing is set. */
const char *path_split_connect(const char *connect, char **ret_hosts, char **ret_chroot);

/* Returns the hosts as messages show them, with brackets around IPv6 addresses; to be freed. */
char *path_show_hosts(const char *hosts);

/* Returns the number of nodes above a full path, without the root. */
uint32_t path_count_above(const char *path);

/* Returns the path of node number i above path, counted from the top; path itself if i or fewer are
 * above it. To be freed. */
char *path_above(const char *path, uint32_t i);

/* Returns path with the chroot before it, as the server calls it: a GRefString, which all
 * contenders there share. */
char *path_full(const char *chroot, const char *path);

#endif
