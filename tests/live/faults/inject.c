#include "inject.h"

#include "tests/support/raw.h"

#include <stdlib.h>
#include <string.h>

/* ---- a client and its ways ---- */

static void heal_ways(struct scene *s, const struct fault *f)
{
    for (int n = 0; n < s->o.nodes; n++)
        proxy_heal(s->actor[f->worker].way[n]);
}

#define ON_EACH_WAY(name, call)                                                                    \
    static bool name(struct scene *s, struct fault *f, GRand *rand)                                \
    {                                                                                              \
        (void)rand;                                                                                \
        for (int n = 0; n < s->o.nodes; n++) {                                                     \
            struct proxy *way = s->actor[f->worker].way[n];                                        \
            call;                                                                                  \
        }                                                                                          \
        return true;                                                                               \
    }

ON_EACH_WAY(cut, proxy_cut(way))
ON_EACH_WAY(reset, proxy_reset(way))
ON_EACH_WAY(freeze, proxy_freeze(way, PROXY_BOTH))
ON_EACH_WAY(freeze_requests, proxy_freeze(way, PROXY_TO_SERVER))
ON_EACH_WAY(freeze_replies, proxy_freeze(way, PROXY_TO_CLIENT))
ON_EACH_WAY(lose_reply, proxy_lose_reply_to(way, PROXY_OP_ANY))
ON_EACH_WAY(lose_request, proxy_lose_request_to(way, PROXY_OP_ANY))
ON_EACH_WAY(delay, proxy_delay_ms(way, PROXY_BOTH, s->o.timeout_ms / 20))

static bool stop_worker(struct scene *s, struct fault *f, GRand *rand)
{
    static const int permille[] = {500, 1000, 3000};

    int ms = s->o.timeout_ms * permille[g_rand_int_range(rand, 0, 3)] / 1000;

    f->until = g_get_monotonic_time() + ms * INT64_C(1000);
    scene_stop_worker(s, f->worker);
    return true;
}

static void let_on(struct scene *s, const struct fault *f)
{
    scene_let_on(s, f->worker);
}

static bool kill_worker(struct scene *s, struct fault *f, GRand *rand)
{
    (void)rand;
    return scene_replace(s, f->worker);
}

/* ---- servers ---- */

static bool choose_leader(struct scene *s, struct fault *f)
{
    f->node = zk_server_leader(s->server);
    return f->node >= 0;
}

static bool choose_follower(struct scene *s, struct fault *f, GRand *rand)
{
    if (!choose_leader(s, f))
        return false;
    f->node = (f->node + g_rand_int_range(rand, 1, NODES)) % NODES;
    return true;
}

static void choose_node(struct scene *s, struct fault *f, GRand *rand)
{
    f->node = g_rand_int_range(rand, 0, s->o.nodes);
}

static bool isolate_follower(struct scene *s, struct fault *f, GRand *rand)
{
    if (!choose_follower(s, f, rand))
        return false;
    zk_server_isolate(s->server, f->node);
    return true;
}

/* Blocks the campaign for a moment: the others' faults last that much longer. */
static bool stall_and_isolate(struct scene *s, struct fault *f, GRand *rand)
{
    int worker = g_rand_int_range(rand, 0, s->actors);

    for (int i = 0; i < s->actors && !scene_holds(s, worker); i++)
        worker = (worker + 1) % s->actors;
    if (s->actor[worker].stopped || !choose_follower(s, f, rand))
        return false;
    scene_stop_worker(s, worker);
    g_usleep((gulong)(s->o.timeout_ms * 600));
    scene_let_on(s, worker);
    g_usleep((gulong)g_rand_int_range(rand, 0, 50000));
    zk_server_isolate(s->server, f->node);
    f->until = g_get_monotonic_time() + s->o.timeout_ms * INT64_C(1800);
    return true;
}

static bool isolate_leader(struct scene *s, struct fault *f, GRand *rand)
{
    (void)rand;
    if (!choose_leader(s, f))
        return false;
    zk_server_isolate(s->server, f->node);
    return true;
}

static bool mute_node(struct scene *s, struct fault *f, GRand *rand)
{
    choose_node(s, f, rand);
    zk_server_mute(s->server, f->node);
    return true;
}

static bool deafen_node(struct scene *s, struct fault *f, GRand *rand)
{
    choose_node(s, f, rand);
    zk_server_deafen(s->server, f->node);
    return true;
}

static bool slow_node(struct scene *s, struct fault *f, GRand *rand)
{
    choose_node(s, f, rand);
    zk_server_slow(s->server, f->node, s->o.tick_ms / 4);
    return true;
}

static void rejoin(struct scene *s, const struct fault *f)
{
    zk_server_rejoin(s->server, f->node);
}

static bool pause_node(struct scene *s, struct fault *f, GRand *rand)
{
    choose_node(s, f, rand);
    zk_server_pause(s->server, f->node);
    return true;
}

static void resume_node(struct scene *s, const struct fault *f)
{
    zk_server_resume(s->server, f->node);
}

static bool kill_node(struct scene *s, struct fault *f, GRand *rand)
{
    choose_node(s, f, rand);
    zk_server_kill(s->server, f->node);
    return true;
}

static void launch_node(struct scene *s, const struct fault *f)
{
    zk_server_launch(s->server, f->node);
}

/* ---- somebody else ---- */

static gint by_number(gconstpointer a, gconstpointer b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;

    return strcmp(x + strlen(x) - 10, y + strlen(y) - 10);
}

/* One contender of a path, the holder as often as not. What happens to it is recorded before it is
 * done. */
static bool with_contender(struct scene *s, GRand *rand,
                           bool (*deed)(struct scene *s, struct raw *r, const char *node,
                                        const struct Stat *stat))
{
    char *path = g_strdup_printf("/faults/%d", g_rand_int_range(rand, 0, s->o.paths));
    struct raw *r = raw_open(zk_server_connect(s->server));
    char **children = r ? scene_contenders(r, path) : NULL;
    guint count = children ? g_strv_length(children) : 0;
    bool done = false;

    if (count > 0) {
        qsort(children, count, sizeof *children, by_number);
        const char *child =
            children[g_rand_boolean(rand) ? 0 : g_rand_int_range(rand, 0, (gint)count)];
        char *node = g_strdup_printf("%s/%s", path, child);
        struct Stat stat;

        done = raw_exists(r, node, &stat) == ZOK && deed(s, r, node, &stat);
        g_free(node);
    }
    g_strfreev(children);
    raw_close(r);
    g_free(path);
    return done;
}

static bool delete (struct scene *s, struct raw *r, const char *node, const struct Stat *stat)
{
    scene_record(s, -1, EV_DELETE, stat->ephemeralOwner, (uint64_t)stat->czxid);
    return raw_delete(r, node) == ZOK;
}

static bool evict(struct scene *s, struct raw *r, const char *node, const struct Stat *stat)
{
    (void)r, (void)node;
    scene_record(s, -1, EV_EVICT, stat->ephemeralOwner, 0);
    return raw_expire(zk_server_port(s->server, 0), stat->ephemeralOwner);
}

static bool delete_node(struct scene *s, struct fault *f, GRand *rand)
{
    (void)f;
    return with_contender(s, rand, delete);
}

static bool close_session(struct scene *s, struct fault *f, GRand *rand)
{
    (void)f;
    return with_contender(s, rand, evict);
}

const struct fault_kind fault_kinds[] = {
    {"client cut", SCOPE_CLIENT, 50, 1500, 4, cut, heal_ways},
    {"client frozen", SCOPE_CLIENT, 50, 1800, 6, freeze, heal_ways},
    {"client's requests frozen", SCOPE_CLIENT, 50, 1800, 4, freeze_requests, heal_ways},
    {"client's replies frozen", SCOPE_CLIENT, 50, 1800, 4, freeze_replies, heal_ways},
    {"client reset", SCOPE_CLIENT, 0, 50, 6, reset, NULL},
    {"client delayed", SCOPE_CLIENT, 200, 2000, 3, delay, heal_ways},
    {"reply lost", SCOPE_CLIENT, 100, 1000, 6, lose_reply, heal_ways},
    {"request lost", SCOPE_CLIENT, 100, 1000, 4, lose_request, heal_ways},
    {"worker stopped", SCOPE_CLIENT, 0, 0, 8, stop_worker, let_on},
    {"worker killed -9", SCOPE_CLIENT, 0, 500, 5, kill_worker, NULL},
    {"server paused", SCOPE_SERVER, 200, 1300, 5, pause_node, resume_node},
    {"server killed and restarted", SCOPE_SERVER, 100, 1000, 3, kill_node, launch_node},
    {"follower isolated", SCOPE_ENSEMBLE, 200, 2500, 8, isolate_follower, rejoin},
    {"holder stalled, follower isolated", SCOPE_ENSEMBLE, 0, 0, 8, stall_and_isolate, rejoin},
    {"leader isolated", SCOPE_ENSEMBLE, 200, 2500, 5, isolate_leader, rejoin},
    {"server not heard", SCOPE_ENSEMBLE, 200, 2000, 4, mute_node, rejoin},
    {"server deaf", SCOPE_ENSEMBLE, 200, 2000, 4, deafen_node, rejoin},
    {"server slow", SCOPE_ENSEMBLE, 500, 2000, 3, slow_node, rejoin},
    {"session closed by force", SCOPE_THIRD, 0, 0, 3, close_session, NULL},
    {"node deleted by another", SCOPE_THIRD, 0, 0, 3, delete_node, NULL},
};
const int fault_kind_count = G_N_ELEMENTS(fault_kinds);
