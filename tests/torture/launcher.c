#include "launcher.h"

#include "play.h"
#include "runner.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct launcher {
    int socket;
    int text; /* a file in memory that becomes stdout and stderr of each play */
} launchers[LAUNCHERS];

struct order {
    char name[32];
    enum call call;
    unsigned nth;
    int error;
};

static int run_order(const struct order *order, int text)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(text, STDOUT_FILENO);
        dup2(text, STDERR_FILENO);
        exit(play_run(order->name, order->call, order->nth, order->error));
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

static _Noreturn void launch(int orders, int text)
{
    struct order order;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (recv(orders, &order, sizeof(order), 0) == sizeof(order)) {
        int status = -1;
        if (ftruncate(text, 0) == 0 && lseek(text, 0, SEEK_SET) == 0)
            status = run_order(&order, text);
        if (send(orders, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
            break;
    }
    _exit(0);
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

void launchers_start(void)
{
    for (struct launcher *l = launchers; l < launchers + LAUNCHERS; l++) {
        int ends[2];

        l->text = memfd_create("text", MFD_CLOEXEC);
        if (l->text < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            fail("a descriptor");
        l->socket = ends[0];
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0)
            launch(ends[1], l->text);
        close(ends[1]);
    }
}

static char *read_text(int file)
{
    off_t length = lseek(file, 0, SEEK_END);
    char *text = g_malloc0((gsize)length + 1);

    CHECK(pread(file, text, (size_t)length, 0) == length);
    return text;
}

struct result launcher_play(int launcher, const char *name, enum call call, unsigned nth, int error)
{
    const struct launcher *l = &launchers[launcher];
    struct order order = {.call = call, .nth = nth, .error = error};
    struct result r = {.status = -1};

    g_strlcpy(order.name, name, sizeof(order.name));
    if (!CHECK(send(l->socket, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order)) ||
        !CHECK(recv(l->socket, &r.status, sizeof(r.status), 0) == sizeof(r.status)))
        r.status = -1;
    r.text = read_text(l->text);
    return r;
}
