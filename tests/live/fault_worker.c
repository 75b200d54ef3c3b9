/* A holder in a process of its own, which is stopped and wakes when its session is long over. */
#include "fault.h"
#include "process.h"
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REPORT = 128 };

static void say(const char *what, uint64_t number)
{
    printf("%s %" G_GUINT64_FORMAT "\n", what, number);
    fflush(stdout);
}

static void log_nothing(zkl_log_level level, const char *line, void *data)
{
    (void)level, (void)line, (void)data;
}

/* CONNECT PATH: locks, says its token, and for each byte on stdin the state of the grant. */
int fault_worker(int argc, char **argv)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m;
    zkl_grant *g;
    char byte;

    o.session_timeout_ms = FAULT_SHORT_MS;
    o.log = log_nothing;
    if (argc != 2 || zkl_session_open(&s, argv[0], &o, NULL) || zkl_mutex_new(&m, s, argv[1], NULL))
        return 1;
    if (zkl_mutex_lock(m, FAULT_LIMIT_MS, &g))
        return 1;
    say("token", zkl_grant_token(g));
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        zkl_state state = zkl_grant_state(g);
        say("state", (uint64_t)state);
    }
    say("unlock", (uint64_t)-zkl_mutex_unlock(m));
    zkl_mutex_free(m);
    zkl_session_close(s);
    return 0;
}

struct worker {
    pid_t pid;
    int in;
    FILE *out;
};

static void worker_start(struct worker *w)
{
    int in[2], out[2];
    char log[32];

    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    snprintf(log, sizeof log, "/proc/self/fd/%d", out[1]);
    const char *const argv[] = {"/proc/self/exe", "--fault-worker", zk_server_connect(fault.server),
                                fault.path, NULL};
    const struct process_options o = {.argv = argv, .log = log, .input = in[0]};
    w->pid = process_spawn(&o);
    REQUIRE(w->pid > 0);
    close(in[0]);
    close(out[1]);
    w->in = in[1];
    w->out = fdopen(out[0], "r");
}

static uint64_t worker_told(struct worker *w, const char *what)
{
    char line[REPORT], word[REPORT];
    uint64_t number = 0;

    REQUIRE(fgets(line, sizeof line, w->out) != NULL);
    REQUIRE(sscanf(line, "%127s %" G_GUINT64_FORMAT, word, &number) == 2);
    CHECK_STR(word, what);
    return number;
}

static void worker_look(struct worker *w)
{
    CHECK_INT(write(w->in, "?", 1), 1);
}

static void stopped_holder(void)
{
    struct attempt mine;
    struct worker w;

    fault_begin();
    worker_start(&w);
    uint64_t token = worker_told(&w, "token");
    attempt_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    worker_look(&w);
    CHECK_INT(worker_told(&w, "state"), ZKL_HELD);
    process_pause(w.pid);
    REQUIRE(attempt_granted(&mine));
    CHECK(zkl_grant_token(mine.grant) > token);
    worker_look(&w); /* the first thing that it does when it wakes */
    process_resume(w.pid);
    CHECK_INT(worker_told(&w, "state"), ZKL_LOST);
    close(w.in);
    CHECK_INT(worker_told(&w, "unlock"), -ZKL_ELOST);
    fclose(w.out);
    process_end(w.pid, 0, FAULT_LIMIT_MS);
    CHECK_INT(zkl_grant_state(mine.grant), ZKL_HELD);
    attempt_end(&mine);
    fault_end();
}

/* A stop shorter than the timeout: nothing is lost, and nobody else gets in. */
static void holder_stopped_shortly(void)
{
    struct attempt mine;
    struct worker w;

    fault_begin();
    worker_start(&w);
    worker_told(&w, "token");
    attempt_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    process_pause(w.pid);
    process_resume(w.pid);
    worker_look(&w);
    CHECK(worker_told(&w, "state") != ZKL_LOST);
    CHECK_INT(atomic_load(&mine.done), 0);
    close(w.in);
    CHECK_INT(worker_told(&w, "unlock"), 0);
    CHECK(attempt_granted(&mine));
    fclose(w.out);
    process_end(w.pid, 0, FAULT_LIMIT_MS);
    attempt_end(&mine);
    fault_end();
}

/* Its sockets are reset by the kernel, but the session stands until it times out. */
static void holder_killed(void)
{
    struct attempt mine;
    struct worker w;

    fault_begin();
    worker_start(&w);
    uint64_t token = worker_told(&w, "token");
    attempt_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    process_end(w.pid, SIGKILL, 0);
    close(w.in);
    fclose(w.out);
    REQUIRE(attempt_granted(&mine));
    CHECK(zkl_grant_token(mine.grant) > token);
    attempt_end(&mine);
    fault_end();
}

static const struct test_case cases[] = {
    {"stopped_holder", stopped_holder},
    {"holder_stopped_shortly", holder_stopped_shortly},
    {"holder_killed", holder_killed},
    {NULL, NULL},
};

const struct test_suite fault_worker_suite = {"fault_worker", fault_start, fault_stop, cases};
