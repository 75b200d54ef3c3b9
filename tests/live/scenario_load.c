/* Too many contenders on too little of a processor: processes that are stopped for nineteen
 * twentieths of the time, and many threads in each. */
#include "process.h"
#include "runner.h"
#include "scenario.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(scenario_load, .init = fault_start, .done = fault_stop);

enum { CONTENDERS = 200, PROCESSES = 8, RUN_MS = 5, STAND_MS = 95, TIMEOUT_MS = 20000 };

/* One of each contender's, in a file that all share. */
struct stay {
    int64_t begin, end;
    uint64_t token; /* 0: not served yet */
};

struct actor {
    zkl_session *session;
    const char *path;
    struct stay *stay;
    pthread_t thread;
    int wrong;
};

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data;
}

static void *lock_once(void *data)
{
    struct actor *s = data;
    const zkl_grant *grant;
    zkl_mutex *m;

    s->wrong = zkl_mutex_new(&m, s->session, s->path, NULL) != 0 ||
               zkl_mutex_lock(m, ZKL_FOREVER, &grant) != 0;
    if (s->wrong)
        return NULL;
    int64_t now = s->stay->begin = s->stay->end = fault_boot_ns();
    if (zkl_grant_remaining_ms(grant) > 0)
        s->stay->end = now;
    s->stay->token = zkl_grant_token(grant);
    progress_step();
    int code = zkl_mutex_unlock(m);
    s->wrong = code != 0 && code != ZKL_ELOST;
    zkl_mutex_free(m);
    return NULL;
}

static struct stay *map_stays(const char *file)
{
    int fd = open(file, O_RDWR | O_CLOEXEC);
    void *at =
        mmap(NULL, CONTENDERS * sizeof(struct stay), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

/* CONNECT PATH FILE FIRST COUNT */
int scenario_load(int argc, char **argv)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    struct actor actor[CONTENDERS];
    zkl_session *s;

    o.session_timeout_ms = TIMEOUT_MS;
    o.log = log_nothing;
    struct stay *stays = argc == 5 ? map_stays(argv[2]) : NULL;
    if (!stays || zkl_session_open(&s, argv[0], &o, NULL) != 0)
        return 1;
    int first = atoi(argv[3]), count = atoi(argv[4]), wrong = 0;
    for (int i = 0; i < count; i++) {
        actor[i] = (struct actor){.session = s, .path = argv[1], .stay = &stays[first + i]};
        if (pthread_create(&actor[i].thread, NULL, lock_once, &actor[i]) != 0)
            return 1;
    }
    for (int i = 0; i < count; i++) {
        pthread_join(actor[i].thread, NULL);
        wrong += actor[i].wrong;
    }
    zkl_session_close(s);
    return wrong ? 2 : 0;
}

static pid_t start_process(const char *file, int first, int count)
{
    char from[16], many[16];

    g_snprintf(from, sizeof from, "%d", first);
    g_snprintf(many, sizeof many, "%d", count);
    const char *const argv[] = {"/proc/self/exe",
                                "--scenario-load",
                                zk_server_connect(fault.server),
                                fault.path,
                                file,
                                from,
                                many,
                                NULL};
    const struct process_options o = {.argv = argv, .input = -1};
    pid_t pid = process_spawn(&o);
    REQUIRE(pid > 0);
    return pid;
}

static int signal_all(const pid_t *pids, int number)
{
    int left = 0;

    for (int i = 0; i < PROCESSES; i++) {
        if (process_gone(pids[i]))
            continue;
        left++;
        kill(pids[i], number);
    }
    return left;
}

/* What a group's quota of 5 % does too, without being root. */
static void run_throttled(const pid_t *pids)
{
    do {
        g_usleep(RUN_MS * 1000);
        signal_all(pids, SIGSTOP);
        g_usleep(STAND_MS * 1000);
    } while (signal_all(pids, SIGCONT) > 0);
}

static void check_ended(pid_t pid)
{
    int status = -1;

    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

TEST_CASE(s22_overload)
{
    int each = MAX(1, fault_scaled(CONTENDERS) / PROCESSES);
    struct history *history = history_new();
    pid_t pids[PROCESSES];
    char *file;

    fault_begin();
    int fd = g_file_open_tmp("zkl-load-XXXXXX", &file, NULL);
    REQUIRE(fd >= 0 && ftruncate(fd, CONTENDERS * sizeof(struct stay)) == 0);
    close(fd);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start_process(file, i * each, each);
    run_throttled(pids);
    for (int i = 0; i < PROCESSES; i++)
        check_ended(pids[i]);
    struct stay *stays = map_stays(file);
    REQUIRE(stays != NULL);
    for (int i = 0; i < PROCESSES * each; i++) {
        CHECK(stays[i].token > 0); /* everybody was served */
        history_add(history, stays[i].begin, stays[i].end, stays[i].token);
    }
    munmap(stays, CONTENDERS * sizeof(struct stay));
    unlink(file);
    g_free(file);
    history_check(history);
    fault_end();
}
