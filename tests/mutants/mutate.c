/* Lists where a C source can be made wrong by one small change, and makes one of them.
 * usage: mutate FILE [NUMBER]
 * Without a number a line for each: number, name, function, the lines changed before and after,
 * divided by tabs. With one: the text with that change, to the output. */
#include <stdio.h>
#include <stdlib.h>

#include "site.h"

static void list(const struct source *s, const char *file, const GPtrArray *sites)
{
    for (guint i = 0; i < sites->len; i++) {
        const struct site *site = sites->pdata[i];
        char *name = site_name(site), *before, *after;
        site_lines(s, site, &before, &after);
        printf("%u\t%s:%s\t%s\t%s\t%s\n", i + 1, file, name, site->function, before, after);
        g_free(name);
        g_free(before);
        g_free(after);
    }
}

static int make(const struct source *s, const char *number, const GPtrArray *sites)
{
    guint64 n = g_ascii_strtoull(number, NULL, 10);

    if (n < 1 || n > sites->len) {
        fprintf(stderr, "mutate: there is no mutant %s, but %u\n", number, sites->len);
        return EXIT_FAILURE;
    }
    char *text = site_apply(s, sites->pdata[n - 1]);
    fputs(text, stdout);
    g_free(text);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    char *text;
    int status = EXIT_SUCCESS;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: mutate FILE [NUMBER]\n");
        return EXIT_FAILURE;
    }
    if (!g_file_get_contents(argv[1], &text, NULL, &error)) {
        fprintf(stderr, "mutate: %s\n", error->message);
        g_error_free(error);
        return EXIT_FAILURE;
    }
    struct source *s = source_new(text);
    GPtrArray *sites = sites_find(s);
    if (argc == 2)
        list(s, argv[1], sites);
    else
        status = make(s, argv[2], sites);
    g_ptr_array_unref(sites);
    source_free(s);
    g_free(text);
    return status;
}
