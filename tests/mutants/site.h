/* Where a source can be made wrong, and how: one small change each. */
#ifndef MUTANTS_SITE_H
#define MUTANTS_SITE_H

#include <glib.h>

#include "source.h"

struct edit {
    size_t begin, end; /* in the text */
    char *text;        /* instead */
};

struct site {
    const char *kind; /* what kind of change */
    int line, column;
    char *function;       /* in which it is */
    char *before, *after; /* what is changed, each run of white space as one blank */
    struct edit edits[2]; /* in their order */
    int count;
};

/* All sites of struct site * in the bodies of functions, in the order of the text, but assertions,
 * types and sizes of arrays. The order and the names depend on the text alone. */
GPtrArray *sites_find(const struct source *s);

/* "12:5 relation \"a < b -> a <= b\"": unique in a file. */
char *site_name(const struct site *site);

/* The text with that change; no line moves. */
char *site_apply(const struct source *s, const struct site *site);

/* The lines of text that the change touches, as one: before and after it. */
void site_lines(const struct source *s, const struct site *site, char **ret_before,
                char **ret_after);

/* ---- for the walk through the statements and the expressions in them ---- */

struct finder {
    const struct source *s;
    GPtrArray *sites;
    char *function;
};

/* Tokens first to last become text, which is handed over. */
struct site *find_edit(struct finder *f, const char *kind, int first, int last, char *text);

/* Everything in the block that opens at token open. */
void find_in_block(struct finder *f, int open);

/* Everything in the expression from token first up to end. */
void find_in_expression(struct finder *f, int first, int end);

/* The condition from token first up to end becomes its opposite. */
void find_negation(struct finder *f, int first, int end);

#endif
