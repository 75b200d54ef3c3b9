/* Has to know which options take a value, since a value may look like an option. */
#include "attached.h"

#include <string.h>

static bool named(const GOptionEntry *entry, const char *name)
{
    const size_t length = strcspn(name, "=");

    return strlen(entry->long_name) == length && strncmp(entry->long_name, name, length) == 0;
}

/* By its name, or by its letter where name is NULL. */
static bool takes_value(const GOptionEntry *const *tables, const char *name, char letter)
{
    for (; *tables; tables++)
        for (const GOptionEntry *entry = *tables; entry->long_name; entry++)
            if (name ? named(entry, name) : entry->short_name == letter)
                return entry->arg != G_OPTION_ARG_NONE;
    return false;
}

/* Where the value of a bundle's last letter begins, perhaps at its end: then it is the next word.
 * NULL if no letter takes one. */
static char *value_in(const GOptionEntry *const *tables, char *word)
{
    for (char *letter = word + 1; *letter; letter++)
        if (takes_value(tables, NULL, *letter))
            return letter + 1;
    return NULL;
}

/* Adds one option, split if need be; answers whether the next word is its value. */
static bool add_option(GPtrArray *words, const GOptionEntry *const *tables, char *word,
                       GPtrArray *made)
{
    char *value;
    char *letters;

    if (word[1] == '-') {
        g_ptr_array_add(words, word);
        return !strchr(word, '=') && takes_value(tables, word + 2, 0);
    }
    value = value_in(tables, word);
    if (!value || !*value) {
        g_ptr_array_add(words, word);
        return value != NULL;
    }
    letters = g_strndup(word, (gsize)(value - word));
    g_ptr_array_add(made, letters);
    g_ptr_array_add(words, letters);
    g_ptr_array_add(words, value);
    return false;
}

void attached_split(const GOptionEntry *const *tables, int *argc, char ***argv, GPtrArray *made)
{
    GPtrArray *words = g_ptr_array_new();
    char **from = *argv;
    bool options = true;

    g_ptr_array_add(words, *from++);
    while (*from) {
        options = options && from[0][0] == '-' && from[0][1] && strcmp(*from, "--") != 0;
        if (!options)
            g_ptr_array_add(words, *from++);
        else if (add_option(words, tables, *from++, made) && *from)
            g_ptr_array_add(words, *from++);
    }
    *argc = (int)words->len;
    g_ptr_array_add(words, NULL);
    *argv = (char **)g_ptr_array_free(words, FALSE);
    g_ptr_array_add(made, *argv);
}
