/* Parses options. The global ones may stand before the verb and after it. GLib's own parser
 * takes --json=false for --json, takes 010 for 8, and does not take -w5. So it only writes the
 * help. */
#include "credentials.h"

#include <stdio.h>
#include <string.h>

/* The least and the most session timeout that the library takes where no tick is known. */
#define TIMEOUT_LEAST_MS 401
#define TIMEOUT_MOST_MS 1000000000
/* The most without a unit: a user who writes more means milliseconds. */
#define TIMEOUT_UNITLESS_MOST_MS 300000

/* ---- the words of a command line, by tables of options ---- */

/* Finds an option by its name, or by its letter if length is 0. */
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

/* Stores the value of an option. value NULL: the user has given none, which is refused. */
static int take_value(const GOptionEntry *entry, const char *option, char *value)
{
    char ***list = entry->arg_data;
    gint64 number;

    if (!value)
        return fail(STATUS_USAGE, "%s: needs a value", option);
    switch (entry->arg) {
    case G_OPTION_ARG_CALLBACK:
        return ((GOptionArgFunc)entry->arg_data)(option, value, NULL, NULL) ? GO_ON : STATUS_USAGE;
    case G_OPTION_ARG_INT:
        if (!g_ascii_string_to_signed(value, 10, G_MININT, G_MAXINT, &number, NULL))
            return fail(STATUS_USAGE, "%s: not a whole number: %s", option, value);
        *(int *)entry->arg_data = (int)number;
        return GO_ON;
    case G_OPTION_ARG_FILENAME_ARRAY: {
        const guint count = *list ? g_strv_length(*list) : 0;

        *list = g_renew(char *, *list, count + 2);
        (*list)[count] = value;
        (*list)[count + 1] = NULL;
        return GO_ON;
    }
    case G_OPTION_ARG_INT64:
        return option_time(option, value, entry->arg_data);
    default:
        *(char **)entry->arg_data = value;
        return GO_ON;
    }
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

/* Takes the next word; NULL: there is none. */
static char *next_word(char ***next)
{
    return **next ? *(*next)++ : NULL;
}

/* Takes an option as --name, --name=value or --name value. A message does not show the value of an
 * unknown option, which may be a secret. */
static int take_long(const GOptionEntry *const *tables, char *word, char ***next)
{
    const size_t length = strcspn(word, "=");
    char *equals = word[length] ? word + length : NULL;
    const GOptionEntry *entry = length > 2 ? arguments_find(tables, word + 2, length - 2) : NULL;
    g_autofree char *option = g_strndup(word, length);

    if (!entry)
        return fail(STATUS_USAGE, "%s: unknown option", option);
    if (!is_flag(entry))
        return take_value(entry, option, equals ? equals + 1 : next_word(next));
    if (equals)
        return fail(STATUS_USAGE, "%s: takes no value", option);
    return set_flag(entry);
}

/* Takes a word of letters: flags, and then perhaps one option whose value is the rest of the word,
 * or the next word. */
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

/* Takes the options after argv[0], up to the first operand or past "--", and moves on so that
 * argv[1] is what follows them. tables ends with NULL; its options are flags, whole numbers, times
 * (G_OPTION_ARG_INT64, in milliseconds), texts (G_OPTION_ARG_FILENAME) and lists of them
 * (G_OPTION_ARG_FILENAME_ARRAY). All texts are argv's own; the caller frees a list without its
 * texts. Returns GO_ON, or STATUS_USAGE after a message. */
static int arguments_parse(const GOptionEntry *const *tables, int *argc, char ***argv)
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

/* ---- the tables of a verb, and the global one ---- */

/* Writes the help. tables: those of one verb and the global one, in the order of the help. */
static int options_show_help(const GOptionEntry *const *tables, const char *synopsis,
                             const char *summary)
{
    g_autoptr(GOptionContext) context = g_option_context_new(synopsis);
    GOptionGroup *main_group = g_option_group_new("zkl", "", "", NULL, NULL);
    g_autofree char *text = g_strdup_printf("SECS are seconds, or times as 500ms, 30s, 5m and 1h.\n"
                                            "More is in zkl(1) and zkl-%.*s(1).\n",
                                            (int)strcspn(synopsis, " "), synopsis);

    for (; *tables; tables++)
        g_option_group_add_entries(main_group, *tables);
    g_option_context_set_main_group(context, main_group);
    g_option_context_set_summary(context, summary);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_set_description(context, text);
    g_autofree char *help = g_option_context_get_help(context, TRUE, NULL);
    fputs(help, stdout);
    return STATUS_OK;
}

/* Checks a session timeout, and stores it. */
static int take_session_timeout(struct settings *settings, const char *text)
{
    int64_t ms = 0;

    if (option_time("--session-timeout", text, &ms) != GO_ON)
        return STATUS_USAGE;
    if (ms > TIMEOUT_UNITLESS_MOST_MS && !g_ascii_isalpha(text[strlen(text) - 1]))
        return fail(STATUS_USAGE,
                    "--session-timeout %s: a number counts seconds now; write %sms or %ss", text,
                    text, text);
    if (ms < TIMEOUT_LEAST_MS || ms > TIMEOUT_MOST_MS)
        return fail(STATUS_USAGE, "--session-timeout %s: must be %dms to %ds", text,
                    TIMEOUT_LEAST_MS, TIMEOUT_MOST_MS / 1000);
    settings->session_timeout_ms = (int)ms;
    return GO_ON;
}

int options_parse(struct settings *settings, const GOptionEntry *const *tables,
                  const char *synopsis, const char *summary, int *argc, char ***argv)
{
    const GOptionEntry global[] = {
        {"connect", 0, 0, G_OPTION_ARG_FILENAME, &settings->connect,
         "Servers: host:port,... with an optional /chroot", "HOSTS"},
        {"session-timeout", 0, 0, G_OPTION_ARG_FILENAME, &settings->session_timeout,
         "ZooKeeper session timeout (30)", "SECS"},
        {"tick", 0, 0, G_OPTION_ARG_INT64, &settings->tick_ms, "The servers' tickTime (unknown)",
         "SECS"},
        {"connect-timeout", 0, 0, G_OPTION_ARG_INT64, &settings->connect_timeout_ms,
         "Fail if there is no session within SECS (10)", "SECS"},
        {"auth", 0, 0, G_OPTION_ARG_CALLBACK, credentials_take,
         "Credentials: digest:user:password; may be repeated", "SCHEME:CRED"},
        {"auth-file", 0, 0, G_OPTION_ARG_FILENAME, &settings->auth_file,
         "Read credentials from FILE, a line each", "FILE"},
        {"acl", 0, 0, G_OPTION_ARG_FILENAME, &settings->acl,
         "Permissions of created nodes (world:anyone:cdrwa)", "ACL"},
        {"cacert", 0, 0, G_OPTION_ARG_FILENAME, &settings->cacert,
         "TLS: certificates of the servers' authorities, in PEM", "FILE"},
        {"cert", 0, 0, G_OPTION_ARG_FILENAME, &settings->cert,
         "TLS: our certificate and its chain, in PEM", "FILE"},
        {"key", 0, 0, G_OPTION_ARG_FILENAME, &settings->key, "TLS: its private key, in PEM",
         "FILE"},
        {"fixed-servers", 0, 0, G_OPTION_ARG_NONE, &settings->fixed_servers,
         "Use no other servers of the ensemble than those of --connect", NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &settings->verbose,
         "Report each step on standard error", NULL},
        {"help", 'h', 0, G_OPTION_ARG_NONE, &settings->help, "Show this help", NULL},
        G_OPTION_ENTRY_NULL};
    const GOptionEntry *all[OPTION_TABLES + 2] = {NULL};
    size_t count = 0;

    while (*tables)
        all[count++] = *tables++;
    all[count] = global;
    int status = arguments_parse(all, argc, argv);
    if (status == GO_ON && settings->session_timeout)
        status = take_session_timeout(settings, settings->session_timeout);
    if (status == GO_ON && settings->connect_timeout_ms == 0)
        status = fail(STATUS_USAGE, "--connect-timeout: must be more than 0 seconds: 0");
    return status == GO_ON && settings->help && summary ? options_show_help(all, synopsis, summary)
                                                        : status;
}

int options_parse_path(struct settings *settings, const GOptionEntry *entries, const char *summary,
                       int argc, char **argv, const char **ret, const char *second,
                       const char **ret_second)
{
    const GOptionEntry *const tables[] = {entries, NULL};
    const char *operands[2] = {NULL, NULL};
    const char *verb = argv[0];
    g_autofree char *more = second ? g_strdup_printf("[%s] ", second) : g_strdup("");
    g_autofree char *synopsis = g_strdup_printf("%s PATH %s[OPTION...]", verb, more);
    int status = options_parse(settings, tables, synopsis, summary, &argc, &argv);

    if (status == GO_ON && argc < 2)
        status = fail(STATUS_USAGE, "no PATH given; \"zkl %s --help\" lists the options", verb);
    for (int i = 0; i < (second ? 2 : 1) && status == GO_ON && argc > 1; i++) {
        operands[i] = argv[1];
        argc--;
        argv++;
        status = options_parse(settings, tables, synopsis, summary, &argc, &argv);
    }
    if (status == GO_ON && argc > 1)
        status =
            fail(STATUS_USAGE, "%s: only one %s can be given", argv[1], second ? second : "PATH");
    *ret = operands[0];
    if (second)
        *ret_second = operands[1];
    return status;
}

int option_time(const char *option, const char *text, int64_t *ret_ms)
{
    if (!text || duration_parse(text, ret_ms))
        return GO_ON;
    return fail(STATUS_USAGE,
                "%s: not a time in seconds, nor one with a unit (500ms, 30s, 5m, 1h): %s", option,
                text);
}

int option_count(const char *option, const char *text, int *ret)
{
    guint64 count;

    if (!text)
        return GO_ON;
    if (!g_ascii_string_to_unsigned(text, 10, 1, INT32_MAX, &count, NULL))
        return fail(STATUS_USAGE, "%s: must be a number of 1 or more, not %s", option, text);
    *ret = (int)count;
    return GO_ON;
}

int option_word(const char *option, const char *text, const char *const *names, int *ret)
{
    g_autoptr(GString) all = g_string_new(NULL);

    if (!text)
        return GO_ON;
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = i;
            return GO_ON;
        }
        g_string_append_printf(all, "%s%s", i == 0 ? "" : names[i + 1] ? ", " : " or ", names[i]);
    }
    return fail(STATUS_USAGE, "%s: must be %s, not %s", option, all->str, text);
}
