#include "owner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "fork.h"

static _Thread_local struct self {
    uint64_t number;
    long holds;
    unsigned generation; /* of the process that counted */
    void (*on_exit)(uint64_t owner);
} self;

static pthread_key_t key;

static void at_exit(void *data)
{
    const struct self *me = data;

    if (me->holds > 0 && !fork_is_child(me->generation))
        me->on_exit(me->number);
}

static void make_key(void)
{
    pthread_key_create(&key, at_exit);
}

uint64_t owner_thread(void)
{
    static _Atomic uint64_t last;

    if (self.number == 0)
        self.number = atomic_fetch_add(&last, 1) + 1;
    return self.number;
}

void owner_count(int change, void (*on_exit)(uint64_t owner))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (fork_is_child(self.generation))
        self.holds = 0; /* the parent's */
    self.generation = fork_generation;
    if (!self.on_exit) {
        pthread_once(&once, make_key);
        self.on_exit = on_exit;
        pthread_setspecific(key, &self);
    }
    self.holds += change;
}
