/* zkl: the command. It parses the global options, and calls a verb. Each verb has a file of its
 * own. */
#include "credentials.h"
#include "guard/ps_name.h"
#include "tool.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <zkl/version.h>

static const struct verb *find_verb(const char *name)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* The options of zkl itself. */
static gboolean version;
static const GOptionEntry own_options[] = {
    {"version", 0, 0, G_OPTION_ARG_NONE, &version, "Show the version", NULL}, G_OPTION_ENTRY_NULL};
static const GOptionEntry *const own_tables[] = {own_options, NULL};

static int zkl_show_help(struct settings *settings, int argc, char **argv)
{
    char help[] = "--help";
    char *own[] = {argv[0], help, NULL};
    char **own_argv = own;
    const bool about_verb = argc > 1 && strcmp(argv[1], "help") != 0;
    const struct verb *verb = about_verb ? find_verb(argv[1]) : NULL;
    int own_argc = 2;

    if (argc > 2)
        return fail(STATUS_USAGE, "%s: help takes one command", argv[2]);
    if (about_verb && !verb)
        return fail(STATUS_USAGE, "%s: no such command; \"zkl help\" lists them", argv[1]);
    if (verb) {
        own[0] = argv[1];
        return verb->run(settings, own_argc, own_argv);
    }
    g_autoptr(GString) text =
        g_string_new("ZooKeeper locks and leaders for the shell.\n\nCommands:\n");
    for (const struct verb *v = verbs; v->name; v++)
        g_string_append_printf(text, "  %-9s  %s\n", v->name, v->summary);
    g_string_append(text, "  help       show this, or the help of one command\n\n"
                          "\"zkl COMMAND --help\" lists the options of a command.");
    return options_parse(settings, own_tables, "COMMAND ...", text->str, &own_argc, &own_argv);
}

static int zkl_run(struct settings *settings, int argc, char **argv)
{
    const int status = options_parse(settings, own_tables, NULL, NULL, &argc, &argv);

    if (status != GO_ON)
        return status;
    if (settings->help)
        return zkl_show_help(settings, MIN(argc, 2), argv);
    if (version) {
        printf("zkl %s\n", ZKL_VERSION);
        return STATUS_OK;
    }
    if (argc < 2)
        return fail(STATUS_USAGE, "no command given; \"zkl help\" lists them");
    if (strcmp(argv[1], "help") == 0)
        return zkl_show_help(settings, argc - 1, argv + 1);
    const struct verb *verb = find_verb(argv[1]);
    if (!verb)
        return fail(STATUS_USAGE, "%s: no such command; \"zkl help\" lists them", argv[1]);
    return verb->run(settings, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    struct settings settings = {.session_timeout_ms = 30000, .connect_timeout_ms = 10000};

    argv = ps_name_keep(argc, argv);
    credentials_hide();
    setlocale(LC_CTYPE, "");
    g_set_prgname("zkl");
    int status = zkl_run(&settings, argc, argv);
    /* Output that could not be written must not look like success. */
    if (status != STATUS_IOERR && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail_output(errno);
    credentials_forget();
    return status;
}
