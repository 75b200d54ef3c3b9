/* lists_bare CONNECT: what lists.py measures zkl beside. libzookeeper with the least that a program
 * must do to have a node in the end; the commands are those of tests/interop/peers.sh. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

enum { TIMEOUT_MS = 10000, AGAIN_US = 100000, PATH_LENGTH = 300, NODE_LENGTH = PATH_LENGTH + 20 };

static zhandle_t *zh;
static atomic_bool over;

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle, (void)path, (void)context;
    if (type == ZOO_SESSION_EVENT && state == ZOO_EXPIRED_SESSION_STATE)
        atomic_store(&over, true);
}

static bool is_open(const char *connect)
{
    if (zh && atomic_exchange(&over, false)) {
        zookeeper_close(zh);
        zh = NULL;
    }
    if (!zh)
        zh = zookeeper_init(connect, on_session, TIMEOUT_MS, NULL, NULL, 0);
    return zh != NULL;
}

static int create(const char *path, char *made)
{
    char prefix[NODE_LENGTH];

    snprintf(prefix, sizeof prefix, "%s/n-", path);
    const int rc = zoo_create(zh, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                              made, NODE_LENGTH);
    if (rc == ZNONODE)
        zoo_create(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    return rc;
}

int main(int argc, char **argv)
{
    char line[PATH_LENGTH], path[PATH_LENGTH] = "", made[NODE_LENGTH] = "";

    if (argc != 2)
        return 64;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "hold %299s", path) == 1) {
            while (!is_open(argv[1]) || create(path, made) != ZOK)
                usleep(AGAIN_US);
        } else {
            zoo_delete(zh, made, -1);
        }
        puts("ok");
        fflush(stdout);
    }
    return zh ? zookeeper_close(zh) : 0;
}
