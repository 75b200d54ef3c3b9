#include "fault.h"

#include <glib.h>
#include <stdatomic.h>

#include "held.h"

#define FAULT_NAME(name) [CALL_##name] = #name,
const char *const fault_names[CALLS] = {FAULT_CALLS(FAULT_NAME)};
#undef FAULT_NAME

static struct {
    enum call call;
    unsigned nth;
    int error;
} fault;

static atomic_uint counts[CALLS];
static atomic_bool reached, running;
static _Thread_local int spared;

void fault_set(enum call call, unsigned nth, int error)
{
    fault.call = call;
    fault.nth = nth;
    fault.error = error;
    atomic_store(&running, true);
}

/* What never waits; the rest must not be called with a lock of the library held. */
static bool may_be_locked(enum call call)
{
    switch (call) {
    case CALL_pthread_create:
    case CALL_pthread_setspecific:
    case CALL_eventfd_write:
    case CALL_eventfd_read:
    case CALL_timerfd_settime:
    case CALL_gethostname:
    case CALL_malloc:
    case CALL_answer:
        return true;
    default:
        return g_str_has_prefix(fault_names[call], "zoo_");
    }
}

int fault_of(enum call call)
{
    if (!may_be_locked(call) && spared == 0)
        held_at_most(0, fault_names[call]);
    if (spared > 0 || !atomic_load(&running))
        return 0;
    unsigned n = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != fault.call || n != fault.nth)
        return 0;
    atomic_store(&reached, true);
    return fault.error;
}

bool fault_reached(void)
{
    return atomic_load(&reached);
}

bool fault_is(enum call call, unsigned nth)
{
    return fault.call == call && fault.nth == nth;
}

int fault_error(void)
{
    return fault.error;
}

unsigned fault_count(enum call call)
{
    return atomic_load(&counts[call]);
}

void fault_end(void)
{
    atomic_store(&running, false);
}

void fault_spare(bool spare)
{
    spared += spare ? 1 : -1;
}
