/* A holder in a process of its own: what the process does, and how a test leads it. */
#include "lib/base/clock.h"
#include "process.h"
#include "scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORT = 128, PER_MILLE = 1000 };

/* NULL in the test's own process, whose clocks are left alone. */
static struct worker_page *page;

bool resource_write(_Atomic uint64_t *highest, uint64_t token)
{
    uint64_t seen = atomic_load(highest);

    while (token >= seen)
        if (atomic_compare_exchange_weak(highest, &seen, token))
            return true;
    return false;
}

/* ---- the process's clocks ---- */

static struct instant (*true_clock)(void);
static struct instant base;

static int64_t rate(void)
{
    return page->rate_permille ? page->rate_permille : PER_MILLE;
}

static struct instant read_skewed(void)
{
    struct instant now = true_clock();

    return (struct instant){
        base.boot + (now.boot - base.boot) / PER_MILLE * rate() + atomic_load(&page->boot_skew),
        base.raw + (now.raw - base.raw) / PER_MILLE * rate() + atomic_load(&page->raw_skew)};
}

static void skew_clocks(void)
{
    true_clock = clock_now;
    base = true_clock();
    clock_now = read_skewed;
}

/* The linker sends the library's calls here (tests/Makefile.inc). */
int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __real_gettimeofday(struct timeval *ret, void *zone);
int __wrap_gettimeofday(struct timeval *ret, void *zone);
time_t __real_time(time_t *ret);
time_t __wrap_time(time_t *ret);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *spec,
                           struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *spec,
                           struct itimerspec *old);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);

static time_t wall_step(void)
{
    if (!page)
        return 0;
    atomic_fetch_add(&page->wall_reads, 1);
    return (time_t)atomic_load(&page->wall_step_s);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    int result = __real_clock_gettime(id, ret);

    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI)
        ret->tv_sec += wall_step();
    else if (page)
        atomic_fetch_add(&page->clock_reads, 1);
    return result;
}

int __wrap_gettimeofday(struct timeval *ret, void *zone)
{
    int result = __real_gettimeofday(ret, zone);

    ret->tv_sec += wall_step();
    return result;
}

time_t __wrap_time(time_t *ret)
{
    time_t now = __real_time(NULL) + wall_step();

    if (ret)
        *ret = now;
    return now;
}

/* An instant of the skewed clock, back to the kernel's. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *spec, struct itimerspec *old)
{
    struct itimerspec real = *spec;

    if (page && true_clock) {
        int64_t due = spec->it_value.tv_sec * INT64_C(1000000000) + spec->it_value.tv_nsec;
        due = base.boot + (due - atomic_load(&page->boot_skew) - base.boot) / rate() * PER_MILLE;
        due = MAX(due, 1); /* 0 would disarm it */
        real.it_value = (struct timespec){(time_t)(due / 1000000000), (long)(due % 1000000000)};
    }
    return __real_timerfd_settime(fd, flags, &real, old);
}

/* Which clock a wait goes by shows in what it waits for: none but the wall clock is decades on. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    enum { DECADES_S = 1000000000 };

    if (until->tv_sec > DECADES_S)
        wall_step();
    return __real_pthread_cond_timedwait(cond, mutex, until);
}

/* ---- the process ---- */

struct holder {
    const zkl_grant *grant;
    atomic_bool leaving;
};

static void say(const char *what, uint64_t number)
{
    printf("%s %" G_GUINT64_FORMAT "\n", what, number);
    fflush(stdout);
}

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data;
}

static void *look_on(void *data)
{
    struct holder *h = data;

    while (!atomic_load(&h->leaving)) {
        int64_t now = fault_boot_ns();
        if (zkl_grant_remaining_ms(h->grant) > 0)
            atomic_store(&page->believed, now);
        g_usleep(500);
    }
    return NULL;
}

static uint64_t write_resource(struct holder *h, bool stop)
{
    if (zkl_grant_remaining_ms(h->grant) <= 0)
        return 2;
    if (stop) {
        raise(SIGSTOP);
        int64_t now = fault_boot_ns();
        atomic_store(&page->woke_left_ms, zkl_grant_remaining_ms(h->grant));
        atomic_store(&page->woke, now);
    }
    return resource_write(&page->resource, zkl_grant_token(h->grant));
}

/* The orders are the parent's to read. */
static void fork_one(void)
{
    struct pollfd end = {.fd = STDIN_FILENO, .events = 0};
    pid_t pid = fork();

    if (pid == 0) {
        poll(&end, 1, -1);
        _exit(0);
    }
    say("fork", (uint64_t)pid);
}

static void obey(struct holder *h, char order)
{
    switch (order) {
    case WORKER_STATE:
        say("state", (uint64_t)zkl_grant_state(h->grant));
        break;
    case WORKER_LEFT:
        say("left", (uint64_t)zkl_grant_remaining_ms(h->grant));
        break;
    case WORKER_WRITE:
    case WORKER_STOP:
        say("write", write_resource(h, order == WORKER_STOP));
        break;
    case WORKER_FORK:
        fork_one();
        break;
    case WORKER_EXIT:
        exit(0);
    }
}

static bool map_page(const char *file)
{
    int fd = open(file, O_RDWR | O_CLOEXEC);
    void *at = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    page = at == MAP_FAILED ? NULL : at;
    return page != NULL;
}

/* CONNECT PATH TIMEOUT FILE */
int scenario_worker(int argc, char **argv)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    struct holder h = {.grant = NULL};
    pthread_t thread;
    zkl_session *s;
    zkl_mutex *m;
    char byte;

    if (argc != 4 || !map_page(argv[3]))
        return 1;
    skew_clocks();
    o.session_timeout_ms = atoi(argv[2]);
    o.log = log_nothing;
    if (zkl_session_open(&s, argv[0], &o, NULL) || zkl_mutex_new(&m, s, argv[1], NULL) ||
        zkl_session_wait(s, ZKL_FOREVER) || zkl_mutex_lock(m, ZKL_FOREVER, &h.grant))
        return 1;
    say("token", zkl_grant_token(h.grant));
    if (pthread_create(&thread, NULL, look_on, &h) != 0)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) == 1)
        obey(&h, byte);
    atomic_store(&h.leaving, true);
    pthread_join(thread, NULL);
    say("unlock", (uint64_t)-zkl_mutex_unlock(m));
    zkl_mutex_free(m);
    zkl_session_close(s);
    return 0;
}

/* ---- the test's side ---- */

static void make_page(struct worker *w, const struct worker_page *first)
{
    int fd = g_file_open_tmp("zkl-worker-XXXXXX", &w->file, NULL);

    REQUIRE(fd >= 0 && ftruncate(fd, sizeof(*w->page)) == 0);
    w->page = mmap(NULL, sizeof(*w->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(w->page != MAP_FAILED);
    close(fd);
    if (first)
        w->page->rate_permille = first->rate_permille;
}

void worker_start(struct worker *w, const char *connect, int timeout_ms,
                  const struct worker_page *first)
{
    int in[2], out[2];
    char log[32], timeout[16];

    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    make_page(w, first);
    snprintf(log, sizeof log, "/proc/self/fd/%d", out[1]);
    snprintf(timeout, sizeof timeout, "%d", timeout_ms);
    const char *const argv[] = {
        "/proc/self/exe", "--scenario-worker", connect, fault.path, timeout, w->file, NULL};
    const struct process_options o = {.argv = argv, .log = log, .input = in[0]};
    w->pid = process_spawn(&o);
    REQUIRE(w->pid > 0);
    close(in[0]);
    close(out[1]);
    w->in = in[1];
    w->out = fdopen(out[0], "r");
}

void worker_order(struct worker *w, enum worker_order order)
{
    char byte = (char)order;

    CHECK_INT(write(w->in, &byte, 1), 1);
}

uint64_t worker_told(struct worker *w, const char *what)
{
    char line[REPORT], word[REPORT];
    uint64_t number = 0;

    REQUIRE(fgets(line, sizeof line, w->out) != NULL);
    REQUIRE(sscanf(line, "%127s %" G_GUINT64_FORMAT, word, &number) == 2);
    CHECK_STR(word, what);
    return number;
}

uint64_t worker_ask(struct worker *w, enum worker_order order, const char *what)
{
    worker_order(w, order);
    return worker_told(w, what);
}

void worker_wait_stopped(struct worker *w)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)w->pid, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
}

void worker_unlock(struct worker *w, int code)
{
    close(w->in);
    w->in = -1;
    CHECK_INT(worker_told(w, "unlock"), -code);
}

void worker_kill(struct worker *w)
{
    process_end(w->pid, SIGKILL);
    w->pid = -1;
}

void worker_end(struct worker *w)
{
    if (w->in >= 0)
        close(w->in);
    if (w->pid > 0)
        process_end(w->pid, 0);
    fclose(w->out);
    munmap(w->page, sizeof(*w->page));
    unlink(w->file);
    g_free(w->file);
}
