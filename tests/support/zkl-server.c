/* zkl-server [--nodes N] [--tick MS] [--java OPTION]… [--config LINE]… [-- COMMAND ARG…]: a
 * throwaway ZooKeeper server for one command, or until SIGINT or SIGTERM. */
#include "server.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_USAGE = 64, EXIT_NO_SERVER = 69, EXIT_NO_EXEC = 126, EXIT_NOT_FOUND = 127 };

static int usage(void)
{
    fputs("usage: zkl-server [--nodes N] [--tick MS] [--java OPTION]... [--config LINE]...\n"
          "                  [-- COMMAND ARG...]\n"
          "Starts a throwaway ZooKeeper server, or an ensemble of N, on 127.0.0.1, and runs\n"
          "COMMAND with ZKL_CONNECT in its environment; without one it waits for a signal.\n",
          stderr);
    return EXIT_USAGE;
}

static _Noreturn void run_command(char **argv, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    fprintf(stderr, "zkl-server: %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC);
}

/* A signal sent to us alone is passed on; one from the terminal has reached the command already,
 * and a second copy must not hit it. */
static int wait_for_command(pid_t pid, const sigset_t *signals)
{
    for (;;) {
        int status;
        siginfo_t info;
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD &&
            info.si_code != SI_KERNEL)
            kill(pid, info.si_signo);
    }
}

static bool number(const char *text, long low, long high, int *ret)
{
    char *end;
    long n = strtol(text, &end, 10);
    *ret = (int)n;
    return end != text && !*end && n >= low && n <= high;
}

static bool parse(int argc, char **argv, struct zk_server_options *o)
{
    static const struct option options[] = {{"nodes", required_argument, NULL, 'n'},
                                            {"tick", required_argument, NULL, 't'},
                                            {"java", required_argument, NULL, 'j'},
                                            {"config", required_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    static const char *jvm[8], *lines[8]; /* the last of each is NULL */
    size_t java = 0, config = 0;
    for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (c == 'j' && java < sizeof jvm / sizeof *jvm - 1)
            jvm[java++] = optarg;
        else if (c == 'c' && config < sizeof lines / sizeof *lines - 1)
            lines[config++] = optarg;
        else if ((c != 'n' || !number(optarg, 1, 7, &o->nodes)) &&
                 (c != 't' || !number(optarg, 1, 60000, &o->tick_ms)))
            return false;
    }
    o->jvm = jvm;
    o->config = lines;
    return true;
}

int main(int argc, char **argv)
{
    struct zk_server_options options = {0};
    if (!parse(argc, argv, &options))
        return usage();
    if (!zk_server_available()) {
        fputs("zkl-server: no ZooKeeper server here (packages zookeeper, default-jre-headless)\n",
              stderr);
        return EXIT_NO_SERVER;
    }
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before);

    struct zk_server *server = zk_server_start(&options);
    if (!server)
        return EXIT_NO_SERVER;
    printf("ZKL_CONNECT=%s\n", zk_server_connect(server));
    fflush(stdout);
    int status = 0;
    if (optind < argc) {
        setenv("ZKL_CONNECT", zk_server_connect(server), 1);
        pid_t pid = fork();
        if (pid == 0)
            run_command(argv + optind, &before);
        status = pid > 0 ? wait_for_command(pid, &signals) : EXIT_NO_EXEC;
    } else {
        sigdelset(&signals, SIGCHLD); /* of the servers and their helpers */
        while (sigwaitinfo(&signals, NULL) < 0 && errno == EINTR)
            ;
    }
    zk_server_stop(server);
    return status;
}
