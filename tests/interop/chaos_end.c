/* How the roles come to their end, and what is left to look at. */
#include "chaos_roles.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 60, POLL_US = 5000 };

static void tell_end(struct slot *s)
{
    /* A process that cannot be told has ended, which is noticed below. */
    if (write(s->control, "stop\n", 5) != 5)
        perror(s->log);
    close(s->control);
    s->control = -1;
}

static bool bury(struct slot *s)
{
    int status;

    if (waitpid(s->pid, &status, WNOHANG) != s->pid)
        return false;
    if (status != 0) {
        fprintf(stderr, "%s ended with status %#x\n", s->log, (unsigned)status);
        s->broken++;
    }
    s->pid = 0;
    return true;
}

void roles_dismiss(struct roles *c)
{
    int64_t deadline = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;
    int left = SLOTS;

    for (int i = 0; i < SLOTS; i++)
        tell_end(&c->slot[i]);
    while (left > 0 && g_get_monotonic_time() < deadline) {
        for (int i = 0; i < SLOTS; i++)
            left -= c->slot[i].pid > 0 && bury(&c->slot[i]);
        g_usleep(POLL_US);
    }
    for (int i = 0; i < SLOTS; i++)
        c->slot[i].overdue = c->slot[i].pid > 0;
    roles_follow(c);
}

static int count_nodes(struct raw *r)
{
    raw_sync(r, CHAOS_PATH);
    char **children = raw_children(r, CHAOS_PATH);
    int count = children ? (int)g_strv_length(children) : 0;
    g_strfreev(children);
    return count;
}

int roles_nodes_left(struct roles *c)
{
    int64_t deadline = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;
    struct raw *r = raw_open(zk_server_connect(c->server));
    int count = -1;

    while (r && (count = count_nodes(r)) > 0 && g_get_monotonic_time() < deadline)
        g_usleep(50000);
    raw_close(r);
    return count;
}

void roles_judge(const struct roles *c, const struct record *r, struct chaos_verdict *ret)
{
    struct chaos_input in = {.acts = r->acts, .killed = c->killed};
    char *text = NULL, *end = NULL;
    uint64_t first = 0, second = 0, third = 0;

    if (g_file_get_contents(r->number, &text, NULL, NULL)) {
        first = g_ascii_strtoull(text, &end, 10);
        second = g_ascii_strtoull(end, &end, 10);
        third = g_ascii_strtoull(end, NULL, 10);
    }
    g_free(text);
    in.token = r == &c->reg ? first : second;
    in.turn = third; /* of a register; else it says nothing */
    in.number = (int64_t)(r == &c->reg ? second : first);
    chaos_judge(&in, ret);
}

void roles_keep(const struct roles *c, const char *folder)
{
    GDir *dir = g_dir_open(c->scratch.path, 0, NULL);

    g_mkdir_with_parents(folder, 0755);
    for (const char *name; dir && (name = g_dir_read_name(dir)) != NULL;) {
        char *from = g_build_filename(c->scratch.path, name, NULL);
        char *to = g_build_filename(folder, name, NULL), *text = NULL;
        gsize size;

        if (g_file_get_contents(from, &text, &size, NULL))
            g_file_set_contents(to, text, (gssize)size, NULL);
        g_free(text);
        g_free(from);
        g_free(to);
    }
    if (dir)
        g_dir_close(dir);
    printf("  all records and logs: %s\n", folder);
}
