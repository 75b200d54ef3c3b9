/* A table is a list of cells and the widest of each column. */
#include "table.h"
#include "tool.h"

#include <limits.h>

#define COLUMNS_MAX 9
#define WIDEST 64 /* a longer cell is cut, unless it is a line's last */

struct table {
    GPtrArray *cells;
    unsigned columns;
    unsigned right_mask;
    int widths[COLUMNS_MAX];
};

/* Returns how many columns of a terminal c takes. */
static int width_of_char(gunichar c)
{
    if (g_unichar_iszerowidth(c))
        return 0;
    return g_unichar_iswide(c) ? 2 : 1;
}

static int width_of(const char *text)
{
    int width = 0;

    for (const char *p = text; *p; p = g_utf8_next_char(p))
        width += width_of_char(g_utf8_get_char(p));
    return width;
}

void append_fitting(GString *out, const char *text, int columns)
{
    const char *end = text;
    int width = 0;

    if (width_of(text) <= columns) {
        g_string_append(out, text);
        return;
    }
    for (; (width += width_of_char(g_utf8_get_char(end))) < columns;)
        end = g_utf8_next_char(end);
    g_string_append_len(out, text, end - text);
    g_string_append(out, "…");
}

struct table *table_new(const char *const *heads, unsigned columns, unsigned right_mask)
{
    struct table *t = g_new0(struct table, 1);

    g_assert(columns <= COLUMNS_MAX);
    t->cells = g_ptr_array_new_with_free_func(g_free);
    t->columns = columns;
    t->right_mask = right_mask;
    for (unsigned i = 0; i < columns; i++)
        table_cell(t, heads[i]);
    return t;
}

void table_cell(struct table *t, const char *text)
{
    g_autoptr(GString) visible = g_string_new(NULL);
    GString *cell = g_string_new(NULL);
    const unsigned column = t->cells->len % t->columns;

    append_visible(visible, text);
    append_fitting(cell, visible->str, column + 1 < t->columns ? WIDEST : INT_MAX);
    t->widths[column] = MAX(t->widths[column], width_of(cell->str));
    g_ptr_array_add(t->cells, g_string_free(cell, FALSE));
}

void table_cell_printf(struct table *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    table_cell(t, text);
}

GString *table_end(struct table *t)
{
    GString *out = g_string_new(NULL);

    for (unsigned i = 0; i < t->cells->len; i++) {
        const char *text = g_ptr_array_index(t->cells, i);
        const unsigned column = i % t->columns;
        const int blanks = t->widths[column] - width_of(text);
        const bool last = column + 1 == t->columns;

        if (t->right_mask & 1u << column)
            g_string_append_printf(out, "%*s%s", blanks, "", text);
        else if (last)
            g_string_append(out, text);
        else
            g_string_append_printf(out, "%s%*s", text, blanks, "");
        g_string_append(out, last ? "\n" : "  ");
    }
    g_ptr_array_free(t->cells, TRUE);
    g_free(t);
    return out;
}
