#include "floor.h"

#include <glib.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <zookeeper/zookeeper.h>

struct floor {
    zhandle_t *zh;
    sem_t answered;
    char *prefix;
    char *made;
};

static void require(int rc, const char *what)
{
    if (rc == ZOK)
        return;
    fprintf(stderr, "zkl-bench: %s: %s\n", what, zerror(rc));
    exit(1);
}

static void await(struct floor *f)
{
    while (sem_wait(&f->answered) != 0)
        continue;
}

static void on_session(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        sem_post(&((struct floor *)context)->answered);
}

static void on_created(int rc, const char *name, const void *data)
{
    struct floor *f = (struct floor *)(uintptr_t)data;

    require(rc, "create");
    g_free(f->made);
    f->made = g_strdup(name);
    sem_post(&f->answered);
}

static void on_deleted(int rc, const void *data)
{
    require(rc, "delete");
    sem_post(&((struct floor *)(uintptr_t)data)->answered);
}

struct floor *floor_open(const char *connect, const char *path)
{
    struct floor *f = g_new0(struct floor, 1);
    int rc;

    sem_init(&f->answered, 0, 0);
    f->prefix = g_strconcat(path, "/n-", NULL);
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    f->zh = zookeeper_init(connect, on_session, 30000, NULL, f, 0);
    if (!f->zh) {
        perror("zkl-bench: zookeeper_init");
        exit(1);
    }
    /* As zkl does, or the floor would pay for resolving names at every turn. */
    zoo_set_servers_resolution_delay(f->zh, -1);
    await(f);
    rc = zoo_create(f->zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    if (rc != ZNODEEXISTS)
        require(rc, path);
    return f;
}

void floor_close(struct floor *f)
{
    zookeeper_close(f->zh);
    sem_destroy(&f->answered);
    g_free(f->prefix);
    g_free(f->made);
    g_free(f);
}

void floor_pair(struct floor *f)
{
    require(zoo_acreate(f->zh, f->prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                        on_created, f),
            "create");
    await(f);
    require(zoo_adelete(f->zh, f->made, -1, on_deleted, f), "delete");
    await(f);
}
