/* If anything fails, there is no cgroup. The command can be ended without one, because its
 * processes are found by their parents (sweep.h). */
#include "cgroup.h"
#include "cgroup_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

struct cgroup {
    int dir;
    int kill; /* cgroup.kill, opened early: descriptors may be short when KILL is due */
    char name[CGROUP_NAME_MAX];
};

/* How many names are tried: dead processes with our pid may have left cgroups with the first ones.
 */
#define NAMES_MOST 16

static int cgroup_open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whether a file begins with what; if that is NULL, whether the file has anything in it. false for
 * a file that is missing. */
static bool file_begins(int dir, const char *file, const char *what)
{
    const int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    return length > 0 && (!what || strncmp(text, what, strlen(what)) == 0);
}

/* ---- our own cgroup ---- */

/* Returns the directory of our cgroup; NULL: there is none. */
static char *cgroup_own_path(void)
{
    g_autofree char *mountinfo = NULL, *membership = NULL;

    return g_file_get_contents("/proc/self/mountinfo", &mountinfo, NULL, NULL) &&
                   g_file_get_contents("/proc/self/cgroup", &membership, NULL, NULL)
               ? cgroup_path(mountinfo, membership)
               : NULL;
}

/* Whether the attribute name of the cgroup is "1". */
static bool has_mark(int dir, const char *name)
{
    char value;

    return fgetxattr(dir, name, &value, sizeof value) == 1 && value == '1';
}

/* Whether the cgroup is ours to divide. Where systemd runs, it marks those that it has
 * delegated. */
static bool is_delegated(int dir)
{
    return access("/run/systemd/system", F_OK) != 0 || has_mark(dir, "user.delegate") ||
           has_mark(dir, "trusted.delegate");
}

/* Whether our cgroup has a limit. Then the command stays in it: programs that fit themselves to a
 * limit look for that in their own cgroup alone. */
static bool has_limits(int dir)
{
    static const char *const files[] = {"memory.max", "memory.high", "cpu.max"};

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        if (file_begins(dir, files[i], NULL) && !file_begins(dir, files[i], "max"))
            return true;
    return false;
}

/* Opens our cgroup; returns -1 if none may be made below it. If it has controllers for children,
 * none may: a child would have shares of its own. */
static int open_own_cgroup(void)
{
    g_autofree char *path = cgroup_own_path();
    const int dir = path ? cgroup_open_dir(AT_FDCWD, path) : -1;
    struct statfs fs;

    if (dir < 0 ||
        (fstatfs(dir, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC && is_delegated(dir) &&
         !has_limits(dir) && !file_begins(dir, "cgroup.subtree_control", NULL)))
        return dir;
    close(dir);
    return -1;
}

/* ---- removal ---- */

/* Removes a cgroup in which no process lives, and those that dead processes have made below it. */
static void remove_tree(int at, const char *name)
{
    const struct dirent *entry;
    int dir;

    if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno != EBUSY ||
        (dir = cgroup_open_dir(at, name)) < 0)
        return;
    if (!file_begins(dir, "cgroup.events", "populated 0")) { /* a process lives there */
        close(dir);
        return;
    }
    DIR *list = fdopendir(dir);
    while (list && (entry = readdir(list)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            remove_tree(dir, entry->d_name);
    if (list)
        closedir(list);
    else
        close(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

void cgroup_remove(const struct cgroup *c)
{
    const int parent = c ? cgroup_open_dir(c->dir, "..") : -1;

    if (parent < 0)
        return;
    remove_tree(parent, c->name);
    close(parent);
}

void cgroup_free(struct cgroup *c)
{
    if (!c)
        return;
    cgroup_remove(c);
    close(c->kill);
    close(c->dir);
    g_free(c);
}

/* ---- the beginning ---- */

/* Whether the maker of a cgroup may be dead. A maker with the pid 1 always may: the first process
 * of each container has that pid, so a process with it always lives. */
static bool may_be_dead(pid_t maker)
{
    return maker == getpid() || maker == 1 || (kill(maker, 0) != 0 && errno == ESRCH);
}

/* Removes cgroups whose makers were killed, or whose command left processes that have ended since.
 * (A maker that waits in another PID namespace loses its cgroup too, and goes on without one.) */
static void remove_old_cgroups(int parent)
{
    const int copy = cgroup_open_dir(parent, ".");
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;
    pid_t maker;

    while (list && (entry = readdir(list)))
        if (cgroup_name_parse(entry->d_name, &maker) && may_be_dead(maker))
            remove_tree(parent, entry->d_name);
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
}

/* Makes a cgroup by the first name that is free. */
static bool make_cgroup(struct cgroup *c, int parent)
{
    for (int i = 0; i < NAMES_MOST; i++) {
        cgroup_name(c->name, getpid(), i);
        if (mkdirat(parent, c->name, 0755) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

struct cgroup *cgroup_new(bool leave_daemons)
{
    const int parent = leave_daemons ? -1 : open_own_cgroup();

    if (parent < 0)
        return NULL;
    struct cgroup *c = g_new(struct cgroup, 1);
    *c = (struct cgroup){.dir = -1, .kill = -1};
    remove_old_cgroups(parent);
    if (make_cgroup(c, parent)) {
        c->dir = cgroup_open_dir(parent, c->name);
        /* A cgroup that takes no processes in, as among threads' cgroups, has no such file. */
        c->kill = openat(c->dir, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    }
    if (c->kill >= 0)
        fsetxattr(c->dir, "user.delegate", "1", 1, 0); /* so that a zkl in it may make one */
    else
        g_clear_pointer(&c, cgroup_free);
    close(parent);
    return c;
}

/* ---- the processes in it ---- */

/* clone3() forks into the cgroup. To move a process there could come too late, and is slow. */
pid_t cgroup_fork(const struct cgroup *c)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};

    if (!c)
        return -1;
    args.cgroup = (__u64)c->dir;
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

void cgroup_kill(const struct cgroup *c)
{
    while (c && write(c->kill, "1", 1) < 0 && errno == EINTR)
        continue;
}

int cgroup_open_outside(void)
{
    g_autofree char *own = cgroup_own_path();
    g_autofree char *outside = own ? cgroup_path_outside(own) : NULL;
    const int dir = outside ? cgroup_open_dir(AT_FDCWD, outside) : -1;
    const int fd = dir >= 0 ? openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC) : -1;

    if (dir >= 0)
        close(dir);
    return fd;
}
