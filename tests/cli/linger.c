/* linger FILE: a process that does not end although killed, until FILE is there. A tracer outside
 * of its group holds it at its exit, as a lost file server would. Without FILE it ends at once,
 * with 77 where tracing is forbidden. */
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Long enough for any test, and then it lets go. */
#define ROUNDS 6000
static const useconds_t round_us = 20000;

static int trace(pid_t pid, const char *path, int ready)
{
    int status;

    setsid();
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXIT) != 0)
        return 1;
    if (write(ready, "", 1) != 1)
        return 1;
    /* Other stops are passed through. */
    while (path && waitpid(pid, &status, __WALL) == pid && status >> 16 != PTRACE_EVENT_EXIT)
        if (WIFSTOPPED(status))
            ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
    for (int i = 0; path && i < ROUNDS && access(path, F_OK) != 0; i++)
        usleep(round_us);
    return 0; /* whose end sets it free */
}

int main(int argc, char **argv)
{
    const pid_t self = getpid();
    int ready[2];
    char byte;
    pid_t tracer;

    if (argc > 2 || pipe(ready) != 0)
        return 64;
    tracer = fork();
    if (tracer == 0) {
        close(ready[0]);
        _exit(trace(self, argv[1], ready[1]));
    }
    prctl(PR_SET_PTRACER, tracer); /* only there where needed */
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        return 77;
    if (argc == 1)
        _exit(0); /* a leak checker, which traces as well, has no say here */
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    signal(SIGTERM, SIG_IGN);
    for (;;)
        pause();
}
