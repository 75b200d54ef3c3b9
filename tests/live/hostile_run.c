#include "fourletter.h"
#include "hostile.h"
#include "process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(const struct hostile_run *run, const char *log)
{
    char self[4096] = "", task[12], timeout[12];

    REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    g_snprintf(task, sizeof task, "%d", run->task);
    g_snprintf(timeout, sizeof timeout, "%d", run->timeout_ms);
    const char *const argv[] = {self,
                                "--worker",
                                proxy_connect(fault.proxy),
                                zk_server_connect(fault.server),
                                fault.path,
                                task,
                                timeout,
                                NULL};
    const struct process_options o = {.argv = argv, .log = log, .input = -1};
    const pid_t pid = process_spawn(&o);
    REQUIRE(pid > 0);
    return pid;
}

static int64_t microseconds(const struct timeval *t)
{
    return t->tv_sec * G_USEC_PER_SEC + t->tv_usec;
}

static void end(struct hostile_run *run, pid_t pid)
{
    struct rusage used;
    int status = 0;

    EVENTUALLY(process_gone(pid)); /* it does not hang */
    kill(pid, SIGKILL);
    REQUIRE(wait4(pid, &status, 0, &used) == pid);
    run->result = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    run->memory = used.ru_maxrss * INT64_C(1024);
    run->processor = microseconds(&used.ru_utime) + microseconds(&used.ru_stime);
}

void hostile_run_clear(struct hostile_run *run)
{
    g_free(run->said);
    g_free(run->line);
}

/* Watches, too: otherwise the rival may be gone before it looks. */
static bool waits(zkl_session *rival)
{
    struct fourletter_watches w;

    return fault_children() == 2 && fourletter_wchs(fault.port, &w) &&
           w.watches > fourletter_watches_of(fault.port, zkl_session_id(rival));
}

void hostile_run(struct hostile_run *run)
{
    struct acquisition rival;
    char *log;

    fault_begin();
    const int fd = g_file_open_tmp("zkl-hostile-XXXXXX", &log, NULL);
    REQUIRE(fd >= 0);
    close(fd);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *direct = fault_mutex(s);
    acquisition_queue(&rival, direct, 1);
    run->line = g_strdup_printf(HOSTILE_LINE, (size_t)1, zkl_grant_token(rival.grant));
    proxy_mangle(fault.proxy, run->mangle, run->data);
    if (run->plain) {
        proxy_refuse(fault.proxy, PROXY_OP_CREATE_CONTAINER);
        proxy_refuse(fault.proxy, PROXY_OP_CREATE2);
    }
    const pid_t pid = start(run, log);
    EVENTUALLY(waits(s) || process_gone(pid));
    acquisition_end(&rival);
    end(run, pid);
    run->creates = proxy_requests(fault.proxy, PROXY_OP_CREATE);
    CHECK(run->result != WORKER_HELD_NOTHING && run->result != WORKER_MISUSED);
    g_file_get_contents(log, &run->said, NULL, NULL);
    unlink(log);
    g_free(log);
    fault_at_rest();
    acquisition_queue(&rival, direct, 1);
    acquisition_end(&rival);
    fault_end();
}
