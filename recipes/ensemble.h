/* The servers that an ensemble names as its own, in the text of /zookeeper/config, and which of
 * them a session may use beside those that its user has named. docs/design/servers.md has the
 * reasons. */
#ifndef RECIPES_ENSEMBLE_H
#define RECIPES_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

/* How many addresses are read at most. */
enum { ENSEMBLE_MAX = 64 };

/* An address for clients; the strings are parts of the text. */
struct ensemble_member {
    const char *host; /* a name or a number, without brackets */
    const char *port;
    int host_length, port_length;
    bool votes;
};

/* Reads lines "server.N=HOST:PORT:PORT[|…][:ROLE];[HOST:]PORT". A wildcard, or no host, stands for
 * all hosts of that server. Leaves out other lines, and servers without an address for clients.
 * Returns how many there are, at most ENSEMBLE_MAX. */
size_t ensemble_read(const char *config, size_t length, struct ensemble_member *ret);

/* Whether that text names an observer: any, or one whose number ends in the byte server. A
 * session's id begins with that byte of the server where it was made. */
enum { ENSEMBLE_ANY = -1 };

bool ensemble_observes(const char *config, size_t length, int server);

/* Whether members, the addresses of the ensemble, have that of our server. Lists are
 * "address:port,…", numeric. */
bool ensemble_knows(const char *members, const char *server);

enum ensemble_use {
    ENSEMBLE_LEFT,  /* it is not used, or is used as the user's */
    ENSEMBLE_ASKED, /* it is used if it answers */
    ENSEMBLE_KEPT   /* it was added before */
};

/* Whether that address, which the ensemble names, is used beside the user's, own. added: what is
 * used so far; it stays, even at a server that was removed. server: to which we are connected.
 * known: the ensemble knows server. */
enum ensemble_use ensemble_uses(const char *address, const char *own, const char *added,
                                const char *server, bool known);

#endif
