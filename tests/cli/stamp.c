/* stamp FILE: writes the time into FILE again and again, until it is killed; the file then has the
 * time of its last act. stamp FILE MS: a signal that asks it to end ends it so much later, or never
 * if MS is below 0; and it has failed then. stamp FILE MS vfork: by a child on whose vfork() its
 * parent waits; stamp FILE MS thread: by a thread that outlives the first one. stamp FILE MS hop:
 * by one process after the other, each a child of the one before and in a session of its own, for
 * 0.2 ms; nothing but KILL ends it while FILE is there. stamp: prints the time. In ns of
 * CLOCK_BOOTTIME, as 20 digits.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 20

static volatile sig_atomic_t asked;

static void on_signal(int signo)
{
    asked = signo;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void now(char text[DIGITS + 1])
{
    snprintf(text, DIGITS + 1, "%0*" PRId64, DIGITS, now_ns());
}

/* Memory, and no write(2): what one has begun before it is killed would be done after. */
static char *map(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    char *page;

    if (fd < 0 || ftruncate(fd, DIGITS) != 0)
        exit(1);
    page = mmap(NULL, DIGITS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        exit(1);
    return page;
}

static void act(char *page, long pause_ns)
{
    const struct timespec pause = {.tv_nsec = pause_ns};
    char text[DIGITS + 1];

    now(text);
    memcpy(page, text, DIGITS);
    nanosleep(&pause, NULL);
}

static int stamp(const char *path, int ms)
{
    int64_t until = INT64_MAX;
    char *page = map(path);

    while (now_ns() < until) {
        act(page, 5000000);
        if (asked && ms >= 0 && until == INT64_MAX)
            until = now_ns() + (int64_t)ms * 1000000;
    }
    return 1;
}

static int hop(const char *path)
{
    char *page = map(path);

    while (access(path, F_OK) == 0) {
        act(page, 200000);
        if (fork() > 0)
            return 0;
        setsid();
    }
    return 0;
}

static void *in_thread(void *arguments)
{
    char **argv = arguments;

    exit(stamp(argv[1], atoi(argv[2])));
}

static int by_another(char **argv)
{
    pthread_t thread;

    if (strcmp(argv[3], "vfork") == 0) {
        if (vfork() == 0)
            _exit(stamp(argv[1], atoi(argv[2])));
        return 0;
    }
    if (strcmp(argv[3], "hop") == 0)
        return hop(argv[1]);
    if (pthread_create(&thread, NULL, in_thread, argv) != 0)
        return 1;
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    static const int requests[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    char text[DIGITS + 1];

    for (size_t i = 0; argc > 2 && i < sizeof requests / sizeof *requests; i++)
        signal(requests[i], on_signal);
    if (argc > 3)
        return by_another(argv);
    if (argc > 1) /* a sanitizer's look for leaks would be a process more, which is ended as well */
        _exit(stamp(argv[1], argc > 2 ? atoi(argv[2]) : 0));
    now(text);
    return puts(text) < 0;
}
