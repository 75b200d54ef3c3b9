/* The operators and constants of an expression. */
#include "site.h"

#include <string.h>

struct swap {
    const char *kind, *before, *after;
};

static const struct swap swaps[] = {
    {"relation", "==", "!="},   {"relation", "!=", "=="}, {"relation", "<", "<="},
    {"relation", "<", ">"},     {"relation", "<=", "<"},  {"relation", ">", ">="},
    {"relation", ">", "<"},     {"relation", ">=", ">"},  {"logic", "&&", "||"},
    {"logic", "||", "&&"},      {"sum", "+=", "-="},      {"sum", "-=", "+="},
    {"step", "++", "--"},       {"step", "--", "++"},     {"truth", "true", "false"},
    {"truth", "false", "true"},
};

static void find_swaps(struct finder *f, int i)
{
    for (size_t n = 0; n < G_N_ELEMENTS(swaps); n++)
        if (source_is(f->s, i, swaps[n].before))
            find_edit(f, swaps[n].kind, i, i, g_strdup(swaps[n].after));
}

/* Between two values, and no sign of one. */
static bool is_binary(const struct source *s, int i)
{
    return source_is_kind(s, i - 1, TOKEN_WORD) ? !source_is(s, i - 1, "return")
           : source_is_kind(s, i - 1, TOKEN_NUMBER)
               ? true
               : source_is(s, i - 1, ")") || source_is(s, i - 1, "]");
}

/* Whole numbers of any base and suffix; NULL for others. */
static char *other_number(const char *word)
{
    char *suffix;
    guint64 value = g_ascii_strtoull(word, &suffix, 0);

    if (strspn(suffix, "uUlL") != strlen(suffix))
        return NULL;
    return g_strdup_printf("%" G_GUINT64_FORMAT "%s", value == 1 ? 0 : value + 1, suffix);
}

static void find_number(struct finder *f, int i)
{
    char *word = source_words(f->s, i, i), *other = other_number(word);

    if (other)
        find_edit(f, "number", i, i, other);
    g_free(word);
}

/* Where the expression begins that is the condition of the question mark at i. */
static int condition_begin(const struct source *s, int first, int i)
{
    static const char *const stops[] = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=",
                                        ",", ";",  "?",  ":",  "(",  "[",  "{",  NULL};
    while (i > first && !source_is_any(s, i - 1, stops))
        i = s->tokens[i - 1].match >= 0 ? s->tokens[i - 1].match : i - 1;
    return i;
}

/* What another operator makes of it anyway is not counted twice. */
static bool is_negated_otherwise(const struct source *s, int first, int end)
{
    static const char *const equality[] = {"==", "!=", NULL};
    static const char *const operators[] = {"&&", "||", "?", "<", ">", "<=", ">=", "=", NULL};
    int equalities = 0;

    for (int i = first; i < end; i++) {
        if (source_is_any(s, i, operators))
            return false;
        equalities += source_is_any(s, i, equality);
        if (s->tokens[i].match > i)
            i = s->tokens[i].match;
    }
    return equalities == 1 || (equalities == 0 && source_is(s, first, "!"));
}

void find_negation(struct finder *f, int first, int end)
{
    char *text;

    if (is_negated_otherwise(f->s, first, end))
        return;
    text = g_strndup(f->s->text + f->s->tokens[first].begin,
                     f->s->tokens[end - 1].end - f->s->tokens[first].begin);
    find_edit(f, "negation", first, end - 1, g_strdup_printf("!(%s)", text));
    g_free(text);
}

/* Sizes, assertions and what designates a place are no values; behind those at i. */
static int skip_unvalued(const struct source *s, int i)
{
    static const char *const words[] = {"sizeof", "assert", "g_assert", NULL};
    static const char *const before[] = {"{", ",", NULL};

    if (source_is_any(s, i, words) && source_is(s, i + 1, "("))
        return s->tokens[i + 1].match;
    if (source_is(s, i, "[") && source_is_any(s, i - 1, before))
        return s->tokens[i].match;
    return -1;
}

void find_in_expression(struct finder *f, int first, int end)
{
    const struct source *s = f->s;

    for (int i = first; i < end; i++) {
        int skipped = skip_unvalued(s, i);
        if (skipped > i) {
            i = skipped;
            continue;
        }
        find_swaps(f, i);
        if (source_is(s, i, "+") && is_binary(s, i))
            find_edit(f, "sum", i, i, g_strdup("-"));
        if (source_is(s, i, "-") && is_binary(s, i))
            find_edit(f, "sum", i, i, g_strdup("+"));
        if (source_is(s, i, "!"))
            find_edit(f, "not", i, i, g_strdup(""));
        if (source_is(s, i, "?"))
            find_negation(f, condition_begin(s, first, i), i);
        if (source_is_kind(s, i, TOKEN_NUMBER))
            find_number(f, i);
    }
}
