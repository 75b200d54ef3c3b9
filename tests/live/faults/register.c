#include "register.h"

#include <errno.h>
#include <fcntl.h>
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
