#include "lock_owner.h"

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fork.h"

static _Thread_local struct self {
    uint64_t number;
    long holds;
    unsigned generation; /* of the process that counted */
    bool armed;          /* at_exit() is called when the thread ends */
    void (*on_exit)(uint64_t owner);
} self;

static _Atomic int64_t key = -1; /* of pthread_key_create(); -1: none yet */

/* Reports a thread that ends while it holds locks. A destructor that runs after this one may lock.
 * Then this one is armed again, for the next of the PTHREAD_DESTRUCTOR_ITERATIONS rounds. */
static void at_exit(void *data)
{
    struct self *me = data;
    bool holds = me->holds > 0 && !fork_is_child(me->generation);

    me->armed = false;
    me->holds = 0;
    if (holds)
        me->on_exit(me->number);
}

bool lock_owner_watch(void)
{
    pthread_key_t made;
    int64_t none = -1;

    if (atomic_load(&key) >= 0)
        return true;
    if (pthread_key_create(&made, at_exit) != 0)
        return false;
    if (!atomic_compare_exchange_strong(&key, &none, made))
        pthread_key_delete(made); /* another thread was first */
    return true;
}

/* Returns the calling thread's variables. A shared library looks up a thread's variable wherever a
 * function names it: so each function does it once, here. */
G_NO_INLINE static struct self *find_self(void)
{
    return &self;
}

uint64_t lock_owner_thread(void)
{
    static _Atomic uint64_t last;
    struct self *me = find_self();

    if (me->number == 0)
        me->number = atomic_fetch_add(&last, 1) + 1;
    return me->number;
}

void lock_owner_count(int change, void (*on_exit)(uint64_t owner))
{
    struct self *me = find_self();

    if (fork_is_child(me->generation))
        me->holds = 0; /* the parent's */
    me->generation = fork_generation;
    me->on_exit = on_exit;
    if (!me->armed) {
        me->armed = true;
        if (pthread_setspecific((pthread_key_t)atomic_load(&key), me) != 0)
            g_error("zkl: cannot set a thread-specific value");
    }
    me->holds += change;
}
