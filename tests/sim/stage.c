#include "stage.h"

#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>

#include "candidate.h"
#include "client.h"
#include "foreign_node.h"
#include "group.h"
#include "lib/base/layout.h"
#include "onlooker.h"
#include "progress.h"
#include "unit/seeded.h"
#include "write.h"

enum { STEPS_MAX = 1000 * 1000 }; /* some thousands are usual */

/* ---- chance ---- */

uint32_t stage_below(struct stage *stage, uint32_t below)
{
    return seeded_below(&stage->random, below);
}

bool stage_chance(struct stage *stage, uint32_t percent)
{
    return stage_below(stage, 100) < percent;
}

int64_t stage_between(struct stage *stage, int64_t low, int64_t high)
{
    return low + (int64_t)(seeded_next(&stage->random) % (uint64_t)(high - low + 1));
}

/* ---- the stage ---- */

int64_t stage_now(const struct stage *stage)
{
    return stage->world ? world_now(stage->world) : 0;
}

void stage_disturbed(struct stage *stage, int64_t ns)
{
    stage->well_since = MAX(stage->well_since, stage_now(stage) + ns);
}

static void on_note(const struct note *note, void *data)
{
    struct stage *stage = data;

    trace_note(stage->trace, stage_now(stage), note);
    tally_note(&stage->tally, note);
    oracle_note(stage, note);
    foreign_nodes_note(stage, note);
    write_note(stage, note);
    group_note(stage, note);
}

struct stage *stage_new(uint64_t seed, struct world_config config, struct trace *trace)
{
    progress_step();
    struct stage *stage = g_new0(struct stage, 1);

    stage->random = seed;
    stage->trace = trace;
    stage->processes = g_ptr_array_new_with_free_func(client_free);
    stage->acquisitions = g_ptr_array_new_with_free_func(acquisition_free);
    stage->candidates = g_ptr_array_new_with_free_func(candidate_free);
    stage->onlookers = g_ptr_array_new_with_free_func(onlooker_free);
    stage->writes = g_ptr_array_new_with_free_func(write_free);
    stage->foreign_nodes = g_ptr_array_new_with_free_func(foreign_node_free);
    stage->alarms = g_ptr_array_new();
    oracle_init(&stage->oracle);
    g_random_set_seed((guint32)(seed ^ seed >> 32));
    layout_random = world_random;
    config.seed = seeded_next(&stage->random);
    config.note = on_note;
    config.note_data = stage;
    stage->world = world_new(&config);
    return stage;
}

void stage_free(struct stage *stage)
{
    g_ptr_array_unref(stage->writes);
    g_ptr_array_unref(stage->foreign_nodes);
    g_ptr_array_unref(stage->onlookers);
    g_ptr_array_unref(stage->candidates);
    g_ptr_array_unref(stage->acquisitions);
    group_free(stage->group);
    g_ptr_array_unref(stage->processes);
    g_ptr_array_unref(stage->alarms);
    world_free(stage->world);
    oracle_clear(&stage->oracle);
    g_free(stage->wrong);
    g_free(stage);
}

void stage_add_alarm(struct stage *stage, struct alarm *alarm)
{
    g_ptr_array_add(stage->alarms, alarm);
}

void stage_wrong(struct stage *stage, const char *format, ...)
{
    va_list args;

    if (stage->wrong)
        return;
    va_start(args, format);
    char *text = g_strdup_vprintf(format, args);
    va_end(args);
    stage->wrong = stage->trace ? trace_shorten(stage->trace, text) : g_strdup(text);
    trace_line(stage->trace, stage_now(stage), "WRONG", "%s", stage->wrong);
    g_free(text);
}

/* ---- running ---- */

static bool may_act(const struct alarm *alarm)
{
    return alarm->at != NEVER && (!alarm->process || client_runs(alarm->process));
}

static struct alarm *next_alarm(const struct stage *stage)
{
    struct alarm *next = NULL;

    for (guint i = 0; i < stage->alarms->len; i++) {
        struct alarm *alarm = stage->alarms->pdata[i];
        if (may_act(alarm) && (!next || alarm->at < next->at))
            next = alarm;
    }
    return next;
}

static struct client *next_process(const struct stage *stage, int64_t *ret_at)
{
    struct client *next = NULL;

    *ret_at = NEVER;
    for (guint i = 0; i < stage->processes->len; i++) {
        struct client *p = stage->processes->pdata[i];
        int64_t at = client_next(p);
        if (at < *ret_at) {
            *ret_at = at;
            next = p;
        }
    }
    return next;
}

static void act(struct alarm *alarm)
{
    struct host *before = host_entered();

    if (alarm->process)
        host_enter(alarm->process->host);
    alarm->at = NEVER;
    alarm->fn(alarm->data);
    host_enter(before);
}

/* Does the next thing. The world comes first, then what processes have to do, then what is to
 * happen to them. Returns false if nothing happens before until. */
static bool step(struct stage *stage, int64_t until)
{
    int64_t at;
    struct client *process = next_process(stage, &at);
    struct alarm *alarm = next_alarm(stage);
    int64_t due = alarm && alarm->at < at ? alarm->at : at;
    int64_t now = stage_now(stage);
    int64_t limit = MIN(due, until);

    if (world_run_next(stage->world, MAX(limit, now)))
        return true;
    if (due > until)
        return false;
    if (at <= due)
        client_run(process);
    else
        act(alarm);
    return true;
}

/* The linker puts this before libc's: without a write nothing becomes readable. */
static gint eventfd_writes;

int __real_eventfd_write(int fd, eventfd_t value);
int __wrap_eventfd_write(int fd, eventfd_t value);
int __wrap_eventfd_write(int fd, eventfd_t value)
{
    g_atomic_int_inc(&eventfd_writes);
    return __real_eventfd_write(fd, value);
}

/* Whether the same descriptors were looked at before, and none of them was readable or written
 * since. A call of poll() after each step is a quarter of a schedule's time. */
static bool are_silent(const struct stage *stage, const struct pollfd *fds, size_t count)
{
    return stage->silent.count == count &&
           stage->silent.writes == g_atomic_int_get(&eventfd_writes) &&
           memcmp(stage->silent.fds, fds, count * sizeof *fds) == 0;
}

static void poll_callbacks(struct stage *stage, struct client **clients, struct pollfd *fds,
                           size_t count)
{
    stage->silent.writes = g_atomic_int_get(&eventfd_writes);
    stage->silent.count = count;
    memcpy(stage->silent.fds, fds, count * sizeof *fds);
    if (poll(fds, count, 0) == 0)
        return;
    stage->silent.count = 0;
    for (size_t i = 0; i < count; i++) {
        if (fds[i].revents & POLLIN)
            client_hear(clients[i]);
    }
}

static void look_for_callbacks(struct stage *stage)
{
    struct client *clients[STAGE_SESSIONS_MAX];
    struct pollfd fds[STAGE_SESSIONS_MAX];
    size_t n = 0;

    for (guint i = 0; i < stage->processes->len; i++) {
        struct client *client = stage->processes->pdata[i];
        if (!client_awaits_callback(client))
            continue;
        g_assert(n < STAGE_SESSIONS_MAX);
        clients[n] = client;
        fds[n++] = (struct pollfd){zkl_session_fd(client->session), POLLIN, 0};
    }
    if (n > 0 && !are_silent(stage, fds, n))
        poll_callbacks(stage, clients, fds, n);
}

bool stage_run(struct stage *stage, int64_t until, bool (*done)(const void *data), const void *data)
{
    for (;;) {
        oracle_check(stage);
        group_check(stage);
        if (stage->wrong)
            return false;
        if (done && done(data))
            return true;
        look_for_callbacks(stage);
        if (!step(stage, until))
            return false;
        if (++stage->tally.steps > STEPS_MAX)
            stage_wrong(stage, "it goes on without end");
    }
}
