/* The defaults of every struct of options, as the macros of the headers give them; and the version
 * of the library. */
#include "options.h"
#include "zkl.h"

/* Static, so that the bytes between members are 0, too. */
#define OPTIONS_INIT(type, defaults)                                                               \
    int zkl_##type##_init(zkl_##type *ret, size_t size)                                            \
    {                                                                                              \
        static const zkl_##type known = defaults;                                                  \
        return options_give(ret, size, &known, sizeof known);                                      \
    }

OPTIONS_INIT(barrier_options, ZKL_BARRIER_OPTIONS_INIT)
OPTIONS_INIT(election_options, ZKL_ELECTION_OPTIONS_INIT)
OPTIONS_INIT(member_options, ZKL_MEMBER_OPTIONS_INIT)
OPTIONS_INIT(members_options, ZKL_MEMBERS_OPTIONS_INIT)
OPTIONS_INIT(multilock_options, ZKL_MULTILOCK_OPTIONS_INIT)
OPTIONS_INIT(mutex_options, ZKL_MUTEX_OPTIONS_INIT)
OPTIONS_INIT(queue_options, ZKL_QUEUE_OPTIONS_INIT)
OPTIONS_INIT(rwlock_options, ZKL_RWLOCK_OPTIONS_INIT)
OPTIONS_INIT(semaphore_options, ZKL_SEMAPHORE_OPTIONS_INIT)
OPTIONS_INIT(session_options, ZKL_SESSION_OPTIONS_INIT)

const char *zkl_version(void)
{
    return ZKL_VERSION;
}
