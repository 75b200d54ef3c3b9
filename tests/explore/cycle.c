#include "cycle.h"

struct visit {
    guint32 state, edge;
};

enum { WHITE, GREY, BLACK };

static guint32 get(const GArray *array, guint at)
{
    return g_array_index(array, guint32, at);
}

static guint32 last_edge(const GArray *first_edge, const GArray *edges, guint32 state)
{
    return state + 1 < first_edge->len ? get(first_edge, state + 1) : edges->len;
}

/* The part of the path from state on. */
static struct cycle cut_out(const GArray *path, guint32 state)
{
    guint from = path->len;
    struct cycle cycle;

    while (g_array_index(path, struct visit, from - 1).state != state)
        from--;
    cycle.length = path->len - from + 1;
    cycle.states = g_new(guint32, cycle.length);
    for (guint k = 0; k < cycle.length; k++)
        cycle.states[k] = g_array_index(path, struct visit, from - 1 + k).state;
    return cycle;
}

static void go_to(GArray *path, guint8 *colours, const GArray *first_edge, guint32 state)
{
    struct visit visit = {state, get(first_edge, state)};

    colours[state] = GREY;
    g_array_append_val(path, visit);
}

/* Depth first from one state; whatever is left without a cycle becomes black. */
static struct cycle walk(GArray *path, guint8 *colours, const GArray *first_edge,
                         const GArray *edges, guint32 start)
{
    go_to(path, colours, first_edge, start);
    while (path->len > 0) {
        struct visit *top = &g_array_index(path, struct visit, path->len - 1);
        if (top->edge == last_edge(first_edge, edges, top->state)) {
            colours[top->state] = BLACK;
            g_array_set_size(path, path->len - 1);
            continue;
        }
        guint32 to = get(edges, top->edge++);
        if (colours[to] == GREY)
            return cut_out(path, to);
        if (colours[to] == WHITE)
            go_to(path, colours, first_edge, to);
    }
    return (struct cycle){.length = 0};
}

struct cycle cycle_find(const GArray *first_edge, const GArray *edges)
{
    guint8 *colours = g_new0(guint8, first_edge->len);
    GArray *path = g_array_new(FALSE, FALSE, sizeof(struct visit));
    struct cycle cycle = {.length = 0};

    for (guint32 state = 0; state < first_edge->len && cycle.length == 0; state++)
        if (colours[state] == WHITE)
            cycle = walk(path, colours, first_edge, edges, state);
    g_array_unref(path);
    g_free(colours);
    return cycle;
}
