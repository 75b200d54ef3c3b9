/* Threads that lock all the time, through whatever is done to their servers. */
#include "scenario.h"

enum { LOOKS = 3, SOME = 3 };

/* What one grant's owner was told, kept to the end: a call too many would show. */
struct fate {
    atomic_int ends, after;
};

struct member {
    struct rivals *rivals;
    pthread_t thread;
    zkl_mutex *mutex;
    GPtrArray *fates;
};

struct rivals {
    struct history *history;
    atomic_bool stay, stop;
    int count;
    struct member member[];
};

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct fate *f = data;

    (void)grant;
    if (atomic_load(&f->ends) > 0)
        atomic_fetch_add(&f->after, 1);
    if (state >= ZKL_LOST)
        atomic_fetch_add(&f->ends, 1);
}

static void hold(struct member *m, const zkl_grant *grant)
{
    struct fate *f = g_new0(struct fate, 1);
    int64_t begin = fault_boot_ns(), end = begin;

    g_ptr_array_add(m->fates, f);
    CHECK_INT(zkl_grant_on_change(grant, on_change, f), 0);
    bool valid = true;
    for (int i = 0; i < LOOKS || (valid && atomic_load(&m->rivals->stay)); i++) {
        int64_t now = fault_boot_ns();
        valid = zkl_grant_remaining_ms(grant) > 0;
        if (valid)
            end = now;
        g_usleep(500); /* somebody's work */
    }
    history_add(m->rivals->history, begin, end, zkl_grant_token(grant));
}

static void *run(void *data)
{
    struct member *m = data;
    const zkl_grant *grant;

    do {
        if (!CHECK_INT(zkl_mutex_lock(m->mutex, ZKL_FOREVER, &grant), 0))
            break;
        hold(m, grant);
        int code = zkl_mutex_unlock(m->mutex);
        CHECK(code == 0 || code == ZKL_ELOST);
    } while (!atomic_load(&m->rivals->stop));
    return NULL;
}

struct rivals *rivals_start(zkl_session *const *sessions, int count, int threads)
{
    struct rivals *c = g_malloc0(sizeof *c + (size_t)(count * threads) * sizeof c->member[0]);

    c->history = history_new();
    c->count = count * threads;
    for (int i = 0; i < c->count; i++) {
        struct member *m = &c->member[i];
        m->rivals = c;
        m->mutex = fault_mutex(sessions[i % count]);
        m->fates = g_ptr_array_new_with_free_func(g_free);
        REQUIRE(pthread_create(&m->thread, NULL, run, m) == 0);
    }
    return c;
}

void rivals_stay(struct rivals *c, bool on)
{
    atomic_store(&c->stay, on);
}

int rivals_grants(struct rivals *c)
{
    return history_count(c->history);
}

void rivals_are_served(struct rivals *c)
{
    int before = rivals_grants(c);

    EVENTUALLY(rivals_grants(c) >= before + SOME);
}

static bool has_ended(struct fate *f)
{
    return atomic_load(&f->ends) > 0;
}

static void check_member(struct member *m)
{
    CHECK(m->fates->len > 0); /* everybody was served */
    for (guint i = 0; i < m->fates->len; i++) {
        struct fate *f = g_ptr_array_index(m->fates, i);
        EVENTUALLY(has_ended(f));
    }
    for (guint i = 0; i < m->fates->len; i++) {
        struct fate *f = g_ptr_array_index(m->fates, i);
        CHECK_INT(atomic_load(&f->ends), 1);
        CHECK_INT(atomic_load(&f->after), 0);
    }
    g_ptr_array_unref(m->fates);
}

void rivals_end(struct rivals *c)
{
    atomic_store(&c->stop, true);
    for (int i = 0; i < c->count; i++)
        pthread_join(c->member[i].thread, NULL);
    for (int i = 0; i < c->count; i++)
        check_member(&c->member[i]);
    history_check(c->history);
    g_free(c);
}
