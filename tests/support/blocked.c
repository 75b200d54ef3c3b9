#include "blocked.h"

#include <stddef.h>

#include "lib/session/call.h"

bool blocked_has_ended(const void *done)
{
    return ((const struct call *)((const char *)done - offsetof(struct call, done)))->ended;
}

void __real_thread_wait(sem_t *done);
void __wrap_thread_wait(sem_t *done);
void __wrap_thread_wait(sem_t *done)
{
    blocked_go_on(done);
    __real_thread_wait(done);
}
