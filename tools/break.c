/* zkl break: removes a contender's node, after showing whose it is. */
#include "connect.h"
#include "contenders.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct breaking {
    const char *path, *node; /* node NULL: that of the only holder */
    gboolean yes;
    const struct settings *settings;
};

/* Finds the contender that the user means. *ret is its place in line. */
static int choose_contender(const struct breaking *b, const zkl_queue *q, size_t *ret)
{
    size_t found = 0;

    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        const zkl_contender *c = zkl_queue_get(q, i);
        if (b->node ? strcmp(c->node, b->node) != 0 : !c->holds)
            continue;
        *ret = i;
        found++;
    }
    if (found > 1)
        return fail(STATUS_USAGE, "%s: several contenders hold it; name one: zkl break PATH NODE",
                    b->path);
    if (found == 0 && b->node)
        return fail(STATUS_CONFLICT, "%s: no contender %s", b->path, b->node);
    return found == 1 ? GO_ON : fail(STATUS_CONFLICT, "%s: nobody holds it", b->path);
}

/* Asks the user, unless --yes was given. */
static int confirm_removal(const struct breaking *b)
{
    char line[16] = "";

    if (b->yes)
        return GO_ON;
    fflush(stdout);
    fprintf(stderr,
            "The next contender acquires the lock as soon as this node is gone. The process that "
            "made the\nnode may believe that it still holds the lock until it hears of the "
            "removal, or until its\ndeadline at the latest. Until then only the token protects "
            "what it writes.\n"
            "Remove this node? [y/N] ");
    const char *answer = fgets(line, sizeof line, stdin) ? g_strchomp(line) : "";
    if (g_ascii_strcasecmp(answer, "y") == 0 || g_ascii_strcasecmp(answer, "yes") == 0)
        return GO_ON;
    return fail(STATUS_CONFLICT, "%s: not removed", b->path);
}

static int break_run(const struct breaking *b, zkl_session *session)
{
    g_autoptr(zkl_queue) q = NULL;
    size_t at = 0;
    int status = contenders_read(&q, session, b->path, b->settings->connect_timeout_ms);

    if (status != STATUS_OK)
        return status;
    status = choose_contender(b, q, &at);
    if (status != GO_ON)
        return status;
    const zkl_contender *c = zkl_queue_get(q, at);
    contender_print(c, at);
    status = confirm_removal(b);
    if (status != GO_ON)
        return status;
    if (zkl_queue_break(session, b->path, c->node, c->token, b->settings->connect_timeout_ms) == 0)
        return STATUS_OK;
    if (zkl_last_error(NULL) == ZKL_ENOENT)
        return fail(STATUS_CONFLICT, "%s: the contender has left meanwhile", b->path);
    return contenders_failed(b->path);
}

int verb_break(struct settings *settings, int argc, char **argv)
{
    struct breaking b = {.settings = settings};
    const GOptionEntry entries[] = {{"yes", 0, 0, G_OPTION_ARG_NONE, &b.yes, "Do not ask", NULL},
                                    G_OPTION_ENTRY_NULL};
    const char *summary =
        "Shows the holder of the lock PATH, or the contender NODE, and removes its node by "
        "force.\nA holder that was removed may still believe that it holds the lock.";
    g_autoptr(zkl_session) session = NULL;
    int status =
        options_parse_path(settings, entries, summary, argc, argv, &b.path, "NODE", &b.node);

    if (status == GO_ON && !b.yes && !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
        status = fail(STATUS_USAGE,
                      "%s: there is no terminal for the question; --yes removes the node "
                      "without asking",
                      b.path);
    if (status == GO_ON)
        status = session_open(settings, &session);
    return status == GO_ON ? break_run(&b, session) : status;
}
