#include "svg.h"

#include <inttypes.h>

double svg_x(const panel *p, int64_t ns)
{
    double share = (double)(ns - p->from) / (double)(p->to - p->from);

    return SVG_LEFT + CLAMP(share, 0.0, 1.0) * (SVG_WIDTH - SVG_LEFT - SVG_RIGHT);
}

int svg_panel_bottom(const panel *p)
{
    return p->y + p->workers * p->lane;
}

static bool outside(const panel *p, int64_t start, int64_t end)
{
    return end <= p->from || start >= p->to;
}

/* A step of 1, 2 or 5 times a power of ten that gives about a dozen lines. */
static int64_t grid_step(const panel *p)
{
    static const int64_t factors[] = {2, 5, 10};
    int64_t base = 1000000, step = base;

    for (int i = 0; (p->to - p->from) / step > 20; i++) {
        step = base * factors[i % 3];
        if (i % 3 == 2)
            base *= 10;
    }
    return step;
}

static void draw_grid(GString *out, const panel *p)
{
    int64_t step = grid_step(p), t0 = p->v->t->t0, first = (p->from - t0 + step - 1) / step;
    int bottom = svg_panel_bottom(p), decimals = step < 10000000 ? 3 : step < 100000000 ? 2 : 1;

    if (step >= 1000000000)
        decimals = 0;
    for (int64_t ns = t0 + first * step; ns < p->to; ns += step) {
        double x = svg_x(p, ns);

        g_string_append_printf(out,
                               "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
                               "y2=\"%d\"/><text class=\"small dim\" x=\"%.1f\" y=\"%d\" "
                               "text-anchor=\"middle\">%.*f s</text>\n",
                               x, x, p->y, bottom + 4, x, bottom + 16, decimals,
                               (double)(ns - t0) / 1e9);
    }
}

static void draw_lanes(GString *out, const panel *p)
{
    for (int w = 0; w < p->workers; w++) {
        int y = p->y + w * p->lane;

        g_string_append_printf(out,
                               "<rect class=\"lane\" x=\"%d\" y=\"%d\" width=\"%d\" "
                               "height=\"%d\"/><text x=\"%d\" y=\"%d\" text-anchor=\"end\">w%d"
                               "</text>\n",
                               SVG_LEFT, y + 2, SVG_WIDTH - SVG_LEFT - SVG_RIGHT, p->lane - 4,
                               SVG_LEFT - 8, y + p->lane / 2 + 4, w + 1);
    }
}

static void draw_waits(GString *out, const panel *p)
{
    for (guint i = 0; i < p->v->t->waits->len; i++) {
        const wait_span *s = &g_array_index(p->v->t->waits, wait_span, i);
        int y = p->y + s->worker * p->lane + p->lane / 2;

        if (!outside(p, s->start, s->end))
            g_string_append_printf(
                out, "<line class=\"wait\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%d\"/>\n",
                svg_x(p, s->start), svg_x(p, s->end), y, y);
    }
}

static void draw_bar(GString *out, const panel *p, const char *kind, int worker, int64_t start,
                     int64_t end)
{
    double x = svg_x(p, start), width = MAX(svg_x(p, end) - x, 0.9);
    int inset = p->lane / 5;

    g_string_append_printf(out,
                           "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
                           "height=\"%d\"/>\n",
                           kind, x, p->y + worker * p->lane + inset, width, p->lane - 2 * inset);
}

static void draw_holds(GString *out, const panel *p)
{
    for (guint i = 0; i < p->v->t->list->len; i++) {
        const tenure *n = &g_array_index(p->v->t->list, tenure, i);
        int64_t end = MIN(n->end, p->v->t->t1);

        if (outside(p, n->start, end))
            continue;
        draw_bar(out, p, "hold", n->worker, n->start, end);
        if (n->suspect && n->suspect < end)
            draw_bar(out, p, "suspect", n->worker, n->suspect, end);
    }
}

/* A shade over all lanes wherever two held at once. */
static void draw_overlaps(GString *out, const panel *p)
{
    const GArray *list = p->v->t->list;

    for (guint i = 0; i < list->len; i++) {
        const tenure *a = &g_array_index(list, tenure, i);

        for (guint j = i + 1; j < list->len; j++) {
            const tenure *b = &g_array_index(list, tenure, j);
            int64_t end = MIN(MIN(a->end, b->end), p->v->t->t1);

            if (b->start >= a->end)
                break;
            if (a->worker == b->worker || outside(p, b->start, end))
                continue;
            g_string_append_printf(out,
                                   "<rect class=\"overlap\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
                                   "height=\"%d\"/>\n",
                                   svg_x(p, b->start), p->y,
                                   MAX(svg_x(p, end) - svg_x(p, b->start), 0.5),
                                   p->workers * p->lane);
        }
    }
}

/* Tokens stand right of where the grant begins in the close-up, and above the bars elsewhere. */
static void draw_tokens(GString *out, const panel *p)
{
    double room = p->tokens_all ? 0 : 88, free_from = SVG_LEFT;
    int below = p->tokens_all ? p->lane / 2 + 4 : 5;

    for (guint i = 0; i < p->v->t->list->len; i++) {
        const tenure *n = &g_array_index(p->v->t->list, tenure, i);
        double x = svg_x(p, p->tokens_all ? MIN(n->end, p->to) : n->start);

        if (n->start < p->from || n->start >= p->to || x < free_from || x > SVG_WIDTH - 60)
            continue;
        g_string_append_printf(
            out, "<text class=\"small dim\" x=\"%.1f\" y=\"%d\">#%" PRIu64 "</text>\n",
            x + (p->tokens_all ? 3 : 0), p->y + n->worker * p->lane + below, n->token);
        free_from = x + room;
    }
}

void svg_panel(GString *out, const panel *p)
{
    draw_lanes(out, p);
    draw_grid(out, p);
    draw_overlaps(out, p);
    draw_waits(out, p);
    draw_holds(out, p);
    draw_tokens(out, p);
}
