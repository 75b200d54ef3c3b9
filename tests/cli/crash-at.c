/* crash-at N COMMAND [ARG…]: runs COMMAND and kills it -9 just before its Nth system call, saying
 * which that was. So a loop over N tries every crash there can be. Exits as COMMAND did, 137 when
 * it was killed, 77 when nothing may be traced here. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLED = 137, UNABLE = 77 };

static void say_call(pid_t pid)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0)
        return;
    switch (info.entry.nr) {
    case SYS_write:
        puts("write");
        break;
    case SYS_fsync:
        puts("fsync");
        break;
    case SYS_renameat:
    case SYS_renameat2:
        puts("rename");
        break;
    default:
        puts("other");
    }
}

static int run(pid_t pid, long crash)
{
    int status;
    bool inside = false;

    for (int sig = 0; ptrace(PTRACE_SYSCALL, pid, 0, sig) == 0;) {
        if (waitpid(pid, &status, 0) != pid)
            return UNABLE;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        if (WIFSIGNALED(status))
            return 128 + WTERMSIG(status);
        sig = WSTOPSIG(status);
        if (sig != (SIGTRAP | 0x80))
            continue;
        sig = 0;
        inside = !inside;
        if (inside && --crash == 0) {
            say_call(pid);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return KILLED;
        }
    }
    return UNABLE;
}

int main(int argc, char **argv)
{
    int status;

    if (argc < 3) {
        fputs("usage: crash-at N COMMAND [ARG...]\n", stderr);
        return 64;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
            execvp(argv[2], argv + 2);
        _exit(UNABLE);
    }
    /* The first stop is that of the exec; without it nothing is traced. */
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return UNABLE;
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    return run(pid, strtol(argv[1], NULL, 10));
}
