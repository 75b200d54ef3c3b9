#include "server_node.h"

#include "fourletter.h"
#include "process.h"
#include "progress.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAIL = 8000 };

static const char jar[] = "/usr/share/java/zookeeper.jar";

static const char *logger_jar(void)
{
    static const char *const jars[] = {"/usr/share/java/slf4j-simple.jar",
                                       "/usr/share/java/slf4j-nop.jar", NULL};
    for (const char *const *j = jars; *j; j++)
        if (access(*j, R_OK) == 0)
            return *j;
    return NULL;
}

/* Returns the path of another release's classes, "none", or NULL for the installed ones. */
static const char *other_release(void)
{
    const char *other = getenv("ZKL_ZOOKEEPER");

    return other && *other ? other : NULL;
}

bool node_available(void)
{
    const char *other = other_release();

    if (other ? strcmp(other, "none") == 0 : access(jar, R_OK) != 0 || !logger_jar())
        return false;
    char *java = g_find_program_in_path("java");
    g_free(java);
    return java != NULL;
}

char *node_member(const struct node *nodes, int i)
{
    return g_strdup_printf("server.%d=%s:%d:%d:participant;%d", i + 1, nodes[i].host,
                           nodes[i].quorum.port, nodes[i].election.port, nodes[i].client.port);
}

/* A reconfigured ensemble has its members at first, or those that run, and itself. */
static void append_members(GString *text, const struct node *nodes, int count, int i, int members)
{
    g_string_append(text, "reconfigEnabled=true\nstandaloneEnabled=false\n");
    for (int j = 0; j < count; j++) {
        if (j != i && (i < members ? j >= members : nodes[j].pid < 0))
            continue;
        char *member = node_member(nodes, j);
        g_string_append_printf(text, "%s\n", member);
        g_free(member);
    }
}

bool node_observes(const struct zk_server_options *o, int count, int i)
{
    return count == 3 && i == count - 1 && o->members == 0 &&
           (zk_server_is_odd(o, "observed") || zk_server_is_odd(o, "relayed"));
}

bool node_is_relayed(const struct zk_server_options *o, int count)
{
    return node_observes(o, count, count - 1) && zk_server_is_odd(o, "relayed");
}

/* Both that vote have the same one, since only one of them follows. */
static int relay_port(const struct node *nodes, int count, int i)
{
    const struct node *observer = &nodes[count - 1];
    const struct proxy *way = &nodes[i] == observer ? observer->data[0] : NULL;

    return way ? proxy_port(way) : observer->relay.port;
}

static GString *config_text(const struct node *nodes, int count, int i,
                            const struct zk_server_options *o)
{
    GString *text = g_string_new(NULL);
    g_string_printf(text,
                    "dataDir=%s/data\ntickTime=%d\n"
                    "maxSessionTimeout=%d\ninitLimit=20\nsyncLimit=10\nmaxClientCnxns=0\n"
                    "admin.enableServer=false\n4lw.commands.whitelist=*\n",
                    nodes[i].dir, o->tick_ms, o->max_session_timeout_ms);
    if (o->min_session_timeout_ms)
        g_string_append_printf(text, "minSessionTimeout=%d\n", o->min_session_timeout_ms);
    if (o->members > 0)
        append_members(text, nodes, count, i, o->members);
    else
        g_string_append_printf(text, "clientPort=%d\nclientPortAddress=%s\n", nodes[i].client.port,
                               nodes[i].host);
    for (int j = 0; count > 1 && j < count && o->members == 0; j++) {
        const struct proxy *data = nodes[i].data[j], *vote = nodes[i].vote[j];

        g_string_append_printf(text, "server.%d=%s:%d:%d%s\n", j + 1, nodes[j].host,
                               data ? proxy_port(data) : nodes[j].quorum.port,
                               vote ? proxy_port(vote) : nodes[j].election.port,
                               node_observes(o, count, j) ? ":observer" : "");
    }
    if (node_observes(o, count, i))
        g_string_append(text, "peerType=observer\n");
    if (node_is_relayed(o, count))
        g_string_append_printf(text, "observerMasterPort=%d\n", relay_port(nodes, count, i));
    for (const char *const *line = o->config; line && *line; line++)
        g_string_append_printf(text, "%s\n", *line);
    if (o->config_of && i < (int)g_strv_length((char **)(uintptr_t)o->config_of))
        g_string_append_printf(text, "%s\n", o->config_of[i]);
    return text;
}

bool node_configure(const struct node *nodes, int count, int i, const struct zk_server_options *o)
{
    GString *text = config_text(nodes, count, i, o);
    char *config = g_strdup_printf("%s/zoo.cfg", nodes[i].dir);
    char *data = g_strdup_printf("%s/data", nodes[i].dir);
    char *myid = g_strdup_printf("%s/myid", data);
    char *id = g_strdup_printf("%d\n", i + 1);
    bool ok = g_mkdir_with_parents(data, 0700) == 0 &&
              g_file_set_contents(config, text->str, -1, NULL) &&
              g_file_set_contents(myid, id, -1, NULL);
    g_free(id);
    g_free(myid);
    g_free(data);
    g_free(config);
    g_string_free(text, TRUE);
    return ok;
}

static void add_all(GPtrArray *argv, const char *const *list)
{
    for (; list && *list; list++)
        g_ptr_array_add(argv, g_strdup(*list));
}

#define ELECTION_LOG "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum."

bool node_launch(struct node *n, const struct zk_server_options *o)
{
    /* Quick to start and small, with little compiled, since few live for long; a throwaway server
     * need not survive a power cut. One that has lost its ensemble asks the others again each
     * second: by default its pauses grow to a minute. */
    static const char *const first[] = {"java",
                                        "-Xmx256m",
                                        "-XX:TieredStopAtLevel=1",
                                        "-XX:CompileThresholdScaling=5",
                                        "-XX:+UseSerialGC",
                                        "-Xshare:auto",
                                        "-XX:-UsePerfData",
                                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                        "-Dorg.slf4j.simpleLogger.showDateTime=true",
                                        ELECTION_LOG "FastLeaderElection=info",
                                        ELECTION_LOG "QuorumPeer=info",
                                        ELECTION_LOG "Leader=info",
                                        "-Dzookeeper.jmx.log4j.disable=true",
                                        "-Dzookeeper.forceSync=no",
                                        "-Dzookeeper.fastleader.maxNotificationInterval=1000",
                                        NULL};
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    add_all(argv, n->within);
    add_all(argv, first);
    /* Classes that are already parsed and checked: a third less of processors' time. */
    const char *classes = getenv("ZKL_SERVER_CLASSES");
    if (classes)
        g_ptr_array_add(argv, g_strdup_printf("-XX:SharedArchiveFile=%s", classes));
    add_all(argv, o->jvm);
    if (zk_server_is_odd(o, "eager"))
        g_ptr_array_add(argv, g_strdup("-Dzookeeper.enableEagerACLCheck=true"));
    g_ptr_array_add(argv, g_strdup("-cp"));
    g_ptr_array_add(argv, other_release() ? g_strdup(other_release())
                                          : g_strdup_printf("%s:%s", jar, logger_jar()));
    g_ptr_array_add(argv, g_strdup("org.apache.zookeeper.server.quorum.QuorumPeerMain"));
    g_ptr_array_add(argv, g_strdup("zoo.cfg"));
    g_ptr_array_add(argv, NULL);
    char *log = g_strdup_printf("%s/log", n->dir);
    struct process_options p = {
        .argv = (const char *const *)argv->pdata, .directory = n->dir, .log = log, .input = -1};
    n->pid = process_spawn(&p);
    g_free(log);
    g_ptr_array_free(argv, TRUE);
    return n->pid > 0;
}

/* Its folder proves that our child answers, not someone who took the port before it. */
static bool serves(const struct node *n)
{
    char mode[32];
    char *where = g_strdup_printf("user.dir=%s\n", n->dir);
    char *reply = fourletter_send(n->host, n->client.port, "envi", 1000);
    bool ours = reply && strstr(reply, where);
    free(reply);
    g_free(where);
    return ours && fourletter_mode_at(n->host, n->client.port, mode, sizeof(mode));
}

bool node_wait(const struct node *n)
{
    for (unsigned long pause_us = 10000; !serves(n); pause_us = MIN(pause_us * 3 / 2, 250000)) {
        if (n->pid < 0 || process_gone(n->pid) || progress_is_late())
            return false;
        g_usleep(pause_us);
    }
    progress_step();
    return true;
}

void node_end(struct node *n, int sig)
{
    if (n->pid <= 0)
        return;
    if (sig != SIGKILL)
        process_resume(n->pid); /* a paused one hears nothing else */
    process_end(n->pid, sig);
    n->pid = -1;
}

static char *log_text(const struct node *n)
{
    char *text = NULL;
    char *path = g_strdup_printf("%s/log", n->dir);
    g_file_get_contents(path, &text, NULL, NULL);
    g_free(path);
    return text;
}

bool node_port_taken(const struct node *n)
{
    char *text = log_text(n);
    bool taken = text && strstr(text, "Address already in use");
    g_free(text);
    return taken;
}

void node_blame(const struct node *n)
{
    char *text = log_text(n);
    size_t length = text ? strlen(text) : 0;
    bool gone = n->pid < 0 || process_gone(n->pid);
    fprintf(stderr, "the ZooKeeper server on port %d %s; its log ends:\n%s\n", n->client.port,
            gone ? "has ended" : "does not serve",
            text ? text + length - MIN(length, TAIL) : "(no log)");
    g_free(text);
}
