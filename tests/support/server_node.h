/* One node of a throwaway server: inside server.c only. */
#ifndef SUPPORT_SERVER_NODE_H
#define SUPPORT_SERVER_NODE_H

#include "ports.h"
#include "proxy.h"
#include "server.h"

enum { NODES_MAX = 7 };

struct node {
    pid_t pid; /* -1 when down */
    const char *host;
    const char *const *within; /* see struct zk_server_options */
    struct held_port client, quorum, election;
    struct held_port relay; /* where whoever follows feeds it, if it is a relayed observer */
    char *dir;
    /* This node's ways to the others' ports, in a linked server. */
    struct proxy *data[NODES_MAX], *vote[NODES_MAX];
};

/* Does the last of them not vote? And is it fed by a follower? */
bool node_observes(const struct zk_server_options *o, int count, int i);
bool node_is_relayed(const struct zk_server_options *o, int count);

/* "server.N=HOST:PORT:PORT;PORT" of nodes[i], with clients' wildcard; for g_free(). */
char *node_member(const struct node *nodes, int i);

/* Writes zoo.cfg and myid of nodes[i]. */
bool node_configure(const struct node *nodes, int count, int i, const struct zk_server_options *o);
bool node_launch(struct node *n, const struct zk_server_options *o);
bool node_wait(const struct node *n); /* false: it ended or does not serve */
void node_end(struct node *n, int sig);
bool node_port_taken(const struct node *n); /* says its log so? */
void node_blame(const struct node *n);      /* why it does not serve, on stderr */
bool node_available(void);

#endif
