#include "bare.h"

#include <glib.h>
#include <semaphore.h>
#include <string.h>

#include "common.h"

static sem_t answered;

void bare_require(int rc, const char *what)
{
    if (rc != ZOK)
        fail("%s: %s", what, zerror(rc));
}

void bare_await(void)
{
    while (sem_wait(&answered) != 0)
        continue;
}

void bare_answered(void)
{
    sem_post(&answered);
}

static void on_session(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)path, (void)context;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        bare_answered();
}

static void make_directory(zhandle_t *zh, const char *path)
{
    int rc = zoo_create(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);

    if (rc != ZNODEEXISTS)
        bare_require(rc, path);
}

zhandle_t *bare_open(const char *address)
{
    sem_init(&answered, 0, 0);
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zhandle_t *zh = zookeeper_init(address, on_session, 30000, NULL, NULL, 0);
    if (!zh)
        fail("zookeeper_init failed");
    /* As zkl does, or the bare loop would pay for resolving names at every turn. */
    zoo_set_servers_resolution_delay(zh, -1);
    bare_await();
    return zh;
}

void bare_directory(zhandle_t *zh, const char *path)
{
    for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        char *parent = g_strndup(path, (gsize)(end - path));
        make_directory(zh, parent);
        g_free(parent);
    }
    make_directory(zh, path);
}

void bare_create(zhandle_t *zh, const char *path, string_completion_t created, const void *data)
{
    char *prefix = g_strconcat(path, "/n-", NULL);

    bare_require(zoo_acreate(zh, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                             created, data),
                 prefix);
    g_free(prefix);
}
