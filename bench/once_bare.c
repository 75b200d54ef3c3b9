/* The least that the process of a lock does: it connects, creates a node, deletes it, and closes.
 * With the option make=1 it makes the directory first. With wait=1 it waits for a line while the
 * node stands, so that its memory can be looked at. */
#include <glib.h>

#include "bare.h"
#include "common.h"

static char *made;

static void on_created(int rc, const char *name, const void *data)
{
    (void)data;
    bare_require(rc, "create");
    made = g_strdup(name);
    bare_answered();
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    const char *path = option("lock", "/bench/once");
    zhandle_t *zh = bare_open(option("address", ""));

    if (option_number("make", 0))
        bare_directory(zh, path);
    bare_create(zh, path, on_created, NULL);
    bare_await();
    if (option_number("wait", 0)) {
        say("READY");
        told();
    }
    bare_require(zoo_delete(zh, made, -1), "delete");
    g_free(made);
    bare_require(zookeeper_close(zh), "close");
    return 0;
}
