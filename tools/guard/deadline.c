/* The deadline is a pair of times, on two clocks that every process reads alike. While the pair is
 * being changed, one of the two may still be old. The nearer one counts, so that a mixed reading is
 * too early, never too late. */
#include "deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000

struct deadline *deadline_new(size_t count)
{
    const size_t size = count * sizeof(struct deadline);
    const int fd = memfd_create("zkl-deadline", MFD_CLOEXEC);
    struct deadline *d = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        d = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (d == MAP_FAILED) {
        const int error = errno;

        if (fd >= 0)
            close(fd);
        errno = error;
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        d[i].fd = fd;
        d[i].place = (int)i;
    }
    return d;
}

void deadline_free(struct deadline *d, size_t count)
{
    close(d->fd);
    munmap(d, count * sizeof *d);
}

/* Clears the token first, so that a process that reads it last takes no later deadline for its own.
 */
void deadline_reset(struct deadline *d)
{
    atomic_store(&d->token, 0);
    atomic_store(&d->until_boottime, 0);
    atomic_store(&d->until_raw, 0);
    atomic_store(&d->over, false);
}

void deadline_begin(struct deadline *d, uint64_t token, int64_t session_id)
{
    atomic_store(&d->session_id, session_id);
    atomic_store(&d->token, token);
}

char **deadline_tell(const struct deadline *d, char **envp)
{
    g_autofree char *where = g_strdup_printf("/proc/%d/fd/%d:%d", (int)getpid(), d->fd, d->place);

    return g_environ_setenv(envp, DEADLINE_VARIABLE, where, TRUE);
}

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

/* Reads the deadline before the clocks: a delay in between makes it seem nearer, not farther. */
int64_t deadline_left_ms(const struct deadline *d)
{
    const int64_t until_boottime = atomic_load(&d->until_boottime),
                  until_raw = atomic_load(&d->until_raw);
    const int64_t left =
        MIN(until_boottime - read_ns(CLOCK_BOOTTIME), until_raw - read_ns(CLOCK_MONOTONIC_RAW));

    return left > 0 ? left / NS_PER_MS : 0;
}

/* Reads the deadline first, and then whether the grant still holds. If it does, the deadline was
 * its own: deadline_reset() takes away the token before another grant sets a deadline. */
int64_t deadline_left_of(const struct deadline *d, uint64_t token, int64_t session_id)
{
    const int64_t left = deadline_left_ms(d);

    if (token == 0 || atomic_load(&d->token) != token ||
        atomic_load(&d->session_id) != session_id || atomic_load(&d->over))
        return 0;
    return left;
}

/* Checks the file, since the pid of a dead guard may be another process's, and the file any. */
const struct deadline *deadline_open(const char *where)
{
    char *place = strrchr(where, ':');
    g_autofree char *path = g_strndup(where, place ? (gsize)(place - where) : 0);
    const size_t from = place ? (size_t)g_ascii_strtoull(place + 1, NULL, 10) : 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const struct deadline *d = MAP_FAILED;
    struct stat file;

    if (fd < 0)
        return NULL;
    errno = EINVAL;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && from < SIZE_MAX / sizeof *d / 2 &&
        (size_t)file.st_size >= (from + 1) * sizeof *d)
        d = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return d == MAP_FAILED ? NULL : &d[from];
}
