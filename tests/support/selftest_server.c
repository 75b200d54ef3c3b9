#include "fixture.h"
#include "fourletter.h"
#include "ports.h"
#include "progress.h"
#include "raw.h"
#include "selftest.h"
#include "server.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct zk_server *server;

static int start_server(void)
{
    if (!server_or_skip())
        return 0;
    server = zk_server_start(NULL);
    return server ? 0 : 1;
}

static int stop_server(void)
{
    zk_server_stop(server);
    server = NULL;
    return 0;
}

TEST_SUITE(server, .init = start_server, .done = stop_server);

static bool node_exists(const struct zk_server *s, const char *path)
{
    struct raw *r = raw_open(zk_server_connect(s));
    REQUIRE(r != NULL);
    int rc = raw_exists(r, path, NULL);
    raw_close(r);
    return rc == ZOK;
}

TEST_CASE(restarts)
{
    int port = zk_server_port(server, 0);
    struct raw *r = raw_open(zk_server_connect(server));
    REQUIRE(r != NULL);
    CHECK_INT(zk_server_leader(server), 0);
    CHECK_INT(raw_create(r, "/kept", "x", 1, 0, NULL), ZOK);
    raw_close(r);
    REQUIRE(zk_server_restart(server, 0));
    CHECK(node_exists(server, "/kept"));
    zk_server_kill(server, 0);
    CHECK_INT(zk_server_pid(server, 0), -1);
    CHECK(fourletter(port, "ruok") == NULL);
    REQUIRE(zk_server_launch(server, 0) && zk_server_wait(server, 0));
    CHECK(node_exists(server, "/kept"));
    CHECK_INT(zk_server_port(server, 0), port);
}

/* libzookeeper's sockets are not close-on-exec, and must not stay open in a server. */
TEST_CASE(inherits_nothing)
{
    int fds[2];
    char byte;
    REQUIRE(pipe(fds) == 0);
    CHECK(zk_server_restart(server, 0));
    close(fds[1]);
    struct pollfd end = {.fd = fds[0], .events = POLLIN};
    CHECK_INT(poll(&end, 1, 0), 1);
    CHECK(end.revents && read(fds[0], &byte, 1) == 0);
    close(fds[0]);
}

TEST_CASE(pauses)
{
    int port = zk_server_port(server, 0);
    zk_server_pause(server, 0);
    CHECK(fourletter_send("127.0.0.1", port, "ruok", 200) == NULL);
    zk_server_resume(server, 0);
    char *reply = fourletter(port, "ruok");
    CHECK_STR(reply, "imok");
    free(reply);
}

static void ignore_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)type, (void)state, (void)path, (void)context;
}

TEST_CASE(words)
{
    int port = zk_server_port(server, 0), length = 0;
    struct fourletter_watches totals;
    struct raw *r = raw_open(zk_server_connect(server));
    REQUIRE(r != NULL);
    int64_t before = fourletter_mntr(port, "zk_znode_count");
    CHECK_INT(raw_create(r, "/watched", NULL, -1, 0, NULL), ZOK);
    CHECK_INT(fourletter_mntr(port, "zk_znode_count"), before + 1);
    CHECK_INT(fourletter_mntr(port, "zk_no_such_key"), -1);
    REQUIRE(fourletter_wchs(port, &totals));
    CHECK_INT(totals.watches, 0);
    zoo_wget(raw_handle(r), "/watched", ignore_event, NULL, NULL, &length, NULL);
    zoo_wexists(raw_handle(r), "/absent", ignore_event, NULL, NULL);
    REQUIRE(fourletter_wchs(port, &totals));
    CHECK_INT(totals.connections, 1);
    CHECK_INT(totals.paths, 2);
    CHECK_INT(totals.watches, 2);
    CHECK_INT(fourletter_watches_on(port, "/watched"), 1);
    CHECK_INT(fourletter_watches_on(port, "/watch"), 0);
    CHECK_INT(fourletter_watches_of(port, raw_session_id(r)), 2);
    CHECK_INT(fourletter_has_watch(port, raw_session_id(r), "/absent"), 1);
    CHECK_INT(fourletter_has_watch(port, raw_session_id(r) + 1, "/absent"), 0);
    raw_close(r);
}

TEST_CASE(options)
{
    static const char *const jvm[] = {"-Dzookeeper.test=1", NULL};
    static const char *const config[] = {"maxSessionTimeout=7000", NULL};
    struct zk_server_options o = {
        .tick_ms = 200, .min_session_timeout_ms = 3000, .jvm = jvm, .config = config};
    struct zk_server *s = zk_server_start(&o);
    REQUIRE(s != NULL);
    struct raw *low = raw_open_timeout(zk_server_connect(s), 100);
    struct raw *high = raw_open_timeout(zk_server_connect(s), 100000);
    if (CHECK(low && high)) {
        CHECK_INT(zoo_recv_timeout(raw_handle(low)), 3000);
        CHECK_INT(zoo_recv_timeout(raw_handle(high)), 7000);
    }
    raw_close(low);
    raw_close(high);
    zk_server_stop(s);
}

static bool configured(struct zk_server *s, int node, const char *line)
{
    char *reply = fourletter(zk_server_port(s, node), "conf");
    bool found = reply && strstr(reply, line);
    free(reply);
    return found;
}

TEST_CASE(ensemble)
{
    static const char *const config_of[] = {"maxSessionTimeout=6000", "maxSessionTimeout=7000",
                                            NULL};
    struct zk_server *s =
        zk_server_start(&(struct zk_server_options){.nodes = 3, .config_of = config_of});
    REQUIRE(s != NULL);
    CHECK(configured(s, 0, "maxSessionTimeout=6000"));
    CHECK(configured(s, 1, "maxSessionTimeout=7000"));
    CHECK(configured(s, 2, "maxSessionTimeout=60000"));
    CHECK_INT(zk_server_nodes(s), 3);
    int leader = zk_server_wait_leader(s);
    REQUIRE(leader >= 0);
    zk_server_kill(s, leader);
    int next = zk_server_wait_leader(s);
    CHECK(next >= 0 && next != leader);
    CHECK(zk_server_restart(s, leader));
    CHECK_INT(zk_server_wait_leader(s), next);
    zk_server_stop(s);
}

TEST_CASE(ports)
{
    struct held_port held, second;
    REQUIRE(port_hold(&held) && port_hold(&second));
    CHECK(held.port != second.port);
    CHECK(fourletter(held.port, "ruok") == NULL);
    for (int i = 0; i < 2; i++) { /* any number of times, one after the other */
        int listener = port_listen(&held);
        CHECK(listener >= 0);
        CHECK_INT(port_listen(&held), -1);
        close(listener);
    }
    port_release(&held);
    port_release(&second);
}

static void *start_in_thread(void *ret)
{
    *(struct zk_server **)ret = zk_server_start(NULL);
    return NULL;
}

TEST_CASE(outlives_thread)
{
    pthread_t thread;
    struct zk_server *s = NULL;
    char mode[32];
    REQUIRE(pthread_create(&thread, NULL, start_in_thread, &s) == 0);
    pthread_join(thread, NULL);
    REQUIRE(s != NULL);
    CHECK(fourletter_mode(zk_server_port(s, 0), mode, sizeof(mode)));
    CHECK_STR(mode, "standalone");
    zk_server_stop(s);
}

int selftest_die(const char *how)
{
    struct zk_server *s = zk_server_start(NULL);
    if (!s)
        return 1;
    printf("%d %s\n", (int)zk_server_pid(s, 0), zk_server_dir(s, 0));
    fflush(stdout);
    if (strcmp(how, "exit") != 0)
        raise(atoi(how));
    return 0;
}

/* Its end and its folder's come right after ours, but by other processes. */
static bool has_come_to_nothing(pid_t pid, const char *dir)
{
    struct stat unused;
    char *status = g_strdup_printf("/proc/%d/cmdline", (int)pid), *text = NULL;
    gsize length = 0; /* a dead one that nobody reaped has no command line */

    g_file_get_contents(status, &text, &length, NULL);
    g_free(text);
    g_free(status);
    return length == 0 && stat(dir, &unused) != 0 && errno == ENOENT;
}

TEST_CASE(dies_with_us)
{
    static const char *const ways[] = {"exit", "9", "6", "15", NULL};
    for (const char *const *how = ways; *how; how++) {
        int status, pid = 0;
        char dir[512] = "";
        const char *const arguments[] = {"--die", *how, NULL};
        char *output = selftest_again(arguments, NULL, &status);
        CHECK(sscanf(output, "%d %511s", &pid, dir) == 2);
        CHECK_INT(WIFSIGNALED(status) ? WTERMSIG(status) : 0, atoi(*how));
        CHECK(AWAIT(has_come_to_nothing(pid, dir)));
        g_free(output);
    }
}

static int run_tool(const char *tool, const char *script, char **output)
{
    int status = -1;
    char *argv[] = {(char *)(uintptr_t)tool,   "--tick", "300", "--", "sh", "-c",
                    (char *)(uintptr_t)script, NULL};
    if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, output, NULL, &status, NULL))
        *output = g_strdup("");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE(tool)
{
    char *self = realpath("/proc/self/exe", NULL), *output;
    char *dir = g_path_get_dirname(self);
    const char *named = getenv("ZKL_SERVER");
    char *path = named ? g_strdup(named) : g_strdup_printf("%s/zkl-server", dir);
    if (access(path, X_OK) != 0) {
        runner_skip("no zkl-server, neither named by ZKL_SERVER nor beside this program");
    } else {
        CHECK_INT(run_tool(path, "echo \"ZKL_CONNECT=$ZKL_CONNECT\"; exit 7", &output), 7);
        char **lines = g_strsplit(output, "\n", -1);
        CHECK_INT(g_strv_length(lines), 3);
        CHECK_STR(lines[0], lines[1]);
        g_strfreev(lines);
        g_free(output);
        CHECK_INT(run_tool(path, "kill -TERM $$", &output), 128 + SIGTERM);
        g_free(output);
    }
    g_free(path);
    g_free(dir);
    free(self);
}
