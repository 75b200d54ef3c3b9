/* Makes tables of text, with columns that line up. */
#ifndef ZKL_TOOLS_TABLE_H
#define ZKL_TOOLS_TABLE_H

#include <glib.h>

struct table;

/* Makes a table. A column whose bit is set in right_mask is aligned to the right, the others to the
 * left. */
struct table *table_new(const char *const *heads, unsigned columns, unsigned right_mask);

/* Adds the next cell, row by row. What a terminal would act on is made visible. */
void table_cell(struct table *t, const char *text);
void table_cell_printf(struct table *t, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Adds text, or as much of it as fits into that many columns of a terminal, "…" at its end. */
void append_fitting(GString *out, const char *text, int columns);

/* Returns the text of the table, and frees the table. */
GString *table_end(struct table *t);

#endif
