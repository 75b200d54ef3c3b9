#include "proxy_link.h"

#include "progress.h"

#include <errno.h>
#include <unistd.h>

/* Every control is: lock, change orders, commit. */
static struct orders *orders_lock(struct proxy *p)
{
    pthread_mutex_lock(&p->mutex);
    return &p->orders;
}

static void commit(struct proxy *p)
{
    uint64_t round = ++p->asked, one = 1;
    while (write(p->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    while (p->obeyed < round)
        pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

int proxy_port(const struct proxy *p)
{
    return p->port.port;
}

const char *proxy_connect(const struct proxy *p)
{
    return p->connect;
}

void proxy_cut(struct proxy *p)
{
    orders_lock(p)->cut = true;
    commit(p);
}

void proxy_reset(struct proxy *p)
{
    orders_lock(p);
    p->reset_all = true;
    commit(p);
}

void proxy_freeze(struct proxy *p, enum proxy_direction direction)
{
    orders_lock(p)->frozen |= (unsigned)direction;
    commit(p);
}

void proxy_thaw(struct proxy *p)
{
    orders_lock(p)->frozen = 0;
    commit(p);
}

void proxy_drop(struct proxy *p, enum proxy_direction direction, bool on)
{
    struct orders *o = orders_lock(p);
    if (on)
        o->dropping |= (unsigned)direction;
    else
        o->dropping &= ~(unsigned)direction;
    commit(p);
}

void proxy_delay_ms(struct proxy *p, enum proxy_direction direction, int ms)
{
    struct orders *o = orders_lock(p);
    if (direction & PROXY_TO_SERVER)
        o->delay_ms[UP] = ms;
    if (direction & PROXY_TO_CLIENT)
        o->delay_ms[DOWN] = ms;
    commit(p);
}

void proxy_jitter_ms(struct proxy *p, enum proxy_direction direction, int ms)
{
    struct orders *o = orders_lock(p);
    if (direction & PROXY_TO_SERVER)
        o->jitter_ms[UP] = ms;
    if (direction & PROXY_TO_CLIENT)
        o->jitter_ms[DOWN] = ms;
    commit(p);
}

void proxy_tear_ms(struct proxy *p, int ms)
{
    orders_lock(p)->tear_ms = ms;
    commit(p);
}

void proxy_segment(struct proxy *p, int bytes)
{
    orders_lock(p)->segment = bytes;
    commit(p);
}

void proxy_target(struct proxy *p, int port)
{
    orders_lock(p);
    p->target_port = port;
    commit(p);
}

void proxy_lose_reply_to(struct proxy *p, int op)
{
    struct orders *o = orders_lock(p);
    o->lose_reply = true;
    o->lose_reply_op = op;
    commit(p);
}

void proxy_lose_request_to(struct proxy *p, int op)
{
    struct orders *o = orders_lock(p);
    o->lose_request = true;
    o->lose_request_op = op;
    commit(p);
}

void proxy_refuse(struct proxy *p, int op)
{
    orders_lock(p)->refused |= UINT64_C(1) << op;
    commit(p);
}

void proxy_hang_up_on(struct proxy *p, int op)
{
    orders_lock(p)->hung_up_on |= UINT64_C(1) << op;
    commit(p);
}

void proxy_refuse_credentials(struct proxy *p)
{
    orders_lock(p)->credentials_refused = true;
    p->reset_all = true;
    commit(p);
}

void proxy_rewrite(struct proxy *p, const char *from, const char *to)
{
    orders_lock(p);
    g_free(p->announced);
    g_free(p->announce);
    p->announced = g_strdup(from);
    p->announce = g_strdup(to);
    commit(p);
}

void proxy_mangle(struct proxy *p, proxy_mangle_fn fn, void *data)
{
    struct orders *o = orders_lock(p);
    o->mangle = fn;
    o->mangle_data = data;
    commit(p);
}

void proxy_heal(struct proxy *p)
{
    *orders_lock(p) = (struct orders){0};
    commit(p);
}

void proxy_get_stats(struct proxy *p, struct proxy_stats *ret)
{
    pthread_mutex_lock(&p->mutex);
    *ret = p->stats;
    pthread_mutex_unlock(&p->mutex);
}

void proxy_reset_stats(struct proxy *p)
{
    pthread_mutex_lock(&p->mutex);
    p->stats = (struct proxy_stats){0};
    pthread_mutex_unlock(&p->mutex);
}

static uint64_t count_ops(const uint64_t by_type[128], int op)
{
    uint64_t sum = 0;
    if (op != PROXY_OP_ANY)
        return by_type[op & 127];
    for (int i = 0; i < 128; i++)
        if (i != PROXY_OP_PING)
            sum += by_type[i];
    return sum;
}

uint64_t proxy_requests(struct proxy *p, int op)
{
    pthread_mutex_lock(&p->mutex);
    uint64_t count = count_ops(p->stats.requests, op);
    pthread_mutex_unlock(&p->mutex);
    return count;
}

uint64_t proxy_answers(struct proxy *p, int op)
{
    pthread_mutex_lock(&p->mutex);
    uint64_t count = count_ops(p->stats.answers, op);
    pthread_mutex_unlock(&p->mutex);
    return count;
}

bool proxy_wait(struct proxy *p, proxy_wait_fn fn, void *data, int timeout_ms)
{
    int64_t end = g_get_monotonic_time() + timeout_ms * INT64_C(1000);
    bool held;
    pthread_mutex_lock(&p->mutex);
    while (!(held = fn(&p->stats, data)) && progress_wait(&p->changed, &p->mutex) &&
           (timeout_ms == UNTIL_LATE || g_get_monotonic_time() < end))
        ;
    pthread_mutex_unlock(&p->mutex);
    if (held)
        progress_step();
    return held;
}

struct wanted {
    int op;
    uint64_t count;
};

static bool enough_requests(const struct proxy_stats *stats, void *data)
{
    const struct wanted *wanted = data;
    return count_ops(stats->requests, wanted->op) >= wanted->count;
}

static bool enough_answers(const struct proxy_stats *stats, void *data)
{
    const struct wanted *wanted = data;
    return count_ops(stats->answers, wanted->op) >= wanted->count;
}

bool proxy_wait_requests(struct proxy *p, int op, uint64_t count, int timeout_ms)
{
    struct wanted wanted = {op, count};
    return proxy_wait(p, enough_requests, &wanted, timeout_ms);
}

bool proxy_wait_answers(struct proxy *p, int op, uint64_t count, int timeout_ms)
{
    struct wanted wanted = {op, count};
    return proxy_wait(p, enough_answers, &wanted, timeout_ms);
}

static bool enough_lost(const struct proxy_stats *stats, void *data)
{
    const uint64_t *count = data;
    return stats->lost >= *count;
}

bool proxy_wait_lost(struct proxy *p, uint64_t count, int timeout_ms)
{
    return proxy_wait(p, enough_lost, &count, timeout_ms);
}
