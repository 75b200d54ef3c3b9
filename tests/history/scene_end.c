/* How a scene comes to rest, and what is then made of it. */
#include "scene.h"

#include "tests/support/raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_S = 60, POLL_US = 5000 };

static void heal(struct scene *s)
{
    for (int w = 0; w < s->actors; w++) {
        scene_let_on(s, w);
        for (int n = 0; n < s->o.nodes && !s->o.lab; n++)
            proxy_heal(s->actor[w].way[n]);
    }
    for (int n = 0; n < s->o.nodes; n++) {
        zk_server_resume(s->server, n);
        if (s->o.nodes > 1 && !s->o.lab)
            zk_server_rejoin(s->server, n);
        zk_server_launch(s->server, n);
    }
}

static void await_ends(struct scene *s)
{
    int64_t deadline = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;

    for (int w = 0; w < s->actors; w++)
        scene_end(s, w);
    while (scene_running(s) > 0 && g_get_monotonic_time() < deadline)
        g_usleep(POLL_US);
}

/* Soon it would be removed. */
void scene_complain(const struct scene *s)
{
    for (int w = 0; w < s->actors; w++) {
        char *file = g_strdup_printf("%s/w%d.err", s->scratch.path, w), *text = NULL;

        if (g_file_get_contents(file, &text, NULL, NULL) && *text)
            fprintf(stderr, "%s:\n%s\n", file, text);
        g_free(text);
        g_free(file);
    }
}

static int count_nodes(struct scene *s, struct raw *r)
{
    int count = 0;

    for (int path = 0; path < s->o.paths; path++) {
        char *name = g_strdup_printf(SCENE_ROOT "/%d", path);
        raw_sync(r, name);
        char **children = raw_children(r, name);
        count += children ? (int)g_strv_length(children) : 0;
        g_strfreev(children);
        g_free(name);
    }
    return count;
}

/* Names the owners of the nodes. They tell a server that kept a node from a contender that forgot
 * one. */
static void name_nodes(struct scene *s, struct raw *r)
{
    struct Stat stat = {.ephemeralOwner = 0};

    for (int path = 0; path < s->o.paths; path++) {
        char *name = g_strdup_printf(SCENE_ROOT "/%d", path);
        char **children = raw_children(r, name);
        for (char **child = children; child && *child; child++) {
            char *node = g_strconcat(name, "/", *child, NULL);
            char *payload = raw_get(r, node, &stat);
            printf("  left: %s of session %" PRIx64 ", made by %" PRIx64 ": %s\n", node,
                   (uint64_t)stat.ephemeralOwner, (uint64_t)stat.czxid, payload ? payload : "");
            free(payload);
            g_free(node);
        }
        g_strfreev(children);
        g_free(name);
    }
}

/* Those that were killed leave theirs to the end of their sessions. */
static int nodes_left(struct scene *s)
{
    int64_t deadline = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;
    struct raw *r = raw_open(zk_server_connect(s->server));
    int count = -1;

    while (r && (count = count_nodes(s, r)) > 0 && g_get_monotonic_time() < deadline)
        g_usleep(50000);
    if (count > 0)
        name_nodes(s, r);
    raw_close(r);
    return r ? count : INT32_MAX;
}

void scene_input(const struct scene *s, judge_input *ret, int nodes)
{
    const int64_t idle_ns = (s->o.timeout_ms + s->o.tick_ms * 3 / 2) * INT64_C(1000000);

    *ret = (judge_input){.events = s->h->events,
                         .workers = s->actors,
                         .paths = s->o.paths,
                         .look = true,
                         .nodes_left = nodes,
                         .garbled = s->garbled,
                         .service_ns = idle_ns + 2000 * INT64_C(1000000),
                         .idle_ns = idle_ns};
}

judgement *scene_judge(struct scene *s)
{
    judge_input in;

    heal(s);
    await_ends(s);
    scene_complain(s);
    int left = nodes_left(s);
    scene_poll(s);
    history_sort(s->h);
    scene_input(s, &in, left);
    return judge(&in);
}
