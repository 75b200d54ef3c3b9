/* What a member says of itself, without a lock: it may be asked by a thread that must not wait. */
#include "lib/base/error.h"
#include "member.h"

static zkl_state look(const zkl_member *m, struct instant *ret_deadline, int64_t *ret_left)
{
    *ret_deadline = (struct instant){.boot = 0};
    *ret_left = 0;
    return !m || fork_is_child(m->generation) ? ZKL_LOST
                                              : standing_get(&m->standing, ret_deadline, ret_left);
}

zkl_state zkl_member_state(const zkl_member *m)
{
    struct instant deadline;
    int64_t left;

    return look(m, &deadline, &left);
}

uint64_t zkl_member_token(const zkl_member *m)
{
    return m ? atomic_load(&((zkl_member *)(uintptr_t)m)->token) : 0;
}

int64_t zkl_member_remaining_ms(const zkl_member *m)
{
    struct instant deadline;
    int64_t left;

    look(m, &deadline, &left);
    return left / CLOCK_MS;
}

int zkl_member_deadline(const zkl_member *m, zkl_deadline *ret)
{
    struct instant deadline;
    int64_t left;

    if (!m || !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_member_deadline: %s is NULL", m ? "ret" : "m");
    const zkl_state state = look(m, &deadline, &left);
    *ret = (zkl_deadline){deadline.boot, deadline.raw};
    if (fork_is_child(m->generation))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    if (state == ZKL_RELEASED)
        return error_set(ZKL_EPERM, NULL, "%s: the member has left", m->id);
    return state == ZKL_LOST ? error_set(ZKL_ELOST, NULL, "%s: not a member now", m->id) : 0;
}
