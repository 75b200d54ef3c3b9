#include "register.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

struct content {
    uint64_t token, turn;
    int64_t writes;
};

static bool take_turn(int fd)
{
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

/* A process that dies here leaves the old content or the new one, perhaps unrecorded, and the
 * kernel opens the lock. */
static enum register_answer use_in_turn(int fd, const struct register_use *u, register_fn fn,
                                        void *data)
{
    struct content c = {0};
    ssize_t had = pread(fd, &c, sizeof c, 0);

    if (had != 0 && had != (ssize_t)sizeof c)
        return REGISTER_FAILED;
    if (u->token < c.token || (u->token == c.token && u->turn < c.turn)) {
        fn(REGISTER_REFUSED, 0, data);
        return REGISTER_REFUSED;
    }
    if (!u->reads) {
        c = (struct content){u->token, u->turn, c.writes + 1};
        if (pwrite(fd, &c, sizeof c, 0) != (ssize_t)sizeof c)
            return REGISTER_FAILED;
    }
    fn(REGISTER_ACCEPTED, c.writes, data);
    return REGISTER_ACCEPTED;
}

enum register_answer register_use(const char *file, const struct register_use *u, register_fn fn,
                                  void *data)
{
    enum register_answer answer = REGISTER_FAILED;
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    if (fd >= 0 && take_turn(fd))
        answer = use_in_turn(fd, u, fn, data);
    if (fd >= 0)
        close(fd);
    return answer;
}

/* ---- the number: nothing here protects it, so that only the lock can ---- */

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
