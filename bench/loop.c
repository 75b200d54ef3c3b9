/* The loop of one process: alone, or against others like it. With the option inside=FILE each
 * holder takes a lock of that file, too, and counts how often another was there already. Told STAY
 * instead of GO, holders stay 1 ms, or two of them would hardly meet. */
#include "loop.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common.h"

struct round {
    int64_t ops, violations;
    struct times waits;
};

static int64_t enter(int file)
{
    return file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0;
}

static void leave(int file, bool stay)
{
    if (stay)
        usleep(1000);
    if (file >= 0)
        flock(file, LOCK_UN);
}

/* What was still waited for when the time was over does not count. */
static void play(struct round *r, struct locker *l, int file, bool stay, int64_t end)
{
    for (int64_t asked, held = 0; (asked = now_ns()) < end; r->ops += held < end) {
        locker_acquire(l);
        held = now_ns();
        r->violations += enter(file);
        times_add(&r->waits, held - asked);
        leave(file, stay);
        locker_release(l);
    }
}

int main(int argc, char **argv)
{
    static struct round r;
    (void)argc;
    options_set(argv);
    const char *path = option("inside", NULL);
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    int64_t window = option_number("ms", 1000) * 1000000;
    struct locker *l = locker_open(option("address", ""), option("lock", "/bench/lock"));

    if (path && file < 0)
        fail("%s cannot be opened", path);
    locker_acquire(l);
    locker_release(l);
    say("READY");
    for (const char *order; (order = told());) {
        struct usage begin = usage_now();
        memset(&r, 0, sizeof r);
        play(&r, l, file, order[0] == 'S', begin.ns + window);
        answer_begin(r.ops, begin);
        answer_number("violations", (double)r.violations);
        answer_times("waits", &r.waits);
        answer_end();
    }
    return 0;
}
