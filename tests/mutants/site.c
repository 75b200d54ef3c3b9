#include "site.h"

#include <string.h>

static void site_free(void *data)
{
    struct site *site = data;

    for (int i = 0; i < site->count; i++)
        g_free(site->edits[i].text);
    g_free(site->function);
    g_free(site->before);
    g_free(site->after);
    g_free(site);
}

struct site *find_edit(struct finder *f, const char *kind, int first, int last, char *text)
{
    const struct token *t = &f->s->tokens[first];
    struct site *site = g_new0(struct site, 1);

    site->kind = kind;
    site->line = t->line;
    site->column = t->column;
    site->function = g_strdup(f->function);
    site->before = source_words(f->s, first, last);
    site->after = squeeze(text, strlen(text));
    site->edits[site->count++] = (struct edit){t->begin, f->s->tokens[last].end, text};
    g_ptr_array_add(f->sites, site);
    return site;
}

char *site_name(const struct site *site)
{
    return g_strdup_printf("%d:%d %s \"%s -> %s\"", site->line, site->column, site->kind,
                           site->before, site->after);
}

static int count_lines(const char *text, size_t length)
{
    int lines = 0;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

/* The text from begin to end with the edits in it; what they take away in lines they give back. */
static char *apply(const struct source *s, const struct site *site, size_t begin, size_t end)
{
    GString *text = g_string_new(NULL);

    for (int i = 0; i < site->count; i++) {
        const struct edit *e = &site->edits[i];
        g_string_append_len(text, s->text + begin, (gssize)(e->begin - begin));
        g_string_append(text, e->text);
        for (int lines = count_lines(s->text + e->begin, e->end - e->begin) -
                         count_lines(e->text, strlen(e->text));
             lines > 0; lines--)
            g_string_append_c(text, '\n');
        begin = e->end;
    }
    g_string_append_len(text, s->text + begin, (gssize)(end - begin));
    return g_string_free(text, FALSE);
}

char *site_apply(const struct source *s, const struct site *site)
{
    return apply(s, site, 0, strlen(s->text));
}

void site_lines(const struct source *s, const struct site *site, char **ret_before,
                char **ret_after)
{
    size_t begin = site->edits[0].begin, end = site->edits[site->count - 1].end;

    while (begin > 0 && s->text[begin - 1] != '\n')
        begin--;
    end += strcspn(s->text + end, "\n");
    *ret_before = squeeze(s->text + begin, end - begin);
    char *changed = apply(s, site, begin, end);
    *ret_after = squeeze(changed, strlen(changed));
    g_free(changed);
}

/* ---- functions ---- */

static int compare(gconstpointer a, gconstpointer b)
{
    const struct site *x = *(struct site *const *)a, *y = *(struct site *const *)b;

    if (x->line != y->line)
        return x->line - y->line;
    return x->column - y->column;
}

/* A body is a block behind a list of parameters, outside of any other bracket. */
GPtrArray *sites_find(const struct source *s)
{
    struct finder f = {.s = s, .sites = g_ptr_array_new_with_free_func(site_free)};

    for (int i = 0; i < s->count; i++) {
        int match = s->tokens[i].match;
        if (match <= i)
            continue;
        if (source_is(s, i, "{") && source_is(s, i - 1, ")")) {
            int name = s->tokens[i - 1].match - 1;
            f.function = name >= 0 ? source_words(s, name, name) : g_strdup("");
            find_in_block(&f, i);
            g_free(f.function);
        }
        i = match;
    }
    g_ptr_array_sort(f.sites, compare);
    return f.sites;
}
