/* Throwaway ZooKeeper servers on 127.0.0.1, run from the system's packages. They end, and their
 * data goes, with this process, however it ends. */
#ifndef SUPPORT_SERVER_H
#define SUPPORT_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proxy;
struct zk_server;

/* All zero, or NULL instead of options: one node, tick 500 ms, session timeouts from 2 ticks up to
 * the larger of 60 s and 20 ticks. */
struct zk_server_options {
    int nodes;                  /* 1, 3, 5 or 7 */
    int members;                /* so many of them are the first ensemble, which is reconfigured;
                                   the others run when they are added. 0: all, for good */
    bool linked;                /* the nodes reach each other through proxies of ours only */
    int tick_ms;                /* a session ends up to a tick late */
    int min_session_timeout_ms; /* limits put on what clients ask for */
    int max_session_timeout_ms;
    const char *const *hosts;         /* an address for each node; NULL: 127.0.0.1 */
    const char *const *const *within; /* for each node the command, ending with NULL, that runs its
                                         java, in a namespace say; NULL: none. Both must last. */
    const char *const *jvm;       /* more options of java, such as "-Dzookeeper.forceSync=yes" */
    const char *const *config;    /* more lines of zoo.cfg; they win over ours */
    const char *const *config_of; /* more lines for each node in turn. All end with NULL. */
    const char *odd;              /* words, see below */
};

/* What odd servers do, in words; those in $ZKL_ODD_SERVERS count for each server that is started.
 *
 * eager: each checks permissions by itself before it asks its leader (enableEagerACLCheck)
 * closed: nobody may write /zookeeper
 *
 * Each ensemble that is not reconfigured, and has no hosts of its own:
 * late: what its leader sends to its learners is late, each time by up to half a tick
 * torn: a learner's connection is reset now and then, and what is on its way then is lost
 * observed: if it has three nodes, the last one does not vote
 * relayed: the same, and not the leader feeds it, but the follower that votes (observerMasterPort)
 */
bool zk_server_is_odd(const struct zk_server_options *o, const char *word);

/* Are java and the server's packages there, and is $ZKL_ZOOKEEPER not "none"? It may name another
 * release: what java takes for a path of classes. */
bool zk_server_available(void);

/* Starts the servers and waits until all nodes serve. If they do not, it writes a
 * sentence and the log's tail to stderr and returns NULL. zk_server_stop() ends all nodes, removes
 * the data and frees s, which may be NULL. */
struct zk_server *zk_server_start(const struct zk_server_options *options);
void zk_server_stop(struct zk_server *s);

const char *zk_server_connect(const struct zk_server *s); /* "127.0.0.1:P,127.0.0.1:P…" */
int zk_server_nodes(const struct zk_server *s);
int zk_server_port(const struct zk_server *s, int node);        /* stays the same over restarts */
pid_t zk_server_pid(const struct zk_server *s, int node);       /* -1 when down */
const char *zk_server_dir(const struct zk_server *s, int node); /* holds zoo.cfg, log, data/ */

/* The leading node, 0 if alone; -1 when none leads. The other one waits for that. */
int zk_server_leader(const struct zk_server *s);
int zk_server_wait_leader(const struct zk_server *s);

/* Writes to stderr in which mode each node is, and the end of its log. */
void zk_server_tell(const struct zk_server *s);

/* One thread at a time for one node. */
void zk_server_kill(struct zk_server *s, int node); /* SIGKILL; the data stays */
void zk_server_halt(struct zk_server *s, int node); /* SIGTERM; the data stays */
void zk_server_pause(struct zk_server *s, int node);
void zk_server_resume(struct zk_server *s, int node);
bool zk_server_launch(struct zk_server *s, int node);  /* a node that is down; does not wait */
bool zk_server_wait(struct zk_server *s, int node);    /* until it serves */
bool zk_server_restart(struct zk_server *s, int node); /* halt, launch and wait */

/* ---- an ensemble that is reconfigured: see .members ---- */

/* Launches a node that knows the nodes that run, and waits until it serves. The node needs that to
 * become a member. */
bool zk_server_add(struct zk_server *s, int node);

/* Its line for a reconfiguration, "server.N=…"; for g_free(). */
char *zk_server_member(const struct zk_server *s, int node);

/* ---- a linked server: what lies between its nodes ---- */

/* The proxy between from and another node to which from connects: the first for the quorum's data
 * (proposals, commits, pings, forwarded requests), the second for elections. Followers connect to
 * their leader. */
struct proxy *zk_server_link(const struct zk_server *s, int from, int to);
struct proxy *zk_server_election_link(const struct zk_server *s, int from, int to);

/* Silently stops what node from sends to node to, whichever of them made the connection. Nothing is
 * closed; what was sent meanwhile arrives after zk_server_rejoin(). */
void zk_server_sever(struct zk_server *s, int from, int to);
void zk_server_isolate(struct zk_server *s, int node); /* from all others, both ways */
void zk_server_mute(struct zk_server *s, int node);    /* what it sends to the others */
void zk_server_deafen(struct zk_server *s, int node);  /* what the others send to it */
void zk_server_rejoin(struct zk_server *s, int node);  /* all that is to and from it flows again */
void zk_server_slow(struct zk_server *s, int node, int ms); /* its traffic takes that much longer */

/* Makes path's internal count of creates, which numbers sequential children, continue at cversion:
 * stops the server, patches its snapshot and starts it again. A single node only. */
bool zk_server_set_cversion(struct zk_server *s, const char *path, int32_t cversion);

#endif
