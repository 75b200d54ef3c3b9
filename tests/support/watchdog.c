#include "watchdog.h"

#include "own_time.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS = 60, LIMIT_S = 60, WALL_S = 2400, MERCY_S = 5 };

struct watchdog {
    int64_t limit_us, wall_us, begun;
    pid_t test;
    int end; /* its pidfd */
    char *file, *late_file;
    struct progress_page *page;
    struct own_time *clock;
    uint32_t steps; /* at the last look */
    off_t size;
    bool is_late;
    int status;
};

/* ---- what a test is told ---- */

static bool make_page(struct watchdog *w)
{
    w->file = g_build_filename(g_get_tmp_dir(), "zkl-progress-XXXXXX", NULL);
    w->late_file = NULL;
    int fd = g_mkstemp_full(w->file, O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, sizeof(*w->page)) != 0 || fchmod(fd, 0666) != 0)
        return false;
    void *page = mmap(NULL, sizeof(*w->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return false;
    w->page = page;
    w->size = sizeof(*w->page);
    w->late_file = g_strconcat(w->file, ".late", NULL);
    g_setenv("ZKL_PROGRESS", w->file, TRUE);
    return true;
}

static void remove_page(struct watchdog *w)
{
    if (w->page)
        munmap(w->page, sizeof(*w->page));
    if (w->late_file)
        unlink(w->late_file);
    unlink(w->file);
    g_free(w->late_file);
    g_free(w->file);
}

static bool has_stepped(struct watchdog *w)
{
    struct stat now;
    uint32_t steps = atomic_load(&w->page->steps);
    off_t size = stat(w->file, &now) == 0 ? now.st_size : w->size;
    bool moved = steps != w->steps || size != w->size;

    w->steps = steps;
    w->size = size;
    return moved;
}

static void tell_late(struct watchdog *w)
{
    w->is_late = true;
    atomic_store(&w->page->late, w->steps + 1);
    int fd = open(w->late_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
}

/* ---- what it was doing ---- */

static char *line_of(pid_t pid, const char *name)
{
    char *path = g_strdup_printf("/proc/%d/%s", pid, name), *text = NULL;
    gsize length = 0;

    if (g_file_get_contents(path, &text, &length, NULL))
        for (gsize i = 0; i + 1 < length; i++)
            if ((guchar)text[i] < ' ')
                text[i] = ' ';
    g_free(path);
    return text ? g_strchomp(text) : g_strdup("?");
}

/* Their output is ours. */
static void run_to_end(const char *const *argv)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(2, 1);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void show_stack(pid_t pid)
{
    char *id = g_strdup_printf("%d", pid), *comm = line_of(pid, "comm");
    const char *const java[] = {"timeout", "30", "jstack", id, NULL};
    const char *const native[] = {
        "timeout", "60", "gdb", "-q", "-batch", "-ex", "thread apply all bt 16", "-p", id, NULL};

    run_to_end(strcmp(comm, "java") == 0 ? java : native);
    g_free(comm);
    g_free(id);
}

/* A shell's stack says nothing; its children do. */
static void show_processes(struct watchdog *w)
{
    static const char *const plain[] = {"bash", "sh", "sleep", "make", "python3", "cat", NULL};
    int count;

    own_time_now(w->clock);
    const pid_t *pids = own_time_processes(w->clock, &count);
    for (int i = 0; i < count; i++) {
        char *line = line_of(pids[i], "cmdline"), *wait = line_of(pids[i], "wchan");
        char *comm = line_of(pids[i], "comm"), *stat = line_of(pids[i], "stat");
        const char *state = strrchr(stat, ')');
        fprintf(stderr, "process %d, %c in %s: %.300s\n", pids[i], state ? state[2] : '?', wait,
                line);
        if (!g_strv_contains(plain, comm))
            show_stack(pids[i]);
        g_free(line);
        g_free(wait);
        g_free(comm);
        g_free(stat);
    }
}

/* ---- its end ---- */

/* Reaps the test, and processes whose parents have ended. */
static bool has_ended(struct watchdog *w)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != w->test)
            continue;
        w->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        w->test = 0;
    }
    return w->test == 0;
}

static void signal_all(struct watchdog *w, int sig)
{
    int count;

    own_time_now(w->clock);
    const pid_t *pids = own_time_processes(w->clock, &count);
    for (int i = 0; i < count; i++)
        kill(pids[i], sig);
}

/* What a test has left behind may still be ending: a server's folder is being removed, say. */
static void end_rest(struct watchdog *w)
{
    pid_t pid;

    for (int ms = 0; (pid = waitpid(-1, NULL, WNOHANG)) >= 0 && ms < 2 * MERCY_S * 1000;) {
        if (pid > 0)
            continue;
        if (ms >= MERCY_S * 1000)
            signal_all(w, SIGKILL);
        g_usleep(10000);
        ms += 10;
    }
}

static void end_test(struct watchdog *w)
{
    signal_all(w, SIGTERM);
    for (int left = MERCY_S * 100; !has_ended(w) && left > 0; left--)
        g_usleep(10000);
    signal_all(w, SIGKILL);
    while (!has_ended(w))
        g_usleep(10000);
}

static void bite(struct watchdog *w, const char *why, int status)
{
    int64_t us = g_get_monotonic_time() - w->begun;

    fflush(stdout);
    fprintf(stderr,
            "FAIL %.*s: %s; it has run for %.0f s, and was kept from running for %.0f s of them at "
            "least\n",
            (int)sizeof(w->page->name), w->page->name, why, (double)us / 1e6,
            (double)own_time_delayed(w->clock) / 1e6);
    show_processes(w);
    end_test(w);
    w->status = status;
}

static void look(struct watchdog *w)
{
    int64_t limit = w->limit_us + atomic_load(&w->page->allowed_s) * G_USEC_PER_SEC;
    int64_t still_us; /* without a step, by the test's own time */

    if (g_get_monotonic_time() - w->begun > w->wall_us) {
        bite(w, "the machine is too slow for it, which is no verdict about the code",
             WATCHDOG_MACHINE);
    } else if (has_stepped(w)) {
        if (w->is_late)
            unlink(w->late_file);
        w->is_late = false;
        own_time_reset(w->clock);
    } else if ((still_us = own_time_now(w->clock)) >= limit + w->limit_us / 2) {
        char *why = g_strdup_printf("no step for %" G_GINT64_FORMAT " s of its own time",
                                    still_us / G_USEC_PER_SEC);
        bite(w, why, WATCHDOG_HANGS);
        g_free(why);
    } else if (still_us >= limit && !w->is_late) {
        tell_late(w);
    }
}

/* ---- its beginning ---- */

static int told; /* the pipe that a signal for us writes to */

static void on_signal(int sig)
{
    char byte = (char)sig;
    int before = errno;

    if (write(told, &byte, 1) < 0)
        errno = before;
}

/* A terminal tells the test, too, which decides. */
static void on_key(int sig)
{
    (void)sig;
}

static void catch_signals(int fd)
{
    static const struct {
        int sig;
        void (*handler)(int sig);
    } ours[] = {{SIGINT, on_key}, {SIGQUIT, on_key}, {SIGTERM, on_signal}, {SIGHUP, on_signal}};
    struct sigaction before, act = {.sa_flags = SA_RESTART};

    told = fd;
    for (size_t i = 0; i < G_N_ELEMENTS(ours); i++) {
        act.sa_handler = ours[i].handler;
        if (sigaction(ours[i].sig, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ours[i].sig, &act, NULL);
    }
}

/* A shell's background job ignores keys, and nohup's HUP: tests of signals must not inherit that.
 */
static void forget_signals(void)
{
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
}

static bool start(struct watchdog *w, char **argv)
{
    pid_t us = getpid();

    w->test = fork();
    if (w->test == 0) {
        forget_signals();
        /* If it is a shell, its children end with the process group. */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == us)
            execvp(argv[0], argv);
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    w->end = w->test > 0 ? (int)syscall(SYS_pidfd_open, w->test, 0) : -1;
    return w->end >= 0;
}

static int64_t seconds_of(const char *variable, int64_t otherwise)
{
    const char *text = g_getenv(variable);
    char *end;
    int64_t s = text ? g_ascii_strtoll(text, &end, 10) : otherwise;

    return !text || (*text && !*end) ? s : -1;
}

static void write_ledger(const struct watchdog *w, const char *test)
{
    const char *file = g_getenv("ZKL_LEDGER");
    struct rusage all;

    if (!file || getrusage(RUSAGE_CHILDREN, &all) != 0)
        return;
    char *folder = g_get_current_dir(), *name = g_path_get_basename(folder);
    char *line = g_strdup_printf("%s %s %.2f %.2f %.2f %.2f %d\n", name, test,
                                 (double)(g_get_monotonic_time() - w->begun) / 1e6,
                                 (double)all.ru_utime.tv_sec + (double)all.ru_utime.tv_usec / 1e6,
                                 (double)all.ru_stime.tv_sec + (double)all.ru_stime.tv_usec / 1e6,
                                 (double)own_time_delayed(w->clock) / 1e6, w->status);
    int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        fprintf(stderr, "watchdog: %s: %s\n", file, strerror(errno));
    if (fd >= 0)
        close(fd);
    g_free(line);
    g_free(name);
    g_free(folder);
}

static void attend(struct watchdog *w, int signals)
{
    struct pollfd fds[] = {{.fd = w->end, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    char sig;

    while (!has_ended(w)) {
        poll(fds, G_N_ELEMENTS(fds), CLAMP((int)(w->limit_us / 1000 / LOOKS), 50, 1000));
        if ((fds[1].revents & POLLIN) && read(signals, &sig, 1) == 1)
            kill(w->test, sig);
        if (!has_ended(w))
            look(w);
    }
}

int watchdog_run(char **argv)
{
    struct watchdog w = {.status = WATCHDOG_BROKEN,
                         .limit_us = seconds_of("ZKL_TEST_TIMEOUT", LIMIT_S) * G_USEC_PER_SEC,
                         .wall_us = seconds_of("ZKL_TEST_WALL", WALL_S) * G_USEC_PER_SEC,
                         .begun = g_get_monotonic_time()};
    int signals[2], last = 0;

    if (w.limit_us <= 0 || w.wall_us <= 0) {
        fprintf(stderr, "watchdog: ZKL_TEST_TIMEOUT and ZKL_TEST_WALL are numbers of seconds\n");
        return WATCHDOG_BROKEN;
    }
    while (argv[last + 1])
        last++;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe2(signals, O_CLOEXEC) == 0)
        catch_signals(signals[1]);
    if (!make_page(&w) || !start(&w, argv)) {
        fprintf(stderr, "watchdog: cannot run %s: %s\n", argv[0], strerror(errno));
        return WATCHDOG_BROKEN;
    }
    w.clock = own_time_new(getpid());
    attend(&w, signals[0]);
    end_rest(&w);
    write_ledger(&w, argv[last]);
    own_time_free(w.clock);
    remove_page(&w);
    return w.status;
}
