/* Reads /proc/PID/stat and /proc/PID/task/TID/children. */
#include "processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of a file that is gone the name has this behind it. */
#define DELETED " (deleted)"

static bool read_program(const char *link, char name[PATH_MAX], struct stat *ret)
{
    const ssize_t length = readlink(link, name, PATH_MAX - 1);

    if (length <= 0 || stat(link, ret) != 0)
        return false;
    name[length] = '\0';
    if (g_str_has_suffix(name, DELETED))
        name[(size_t)length - strlen(DELETED)] = '\0';
    return true;
}

/* Anybody may take a name, and nobody another program. An older or newer zkl in its place is one,
 * as it belongs to the same user. */
static bool runs_zkl(pid_t pid)
{
    char link[32], ours[PATH_MAX], its[PATH_MAX];
    struct stat our_file, its_file;

    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    return read_program("/proc/self/exe", ours, &our_file) && read_program(link, its, &its_file) &&
           strcmp(ours, its) == 0 && our_file.st_uid == its_file.st_uid;
}

static bool is_called(const struct process *p, const char *name)
{
    return strcmp(p->name, name) == 0 && runs_zkl(p->pid);
}

/* "PID (NAME) " and more fields, NAME being anything. */
static bool parse(const char *stat, struct process *p)
{
    const char *name = strchr(stat, '(');
    const char *rest = strrchr(stat, ')');
    char state;
    long threads;
    unsigned long long start;

    if (!name || !rest ||
        sscanf(rest + 1,
               " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
               &state, &p->parent, &p->group, &p->session, &threads, &start) != 6)
        return false;
    p->pid = (pid_t)strtol(stat, NULL, 10);
    p->start = start;
    g_strlcpy(p->name, name + 1, MIN(sizeof p->name, (size_t)(rest - name)));
    p->guard = is_called(p, GUARD_NAME);
    p->stopped = state == 'T';
    p->closing = is_called(p, CLOSING_NAME);
    /* A process whose first thread has ended shows Z while its other threads run on. */
    p->dead = (state == 'Z' || state == 'X') && threads <= 1;
    return true;
}

static bool read_stat(int dir, const char *path, struct process *ret)
{
    const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    char text[1024];
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return parse(text, ret);
}

bool process_read(pid_t pid, struct process *ret, void *unused)
{
    char path[32];

    (void)unused;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return read_stat(AT_FDCWD, path, ret);
}

static DIR *open_proc(void)
{
    char text[32] = "";

    if (readlink("/proc/self", text, sizeof text - 1) <= 0 || strtol(text, NULL, 10) != getpid())
        return NULL;
    return opendir("/proc");
}

GArray *processes_read(void)
{
    DIR *dir = open_proc();
    const struct dirent *entry;
    GArray *list;

    if (!dir)
        return NULL;
    list = g_array_new(FALSE, FALSE, sizeof(struct process));
    while ((entry = readdir(dir))) {
        struct process p;
        char path[32];

        if (!g_ascii_isdigit(entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "%.10s/stat", entry->d_name);
        if (read_stat(dirfd(dir), path, &p))
            g_array_append_val(list, p);
    }
    closedir(dir);
    tree_sort((struct process *)(void *)list->data, list->len);
    return list;
}

static bool append_children(int dir, const char *thread, GArray *list)
{
    char *path = g_strdup_printf("%s/children", thread);
    const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    pid_t pid;

    g_free(path);
    if (!file)
        return false;
    while (fscanf(file, "%d", &pid) == 1)
        g_array_append_val(list, pid);
    fclose(file);
    return true;
}

GArray *processes_children(pid_t parent)
{
    char *path = g_strdup_printf("/proc/%d/task", (int)parent);
    DIR *own = open_proc();
    DIR *dir = own ? opendir(path) : NULL;
    GArray *list = g_array_new(FALSE, FALSE, sizeof(pid_t));
    const struct dirent *entry;
    bool told = false;

    g_free(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            told |= append_children(dirfd(dir), entry->d_name, list);
    if (dir)
        closedir(dir);
    if (own)
        closedir(own);
    if (!told)
        g_clear_pointer(&list, g_array_unref);
    return list;
}

uint64_t processes_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK) +
           (uint64_t)now.tv_nsec * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000000;
}
