#include "shards_served.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOWEST_MS = 300 };

/* ---- the command ---- */

static void say_overlap(const char *dir, const char *what, const char *last)
{
    char *path = g_strdup_printf("%s/overlaps", dir);
    FILE *file = fopen(path, "ae");

    fprintf(file, "shard %s: %s: token %s behind: %s\n", getenv("ZKL_SHARD"), what,
            getenv("ZKL_TOKEN"), last);
    fclose(file);
    g_free(path);
}

/* A line for each command: its host and token. */
static void sign(int fd, const char *dir, const char *host)
{
    char *line = g_strdup_printf("%s %s\n", host, getenv("ZKL_TOKEN"));
    char last[64] = "";
    const off_t size = lseek(fd, 0, SEEK_END);
    const off_t from = MAX(size - (off_t)sizeof last + 1, 0);
    const ssize_t length = pread(fd, last, sizeof last - 1, from);
    const char *token = length > 0 ? strrchr(last, ' ') : NULL;

    if (token && strtoull(token, NULL, 10) >= strtoull(getenv("ZKL_TOKEN"), NULL, 10))
        say_overlap(dir, "its token has not risen", last);
    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        abort();
    g_free(line);
}

int serve_shard(const char *dir, const char *host)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = g_strdup_printf("%s/%s", dir, getenv("ZKL_SHARD"));
    const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    sigset_t asked;
    int signo;

    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    sigprocmask(SIG_BLOCK, &asked, NULL);
    g_free(path);
    if (fd < 0)
        return 1;
    if (fcntl(fd, F_SETLK, &lock) != 0)
        say_overlap(dir, "another command runs", "");
    sign(fd, dir, host);
    sigwait(&asked, &signo);
    g_usleep((gulong)g_random_int_range(0, SLOWEST_MS) * 1000); /* finishes what it does */
    return 0;
}

/* ---- who serves ---- */

static char *file_of(const char *dir, int shard)
{
    return g_strdup_printf("%s/%d", dir, shard);
}

bool is_served(const char *dir, int shard)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = file_of(dir, shard);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const bool served = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

    if (fd >= 0)
        close(fd);
    g_free(path);
    return served;
}

GPtrArray *served_by(const char *dir, int shard)
{
    GPtrArray *ids = g_ptr_array_new_with_free_func(g_free);
    char *path = file_of(dir, shard), *text;

    if (g_file_get_contents(path, &text, NULL, NULL)) {
        char **lines = g_strsplit(text, "\n", -1);
        for (int i = 0; lines[i] && lines[i + 1]; i++)
            g_ptr_array_add(ids, g_strndup(lines[i], strcspn(lines[i], " ")));
        g_strfreev(lines);
        g_free(text);
    }
    g_free(path);
    return ids;
}

int count_moves(const char *dir, int count, int *ret_begun)
{
    int moves = 0;

    *ret_begun = 0;
    for (int shard = 0; shard < count; shard++) {
        GPtrArray *ids = served_by(dir, shard);
        for (guint i = 1; i < ids->len; i++)
            moves += strcmp(ids->pdata[i - 1], ids->pdata[i]) != 0;
        *ret_begun += (int)ids->len;
        g_ptr_array_unref(ids);
    }
    return moves;
}

char *overlaps(const char *dir)
{
    char *path = g_strdup_printf("%s/overlaps", dir), *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    g_free(path);
    return text;
}
