/* zkl shards: the first process, which has neither threads nor a session. It has one child that is
 * the member, and one for each shard that this host seeks or holds; shards_plan.h decides which. A
 * child hears its orders alone, ends with us whatever ends us, and ends its command with it. */
#include "closing.h"
#include "guard/channel.h"
#include "guard/shared.h"
#include "shard.h"
#include "shards_member.h"
#include "shards_plan.h"
#include "status_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
    pid_t pid; /* 0: none */
    int channel;
};

struct slot {
    struct worker worker;
    struct shard_plan plan;
};

struct host {
    const struct settings *settings;
    const struct shards_options *options;
    struct events *events;
    struct shards_report *report;
    struct worker member;
    struct slot *slots;
    int status; /* to end with; GO_ON */
    bool hurry; /* asked to end twice */
};

/* ---- children ---- */

/* The number of the shard, or: */
#define MEMBER (-1)

static int work(const struct host *h, int number, struct events *events)
{
    if (number == MEMBER)
        return shards_member_run(h->settings, h->options, events, h->events, h->report);
    return shard_run(h->settings, h->options, number, events, h->events,
                     &h->report->shards[number]);
}

/* In a session of its own: several commands cannot share a terminal, whose keys are for us. */
static _Noreturn void become(const struct host *h, int number, pid_t parent, int orders)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct events events;
    int status = STATUS_INTERNAL;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* its guard hears of that, and kills the command */
    setsid();
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    if (getppid() == parent && events_open_below(&events, h->events, orders))
        status = work(h, number, &events);
    exit(status);
}

static bool start(const struct host *h, struct worker *w, int number)
{
    const pid_t self = getpid();
    int channel[2];

    if (!channel_open(channel))
        return false;
    w->pid = fork();
    if (w->pid == 0)
        become(h, number, self, channel[1]);
    close(channel[1]);
    w->channel = channel[0];
    if (w->pid > 0)
        return true;
    close(channel[0]);
    w->pid = 0;
    return false;
}

static void send_signal(const struct worker *w, int signo)
{
    const struct message message = {.kind = MESSAGE_SIGNAL, .value = signo};

    if (w->pid != 0)
        channel_send(w->channel, &message, NULL);
}

/* ---- the end ---- */

/* First of all others may see us gone: they ask for our shards while these are drained. */
static void end(struct host *h, int status)
{
    if (h->status != GO_ON)
        return;
    h->status = status;
    send_signal(&h->member, SIGTERM);
}

static void on_signal(struct host *h, int signo)
{
    switch (signo) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        h->hurry |= h->status != GO_ON && (signo == SIGINT || signo == SIGTERM);
        end(h, STATUS_SIGNAL + signo);
        break;
    case SIGUSR1:
    case SIGUSR2:
        for (int k = 0; k < h->options->count; k++)
            if (h->slots[k].plan.state == SHARD_HELD)
                send_signal(&h->slots[k].worker, signo);
        break;
    default:
        break;
    }
}

/* ---- what has ended ---- */

static void on_member_ended(struct host *h, int result)
{
    int status = WIFEXITED(result) ? WEXITSTATUS(result) : STATUS_INTERNAL;

    h->member.pid = 0;
    close(h->member.channel);
    if (h->status == GO_ON && !WIFEXITED(result))
        say("%s: the member's process was killed", h->options->run.path);
    atomic_store(&h->report->confirmed_since, now_ms());
    atomic_store(&h->report->confirmed, false);
    end(h, status);
}

/* The same would happen again and again. */
static bool is_permanent(int status, int cause)
{
    return cause == CAUSE_ENDED
               ? status == STATUS_NOEXEC || status == STATUS_NOTFOUND
               : cause == CAUSE_NONE && (status == STATUS_USAGE || status == STATUS_NOPERM);
}

static void on_shard_ended(struct host *h, int k, int result)
{
    struct slot *slot = &h->slots[k];
    const bool asked = slot->plan.state > SHARD_HELD;
    const int cause = atomic_load(&h->report->shards[k].cause);
    const int status = WIFEXITED(result) ? WEXITSTATUS(result) : STATUS_SIGNAL + WTERMSIG(result);

    slot->worker.pid = 0;
    close(slot->worker.channel);
    if (slot->plan.held_at != 0)
        status_line(h->options->run.status_fd, "ended %d %d", k, status);
    shard_ended(&slot->plan, cause == CAUSE_NONE || cause == CAUSE_ENDED, now_ms());
    if (asked || h->status != GO_ON)
        return;
    if (is_permanent(status, cause))
        end(h, status);
    else if (slot->plan.pause_ms > 0)
        say("%s/shards/%d: ended with status %d, again in %d s", h->options->run.path, k, status,
            (int)(slot->plan.pause_ms / 1000));
}

static void reap(struct host *h)
{
    pid_t pid;
    int result;

    while ((pid = waitpid(-1, &result, WNOHANG)) > 0) {
        if (pid == h->member.pid)
            on_member_ended(h, result);
        for (int k = 0; k < h->options->count; k++)
            if (pid == h->slots[k].worker.pid)
                on_shard_ended(h, k, result);
    }
}

/* ---- each shard ---- */

static void seek(const struct host *h, int k)
{
    struct shard_report *r = &h->report->shards[k];

    atomic_store(&r->granted, false);
    atomic_store(&r->wanted, false);
    atomic_store(&r->revoked, false);
    atomic_store(&r->cause, (int)CAUSE_NONE);
    if (start(h, &h->slots[k].worker, k))
        return;
    say("%s/shards/%d: cannot start a process: %s", h->options->run.path, k, g_strerror(errno));
    shard_ended(&h->slots[k].plan, true, now_ms());
    events_wake(h->events);
}

static struct shard_facts facts_of(const struct host *h, int k)
{
    struct shard_report *r = &h->report->shards[k];

    return (struct shard_facts){
        .now = now_ms(),
        .confirmed = atomic_load(&h->report->confirmed),
        .confirmed_since = atomic_load(&h->report->confirmed_since),
        .member_until = INT64_MAX,
        .looked_at = INT64_MAX,
        .waits = atomic_load(&r->wanted),
        .drain_ms = h->options->drain_ms,
        .doubt_ms = h->settings->session_timeout_ms,
        .owned = atomic_load(&r->owned),
        .granted = atomic_load(&r->granted),
        .wanted = atomic_load(&r->wanted),
        .revoked = atomic_load(&r->revoked),
        .stop = h->status != GO_ON,
        .hurry = h->hurry,
    };
}

/* Returns when it is due again. */
static int64_t look_at(const struct host *h, int k)
{
    struct slot *slot = &h->slots[k];
    const struct shard_facts facts = facts_of(h, k);
    const bool held = slot->plan.held_at != 0;
    const int fd = h->options->run.status_fd;
    int64_t due;
    enum shard_act act = shard_step(&slot->plan, &facts, &due);

    if (act == SHARD_LOOK)
        act = shard_step(&slot->plan, &facts, &due); /* goes by what it has heard */

    if (!held && slot->plan.held_at != 0)
        status_line(fd, "held %d %" G_GUINT64_FORMAT, k,
                    (guint64)atomic_load(&h->report->shards[k].token));
    if (act == SHARD_STOP && slot->plan.held_at != 0)
        status_line(fd, "asked %d", k);
    if (act == SHARD_SEEK)
        seek(h, k);
    else if (act == SHARD_STOP || act == SHARD_KILL)
        send_signal(&slot->worker, SIGTERM); /* the second one kills */
    if (act == SHARD_KILL && slot->worker.pid != 0)
        kill(slot->worker.pid, SIGCONT); /* if it is stopped it has heard nothing */
    return due;
}

static bool is_over(const struct host *h)
{
    bool over = h->status != GO_ON && h->member.pid == 0;

    for (int k = 0; k < h->options->count && over; k++)
        over = h->slots[k].worker.pid == 0;
    return over;
}

static void serve(struct host *h)
{
    for (;;) {
        int64_t due = INT64_MAX;
        int signo;

        while ((signo = events_signal(h->events)) != 0)
            on_signal(h, signo);
        reap(h);
        for (int k = 0; k < h->options->count; k++)
            due = MIN(due, look_at(h, k));
        if (is_over(h))
            return;
        if (due != INT64_MAX)
            events_arm(h->events, due - now_ms());
        events_wait(h->events);
    }
}

static int run(struct host *h)
{
    const size_t size = sizeof *h->report + (size_t)h->options->count * sizeof h->report->shards[0];

    h->report = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (h->report == MAP_FAILED)
        return fail(STATUS_INTERNAL, "cannot allocate shared memory: %s", g_strerror(errno));
    h->slots = g_new0(struct slot, (gsize)h->options->count);
    if (start(h, &h->member, MEMBER))
        serve(h);
    else
        h->status = fail(STATUS_INTERNAL, "cannot start a process: %s", g_strerror(errno));
    g_free(h->slots);
    munmap(h->report, size);
    return h->status;
}

int verb_shards(struct settings *settings, int argc, char **argv)
{
    struct shards_options options;
    struct events events;
    struct host host = {
        .settings = settings, .options = &options, .events = &events, .status = GO_ON};
    int status = shards_options_parse(&options, settings, argc, argv);

    if (status == GO_ON)
        status = hold_check_grace(options.run.grace_ms, (int)settings->session_timeout_ms);
    if (status == GO_ON && !events_open(&events))
        status = STATUS_INTERNAL;
    if (status == GO_ON) {
        status = run(&host);
        events_close(&events);
    }
    shards_options_free(&options);
    return status;
}
