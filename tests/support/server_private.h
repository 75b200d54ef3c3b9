/* A throwaway server's inside: for server.c and server_links.c only. */
#ifndef SUPPORT_SERVER_PRIVATE_H
#define SUPPORT_SERVER_PRIVATE_H

#include "process.h"
#include "server_node.h"

struct zk_server {
    struct zk_server_options options;
    struct scratch scratch;
    pid_t owner;
    int nodes;
    struct node node[NODES_MAX];
    char *connect;
};

/* Are the nodes to reach each other through proxies? */
bool links_wanted(const struct zk_server_options *o);

/* The ports of all nodes are known. */
bool links_start(struct zk_server *s);
void links_stop(struct zk_server *s);

#endif
