/* A counter: its handle and its calls. */
#include "counter_state.h"
#include "lib/base/error.h"
#include "lib/lock/grant.h"
#include "lib/session/call.h"

int zkl_counter_new(zkl_counter **ret, zkl_session *s, const char *path, zkl_counter_width width)
{
    int code = call_check(s, "zkl_counter_new", path, false);

    if (code)
        return code;
    if (!ret || (width != ZKL_COUNTER_32 && width != ZKL_COUNTER_64))
        return error_set(ZKL_EINVAL, path, "zkl_counter_new: %s",
                         ret ? "width is none of zkl_counter_width" : "ret is NULL");
    if ((code = session_check_open(s)))
        return code;
    zkl_counter *c = g_new0(zkl_counter, 1);
    c->session = session_ref(s);
    c->path = g_strconcat(s->chroot, path, NULL);
    c->width = width;
    *ret = c;
    return 0;
}

void zkl_counter_free(zkl_counter *c)
{
    if (!c || fork_is_child(c->session->generation))
        return;
    session_unref(c->session);
    g_free(c->path);
    g_free(c);
}

/* fence NULL: without one. */
static int run(zkl_counter *c, const char *doing, struct counter *wish, zkl_grant *fence,
               int64_t timeout_ms)
{
    int code;

    if (!c)
        return error_set(ZKL_EINVAL, NULL, "%s: the counter is NULL", doing);
    code = call_check(c->session, doing, session_path(c->session, c->path), true);
    if (code)
        return code;
    wish->width = c->width;
    if (wish->goal != COUNTER_GET && wish->goal != COUNTER_ADD &&
        !counter_fits(c->width, wish->operand))
        return counter_result(c, COUNTER_OVERFLOW);
    if (fence && grant_session(fence) != c->session)
        return error_set(ZKL_EINVAL, NULL, "%s: fence is a grant of another session", doing);
    if (fence)
        return counter_run_fenced(c, wish, fence, timeout_ms);
    return counter_run(c, wish, timeout_ms, NULL);
}

int zkl_counter_get(zkl_counter *c, int64_t timeout_ms, int64_t *ret)
{
    struct counter wish = {.goal = COUNTER_GET};
    int code;

    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_counter_get: ret is NULL");
    code = run(c, "zkl_counter_get", &wish, NULL, timeout_ms);
    if (code == 0)
        *ret = wish.next;
    return code;
}

int zkl_counter_set(zkl_counter *c, int64_t value, zkl_grant *fence, int64_t timeout_ms)
{
    struct counter wish = {.goal = COUNTER_SET, .operand = value};

    return run(c, "zkl_counter_set", &wish, fence, timeout_ms);
}

int zkl_counter_add(zkl_counter *c, int64_t delta, zkl_grant *fence, int64_t timeout_ms,
                    int64_t *ret)
{
    struct counter wish = {.goal = COUNTER_ADD, .operand = delta};
    int code = run(c, "zkl_counter_add", &wish, fence, timeout_ms);

    if (code == 0 && ret)
        *ret = wish.next;
    return code;
}

int zkl_counter_compare_and_set(zkl_counter *c, int64_t expected, int64_t value, zkl_grant *fence,
                                int64_t timeout_ms)
{
    struct counter wish = {.goal = COUNTER_SWAP, .expected = expected, .operand = value};

    return run(c, "zkl_counter_compare_and_set", &wish, fence, timeout_ms);
}
