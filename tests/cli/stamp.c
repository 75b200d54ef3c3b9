/* stamp FILE: writes the time into FILE again and again, until it is killed; the file then has the
 * time of its last act. stamp: prints the time. In ns of CLOCK_BOOTTIME, as 20 digits. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 20

static void now(char text[DIGITS + 1])
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    snprintf(text, DIGITS + 1, "%0*" PRId64, DIGITS, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec);
}

/* Memory, and no write(2): what one has begun before it is killed would be done after. */
static int stamp(const char *path)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    char text[DIGITS + 1];
    char *page;

    if (fd < 0 || ftruncate(fd, DIGITS) != 0)
        return 1;
    page = mmap(NULL, DIGITS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return 1;
    for (;;) {
        now(text);
        memcpy(page, text, DIGITS);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    char text[DIGITS + 1];

    if (argc > 1)
        return stamp(argv[1]);
    now(text);
    return puts(text) < 0;
}
