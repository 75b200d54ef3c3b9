/* The statements of a function: conditions, deletions, labels. */
#include "site.h"

#include <string.h>

static int match(const struct finder *f, int i)
{
    return f->s->tokens[i].match;
}

/* The first semicolon from i on outside of brackets. */
static int find_end(const struct finder *f, int i)
{
    while (i < f->s->count && !source_is(f->s, i, ";"))
        i = match(f, i) > i ? match(f, i) + 1 : i + 1;
    return i;
}

static bool is_declaration(const struct source *s, int i)
{
    static const char *const words[] = {"static", "const", "struct", "enum",   "union", "unsigned",
                                        "signed", "char",  "int",    "long",   "bool",  "volatile",
                                        "float",  "short", "void",   "double", NULL};
    if (source_is_any(s, i, words))
        return true;
    if (!source_is_kind(s, i, TOKEN_WORD))
        return false;
    for (i++; source_is(s, i, "*"); i++)
        ;
    return source_is_kind(s, i, TOKEN_WORD);
}

/* Initial values are expressions; types, names and sizes are left alone. */
static void declaration(struct finder *f, int i, int end)
{
    while (i < end) {
        if (source_is(f->s, i, "=")) {
            int first = ++i;
            while (i < end && !source_is(f->s, i, ","))
                i = match(f, i) > i ? match(f, i) + 1 : i + 1;
            find_in_expression(f, first, i);
        } else {
            i = match(f, i) > i ? match(f, i) + 1 : i + 1;
        }
    }
}

static bool is_assertion(const struct source *s, int i)
{
    static const char *const words[] = {"assert", "g_assert", "g_assert_not_reached", NULL};

    return source_is_any(s, i, words);
}

static int expression(struct finder *f, int i)
{
    int end = find_end(f, i);
    /* (void)unused; */
    bool idle = source_is(f->s, i, "(") && source_is(f->s, i + 1, "void");

    if (is_declaration(f->s, i)) {
        declaration(f, i, end);
    } else if (i < end && !is_assertion(f->s, i) && !idle) {
        find_edit(f, "statement", i, end, g_strdup(";"));
        find_in_expression(f, i, end);
    }
    return end + 1;
}

/* Neighbouring labels with statements between them change places. */
static void swap_labels(struct finder *f, const GArray *labels)
{
    for (guint n = 0; n + 1 < labels->len; n++) {
        int a = g_array_index(labels, int, n), b = g_array_index(labels, int, n + 1);
        const struct token *other = &f->s->tokens[b];
        if (source_is(f->s, b - 2, ":") && b - 2 == a + 1)
            continue;
        struct site *site = find_edit(f, "label", a, a, source_words(f->s, b, b));
        site->edits[site->count++] =
            (struct edit){other->begin, other->end, source_words(f->s, a, a)};
    }
}

static void find_labels(struct finder *f, int open)
{
    GArray *labels = g_array_new(FALSE, FALSE, sizeof(int));

    for (int i = open + 1; i < match(f, open); i++) {
        int label = i + 1;
        if (source_is(f->s, i, "switch") && source_is(f->s, i + 1, "(")) {
            int body = match(f, i + 1) + 1;
            i = MAX(i, match(f, body)); /* has labels of its own */
        } else if (source_is(f->s, i, "case") && source_is(f->s, label + 1, ":")) {
            g_array_append_val(labels, label);
        }
    }
    swap_labels(f, labels);
    g_array_unref(labels);
}

static int statement(struct finder *f, int i);

/* After the bracket of conditions that opens at token open. */
static int headed(struct finder *f, int open)
{
    find_in_expression(f, open + 1, match(f, open));
    return statement(f, match(f, open) + 1);
}

static int if_statement(struct finder *f, int open)
{
    int first = open + 1, end = match(f, open);

    find_negation(f, first, end);
    find_edit(f, "condition", first, end - 1, g_strdup("0"));
    find_edit(f, "condition", first, end - 1, g_strdup("1"));
    int next = headed(f, open);
    return source_is(f->s, next, "else") ? statement(f, next + 1) : next;
}

static int while_statement(struct finder *f, int open)
{
    find_negation(f, open + 1, match(f, open));
    return headed(f, open);
}

static int for_statement(struct finder *f, int open)
{
    int first = open + 1, end = find_end(f, first);

    if (is_declaration(f->s, first))
        declaration(f, first, end);
    else
        find_in_expression(f, first, end);
    find_in_expression(f, end + 1, match(f, open));
    return statement(f, match(f, open) + 1);
}

/* "return;", "break;" and "continue;" */
static int jump(struct finder *f, int i)
{
    int end = find_end(f, i);

    if (end == i + 1 && !source_is(f->s, i, "return"))
        find_edit(f, "jump", i, end, g_strdup(";"));
    else if (end == i + 1)
        find_edit(f, "return", i, end, g_strdup(";"));
    else
        find_in_expression(f, i + 1, end);
    return end + 1;
}

/* Answers where the next one begins. */
static int statement(struct finder *f, int i)
{
    static const char *const jumps[] = {"return", "break", "continue", "goto", NULL};
    const struct source *s = f->s;

    if (source_is(s, i, "{")) {
        find_in_block(f, i);
        return match(f, i) + 1;
    }
    if (source_is(s, i, "if"))
        return if_statement(f, i + 1);
    if (source_is(s, i, "while"))
        return while_statement(f, i + 1);
    if (source_is(s, i, "for"))
        return for_statement(f, i + 1);
    if (source_is(s, i, "switch")) {
        find_labels(f, match(f, i + 1) + 1);
        return headed(f, i + 1);
    }
    if (source_is(s, i, "do"))
        return statement(f, i + 1);
    if (source_is_any(s, i, jumps))
        return jump(f, i);
    if (source_is(s, i, "case") || source_is(s, i + 1, ":")) {
        while (i < s->count && !source_is(s, i, ":"))
            i++;
        return i + 1;
    }
    return expression(f, i);
}

void find_in_block(struct finder *f, int open)
{
    for (int i = open + 1; i < match(f, open);)
        i = statement(f, i);
}
