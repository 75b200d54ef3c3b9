/* The shared number: read, later written back. Two who do that at once lose an increment; nothing
 * here protects them, so that only the lock can. */
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* The format has a fixed width: one write() replaces the whole, so that a reader never sees half a
 * number. */
#define FORMAT "%020" PRId64 " %020" PRIu64 "\n"
#define LENGTH 42

bool number_read(const char *file, int64_t *number, uint64_t *token)
{
    char buf[LENGTH + 1];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, buf, LENGTH, 0);

    if (fd >= 0)
        close(fd);
    if (n != LENGTH)
        return false;
    buf[LENGTH] = '\0';
    return sscanf(buf, "%" SCNd64 " %" SCNu64, number, token) == 2;
}

bool number_write(const char *file, int64_t number, uint64_t token)
{
    char buf[LENGTH + 1];
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    bool ok;

    if (fd < 0)
        return false;
    snprintf(buf, sizeof buf, FORMAT, number, token);
    ok = pwrite(fd, buf, LENGTH, 0) == LENGTH;
    return close(fd) == 0 && ok;
}
