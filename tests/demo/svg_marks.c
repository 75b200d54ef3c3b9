/* The faults' labels, in as many rows as keep them apart. */
#include "svg.h"

#include <string.h>

enum { ROW = 17 };

static double width_of(const char *label)
{
    return 7.4 * (double)strlen(label) + 14;
}

/* Where a label begins so that it stays inside the picture. */
static double left_of(const panel *p, const mark *m)
{
    return MAX(MIN(svg_x(p, m->ns), SVG_WIDTH - SVG_RIGHT - width_of(m->label)), SVG_LEFT);
}

/* From the last to the first: a label stands above every later one that it would reach, so that
 * the lines of those go down without crossing it. Row 0 is the lowest. */
static int rows_needed(const panel *p, const GArray *marks, int *rows)
{
    int most = 0;

    for (int i = (int)marks->len - 1; i >= 0; i--) {
        const mark *m = &g_array_index(marks, mark, i);
        double end = left_of(p, m) + width_of(m->label);

        rows[i] = 0;
        for (guint j = (guint)i + 1; j < marks->len; j++)
            if (left_of(p, &g_array_index(marks, mark, j)) < end)
                rows[i] = MAX(rows[i], rows[j] + 1);
        most = MAX(most, rows[i] + 1);
    }
    return most;
}

int svg_marks_height(const panel *p, const GArray *marks)
{
    int *rows = g_new0(int, marks->len + 1);
    int n = rows_needed(p, marks, rows);

    g_free(rows);
    return n * ROW + 14;
}

static void draw_mark(GString *out, const panel *p, const mark *m, int y)
{
    double x = svg_x(p, m->ns);
    int lane = p->y + m->worker * p->lane;

    g_string_append_printf(out,
                           "<g class=\"mark\"><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
                           "stroke=\"%s\" stroke-dasharray=\"3 2\"/><text class=\"bold\" "
                           "x=\"%.1f\" y=\"%d\" style=\"fill:%s\">%s</text>\n",
                           x, x, y + 3, svg_panel_bottom(p), m->colour, left_of(p, m) + 4, y,
                           m->colour, m->label);
    if (m->letter)
        g_string_append_printf(out,
                               "<circle cx=\"%.1f\" cy=\"%d\" r=\"8\" fill=\"%s\"/><text "
                               "class=\"small bold\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" "
                               "style=\"fill:#fff\">%c</text>\n",
                               x, lane + p->lane / 2, m->colour, x, lane + p->lane / 2 + 4,
                               m->letter);
    g_string_append(out, "</g>\n");
}

void svg_marks(GString *out, const panel *p, const GArray *marks, int y)
{
    int *rows = g_new0(int, marks->len + 1);
    int n = rows_needed(p, marks, rows);

    for (guint i = 0; i < marks->len; i++)
        draw_mark(out, p, &g_array_index(marks, mark, i), y + (n - rows[i]) * ROW - 4);
    g_free(rows);
}
