/* All but the deadline is in memory that only tool and guard have: one of the facts is a secret. */
#include "shared.h"

#include <glib.h>
#include <sys/mman.h>

/* The lock inside an atomic that is not lock-free would not be shared by the processes. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "lock-free");

void *shared_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

struct shared *shared_new(size_t count)
{
    struct deadline *deadline = deadline_new(count);
    struct shared *s = deadline ? shared_map(count * sizeof *s) : NULL;

    if (deadline && !s)
        deadline_free(deadline, count);
    for (size_t i = 0; s && i < count; i++) {
        s[i].deadline = &deadline[i];
        shared_reset(&s[i]);
    }
    return s;
}

void shared_free(struct shared *s, size_t count)
{
    if (!s)
        return;
    deadline_free(s->deadline, count);
    munmap(s, count * sizeof *s);
}

void shared_reset(struct shared *s)
{
    *s = (struct shared){.ended = NOT_ENDED, .ahead = -1, .deadline = s->deadline};
    deadline_reset(s->deadline);
}

bool shared_set_deadline(struct shared *s, const zkl_deadline *deadline)
{
    /* A deadline that has passed stays: 0 is for a lock that was lost before its deadline. */
    if (deadline->boottime_ns == 0 && deadline_left_ms(s->deadline) == 0)
        return true;
    const int64_t boottime = atomic_exchange(&s->deadline->until_boottime, deadline->boottime_ns);
    const int64_t raw = atomic_exchange(&s->deadline->until_raw, deadline->monotonic_raw_ns);
    return deadline->boottime_ns >= boottime && deadline->monotonic_raw_ns >= raw;
}

int64_t shared_left_ms(const struct shared *s)
{
    return deadline_left_ms(s->deadline);
}

bool shared_set_leader(struct shared *s, pid_t pid)
{
    int leader = 0;

    return atomic_compare_exchange_strong(&s->leader, &leader, pid) || leader == pid;
}

pid_t shared_bar(struct shared *s)
{
    int leader = 0;

    if (atomic_compare_exchange_strong(&s->leader, &leader, LEADER_BARRED))
        return 0;
    return leader == LEADER_BARRED ? 0 : leader;
}

void shared_store_claim(struct shared *s, zkl_session *session)
{
    zkl_session_claim claim;

    if (zkl_session_get_claim(session, &claim) != 0)
        return;
    /* The flag is cleared first and set last: a kill in between leaves no half of a claim. */
    atomic_store(&s->claimed, false);
    s->claim = claim;
    atomic_store(&s->claimed, true);
}

/* The signal and the clock share one word. */
#define FIRST_SIGNAL_BITS 8

void shared_set_first_signal(struct shared *s, int signo, uint64_t clock)
{
    uint64_t none = 0;

    atomic_compare_exchange_strong(&s->first, &none, clock << FIRST_SIGNAL_BITS | (uint64_t)signo);
}

int shared_first_signal(const struct shared *s, uint64_t *ret_clock)
{
    const uint64_t first = atomic_load(&s->first);

    *ret_clock = first >> FIRST_SIGNAL_BITS;
    return (int)(first & ((1U << FIRST_SIGNAL_BITS) - 1));
}

pid_t shared_leader(const struct shared *s)
{
    const int leader = atomic_load(&s->leader);

    return leader == LEADER_BARRED ? 0 : leader;
}

enum exit_cause shared_cause(const struct shared *s)
{
    return (enum exit_cause)atomic_load(&s->cause);
}

bool shared_decide(struct shared *s, enum exit_cause cause)
{
    int running = CAUSE_NONE;

    atomic_store(&s->deadline->over, true); /* before anybody gives the lock back */
    return atomic_compare_exchange_strong(&s->cause, &running, (int)cause);
}
