/* The loop of one process: alone, or against others like it. With the option inside=FILE each
 * holder locks a byte of that file, too, one of the first holders=N, 1, and counts how often others
 * had them all. Told STAY instead of GO, holders stay 1 ms, or two of them would hardly meet. */
#include "loop.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

struct round {
    int64_t ops, violations;
    struct times waits;
};

struct inside {
    int file; /* -1: none */
    int64_t holders, place;
};

static bool lock_byte(const struct inside *in, short type)
{
    struct flock byte = {.l_type = type, .l_whence = SEEK_SET, .l_start = in->place, .l_len = 1};

    return fcntl(in->file, F_OFD_SETLK, &byte) == 0;
}

/* 1: there is no place left. */
static int64_t enter(struct inside *in)
{
    if (in->file < 0)
        return 0;
    for (in->place = 0; in->place < in->holders; in->place++)
        if (lock_byte(in, F_WRLCK))
            return 0;
    return 1;
}

static void leave(const struct inside *in, bool stay)
{
    if (stay)
        usleep(1000);
    if (in->file >= 0)
        lock_byte(in, F_UNLCK);
}

/* What was still waited for when the time was over does not count. */
static void play(struct round *r, struct locker *l, struct inside *in, bool stay, int64_t end)
{
    for (int64_t asked, held = 0; (asked = now_ns()) < end; r->ops += held < end) {
        locker_acquire(l);
        held = now_ns();
        r->violations += enter(in);
        times_add(&r->waits, held - asked);
        leave(in, stay);
        locker_release(l);
    }
}

int main(int argc, char **argv)
{
    static struct round r;
    (void)argc;
    options_set(argv);
    const char *path = option("inside", NULL);
    struct inside in = {.file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1,
                        .holders = option_number("holders", 1)};
    int64_t window = option_number("ms", 1000) * 1000000;
    struct locker *l = locker_open(option("address", ""), option("lock", "/bench/lock"));

    if (path && in.file < 0)
        fail("%s cannot be opened", path);
    locker_acquire(l);
    locker_release(l);
    say("READY");
    for (const char *order; (order = told());) {
        struct usage begin = usage_now();
        memset(&r, 0, sizeof r);
        play(&r, l, &in, order[0] == 'S', begin.ns + window);
        answer_begin(r.ops, begin);
        answer_number("violations", (double)r.violations);
        answer_times("waits", &r.waits);
        answer_end();
    }
    return 0;
}
