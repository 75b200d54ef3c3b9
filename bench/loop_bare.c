/* No lock at all: create, wait, delete, wait. */
#include <glib.h>

#include "bare.h"
#include "loop.h"

struct locker {
    zhandle_t *zh;
    const char *path;
    char *made;
};

static void on_created(int rc, const char *name, const void *data)
{
    struct locker *l = (struct locker *)(uintptr_t)data;

    bare_require(rc, "create");
    g_free(l->made);
    l->made = g_strdup(name);
    bare_answered();
}

static void on_deleted(int rc, const void *data)
{
    (void)data;
    bare_require(rc, "delete");
    bare_answered();
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
    bare_await();
}

void locker_release(struct locker *l)
{
    bare_require(zoo_adelete(l->zh, l->made, -1, on_deleted, l), "delete");
    bare_await();
}
