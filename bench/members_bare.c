/* Nodes like those of a group's members, without logic: option sessions create all at once, and
 * delete them. With read=1 each session also sends the other request that a member costs: a read
 * that leaves a watch. */
#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "bare.h"
#include "common.h"
#include "traffic.h"

static zhandle_t **handles;
static int64_t members, sessions;
static char **nodes;
static bool reads;
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

static void on_deleted(int rc, const void *data)
{
    (void)data;
    bare_require(rc, "delete");
    one_less();
}

static void on_created(int rc, const char *name, const void *data)
{
    const int i = GPOINTER_TO_INT(data);

    (void)name;
    bare_require(rc, "create");
    if (reads)
        bare_require(zoo_awget(handles[i % sessions], nodes[i], on_event, NULL, on_read, NULL),
                     "get");
    one_less();
}

static void create_all(void)
{
    atomic_store(&left, (int)members * (reads ? 2 : 1));
    for (int64_t i = 0; i < members; i++)
        bare_require(zoo_acreate(handles[i % sessions], nodes[i], "10.0.0.1", 8,
                                 &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, on_created,
                                 GINT_TO_POINTER((int)i)),
                     nodes[i]);
    bare_await();
}

static void delete_all(void)
{
    atomic_store(&left, (int)members);
    for (int64_t i = 0; i < members; i++)
        bare_require(zoo_adelete(handles[i % sessions], nodes[i], -1, on_deleted, NULL), "delete");
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
    delete_all();
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    const char *path = option("lock", "/bench/members");
    reads = option_number("read", 0);
    members = option_number("members", 100);
    sessions = option_number("sessions", 1);
    nodes = g_new0(char *, (gsize)members);
    handles = g_new0(zhandle_t *, (gsize)sessions);
    for (int64_t i = 0; i < sessions; i++)
        handles[i] = bare_open(option("address", ""));
    traffic_divide();
    bare_directory(handles[0], path);
    for (int64_t i = 0; i < members; i++)
        nodes[i] = g_strdup_printf("%s/m%05d", path, (int)i);
    say("READY");
    while (told())
        play();
    return 0;
}
