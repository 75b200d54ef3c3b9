/* Paths and connect strings, checked before anything is asked of a server. */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* Longer ones would leave too little of the server's 1 MiB packets, and of our watch budget. */
enum { PATH_LENGTH_MAX = 8192 };

/* NULL, or what is wrong with an absolute path. */
const char *path_check(const char *path);

/* The same of the characters alone: of a path, or of a node's name. */
const char *path_check_characters(const char *text);

/* 0, or the error that every call makes of a bad path, or of one that is the servers' own. That is
 * then the thread's last error. chroot: the session's, "" if none. */
int path_error(const char *chroot, const char *path);

/* Whether path is above, or below it; "/" is above all. */
bool path_is_within(const char *path, const char *above);

/* Splits "host:port,…/chroot" into hosts with ports, as libzookeeper wants them, and the chroot
 * ("" if none); both to be freed. Returns NULL, or what is wrong, and then nothing is set. */
const char *path_split_connect(const char *connect, char **ret_hosts, char **ret_chroot);

/* The hosts as messages show them, with brackets where connect has them; to be freed. */
char *path_show_hosts(const char *hosts);

/* The number of nodes above a full path, without the root. */
uint32_t path_count_above(const char *path);

/* The node number i above path, from the top; path itself if i or fewer are above it. To be
 * freed. */
char *path_above(const char *path, uint32_t i);

/* What the server calls path, to be shared by all who stand there: a GRefString. */
char *path_full(const char *chroot, const char *path);

#endif
