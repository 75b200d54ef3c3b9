/* The least that a lock asks of its server, in the order in which zkl sends it: a create, and then
 * the list; the own node, with a watch if one is to be awaited; the node ahead, with a watch; a
 * delete whose answer nobody waits for. It survives no failure and has no deadline. */
#include <glib.h>
#include <string.h>

#include "bare.h"
#include "loop.h"

struct locker {
    zhandle_t *zh;
    const char *path;
    char *own;
    int ahead;
};

static void list(struct locker *l);

static void on_own(int rc, const char *value, int length, const struct Stat *stat, const void *data)
{
    (void)value, (void)length, (void)stat, (void)data;
    bare_require(rc, "get");
}

/* The echo of the own delete. */
static void on_own_event(zhandle_t *zh, int type, int state, const char *path, void *locker)
{
    (void)zh, (void)type, (void)state, (void)path, (void)locker;
}

/* When only one was left before us, all before that one had gone. */
static void on_gone(struct locker *l)
{
    if (l->ahead > 1)
        list(l);
    else
        bare_answered();
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *locker)
{
    (void)zh, (void)state, (void)path;
    if (type == ZOO_DELETED_EVENT)
        on_gone(locker);
}

static void on_watched(int rc, const char *value, int length, const struct Stat *stat,
                       const void *data)
{
    (void)value, (void)length, (void)stat;
    if (rc == ZNONODE)
        on_gone((struct locker *)(uintptr_t)data);
    else
        bare_require(rc, "get");
}

/* All names are alike but for their numbers. */
static const char *before(struct locker *l, const struct String_vector *names)
{
    const char *own = strrchr(l->own, '/') + 1, *nearest = "";

    l->ahead = 0;
    for (int i = 0; i < names->count; i++) {
        if (strcmp(names->data[i], own) >= 0)
            continue;
        l->ahead++;
        if (strcmp(names->data[i], nearest) > 0)
            nearest = names->data[i];
    }
    return nearest;
}

static void on_listed(int rc, const struct String_vector *names, const struct Stat *stat,
                      const void *data)
{
    struct locker *l = (struct locker *)(uintptr_t)data;

    (void)stat;
    bare_require(rc, "list");
    const char *nearest = before(l, names);
    if (l->ahead == 0) {
        bare_answered();
        return;
    }
    if (l->ahead == 1)
        bare_require(zoo_awget(l->zh, l->own, on_own_event, l, on_own, NULL), "get");
    char *node = g_strconcat(l->path, "/", nearest, NULL);
    bare_require(zoo_awget(l->zh, node, on_event, l, on_watched, l), "get");
    g_free(node);
}

static void list(struct locker *l)
{
    bare_require(zoo_aget_children2(l->zh, l->path, 0, on_listed, l), "list");
}

static void on_created(int rc, const char *name, const void *data)
{
    struct locker *l = (struct locker *)(uintptr_t)data;

    bare_require(rc, "create");
    g_free(l->own);
    l->own = g_strdup(name);
}

static void on_deleted(int rc, const void *data)
{
    (void)data;
    bare_require(rc, "delete");
}

struct locker *locker_open(const char *address, const char *path)
{
    struct locker *l = g_new0(struct locker, 1);

    l->zh = bare_open(address);
    bare_directory(l->zh, path);
    l->path = path;
    return l;
}

void locker_acquire(struct locker *l)
{
    bare_create(l->zh, l->path, on_created, l);
    list(l);
    bare_await();
}

void locker_release(struct locker *l)
{
    bare_require(zoo_adelete(l->zh, l->own, -1, on_deleted, l), "delete");
}
