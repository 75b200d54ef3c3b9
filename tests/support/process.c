#include "process.h"

#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* PR_SET_PDEATHSIG fires when the thread that forked ends, so one thread that never ends forks. */
static struct {
    pthread_mutex_t turn; /* held by a caller from request to answer */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const struct process_options *request;
    pid_t answer;
    int error;
    pid_t owner; /* a forked child of ours has no such thread and makes its own */
} spawner = {PTHREAD_MUTEX_INITIALIZER,
             PTHREAD_MUTEX_INITIALIZER,
             PTHREAD_COND_INITIALIZER,
             NULL,
             -1,
             0,
             -1};

static _Noreturn void become(const struct process_options *o, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (!o->outlives && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(127);
    int in = o->input >= 0 ? o->input : open("/dev/null", O_RDONLY);
    int out = open(o->log ? o->log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ||
        (o->directory && chdir(o->directory) != 0))
        _exit(127);
    close_range(3, ~0U, 0); /* libzookeeper's sockets: a copy here would keep them open */
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(o->argv[0], (char *const *)(uintptr_t)o->argv);
    _exit(127);
}

static void *spawn_for_ever(void *unused)
{
    pthread_mutex_lock(&spawner.mutex);
    for (;;) {
        while (!spawner.request)
            pthread_cond_wait(&spawner.changed, &spawner.mutex);
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid == 0)
            become(spawner.request, parent);
        spawner.answer = pid;
        spawner.error = errno;
        spawner.request = NULL;
        pthread_cond_broadcast(&spawner.changed);
    }
    return unused;
}

static bool start_spawner(void)
{
    if (spawner.owner == getpid())
        return true;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); /* signals are for the test's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&thread, NULL, spawn_for_ever, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err == 0) {
        pthread_detach(thread);
        spawner.owner = getpid();
    }
    errno = err;
    return err == 0;
}

pid_t process_spawn(const struct process_options *options)
{
    pid_t pid = -1;
    pthread_mutex_lock(&spawner.turn);
    if (start_spawner()) {
        pthread_mutex_lock(&spawner.mutex);
        spawner.request = options;
        pthread_cond_broadcast(&spawner.changed);
        while (spawner.request)
            pthread_cond_wait(&spawner.changed, &spawner.mutex);
        pid = spawner.answer;
        errno = spawner.error;
        pthread_mutex_unlock(&spawner.mutex);
    }
    pthread_mutex_unlock(&spawner.turn);
    return pid;
}

pid_t process_spawn_told(const struct process_options *options, int *ret_control)
{
    struct process_options o = *options;
    int ends[2];

    *ret_control = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    o.input = ends[0];
    pid_t pid = process_spawn(&o);
    close(ends[0]);
    *ret_control = ends[1];
    return pid;
}

bool process_tell(int control, const char *order)
{
    char *line = g_strconcat(order, "\n", NULL);
    const ssize_t size = (ssize_t)strlen(line);
    bool told = write(control, line, (size_t)size) == size;
    g_free(line);
    return told;
}

bool process_gone(pid_t pid)
{
    siginfo_t info = {0};
    int n = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return n != 0 || info.si_pid == pid;
}

void process_end(pid_t pid, int sig)
{
    kill(pid, sig);
    if (sig != SIGKILL && !AWAIT(process_gone(pid)))
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void process_pause(pid_t pid)
{
    siginfo_t info;
    kill(pid, SIGSTOP);
    while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
}

void process_resume(pid_t pid)
{
    kill(pid, SIGCONT);
}

/* Reads until the end of file that our death brings, whatever its cause. rm is repeated since a
 * child killed along with us may still be writing. */
static const char janitor_script[] =
    "trap '' INT TERM HUP; read -r x; for n in 1 2 3 4 5 6 7 8 9; do rm -rf -- \"$1\" && exit; "
    "sleep 0.1; done";

bool scratch_make(struct scratch *ret, const char *prefix)
{
    int fds[2];
    const char *tmp = getenv("TMPDIR");
    char *made = g_strdup_printf("%s/%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", prefix);
    char *path = g_mkdtemp(made) ? realpath(made, NULL) : NULL;
    g_free(made);
    if (!path || pipe2(fds, O_CLOEXEC) != 0) {
        free(path);
        return false;
    }
    const char *const argv[] = {"/bin/sh", "-c", janitor_script, "sh", path, NULL};
    struct process_options o = {.argv = argv, .directory = "/", .input = fds[0], .outlives = true};
    pid_t janitor = process_spawn(&o);
    close(fds[0]);
    *ret = (struct scratch){.path = path, .janitor = janitor, .lifeline = fds[1]};
    if (janitor < 0)
        scratch_remove(ret);
    return janitor >= 0;
}

void scratch_remove(struct scratch *s)
{
    const char *const argv[] = {"rm", "-rf", "--", s->path, NULL};
    struct process_options o = {.argv = argv, .directory = "/", .input = -1};
    pid_t rm = process_spawn(&o);
    if (rm > 0)
        while (waitpid(rm, NULL, 0) < 0 && errno == EINTR)
            ;
    if (s->janitor > 0)
        process_end(s->janitor, SIGKILL);
    close(s->lifeline);
    free(s->path);
    *s = (struct scratch){.janitor = -1, .lifeline = -1};
}

void scratch_keep(const struct scratch *s, const char *folder)
{
    GDir *dir = g_dir_open(s->path, 0, NULL);
    char *here = g_get_current_dir();

    g_mkdir_with_parents(folder, 0755);
    for (const char *name; dir && (name = g_dir_read_name(dir)) != NULL;) {
        char *from = g_build_filename(s->path, name, NULL);
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
    printf("  all records and logs: %s/%s\n", here, folder);
    g_free(here);
}
