#include "fault.h"

#include <pthread.h>
#include <stdlib.h>

void told_fn(const zkl_grant *grant, zkl_state state, void *told)
{
    struct told *t = told;
    int i = atomic_load(&t->count);

    (void)grant;
    if (i == TOLD_MAX)
        return;
    t->state[i] = state;
    t->at[i] = fault_boot_ns();
    atomic_store(&t->count, i + 1);
}

int told_times(struct told *t, zkl_state state)
{
    int times = 0;

    for (int i = 0, count = atomic_load(&t->count); i < count; i++)
        times += t->state[i] == state;
    return times;
}

int64_t told_at(struct told *t, zkl_state state)
{
    for (int i = 0, count = atomic_load(&t->count); i < count; i++)
        if (t->state[i] == state)
            return t->at[i];
    return INT64_MAX;
}

/* ---- acquisitions ---- */

static void on_done(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct acquisition *a = data;

    a->at = fault_boot_ns();
    a->grant = grant;
    a->code = err ? err->code : 0;
    if (grant)
        zkl_grant_on_change(grant, told_fn, &a->told);
    atomic_fetch_add(&a->done, 1);
}

void acquisition_start_rw(struct acquisition *a, zkl_rwlock *l, bool shared, int64_t timeout_ms)
{
    *a = (struct acquisition){.code = 0};
    REQUIRE((shared ? zkl_rwlock_lock_shared_async : zkl_rwlock_lock_async)(l, timeout_ms, on_done,
                                                                            a, &a->op) == 0);
}

void acquisition_start_permits(struct acquisition *a, zkl_semaphore *m, int permits)
{
    *a = (struct acquisition){.code = 0};
    REQUIRE(zkl_semaphore_acquire_async(m, permits, ZKL_FOREVER, on_done, a, &a->op) == 0);
}

bool acquisition_try_start(struct acquisition *a, zkl_mutex *m, int64_t timeout_ms)
{
    *a = (struct acquisition){.code = 0};
    int code = zkl_mutex_lock_async(m, timeout_ms, on_done, a, &a->op);
    return code != ZKL_ECLOSED && CHECK_INT(code, 0);
}

void acquisition_start(struct acquisition *a, zkl_mutex *m, int64_t timeout_ms)
{
    REQUIRE(acquisition_try_start(a, m, timeout_ms));
}

bool acquisition_granted(struct acquisition *a)
{
    EVENTUALLY(atomic_load(&a->done) > 0);
    return CHECK_INT(atomic_load(&a->done), 1) && CHECK_INT(a->code, 0) && CHECK(a->grant != NULL);
}

bool acquisition_failed(struct acquisition *a, int code)
{
    EVENTUALLY(atomic_load(&a->done) > 0);
    return CHECK_INT(atomic_load(&a->done), 1) && CHECK_INT(a->code, code) &&
           CHECK(a->grant == NULL);
}

void acquisition_end(struct acquisition *a)
{
    EVENTUALLY(atomic_load(&a->done) > 0);
    CHECK_INT(atomic_load(&a->done), 1);
    if (a->grant) {
        zkl_grant_release(a->grant);
        /* The recorder is on our caller's stack. */
        EVENTUALLY(told_times(&a->told, ZKL_LOST) + told_times(&a->told, ZKL_RELEASED) == 1);
    }
    zkl_op_free(a->op);
    a->grant = NULL;
    a->op = NULL;
}

void acquisition_queue(struct acquisition *a, zkl_mutex *m, int place)
{
    acquisition_start(a, m, ZKL_FOREVER);
    EVENTUALLY(fault_children() == place);
    if (place > 1)
        CHECK_INT(atomic_load(&a->done), 0);
    else
        acquisition_granted(a);
}

/* ---- histories ---- */

struct hold {
    int64_t begin, end;
    uint64_t token;
};

struct history {
    pthread_mutex_t mutex;
    GArray *holds;
};

struct history *history_new(void)
{
    struct history *h = g_new0(struct history, 1);

    pthread_mutex_init(&h->mutex, NULL);
    h->holds = g_array_new(FALSE, FALSE, sizeof(struct hold));
    return h;
}

void history_add(struct history *h, int64_t begin, int64_t end, uint64_t token)
{
    struct hold hold = {begin, end, token};

    pthread_mutex_lock(&h->mutex);
    g_array_append_val(h->holds, hold);
    pthread_mutex_unlock(&h->mutex);
}

int history_count(struct history *h)
{
    pthread_mutex_lock(&h->mutex);
    int count = (int)h->holds->len;
    pthread_mutex_unlock(&h->mutex);
    return count;
}

static gint by_begin(gconstpointer a, gconstpointer b)
{
    int64_t x = ((const struct hold *)a)->begin, y = ((const struct hold *)b)->begin;

    return (x > y) - (x < y);
}

void history_check(struct history *h)
{
    g_array_sort(h->holds, by_begin);
    for (guint i = 1; i < h->holds->len; i++) {
        const struct hold *a = &g_array_index(h->holds, struct hold, i - 1), *b = a + 1;
        CHECK(b->begin >= a->end);
        CHECK(b->token > a->token);
    }
    g_array_free(h->holds, TRUE);
    pthread_mutex_destroy(&h->mutex);
    g_free(h);
}
