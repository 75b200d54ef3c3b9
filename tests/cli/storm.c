/* storm FILE N: a process that forks, as do its children, until there have been N; some in sessions
 * of their own, some whose parents end. Each writes the time into FILE again and again, as stamp
 * does, so that the file has the time of the last act of all. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 20

struct storm {
    char *page; /* of FILE */
    atomic_int *count;
    int most;
    pid_t first; /* which stays */
};

static void stamp(const struct storm *s)
{
    char text[DIGITS + 1];
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    snprintf(text, sizeof text, "%0*" PRId64, DIGITS, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec);
    memcpy(s->page, text, DIGITS);
}

static _Noreturn void act(const struct storm *s)
{
    for (;;) {
        const int mine = atomic_load(s->count) < s->most ? atomic_fetch_add(s->count, 1) : s->most;

        stamp(s);
        if (mine >= s->most) {
            usleep(100000);
        } else if (fork() == 0) {
            if (mine % 3 == 0)
                setsid();
        } else {
            if (mine % 5 == 4 && getpid() != s->first)
                _exit(0);
            usleep(5000);
        }
    }
}

int main(int argc, char **argv)
{
    const int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    struct storm s = {.most = argc == 3 ? atoi(argv[2]) : 0, .first = getpid()};

    if (fd < 0 || ftruncate(fd, DIGITS) != 0)
        return 1;
    s.page = mmap(NULL, DIGITS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    s.count =
        mmap(NULL, sizeof *s.count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.page == MAP_FAILED || s.count == MAP_FAILED)
        return 1;
    act(&s);
}
