#include "draw.h"

#include <inttypes.h>

#define S(ns) ((double)(ns) / 1e9)

static void add(GArray *marks, int64_t ns, int worker, char letter, char *label)
{
    mark m = {ns, worker, letter, label};

    if (ns)
        g_array_append_val(marks, m);
    else
        g_free(label);
}

static void add_kill(GArray *marks, const kill_fault *k)
{
    add(marks, k->at, k->worker, 'K',
        g_strdup_printf("w%d killed with -9%s", k->worker + 1, k->held ? " while it held" : ""));
    if (k->held && k->next)
        add(marks, k->next, -1, 0,
            g_strdup_printf("next grant, %.2f s after the kill", S(k->next - k->at)));
}

static void add_cut(GArray *marks, const cut_fault *c)
{
    int w = c->worker + 1;

    add(marks, c->at, c->worker, 'C',
        g_strdup_printf("w%d cut off%s", w, c->held ? " while it held" : ""));
    add(marks, c->suspect, c->worker, 'S',
        g_strdup_printf("w%d told SUSPECT, +%.2f s", w, S(c->suspect - c->at)));
    add(marks, c->lost, c->worker, 'L',
        g_strdup_printf("w%d told LOST by its own deadline, +%.2f s", w, S(c->lost - c->at)));
    if (c->lost && c->next)
        add(marks, c->next, -1, 0,
            g_strdup_printf("next grant, %.2f s after the cut", S(c->next - c->at)));
    add(marks, c->thaw, c->worker, 'T',
        g_strdup_printf("w%d let go on%s", w, c->back ? ", takes part again" : ""));
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const mark *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

GArray *marks_new(const verdict *v)
{
    GArray *marks = g_array_new(FALSE, TRUE, sizeof(mark));
    const foreign_fault *f = &v->foreign;

    add(marks, f->at, f->holder, 'F',
        g_strdup_printf("%u of %u foreign unlocks of w%d's lock refused", f->refused, f->tries,
                        f->holder + 1));
    add_kill(marks, &v->kill);
    add_cut(marks, &v->cut);
    g_array_sort(marks, by_time);
    return marks;
}

void marks_free(GArray *marks)
{
    for (guint i = 0; i < marks->len; i++)
        g_free(g_array_index(marks, mark, i).label);
    g_array_free(marks, TRUE);
}
