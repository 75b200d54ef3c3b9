#include "arguments.h"

#include <string.h>

/* By its name, or by its letter where length is 0. */
static const GOptionEntry *arguments_find(const GOptionEntry *const *tables, const char *name,
                                          size_t length)
{
    for (; *tables; tables++)
        for (const GOptionEntry *entry = *tables; entry->long_name; entry++)
            if (length == 0 ? entry->short_name == *name
                            : strlen(entry->long_name) == length &&
                                  strncmp(entry->long_name, name, length) == 0)
                return entry;
    return NULL;
}

static int take_number(int *ret, const char *option, const char *text)
{
    gint64 number;

    if (!g_ascii_string_to_signed(text, 10, G_MININT, G_MAXINT, &number, NULL))
        return fail(STATUS_USAGE, "%s: not a whole number: %s", option, text);
    *ret = (int)number;
    return GO_ON;
}

static int append(char ***list, char *value)
{
    const guint count = *list ? g_strv_length(*list) : 0;

    *list = g_renew(char *, *list, count + 2);
    (*list)[count] = value;
    (*list)[count + 1] = NULL;
    return GO_ON;
}

/* value: NULL if there is none. */
static int take_value(const GOptionEntry *entry, const char *option, char *value)
{
    if (!value)
        return fail(STATUS_USAGE, "%s: needs a value", option);
    if (entry->arg == G_OPTION_ARG_CALLBACK)
        return ((GOptionArgFunc)entry->arg_data)(option, value, NULL, NULL) ? GO_ON : STATUS_USAGE;
    if (entry->arg == G_OPTION_ARG_INT)
        return take_number(entry->arg_data, option, value);
    if (entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
        return append(entry->arg_data, value);
    if (entry->arg == G_OPTION_ARG_INT64)
        return option_time(option, value, entry->arg_data);
    *(char **)entry->arg_data = value;
    return GO_ON;
}

static int set_flag(const GOptionEntry *entry)
{
    *(gboolean *)entry->arg_data = TRUE;
    return GO_ON;
}

static bool is_flag(const GOptionEntry *entry)
{
    return entry->arg == G_OPTION_ARG_NONE;
}

static char *next_word(char ***next)
{
    return **next ? *(*next)++ : NULL;
}

/* --name, --name=value or --name value. The value of an unknown one may be a secret. */
static int take_long(const GOptionEntry *const *tables, char *word, char ***next)
{
    const size_t length = strcspn(word, "=");
    char *equals = word[length] ? word + length : NULL;
    const GOptionEntry *entry = length > 2 ? arguments_find(tables, word + 2, length - 2) : NULL;
    char *option = g_strndup(word, length);
    int status;

    if (!entry)
        status = fail(STATUS_USAGE, "%s: unknown option", option);
    else if (!is_flag(entry))
        status = take_value(entry, option, equals ? equals + 1 : next_word(next));
    else if (equals)
        status = fail(STATUS_USAGE, "%s: takes no value", option);
    else
        status = set_flag(entry);
    g_free(option);
    return status;
}

/* Flags, and then perhaps one option whose value is the rest of the word, or the next word. */
static int take_letters(const GOptionEntry *const *tables, char *word, char ***next)
{
    for (char *letter = word + 1; *letter; letter++) {
        const GOptionEntry *entry = arguments_find(tables, letter, 0);
        const char option[] = {'-', *letter, '\0'};

        if (!entry)
            return fail(STATUS_USAGE, "%s: unknown option", option);
        if (!is_flag(entry))
            return take_value(entry, option, letter[1] ? letter + 1 : next_word(next));
        if (letter[1] == '=')
            return fail(STATUS_USAGE, "%s: takes no value", option);
        set_flag(entry);
    }
    return GO_ON;
}

int arguments_parse(const GOptionEntry *const *tables, int *argc, char ***argv)
{
    char **next = *argv + 1;
    int status = GO_ON;

    while (status == GO_ON && *next && next[0][0] == '-' && next[0][1]) {
        char *word = *next++;

        if (strcmp(word, "--") == 0)
            break;
        status =
            word[1] == '-' ? take_long(tables, word, &next) : take_letters(tables, word, &next);
    }
    *argc -= (int)(next - 1 - *argv);
    *argv = next - 1;
    return status;
}
