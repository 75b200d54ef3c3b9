/* Resolves host names for all sessions of the process. One thread asks for a name, at most once a
 * second, and all get its answer. libzookeeper gets addresses only, so it asks no name server. */
#ifndef LIB_NAMES_H
#define LIB_NAMES_H

#include <glib.h>
#include <sys/socket.h>

struct address {
    struct sockaddr_storage bytes;
    socklen_t length;
};

/* Returns the addresses of "host:port", an array of struct address; empty if the name has never
 * been resolved. A name that cannot be resolved any more keeps its last addresses. Blocks. The
 * caller drops the reference. */
GArray *names_find(const char *host_port);

/* Appends "address:port" to a list with commas. */
void names_append(GString *list, const struct address *address);

/* Returns how many addresses such a list has; it is not empty. */
unsigned names_count(const char *list);

/* fork() waits while a caller is between these two. The C library holds locks while it resolves a
 * name, and a child forked at that moment would find them locked for ever. */
void names_begin(void);
void names_end(void);

/* The longest wait of fork() in ms. Tests on a busy machine set more. */
extern int names_fork_ms;

#endif
