/* libzookeeper opens its sockets without close-on-exec; a command must not keep them. */
#include "inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <unistd.h>

#define FALLBACK_MAX 4096 /* where the kernel has no close_range(): more than we ever open */

static int *inherited; /* rising */
static unsigned count;

static int by_number(const void *a, const void *b)
{
    const int x = *(const int *)a;
    const int y = *(const int *)b;

    return (x > y) - (x < y);
}

void inherited_note(void)
{
    DIR *dir = opendir("/proc/self/fd");
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const int fd = atoi(entry->d_name);

        if (g_ascii_isdigit(entry->d_name[0]) && fd != dirfd(dir))
            g_array_append_val(fds, fd);
    }
    /* Without /proc at least the three that everybody has. */
    for (int fd = 0; !dir && fd < 3; fd++)
        g_array_append_val(fds, fd);
    if (dir)
        closedir(dir);
    count = fds->len;
    inherited = (int *)(void *)g_array_free(fds, FALSE);
    if (count > 1)
        qsort(inherited, count, sizeof *inherited, by_number);
}

static void close_at_exec(unsigned first, unsigned last)
{
    if (close_range(first, last, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    for (unsigned fd = first; fd <= last && fd < FALLBACK_MAX; fd++)
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
}

void inherited_close_others(void)
{
    unsigned first = 0;

    for (unsigned i = 0; i < count; i++) {
        const unsigned fd = (unsigned)inherited[i];

        if (fd > first)
            close_at_exec(first, fd - 1);
        first = fd + 1;
    }
    close_at_exec(first, UINT_MAX);
}

void inherited_free(void)
{
    g_free(inherited);
    inherited = NULL;
    count = 0;
}
