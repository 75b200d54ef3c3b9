/* Reads /proc/PID/stat and /proc/PID/task/TID/children. */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- descriptors ---- */

#define RESERVED 2 /* one for a directory and one for a file in it, or for a pidfd and a file */

/* The spare descriptors; -1: it was spent. */
static int reserved[RESERVED] = {-1, -1};

bool processes_reserve(void)
{
    bool all = true;

    for (size_t i = 0; i < RESERVED; i++) {
        if (reserved[i] < 0)
            reserved[i] = open("/", O_PATH | O_CLOEXEC);
        all &= reserved[i] >= 0;
    }
    return all;
}

bool processes_are_short(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

/* If errno says that there was no free descriptor, closes a spare one. Returns whether it did: then
 * the caller tries again. */
static bool release_spare(void)
{
    for (size_t i = 0; i < RESERVED && processes_are_short(); i++)
        if (reserved[i] >= 0) {
            close(reserved[i]);
            reserved[i] = -1;
            return true;
        }
    return false;
}

/* Opens a file for reading, if need be in place of a spare descriptor. */
static int open_file(int dir, const char *path)
{
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && release_spare())
        fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    return fd;
}

static DIR *processes_open_dir(const char *path)
{
    const int fd = open_file(AT_FDCWD, path);

    return fd >= 0 ? fdopendir(fd) : NULL;
}

int process_open(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0 && release_spare())
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd;
}

/* Ends the reading of a list. Opens again the spare descriptors that it has spent. If error says
 * that memory or descriptors were short, the list is not complete: frees it and returns NULL.
 * Otherwise returns it. Leaves error in errno. */
static GArray *finish_list(GArray *list, int error)
{
    processes_reserve();
    errno = error;
    if (processes_are_short())
        g_clear_pointer(&list, g_array_unref);
    errno = error;
    return list;
}

/* ---- one process ---- */

/* The kernel appends this to the path of a program whose file was deleted. */
#define DELETED " (deleted)"

/* Reads which program link, a /proc/PID/exe, points to: its path, and the data of its file. */
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

/* Whether the process has that name, and runs zkl's program: any process may take any name. Another
 * version of zkl counts, too, if its file has the same path and owner. */
static bool is_zkl_called(const struct process *p, const char *name)
{
    char link[32], ours[PATH_MAX], its[PATH_MAX];
    struct stat our_file, its_file;

    if (strcmp(p->name, name) != 0)
        return false;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)p->pid);
    return read_program("/proc/self/exe", ours, &our_file) && read_program(link, its, &its_file) &&
           strcmp(ours, its) == 0 && our_file.st_uid == its_file.st_uid;
}

/* Parses the text of a file stat: "PID (NAME) " and more fields. NAME may contain anything. */
static bool processes_parse(const char *stat, struct process *p)
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
    p->guard = is_zkl_called(p, GUARD_NAME);
    p->stopped = state == 'T';
    p->closing = is_zkl_called(p, CLOSING_NAME);
    /* A process whose first thread has ended shows Z while its other threads run on. */
    p->dead = (state == 'Z' || state == 'X') && threads <= 1;
    return true;
}

/* Reads a process from its file stat. */
static bool read_stat(int dir, const char *path, struct process *ret)
{
    const int fd = open_file(dir, path);
    char text[1024];
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return processes_parse(text, ret);
}

bool process_read(pid_t pid, struct process *ret, void *unused)
{
    char path[32];

    (void)unused;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return read_stat(AT_FDCWD, path, ret);
}

/* ---- all processes ---- */

/* Whether /proc shows this process by its own pid. A yes is remembered. */
static bool has_own_proc(void)
{
    static pid_t own;
    char text[32] = "";

    if (own != getpid() && readlink("/proc/self", text, sizeof text - 1) > 0)
        own = (pid_t)strtol(text, NULL, 10);
    if (own == getpid())
        return true;
    errno = ENOENT;
    return false;
}

/* Tries process 1, which always exists. If that is another user's and cannot be read, /proc hides
 * other users' processes. If it is ours, no other process is tried, and all count as shown. */
enum processes_sight processes_sight(void)
{
    struct process first;

    if (!has_own_proc())
        return SIGHT_NONE;
    return kill(1, 0) != 0 && errno == EPERM && !process_read(1, &first, NULL) ? SIGHT_OWN
                                                                               : SIGHT_ALL;
}

GArray *processes_read(void)
{
    DIR *dir = has_own_proc() ? processes_open_dir("/proc") : NULL;
    const struct dirent *entry;
    int error = 0;

    if (!dir)
        return NULL;
    GArray *list = g_array_new(FALSE, FALSE, sizeof(struct process));
    while ((entry = readdir(dir))) {
        struct process p;
        char path[32];

        if (!g_ascii_isdigit(entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "%.10s/stat", entry->d_name);
        if (read_stat(dirfd(dir), path, &p))
            g_array_append_val(list, p);
        else if (processes_are_short())
            error = errno;
    }
    closedir(dir);
    tree_sort((struct process *)(void *)list->data, list->len);
    return finish_list(list, error);
}

/* Appends the pids that a file "children" lists, each with a space after it. Returns false if there
 * is no such file. */
static bool processes_append_children(int dir, const char *path, GArray *list)
{
    const int fd = open_file(dir, path);
    char text[4096];
    ssize_t length;
    pid_t pid = 0;

    while (fd >= 0 && (length = read(fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < length; i++) {
            if (g_ascii_isdigit(text[i])) {
                pid = pid * 10 + (text[i] - '0');
            } else {
                g_array_append_val(list, pid);
                pid = 0;
            }
        }
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Appends the children of each thread in the directory tasks. Returns 0, or an errno value: ENOENT
 * if the kernel lists the children of no thread. */
static int append_children_of_threads(const char *tasks, GArray *list)
{
    DIR *dir = processes_open_dir(tasks);
    const struct dirent *entry;
    int error = dir ? ENOENT : errno;

    while (dir && (entry = readdir(dir))) {
        char path[32];

        snprintf(path, sizeof path, "%.10s/children", entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        else if (processes_append_children(dirfd(dir), path, list))
            error = error == ENOENT ? 0 : error;
        else if (processes_are_short())
            error = errno;
    }
    if (dir)
        closedir(dir);
    return error;
}

GArray *processes_children(pid_t parent)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(pid_t));
    char tasks[32], file[48];
    struct stat threads;
    int error = 0;

    snprintf(tasks, sizeof tasks, "/proc/%d/task", (int)parent);
    snprintf(file, sizeof file, "%s/%d/children", tasks, (int)parent);
    /* Each thread is a directory in tasks. A directory has a link from each directory in it, from
     * its parent, and from itself: three links are one thread. */
    if (!has_own_proc())
        error = ENOENT;
    else if (stat(tasks, &threads) != 0 || threads.st_nlink != 3 ||
             !processes_append_children(AT_FDCWD, file, list))
        error = append_children_of_threads(tasks, list);
    if (error != 0)
        g_clear_pointer(&list, g_array_unref);
    return finish_list(list, error);
}

/* ---- the processes of a tree ---- */

/* Whether a process could not be read because it does not exist any more. */
static bool is_reaped(pid_t pid)
{
    return !processes_are_short() && kill(pid, 0) != 0 && errno == ESRCH;
}

/* Appends the children of a process, without those that the look has seen. Returns false if a child
 * that exists, or the list of children, cannot be read. */
static bool append_children_of(GArray *list, GHashTable *seen, pid_t parent)
{
    g_autoptr(GArray) pids = processes_children(parent);
    bool complete = pids || is_reaped(parent);

    for (guint i = 0; pids && complete && i < pids->len; i++) {
        const pid_t pid = g_array_index(pids, pid_t, i);
        struct process p;

        if (g_hash_table_contains(seen, GINT_TO_POINTER(pid)))
            continue;
        if (process_read(pid, &p, NULL)) {
            g_array_append_val(list, p);
            g_hash_table_add(seen, GINT_TO_POINTER(pid));
        } else {
            complete = is_reaped(pid);
        }
    }
    return complete;
}

void processes_look_begin(struct processes_look *l, int rounds)
{
    *l = (struct processes_look){.list = g_array_new(FALSE, FALSE, sizeof(struct process)),
                                 .seen = g_hash_table_new(NULL, NULL),
                                 .rounds = rounds};
}

GArray *processes_look_end(struct processes_look *l)
{
    GArray *list = g_steal_pointer(&l->list);

    g_clear_pointer(&l->seen, g_hash_table_unref);
    tree_sort((struct process *)(void *)list->data, list->len);
    processes_reserve();
    return list;
}

/* Reads the children of the next parent. The parents are root, helper, and then each process that
 * was found, unless it is dead or was there before the command. Returns false if the children
 * cannot be read. */
static bool look_at_next(const struct tree *tree, struct processes_look *l)
{
    const guint k = l->next++;
    pid_t parent = k == 0 ? tree->root : tree->helper;

    if (k > 1) {
        const struct process p = g_array_index(l->list, struct process, k - 2);
        parent = p.dead || tree_is_prior(tree, &p) ? 0 : p.pid;
    }
    return parent == 0 || append_children_of(l->list, l->seen, parent);
}

/* Whether a parent is left to read. If none is left in this round, begins another one, unless this
 * one found nobody new or was the last. */
static bool look_goes_on(struct processes_look *l)
{
    if (l->next < l->list->len + 2)
        return true;
    if (l->list->len == l->before || --l->rounds <= 0)
        return false;
    l->before = l->list->len;
    l->next = 0;
    return true;
}

enum processes_looked processes_look_on(const struct tree *tree, struct processes_look *l,
                                        guint most)
{
    if (kill(tree->root, 0) != 0)
        return LOOK_UNTOLD;
    while (look_goes_on(l)) {
        if (most-- == 0)
            return LOOK_UNFINISHED;
        if (!look_at_next(tree, l))
            return LOOK_UNTOLD;
    }
    return LOOK_FINISHED;
}

GArray *processes_below(const struct tree *tree)
{
    struct processes_look look;

    processes_look_begin(&look, LOOK_ROUNDS_MOST);
    const bool complete = processes_look_on(tree, &look, G_MAXUINT) == LOOK_FINISHED;
    GArray *list = processes_look_end(&look);
    if (!complete)
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
