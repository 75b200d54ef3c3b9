#include "server.h"

#include "fourletter.h"
#include "process.h"
#include "progress.h"
#include "raw.h"
#include "server_private.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { START_ATTEMPTS = 5 };

/* Those that an exit() without zk_server_stop() must end. */
static pthread_mutex_t live_mutex = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *live;

bool zk_server_available(void)
{
    return node_available();
}

static bool has_word(const char *words, const char *word)
{
    char **each = g_strsplit(words ? words : "", " ", -1);
    const bool has = g_strv_contains((const char *const *)each, word);

    g_strfreev(each);
    return has;
}

bool zk_server_is_odd(const struct zk_server_options *o, const char *word)
{
    return has_word(o->odd, word) || has_word(getenv("ZKL_ODD_SERVERS"), word);
}

static bool forget(struct zk_server *s)
{
    pthread_mutex_lock(&live_mutex);
    bool found = live && g_ptr_array_remove(live, s);
    pthread_mutex_unlock(&live_mutex);
    return found;
}

static void stop_all(void)
{
    for (;;) {
        pthread_mutex_lock(&live_mutex);
        struct zk_server *s = live->len > 0 ? g_ptr_array_index(live, 0) : NULL;
        pthread_mutex_unlock(&live_mutex);
        if (!s)
            return;
        zk_server_stop(s);
    }
}

static void remember(struct zk_server *s)
{
    pthread_mutex_lock(&live_mutex);
    if (!live) {
        live = g_ptr_array_new();
        atexit(stop_all);
    }
    g_ptr_array_add(live, s);
    pthread_mutex_unlock(&live_mutex);
}

static char **copy_list(const char *const *list)
{
    return g_strdupv((char **)(uintptr_t)list);
}

static struct zk_server *new_server(const struct zk_server_options *options)
{
    struct zk_server *s = g_new0(struct zk_server, 1);
    struct zk_server_options *o = &s->options;
    if (options)
        *o = *options;
    /* Copies, since a node can be launched again when the caller's lists are gone. */
    o->jvm = (const char *const *)copy_list(o->jvm);
    o->config = (const char *const *)copy_list(o->config);
    o->config_of = (const char *const *)copy_list(o->config_of);
    o->odd = g_strdup(o->odd);
    if (o->tick_ms == 0)
        o->tick_ms = 500;
    if (o->max_session_timeout_ms == 0)
        o->max_session_timeout_ms = MAX(60000, 20 * o->tick_ms);
    o->linked = links_wanted(o);
    s->owner = getpid();
    s->nodes = CLAMP(o->nodes, 1, NODES_MAX);
    s->scratch.janitor = s->scratch.lifeline = -1;
    for (int i = 0; i < s->nodes; i++) {
        s->node[i].pid = -1;
        s->node[i].host = o->hosts ? o->hosts[i] : "127.0.0.1";
        s->node[i].within = o->within ? o->within[i] : NULL;
    }
    return s;
}

static void free_server(struct zk_server *s)
{
    for (int i = 0; i < s->nodes; i++)
        node_end(&s->node[i], SIGKILL);
    if (s->scratch.path)
        scratch_remove(&s->scratch);
    links_stop(s);
    for (int i = 0; i < s->nodes; i++) {
        port_release(&s->node[i].client);
        port_release(&s->node[i].quorum);
        port_release(&s->node[i].election);
        port_release(&s->node[i].relay);
        g_free(s->node[i].dir);
    }
    g_strfreev((char **)(uintptr_t)s->options.jvm);
    g_strfreev((char **)(uintptr_t)s->options.config);
    g_strfreev((char **)(uintptr_t)s->options.config_of);
    g_free((char *)(uintptr_t)s->options.odd);
    g_free(s->connect);
    g_free(s);
}

static int first_nodes(const struct zk_server *s)
{
    return s->options.members > 0 ? s->options.members : s->nodes;
}

static bool prepare(struct zk_server *s)
{
    if (!scratch_make(&s->scratch, "zkl-server"))
        return false;
    GString *connect = g_string_new(NULL);
    bool ok = true;
    for (int i = 0; i < s->nodes; i++) {
        struct node *n = &s->node[i];
        n->dir = g_strdup_printf("%s/%d", s->scratch.path, i);
        ok = ok && port_hold(&n->client) && port_hold(&n->quorum) && port_hold(&n->election) &&
             port_hold(&n->relay);
        g_string_append_printf(connect, "%s%s:%d", i ? "," : "", n->host, n->client.port);
    }
    s->connect = g_string_free(connect, FALSE);
    ok = ok && (!s->options.linked || links_start(s));
    for (int i = 0; i < s->nodes; i++)
        ok = ok && node_configure(s->node, s->nodes, i, &s->options);
    for (int i = 0; i < first_nodes(s); i++)
        ok = ok && node_launch(&s->node[i], &s->options);
    return ok;
}

/* What can be said only to servers that serve. */
static bool make_odd(const struct zk_server *s)
{
    struct ACL read = {ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
    const struct ACL_vector readable = {.count = 1, .data = &read};

    if (!zk_server_is_odd(&s->options, "closed"))
        return true;
    struct raw *r = raw_open(s->connect);
    const bool ok = r && raw_set_acl(r, "/zookeeper", &readable) == ZOK;
    raw_close(r);
    return ok;
}

struct zk_server *zk_server_start(const struct zk_server_options *options)
{
    for (int attempt = 1;; attempt++) {
        struct zk_server *s = new_server(options);
        int bad = 0;
        if (!prepare(s)) {
            fprintf(stderr, "cannot set up a ZooKeeper server: %s\n", g_strerror(errno));
            free_server(s);
            return NULL;
        }
        while (bad < first_nodes(s) && node_wait(&s->node[bad]))
            bad++;
        if (bad == first_nodes(s)) {
            remember(s);
            if (make_odd(s))
                return s;
            zk_server_stop(s);
            return NULL;
        }
        bool again = attempt < START_ATTEMPTS && node_port_taken(&s->node[bad]);
        if (!again)
            node_blame(&s->node[bad]);
        free_server(s);
        if (!again)
            return NULL;
    }
}

void zk_server_stop(struct zk_server *s)
{
    /* In a forked child the server is still the parent's. */
    if (s && forget(s) && s->owner == getpid())
        free_server(s);
}

const char *zk_server_connect(const struct zk_server *s)
{
    return s->connect;
}

int zk_server_nodes(const struct zk_server *s)
{
    return s->nodes;
}

int zk_server_port(const struct zk_server *s, int node)
{
    return s->node[node].client.port;
}

pid_t zk_server_pid(const struct zk_server *s, int node)
{
    return s->node[node].pid;
}

const char *zk_server_dir(const struct zk_server *s, int node)
{
    return s->node[node].dir;
}

int zk_server_leader(const struct zk_server *s)
{
    for (int i = 0; i < s->nodes; i++) {
        char mode[32];
        if (s->node[i].pid > 0 &&
            fourletter_mode_at(s->node[i].host, s->node[i].client.port, mode, sizeof(mode)) &&
            (strcmp(mode, "leader") == 0 || strcmp(mode, "standalone") == 0))
            return i;
    }
    return -1;
}

int zk_server_wait_leader(const struct zk_server *s)
{
    int leader;

    /* An election tells nobody outside when it ends. */
    while ((leader = zk_server_leader(s)) < 0 && !progress_is_late())
        g_usleep(50000);
    if (leader >= 0)
        progress_step();
    return leader;
}

void zk_server_tell(const struct zk_server *s)
{
    for (int i = 0; i < s->nodes; i++) {
        const struct node *n = &s->node[i];
        char mode[32] = "no mode";

        if (n->pid > 0)
            fourletter_mode_at(n->host, n->client.port, mode, sizeof(mode));
        fprintf(stderr, "server %d: %s\n", i, mode);
        node_blame(n);
    }
}

void zk_server_kill(struct zk_server *s, int node)
{
    node_end(&s->node[node], SIGKILL);
}

void zk_server_halt(struct zk_server *s, int node)
{
    node_end(&s->node[node], SIGTERM);
}

void zk_server_pause(struct zk_server *s, int node)
{
    if (s->node[node].pid > 0)
        process_pause(s->node[node].pid);
}

void zk_server_resume(struct zk_server *s, int node)
{
    if (s->node[node].pid > 0)
        process_resume(s->node[node].pid);
}

bool zk_server_launch(struct zk_server *s, int node)
{
    return s->node[node].pid < 0 && node_launch(&s->node[node], &s->options);
}

bool zk_server_wait(struct zk_server *s, int node)
{
    bool ok = node_wait(&s->node[node]);
    if (!ok)
        node_blame(&s->node[node]);
    return ok;
}

bool zk_server_restart(struct zk_server *s, int node)
{
    zk_server_halt(s, node);
    return zk_server_launch(s, node) && zk_server_wait(s, node);
}

bool zk_server_add(struct zk_server *s, int node)
{
    return node_configure(s->node, s->nodes, node, &s->options) && zk_server_launch(s, node) &&
           zk_server_wait(s, node);
}

char *zk_server_member(const struct zk_server *s, int node)
{
    return node_member(s->node, node);
}
