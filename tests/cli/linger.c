/* linger FILE: a process that does not end although killed, until FILE is there, as if a file
 * server were lost. A tracer, `linger FILE hold`, holds it at its exit; it is started by somebody
 * else, or it would be ended together with the process. `linger FILE look PID` is a tracer as well:
 * of a zkl, which it holds where that is about to look at a tree of processes. Without FILE: 77
 * where tracing is forbidden. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* How the two find each other. */
#define PATH_MAX_HERE 4096

static void wait_for(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(20000);
}

static int seize(pid_t pid, unsigned options)
{
    return (int)ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)options);
}

static int write_file(const char *path, const char *suffix, int number)
{
    char name[PATH_MAX_HERE];
    char done[PATH_MAX_HERE];
    FILE *file;

    snprintf(name, sizeof name, "%s%s.new", path, suffix);
    snprintf(done, sizeof done, "%s%s", path, suffix);
    file = fopen(name, "we");
    if (!file || fprintf(file, "%d\n", number) < 0 || fclose(file) != 0)
        return 1;
    return rename(name, done) != 0;
}

static int hold(const char *path)
{
    char name[PATH_MAX_HERE];
    int pid = 0;
    int status;
    FILE *file;

    snprintf(name, sizeof name, "%s.pid", path);
    wait_for(name);
    file = fopen(name, "re");
    if (!file || fscanf(file, "%d", &pid) != 1 || fclose(file) != 0 ||
        seize(pid, PTRACE_O_TRACEEXIT) != 0 || write_file(path, ".held", pid) != 0)
        return 1;
    /* Other stops are passed through. */
    while (waitpid(pid, &status, __WALL) == pid && status >> 16 != PTRACE_EVENT_EXIT)
        if (WIFSTOPPED(status))
            ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
    wait_for(path);
    return 0; /* whose end sets it free */
}

/* Whether it is stopped before a readlink("/proc/self"), as each of zkl's looks begins. */
static bool is_look(pid_t pid)
{
    static const char wanted[] = "/proc/self";
    struct __ptrace_syscall_info info;
    char found[sizeof wanted];
    struct iovec here = {found, sizeof found};
    struct iovec there = {NULL, sizeof found};

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return false;
    if (info.entry.nr == SYS_readlinkat)
        there.iov_base = (void *)(uintptr_t)info.entry.args[1];
#ifdef SYS_readlink
    else if (info.entry.nr == SYS_readlink)
        there.iov_base = (void *)(uintptr_t)info.entry.args[0];
#endif
    return there.iov_base &&
           process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof found &&
           memcmp(found, wanted, sizeof wanted) == 0;
}

static int hold_look(const char *path, pid_t pid)
{
    int status;

    if (seize(pid, PTRACE_O_TRACESYSGOOD) != 0 || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
        return 1;
    while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
        const bool call = WSTOPSIG(status) == (SIGTRAP | 0x80);
        const bool interrupted = status >> 16 != 0;

        if (call && is_look(pid)) {
            write_file(path, ".held", pid);
            wait_for(path);
            return 0; /* whose end sets it free */
        }
        ptrace(PTRACE_SYSCALL, pid, NULL,
               (void *)(uintptr_t)(call || interrupted ? 0 : WSTOPSIG(status)));
        if (interrupted)
            write_file(path, ".pid", pid);
    }
    return 1;
}

static int linger(const char *path)
{
    char name[PATH_MAX_HERE];

    snprintf(name, sizeof name, "%s.held", path);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* only there where needed */
    signal(SIGTERM, SIG_IGN);
    if (write_file(path, ".pid", getpid()) != 0)
        return 1;
    wait_for(name);
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    for (;;)
        pause();
}

static int can_trace(void)
{
    const pid_t pid = fork();
    int result;

    if (pid == 0)
        for (;;)
            pause();
    result = pid > 0 && seize(pid, PTRACE_O_TRACEEXIT) == 0 ? 0 : 77;
    kill(pid, SIGKILL);
    return result;
}

int main(int argc, char **argv)
{
    switch (argc) {
    case 1:
        return can_trace();
    case 2:
        return linger(argv[1]);
    case 4:
        return hold_look(argv[1], (pid_t)strtol(argv[3], NULL, 10));
    default:
        return hold(argv[1]);
    }
}
