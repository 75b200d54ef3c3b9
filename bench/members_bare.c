/* Nodes as those of a group's members, without logic: created all at once by option sessions, and
 * deleted. With mark=1 each has the other requests that a member's costs: a node beside it, and a
 * read that leaves a watch. */
#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "bare.h"
#include "common.h"
#include "traffic.h"

static zhandle_t **handles;
static int64_t members, sessions;
static char **nodes, **marks;
static bool mark;
static atomic_int left;

static void one_less(void)
{
    if (atomic_fetch_sub(&left, 1) == 1)
        bare_answered();
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *data)
{
    (void)zh, (void)type, (void)state, (void)path, (void)data;
}

static void on_read(int rc, const char *value, int length, const struct Stat *stat,
                    const void *data)
{
    (void)value, (void)length, (void)stat, (void)data;
    bare_require(rc, "get");
    one_less();
}

static void on_marked(int rc, const char *name, const void *data)
{
    (void)name, (void)data;
    bare_require(rc, "create");
    one_less();
}

static void on_deleted(int rc, const void *data)
{
    (void)data;
    bare_require(rc, "delete");
    one_less();
}

static void create(int64_t i, const char *path, string_completion_t created)
{
    bare_require(zoo_acreate(handles[i % sessions], path, "10.0.0.1", 8, &ZOO_OPEN_ACL_UNSAFE,
                             ZOO_EPHEMERAL, created, GINT_TO_POINTER((int)i)),
                 path);
}

static void on_created(int rc, const char *name, const void *data)
{
    const int i = GPOINTER_TO_INT(data);

    (void)name;
    bare_require(rc, "create");
    if (mark) {
        create(i, marks[i], on_marked);
        bare_require(zoo_awget(handles[i % sessions], nodes[i], on_event, NULL, on_read, NULL),
                     "get");
    }
    one_less();
}

static void create_all(void)
{
    atomic_store(&left, (int)members * (mark ? 3 : 1));
    for (int64_t i = 0; i < members; i++)
        create(i, nodes[i], on_created);
    bare_await();
}

static void delete_all(char **paths)
{
    atomic_store(&left, (int)members);
    for (int64_t i = 0; i < members; i++)
        bare_require(zoo_adelete(handles[i % sessions], paths[i], -1, on_deleted, NULL), "delete");
    bare_await();
}

static void play(void)
{
    const int64_t bytes = traffic_received(false);
    const struct usage begin = usage_now();

    create_all();
    answer_begin(members, begin);
    answer_number("storm_s", (double)(now_ns() - begin.ns) * 1e-9);
    answer_number("storm_cpu_us", (double)(usage_now().cpu_us - begin.cpu_us) / (double)members);
    answer_number("storm_bytes", (double)(traffic_received(false) - bytes) / (double)members);
    answer_end();
    delete_all(nodes);
    if (mark)
        delete_all(marks);
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    const char *path = option("lock", "/bench/members");
    char *owners = g_strconcat(path, "-__owners__", NULL);
    mark = option_number("mark", 0);
    members = option_number("members", 100);
    sessions = option_number("sessions", 1);
    nodes = g_new0(char *, (gsize)members);
    marks = g_new0(char *, (gsize)members);
    handles = g_new0(zhandle_t *, (gsize)sessions);
    for (int64_t i = 0; i < sessions; i++)
        handles[i] = bare_open(option("address", ""));
    traffic_divide();
    bare_directory(handles[0], path);
    bare_directory(handles[0], owners);
    for (int64_t i = 0; i < members; i++) {
        nodes[i] = g_strdup_printf("%s/m%05d", path, (int)i);
        marks[i] = g_strdup_printf("%s/m%05d-%016x", owners, (int)i, (unsigned)i);
    }
    say("READY");
    while (told())
        play();
    return 0;
}
