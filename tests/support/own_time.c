#include "own_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A look that comes too late has not seen what was delayed at its beginning. */
enum { MOST_US = 2000000, PATH_SIZE = 64, TEXT_SIZE = 1024 };

struct seen {
    int64_t us; /* a thread's delay */
    unsigned look;
};

struct own_time {
    pid_t root;
    int processors;
    int64_t tick_us, looked_at, ran, delayed;
    bool begins, tells_of_threads;
    struct own_time_look sum;
    unsigned look;       /* counts */
    GHashTable *threads; /* id -> struct seen */
    GHashTable *known;   /* the same of processes */
    GArray *tree;        /* pid_t */
};

/* One line of /proc/PID/stat. */
struct process {
    pid_t pid, parent;
    bool ours;
    int64_t ran, children_ran; /* ticks */
};

static void add(struct own_time_look *sum, const struct own_time_look *look, int processors)
{
    sum->passed += look->passed;
    sum->delayed += look->delayed;
    if (look->renewed && look->running > processors)
        sum->delayed += look->passed * (look->running - processors) / look->running;
    sum->ran += look->ran;
}

static int64_t moved(const struct own_time_look *sum, int processors)
{
    return CLAMP(MAX(sum->passed - sum->delayed, sum->ran / processors), 0, sum->passed);
}

int64_t own_time_of(const struct own_time_look *looks, int count, int processors)
{
    struct own_time_look sum = {0};

    for (int i = 0; i < count; i++)
        add(&sum, &looks[i], processors);
    return moved(&sum, processors);
}

static bool read_text(const char *path, char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, TEXT_SIZE - 1);

    text[MAX(length, 0)] = '\0';
    if (fd >= 0)
        close(fd);
    return length > 0;
}

static bool read_process(const char *pid, struct process *ret)
{
    char path[PATH_SIZE], text[TEXT_SIZE];
    int64_t user, system, children_user, children_system;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if (!read_text(path, text))
        return false;
    const char *behind_name = strrchr(text, ')');
    if (!behind_name || sscanf(behind_name,
                               ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64 " %" SCNd64
                               " %" SCNd64 " %" SCNd64,
                               &ret->parent, &user, &system, &children_user, &children_system) != 5)
        return false;
    ret->pid = atoi(pid);
    ret->ours = false;
    ret->ran = user + system;
    ret->children_ran = children_user + children_system;
    return true;
}

static GArray *read_processes(void)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct process));
    DIR *proc = opendir("/proc");
    struct process one;

    for (struct dirent *e; proc && (e = readdir(proc));)
        if (g_ascii_isdigit(e->d_name[0]) && read_process(e->d_name, &one))
            g_array_append_val(all, one);
    if (proc)
        closedir(proc);
    return all;
}

/* Since the look before: all of it if it was not there then. */
static int64_t since_last_look(struct own_time *t, GHashTable *table, pid_t id, int64_t us,
                               bool *ret_known)
{
    struct seen *seen = g_hash_table_lookup(table, GINT_TO_POINTER(id));

    *ret_known = seen && seen->look + 1 == t->look && seen->us <= us;
    int64_t since = *ret_known ? us - seen->us : us;
    if (!seen)
        g_hash_table_insert(table, GINT_TO_POINTER(id), seen = g_new(struct seen, 1));
    *seen = (struct seen){.us = us, .look = t->look};
    return since;
}

static int64_t longest_delay(struct own_time *t, pid_t pid)
{
    char path[PATH_SIZE], text[TEXT_SIZE];
    int64_t longest = 0, delay;
    bool known;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *e; threads && (e = readdir(threads));) {
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", pid, e->d_name);
        if (!g_ascii_isdigit(e->d_name[0]) || !read_text(path, text) ||
            sscanf(text, "%*d %" SCNd64, &delay) != 1)
            continue;
        delay = since_last_look(t, t->threads, atoi(e->d_name), delay / 1000, &known);
        longest = MAX(longest, delay);
    }
    if (threads)
        closedir(threads);
    return longest;
}

/* How long something on this machine was delayed, for a kernel that tells it of no thread. Beside
 * other work, what hangs is then ended by the wall's clock alone. */
static int64_t pressure(void)
{
    char text[TEXT_SIZE];
    const char *at = read_text("/proc/pressure/cpu", text) ? strstr(text, "total=") : NULL;

    return at ? g_ascii_strtoll(at + strlen("total="), NULL, 10) : 0;
}

static gboolean is_old(gpointer id, gpointer seen, gpointer look)
{
    (void)id;
    return ((struct seen *)seen)->look != GPOINTER_TO_UINT(look);
}

static int running(void)
{
    char *text = NULL, *at;
    int n = 0;

    if (g_file_get_contents("/proc/stat", &text, NULL, NULL) &&
        (at = strstr(text, "procs_running")))
        n = atoi(at + strlen("procs_running"));
    g_free(text);
    return n;
}

/* Children stand behind their parents in t->tree. */
static void find_tree(struct own_time *t, GArray *all)
{
    g_array_set_size(t->tree, 0);
    for (guint parents = 0; parents <= t->tree->len; parents++) {
        pid_t parent = parents == 0 ? t->root : g_array_index(t->tree, pid_t, parents - 1);
        for (guint i = 0; i < all->len; i++) {
            struct process *p = &g_array_index(all, struct process, i);
            if (p->parent != parent || p->ours || p->pid == t->root)
                continue;
            p->ours = true;
            g_array_append_val(t->tree, p->pid);
        }
    }
}

int64_t own_time_now(struct own_time *t)
{
    struct own_time_look look = {0};
    int64_t now = g_get_monotonic_time(), ran = 0;
    GArray *all = read_processes();
    bool known;

    t->look++;
    find_tree(t, all);
    for (guint i = 0; i < all->len; i++) {
        const struct process *p = &g_array_index(all, struct process, i);
        if (p->ours || p->pid == t->root)
            ran += p->children_ran * t->tick_us;
        if (!p->ours)
            continue;
        ran += p->ran * t->tick_us;
        since_last_look(t, t->known, p->pid, 0, &known);
        look.renewed = look.renewed || !known;
        int64_t delayed = longest_delay(t, p->pid);
        look.delayed = MAX(look.delayed, delayed);
    }
    if (!t->tells_of_threads)
        look.delayed = since_last_look(t, t->threads, 0, pressure(), &known);
    g_hash_table_foreach_remove(t->threads, is_old, GUINT_TO_POINTER(t->look));
    g_hash_table_foreach_remove(t->known, is_old, GUINT_TO_POINTER(t->look));
    g_array_free(all, TRUE);

    look.passed = MIN(now - t->looked_at, MOST_US);
    look.ran = MAX(ran - t->ran, 0);
    look.running = running();
    t->looked_at = now;
    t->ran = ran;
    if (t->begins) {
        t->sum = (struct own_time_look){0};
    } else {
        t->delayed += look.delayed;
        add(&t->sum, &look, t->processors);
    }
    t->begins = false;
    return moved(&t->sum, t->processors);
}

void own_time_reset(struct own_time *t)
{
    t->begins = true;
}

const pid_t *own_time_processes(const struct own_time *t, int *ret_count)
{
    *ret_count = (int)t->tree->len;
    return (const pid_t *)(const void *)t->tree->data;
}

int64_t own_time_delayed(const struct own_time *t)
{
    return t->delayed;
}

struct own_time *own_time_new(pid_t root)
{
    struct own_time *t = g_new0(struct own_time, 1);

    t->root = root;
    t->begins = true;
    t->tells_of_threads = access("/proc/self/schedstat", R_OK) == 0;
    t->processors = (int)g_get_num_processors();
    t->tick_us = 1000000 / sysconf(_SC_CLK_TCK);
    t->threads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    t->known = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    t->tree = g_array_new(FALSE, FALSE, sizeof(pid_t));
    return t;
}

void own_time_free(struct own_time *t)
{
    g_hash_table_destroy(t->threads);
    g_hash_table_destroy(t->known);
    g_array_free(t->tree, TRUE);
    g_free(t);
}
