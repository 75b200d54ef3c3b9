/* hazards [-l | NAME-PATTERN…]: runs the gallery, or lists it. */
#include "hazard.h"

#include "fixture.h"

#include <stdarg.h>
#include <string.h>

static const struct hazard *const alone[] = {hazards_creating, hazards_releasing, hazards_time,
                                             hazards_holding,  hazards_server,    hazards_queue,
                                             hazards_waiting,  hazards_stale,     NULL};
static const struct hazard *const ensemble[] = {hazards_ensemble, NULL};
static const struct hazard *const *const groups[] = {alone, ensemble, NULL};

enum { WIDTH = 98, INDENT = 18 };

static const char *telling; /* the paragraph that begins with the next tell() */

double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

int64_t overlap(int64_t first_end, int64_t second_begin)
{
    return MAX(0, first_end - second_begin);
}

static void print_wrapped(const char *label, const char *text)
{
    char **words = g_strsplit(text, " ", -1);
    int column = printf("    %-*s", INDENT - 5, label);

    for (char **word = words; *word; word++) {
        if (column + 1 + (int)g_utf8_strlen(*word, -1) > WIDTH)
            column = printf("\n%*s", INDENT - 1, "") - 1;
        column += 1 + (int)g_utf8_strlen(*word, -1);
        printf(" %s", *word);
    }
    putchar('\n');
    g_strfreev(words);
}

void tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = g_strdup_vprintf(format, args);
    va_end(args);
    print_wrapped(telling, text);
    telling = "";
    g_free(text);
}

/* The one that runs, and its place in the list; the runner's name is "group.name". */
static const struct hazard *current(int *ret_number)
{
    const char *name = strchr(runner_current(), '.') + 1;

    *ret_number = 0;
    for (int g = 0; groups[g]; g++)
        for (int i = 0; groups[g][i]; i++)
            for (const struct hazard *h = groups[g][i]; h->name; h++) {
                ++*ret_number;
                if (strcmp(h->name, name) == 0)
                    return h;
            }
    g_assert_not_reached();
}

static void play(void)
{
    int number;
    const struct hazard *h = current(&number);

    printf("\n%d. %s: %s\n", number, h->name, h->title);
    telling = "usual design:";
    h->usual();
    telling = "zkl:";
    h->with_zkl();
    print_wrapped("guarded by:", h->guards);
}

static void list(void)
{
    int number = 0;

    for (int g = 0; groups[g]; g++)
        for (int i = 0; groups[g][i]; i++)
            for (const struct hazard *h = groups[g][i]; h->name; h++)
                printf("%d. %s: %s (%s)\n", ++number, h->name, h->title, h->guards);
}

static void add_group(struct test_suite *suite, const struct hazard *const *group)
{
    for (; *group; group++)
        for (const struct hazard *h = *group; h->name; h++) {
            struct test_case *c = g_new0(struct test_case, 1);
            c->name = h->name;
            c->fn = play;
            runner_add(suite, c);
        }
}

static void remove_cases(struct test_suite *suite)
{
    for (struct test_case *c, *next = suite->cases; (c = next);) {
        next = c->next;
        g_free(c);
    }
}

static int start_ensemble(void)
{
    const struct zk_server_options options = {.nodes = 3, .tick_ms = 250};

    if (!server_or_skip())
        return 0;
    fault.server = zk_server_start(&options);
    if (!fault.server)
        return 1;
    fault.port = zk_server_port(fault.server, 0);
    return fault_raw_open() ? 0 : 1;
}

/* The runner knows a case as "group.name"; whoever asks for one need not. */
static int run(int argc, char **argv)
{
    static struct test_suite one = {.name = "hazard", .init = fault_start, .done = fault_stop},
                             three = {
                                 .name = "ensemble", .init = start_ensemble, .done = fault_stop};
    GPtrArray *args = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(args, g_strdup(argv[0]));
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(args, g_strdup_printf("*.%s", argv[i]));
    add_group(&one, alone);
    add_group(&three, ensemble);
    int status = runner_main((int)args->len, (char **)args->pdata);
    g_ptr_array_unref(args);
    remove_cases(&one);
    remove_cases(&three);
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argc - 2, argv + 2);
    if (argc == 2 && strcmp(argv[1], "-l") == 0) {
        list();
        return 0;
    }
    if (argc > 1 && argv[1][0] == '-') {
        fputs("usage: hazards [-l | PATTERN...]\n", stderr);
        return 64;
    }
    return run(argc, argv);
}
