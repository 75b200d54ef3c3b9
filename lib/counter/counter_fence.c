/* Operations behind a fence: a read, and then a transaction of the grant's, which the servers
 * refuse when the number was written since. */
#include "counter_state.h"
#include "lib/base/error.h"

struct fenced {
    const zkl_counter *c;
    struct counter *wish;
    zkl_grant *grant;
    int64_t end; /* CLOCK_BOOTTIME ns; INT64_MAX: none */
};

static int64_t end_of(zkl_session *s, int64_t timeout_ms)
{
    int64_t now = clock_now().boot;

    if (timeout_ms == 0) {
        session_lock(s);
        timeout_ms = session_patience_ms(s);
        session_unlock(s);
    }
    return timeout_ms < 0 || timeout_ms > (INT64_MAX - now) / CLOCK_MS
               ? INT64_MAX
               : now + timeout_ms * CLOCK_MS;
}

/* At least 1: 0 would mean something else. */
static int64_t left_ms(const struct fenced *f)
{
    if (f->end == INT64_MAX)
        return ZKL_FOREVER;
    return MAX((f->end - clock_now().boot) / CLOCK_MS, 1);
}

static int write_number(const struct fenced *f, const struct counter *seen, bool absent,
                        int64_t number)
{
    uint8_t bytes[COUNTER_BYTES_MAX];
    const zkl_change change = {absent ? ZKL_CHANGE_CREATE : ZKL_CHANGE_SET, seen->version,
                               session_path(f->c->session, f->c->path), bytes, f->c->width};

    counter_encode(f->c->width, number, bytes);
    return zkl_grant_multi(f->grant, &change, 1, 0, left_ms(f));
}

/* One try; ZKL_EVERSION and the like: another client was faster. */
static int try_once(const struct fenced *f, bool *faster)
{
    struct counter seen = {.goal = COUNTER_GET, .width = f->c->width};
    enum counter_verdict verdict;
    bool absent = false;
    int code = counter_run(f->c, &seen, left_ms(f), &absent);

    *faster = false;
    if (code)
        return code;
    verdict = counter_next(f->wish, seen.next, &f->wish->next);
    if (verdict != COUNTER_DONE)
        return counter_result(f->c, verdict);
    code = write_number(f, &seen, absent, f->wish->next);
    *faster = code == ZKL_EVERSION || code == ZKL_EEXIST || (code == ZKL_ENOENT && !absent);
    return code;
}

/* Without parents: made by a plain set of 0, which is what a missing counter is. */
static int make(const struct fenced *f)
{
    struct counter zero = {.goal = COUNTER_ADD, .width = f->c->width};

    return counter_run(f->c, &zero, left_ms(f), NULL);
}

int counter_run_fenced(const zkl_counter *c, struct counter *wish, zkl_grant *fence,
                       int64_t timeout_ms)
{
    const struct fenced f = {c, wish, fence, end_of(c->session, timeout_ms)};
    bool faster;

    for (int tries = 0; tries < COUNTER_TRIES; tries++) {
        int code = try_once(&f, &faster);
        if (code == ZKL_ENOENT && !faster)
            code = make(&f); /* no parents */
        else if (!faster)
            return code;
        if (code && !faster)
            return code;
    }
    return counter_result(c, COUNTER_BUSY);
}
