#include "record.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>

enum { CALLS = 1 << 20, STAGES = 64, THREADS = 64, NAME_SIZE = 16 };

static struct recorded_call {
    void *function;
    int thread;
    int depth; /* how many functions of the library the thread is in */
} calls[CALLS];
static atomic_int call_count;
static atomic_int thread_count;

static char thread_names[THREADS][NAME_SIZE];
static _Thread_local int thread_at = -1, depth;
static _Thread_local bool hidden;

static struct recorded_stage {
    const char *name;
    int from;
} stages[STAGES];
static int stage_count;

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (thread_at < 0)
        thread_at = atomic_fetch_add(&thread_count, 1) % THREADS;
    /* A thread gives itself a name in the first function of ours that it calls. */
    if (++depth <= 2)
        prctl(PR_GET_NAME, thread_names[thread_at]);
    if (hidden)
        return;

    const int at = atomic_fetch_add(&call_count, 1);

    if (at < CALLS)
        calls[at] = (struct recorded_call){function, thread_at, depth};
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
    depth--;
}

void record_stage(const char *name)
{
    if (stage_count < STAGES)
        stages[stage_count++] =
            (struct recorded_stage){name ? name : "-", atomic_load(&call_count)};
}

void record_hide(bool on)
{
    hidden = on;
}

bool record_write(const char *file)
{
    FILE *out = fopen(file, "w");
    const int count = atomic_load(&call_count);
    int stage = 0;

    if (!out || count > CALLS || stage_count == STAGES || thread_count > THREADS)
        return false;
    for (int i = 0;; i++) {
        for (; stage < stage_count && stages[stage].from == i; stage++)
            fprintf(out, "stage %s\n", stages[stage].name);
        if (i == count)
            break;
        fprintf(out, "%d %s %d %p\n", calls[i].thread, thread_names[calls[i].thread],
                calls[i].depth, calls[i].function);
    }
    return fclose(out) == 0;
}
