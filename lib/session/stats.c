#include "stats.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

const int64_t stats_bounds_ns[ZKL_HISTOGRAM_BUCKETS - 1] = {
    US,       10 * US,  100 * US, 500 * US, MS,     5 * MS,  10 * MS, 50 * MS,
    100 * MS, 500 * MS, S,        5 * S,    30 * S, 300 * S, 3600 * S};

int64_t zkl_histogram_bound_ns(size_t bucket)
{
    return bucket < G_N_ELEMENTS(stats_bounds_ns) ? stats_bounds_ns[bucket] : INT64_MAX;
}

void stats_failed(zkl_session *s, int code)
{
    zkl_stats *stats = &s->stats;

    switch (code) {
    case ZKL_EBUSY:
        stats->failed_busy++;
        break;
    case ZKL_ETIMEDOUT:
        stats->failed_timeout++;
        break;
    case ZKL_ECANCELED:
        stats->failed_canceled++;
        break;
    case ZKL_ECLOSED:
        stats->failed_closed++;
        break;
    case ZKL_EUNREACHABLE:
    case ZKL_EHOST:
        stats->failed_unreachable++;
        break;
    case ZKL_EACCES:
    case ZKL_EAUTH:
        stats->failed_denied++;
        break;
    default:
        stats->failed_other++;
    }
}

static int64_t left_ms(const zkl_session *s, struct instant now)
{
    if (s->stats.held == 0 || !s->proofs.has_deadline)
        return -1;
    return instant_left(now, s->proofs.deadline) / CLOCK_MS;
}

void stats_renewed(zkl_session *s, struct instant sent)
{
    const struct instant now = clock_now();
    const int64_t left = left_ms(s, now), least = s->stats.deadline_left_least_ms;

    stats_add_time(&s->stats.renewal, now.boot - sent.boot);
    if (left >= 0 && (least < 0 || left < least))
        s->stats.deadline_left_least_ms = left;
}

int zkl_session_stats(zkl_session *s, zkl_stats *ret)
{
    int code = session_check(s);

    if (code)
        return code;
    if (!ret || ret->size < sizeof *ret)
        return error_set(ZKL_EINVAL, NULL,
                         "zkl_session_stats: ret is NULL, or ret->size is too small");
    session_lock(s);
    s->stats.connected = s->up;
    s->stats.requests_queued = s->parked.length;
    s->stats.attempts_failed = log_attempts(s->log);
    s->stats.deadline_left_ms = left_ms(s, clock_now());
    memcpy(ret, &s->stats, sizeof *ret);
    session_unlock(s);
    ret->size = sizeof *ret;
    ret->callbacks_queued = callbacks_queued(s->callbacks);
    return 0;
}
