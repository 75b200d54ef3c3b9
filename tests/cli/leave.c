/* leave CONNECT PATH HOW: takes a lock, says "held", gives it back when it has read a line, and
 * ends: "exit" by exit(); "busy" the same, while others lock and unlock; "flush" by _exit(), behind
 * zkl_session_flush(); "child" the same, with a child between that ends by exit(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zkl.h>

enum { SESSION_MS = 40000, OTHERS = 3, PATH = 256 };

static zkl_session *session;
static const char *path;

static void *keep_on(void *number)
{
    char other[PATH];
    zkl_mutex *m;

    snprintf(other, sizeof other, "%s-%s", path, (const char *)number);
    if (zkl_mutex_new(&m, session, other, NULL) != 0)
        return NULL;
    while (zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0 && zkl_mutex_unlock(m) == 0)
        continue;
    return NULL;
}

static void start_others(void)
{
    static char numbers[OTHERS][2] = {"1", "2", "3"};
    pthread_t thread;

    for (int i = 0; i < OTHERS; i++)
        if (pthread_create(&thread, NULL, keep_on, numbers[i]) != 0)
            _exit(64);
}

static int end_child(void)
{
    int status = 64;
    const pid_t pid = fork();

    if (pid == 0)
        exit(0);
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : 64;
}

int main(int argc, char **argv)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_mutex *mutex;
    int status = 0;

    options.session_timeout_ms = SESSION_MS;
    if (argc != 4 || zkl_session_open(&session, argv[1], &options, NULL) != 0 ||
        zkl_mutex_new(&mutex, session, path = argv[2], NULL) != 0 ||
        zkl_mutex_lock(mutex, ZKL_FOREVER, NULL) != 0)
        return 64;
    if (strcmp(argv[3], "busy") == 0)
        start_others();
    puts("held");
    fflush(stdout);
    getchar();
    if (zkl_mutex_unlock(mutex) != 0)
        return 64;
    if (strcmp(argv[3], "flush") != 0 && strcmp(argv[3], "child") != 0)
        exit(0);
    if (strcmp(argv[3], "child") == 0)
        status = end_child();
    _exit(zkl_session_flush(session, ZKL_FOREVER) == 0 ? status : 1);
}
