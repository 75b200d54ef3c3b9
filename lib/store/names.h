/* Host names to addresses, for all sessions of the process: a name is asked for at most once a
 * second, by one thread, whose answer all have. libzookeeper gets addresses only, so it asks no
 * name server. */
#ifndef LIB_NAMES_H
#define LIB_NAMES_H

#include <glib.h>
#include <sys/socket.h>

struct address {
    struct sockaddr_storage bytes;
    socklen_t length;
};

/* Those of "host:port", of struct address; none: the name has never been resolved. A name that
 * cannot be resolved any more keeps the last ones. Blocks; to be unreffed. */
GArray *names_find(const char *host_port);

/* Appends "address:port" to a list with commas. */
void names_append(GString *list, const struct address *address);

/* Between these two calls fork() waits, for half a second at most. The C library holds locks there,
 * and a child of that moment would have them locked for ever. */
void names_begin(void);
void names_end(void);

#endif
