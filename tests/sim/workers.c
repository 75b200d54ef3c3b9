#include "workers.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schedule.h"

/* Shared with its child. */
struct share {
    uint64_t seed; /* that it is at */
    uint64_t schedules;
    struct tally tally;
    char text[WORKERS_TEXT];
};

static void play_share(const struct workers_plan *plan, unsigned worker, struct share *share)
{
    int64_t until =
        plan->seconds ? g_get_monotonic_time() + plan->seconds * G_USEC_PER_SEC : INT64_MAX;

    for (uint64_t i = worker; i < plan->schedules; i += plan->workers) {
        share->seed = plan->from + i;
        char *wrong = schedule_play(share->seed, NULL, &share->tally);
        if (wrong) {
            g_strlcpy(share->text, wrong, sizeof share->text);
            _exit(1);
        }
        share->schedules++;
        if (g_get_monotonic_time() > until)
            break;
    }
    _exit(0);
}

static void *share_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        g_error("mmap: %s", g_strerror(errno));
    return memory;
}

static pid_t start(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        g_error("fork: %s", g_strerror(errno));
    return pid;
}

static void collect(const struct share *share, int status, struct workers_result *ret)
{
    ret->schedules += share->schedules;
    tally_add(&ret->tally, &share->tally);
    if (status == 0)
        return;
    ret->failed[ret->failures].seed = share->seed;
    if (share->text[0])
        g_strlcpy(ret->failed[ret->failures].text, share->text, WORKERS_TEXT);
    else
        snprintf(ret->failed[ret->failures].text, WORKERS_TEXT, "its process ended by %s %d",
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    ret->failures++;
}

void workers_play(const struct workers_plan *plan, struct workers_result *ret)
{
    size_t size = sizeof(struct share) * plan->workers;
    struct share *shares = share_memory(size);
    pid_t pids[WORKERS_MAX];
    int status;

    *ret = (struct workers_result){0};
    for (unsigned i = 0; i < plan->workers; i++) {
        pids[i] = start();
        if (pids[i] == 0)
            play_share(plan, i, &shares[i]);
    }
    for (unsigned i = 0; i < plan->workers; i++) {
        waitpid(pids[i], &status, 0);
        collect(&shares[i], status, ret);
    }
    munmap(shares, size);
}

static bool replay(uint64_t seed)
{
    struct tally tally = {0};
    struct trace *trace = trace_new(stdout, true);
    char *wrong = schedule_play(seed, trace, &tally);

    printf("seed %" G_GUINT64_FORMAT ": %s\n", seed, wrong ? wrong : "all is well");
    tally_print(&tally);
    fflush(stdout);
    trace_free(trace);
    bool well = !wrong;
    g_free(wrong);
    return well;
}

bool workers_replay(uint64_t seed)
{
    int status;
    pid_t pid = start();

    if (pid == 0)
        _exit(replay(seed) ? 0 : 1);
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        printf("seed %" G_GUINT64_FORMAT ": killed by signal %d\n", seed, WTERMSIG(status));
    return status == 0;
}
