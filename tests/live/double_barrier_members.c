#include "double_barrier.h"

void member_begin(struct member *m, struct live *t, int members)
{
    *m = (struct member){.session = live_open(t, t->connect, NULL)};
    REQUIRE(zkl_double_barrier_new(&m->barrier, m->session, t->lock, members, NULL) == 0);
}

void member_end(struct member *m)
{
    zkl_double_barrier_free(m->barrier);
}

static void on_done(const zkl_error *err, void *data)
{
    struct member *m = data;

    m->code = err ? err->code : 0;
    atomic_fetch_add(&m->done, 1);
}

void member_enter(struct member *m, int64_t timeout_ms)
{
    m->wanted++;
    REQUIRE(zkl_double_barrier_enter_async(m->barrier, timeout_ms, on_done, m) == 0);
}

void member_leave(struct member *m, int64_t timeout_ms)
{
    m->wanted++;
    REQUIRE(zkl_double_barrier_leave_async(m->barrier, timeout_ms, on_done, m) == 0);
}

bool member_is_done(struct member *m)
{
    return atomic_load(&m->done) == m->wanted;
}

int member_wait(struct member *m)
{
    LIVE_UNTIL(member_is_done(m));
    return m->code;
}

static int nodes_in(struct live *t)
{
    char **names = raw_children(t->admin, t->lock);
    int count = names ? (int)g_strv_length(names) : -1;

    g_strfreev(names);
    return count;
}

void directory_has(struct live *t, int nodes)
{
    LIVE_UNTIL(nodes_in(t) == nodes);
}

static char *ready_of(struct live *t)
{
    return g_strconcat(t->lock, "/ready", NULL);
}

bool has_ready(struct live *t)
{
    char *path = ready_of(t);
    bool has = raw_exists(t->admin, path, NULL) == ZOK;

    g_free(path);
    return has;
}

void leave_ready(struct live *t)
{
    char *path = ready_of(t);

    live_make_directory(t);
    REQUIRE(raw_create(t->admin, path, "10.0.0.1", 8, 0, NULL) == ZOK);
    g_free(path);
}
