/* What ps shows of a process that has another name: the kernel shows these bytes. */
#include "tools/guard/ps_name.h"

#include <glib.h>
#include <string.h>
#include <sys/prctl.h>

#include "runner.h"

TEST_SUITE(ps_name);

enum { ROOM = 64, ARGUMENTS = 4 };

/* The process is zkl again, with these arguments one after the other, as the kernel puts them.
 * Returns what zkl reads. */
static char **begin(char *area, const char *const *words)
{
    char *argv[ARGUMENTS + 1] = {NULL}, *end = area;
    int count = 0;

    memset(area, '#', ROOM);
    for (; words[count]; count++) {
        argv[count] = strcpy(end, words[count]);
        end += strlen(end) + 1;
    }
    char **kept = ps_name_keep(count, argv);
    for (int i = 0; i < count; i++) {
        CHECK_STR(kept[i], words[i]);
        CHECK(kept[i] < area || kept[i] >= area + ROOM);
    }
    CHECK(kept[count] == NULL);
    return kept;
}

TEST_CASE(names)
{
    static const struct {
        const char *words[ARGUMENTS + 1], *name, *shown; /* with / for each final 0 */
    } rows[] = {
        {{"zkl", "lock", "jobs", "true"}, "lock-guard", "lock-guard/lock/jo/"},
        {{"/usr/bin/zkl", "lock", "jobs"}, "lock-guard", "lock-guard/lock/jobs///"},
        {{"lock-zkl-1", "lock"}, "lock-guard", "lock-guard/lock/"},
        {{"zkl", "ls"}, "lock-guard", "lock-g/"},
        {{"zkl"}, "lock-guard", "loc/"},
    };
    char usual[16];

    prctl(PR_GET_NAME, usual);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char area[ROOM], kernel[16], **kept = begin(area, rows[i].words);
        ps_name_set(rows[i].name);
        prctl(PR_GET_NAME, kernel);
        CHECK_STR(kernel, rows[i].name);
        for (size_t k = 0; k < ROOM; k++)
            area[k] = area[k] ? area[k] : '/';
        CHECK(strncmp(area, rows[i].shown, strlen(rows[i].shown)) == 0);
        CHECK(area[strlen(rows[i].shown)] == '#');
        CHECK_STR(kept[0], rows[i].words[0]);
    }
    prctl(PR_SET_NAME, usual);
}

/* A secret is wiped where the kernel shows it; what is no argument is left alone. */
TEST_CASE(secrets)
{
    static const char *const words[] = {"zkl", "--auth=digest:a", "ls", NULL};
    char area[ROOM], other[] = "digest:a", **kept = begin(area, words);

    ps_name_wipe(kept[1] + strlen("--auth="));
    ps_name_wipe(other);
    CHECK(memcmp(area, "zkl\0--auth=\0\0\0\0\0\0\0\0\0ls\0#", 24) == 0);
    CHECK_STR(kept[1], words[1]);
    CHECK_STR(other, "digest:a");
}
