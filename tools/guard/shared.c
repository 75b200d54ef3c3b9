/* The deadline is a pair of times, on two clocks that every process reads alike. While the pair is
 * being changed, one of the two may still be old. The nearer one counts, so that a mixed reading is
 * too early, never too late. */
#include "shared.h"

#include <glib.h>
#include <sys/mman.h>
#include <time.h>

/* The lock inside an atomic that is not lock-free would not be shared by the processes. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "lock-free");

#define NS_PER_MS 1000000

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
    /* The claim is a secret: no core dump may contain it. */
    struct shared *s = shared_map(count * sizeof *s);

    for (size_t i = 0; s && i < count; i++)
        shared_reset(&s[i]);
    return s;
}

void shared_free(struct shared *s, size_t count)
{
    if (s)
        munmap(s, count * sizeof *s);
}

void shared_reset(struct shared *s)
{
    *s = (struct shared){.ended = NOT_ENDED, .ahead = -1};
}

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

/* Returns the time to the deadline, by the clock that leaves less. The deadline is read before the
 * clocks: a delay in between makes it seem nearer, not farther. */
static int64_t left_ns(const struct shared *s)
{
    const zkl_deadline until = {atomic_load(&s->until_boottime), atomic_load(&s->until_raw)};
    const int64_t left = until.boottime_ns - read_ns(CLOCK_BOOTTIME);

    return MIN(left, until.monotonic_raw_ns - read_ns(CLOCK_MONOTONIC_RAW));
}

bool shared_set_deadline(struct shared *s, const zkl_deadline *deadline)
{
    /* A deadline that has passed stays: 0 is for a lock that was lost before its deadline. */
    if (deadline->boottime_ns == 0 && left_ns(s) <= 0)
        return true;
    const int64_t boottime = atomic_exchange(&s->until_boottime, deadline->boottime_ns);
    const int64_t raw = atomic_exchange(&s->until_raw, deadline->monotonic_raw_ns);
    return deadline->boottime_ns >= boottime && deadline->monotonic_raw_ns >= raw;
}

int64_t shared_left_ms(const struct shared *s)
{
    const int64_t left = left_ns(s);

    return left > 0 ? left / NS_PER_MS : 0;
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

    return atomic_compare_exchange_strong(&s->cause, &running, (int)cause);
}
