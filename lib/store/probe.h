/* Asks servers on connections of our own what they are, and whether they would let us in.
 *
 * A server that is no ZooKeeper must not be given to libzookeeper: it takes the first bytes of any
 * answer for a greeting, and what comes next may end the process (an assertion in 3.8.0). So each
 * server is first asked one of the four-letter words. Every ZooKeeper answers that with words of
 * its own, even if only to say that it may not. */
#ifndef LIB_PROBE_H
#define LIB_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "recipes/ending.h"
#include "store.h"
#include "tls.h"

/* TLS for each of the functions below, which take NULL for none. */
struct probe_tls {
    struct tls *tls;
    char *why; /* set by the functions: the first reason why a server is no partner for TLS, or
                  NULL. The caller frees it */
};

struct probe_found {
    enum store_trouble trouble;
    bool named;    /* a name could be resolved */
    bool foreign;  /* addresses are left out: what answers there is no ZooKeeper */
    bool answered; /* a ZooKeeper has answered */
    bool silent;   /* addresses are left out that have not answered */
};

/* Returns the addresses of the hosts, "host:port,…", without those that answer as no ZooKeeper
 * would; NULL if none is left. An address that cannot be reached stays. A silent one stays too,
 * unless a ZooKeeper answers: then the others have hardly any time. The caller frees it. Blocks for
 * name resolution, and then for a short time limit.
 *
 * With TLS an address is left out, too, if its certificate is for another name. None stays if the
 * handshake succeeds with none. */
char *probe_hosts(const char *hosts, struct probe_tls *tls, struct probe_found *ret);

/* Returns the addresses of the hosts that answer as a ZooKeeper does; NULL: none. The caller frees
 * it. Blocks as long as probe_hosts() does without TLS. */
char *probe_answering(const char *hosts);

/* Returns the trouble that probe_hosts() finds, but asks servers that are silent or hang up whether
 * they speak TLS. To a ZooKeeper without TLS that is nonsense, and it writes a line into its log.
 * Blocks twice as long. */
enum store_trouble probe_trouble(const char *hosts, struct probe_tls *tls);

/* Whether a server serves. Blocks as probe_hosts() does at most. */
bool probe_serves(const char *hosts, struct probe_tls *tls);

/* Returns what this process itself is short of, TROUBLE_DESCRIPTORS or TROUBLE_MEMORY; else
 * TROUBLE_UNKNOWN. */
enum store_trouble probe_own_trouble(void);

/* Whether answer, to "srvr", is a ZooKeeper's: "Zookeeper version: …" or what a compatible server
 * calls itself, or that the word is not in the whitelist, or that it does not serve yet. */
bool probe_is_zookeeper(const char *answer);

/* Finds out whether servers serve, and take a client that has seen the zxid seen. Blocks as
 * probe_hosts() does. A server writes a line about an unknown session into its log. */
enum rollback_evidence probe_zxid(const char *hosts, uint64_t seen, struct probe_tls *tls);

#endif
