/* zkl remaining: for how long the lock is sure under which it runs; and a command that is run only
 * while that is long enough.
 *
 * The command takes the place of this process, with a timer that ends it. So one that is stopped
 * after the look, and continued too late, dies before its next instruction. A process that waited
 * for the command could not see to that: it may be continued last. */
#include "guard/deadline.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

struct remaining {
    int64_t least_ms;  /* what must be left, when the command has ended */
    int64_t within_ms; /* how long the command may take */
    char **argv;       /* the command; an empty one: there is none */
};

/* Has the kernel end this process after ms, whatever it executes by then. */
static bool end_this_within(int64_t ms)
{
    const struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)MIN(ms / 1000, INT32_MAX), /* time_t may have 32 bits */
                     .tv_usec = (suseconds_t)(ms % 1000 * 1000)}};
    sigset_t alarm_only;

    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    return signal(SIGALRM, SIG_DFL) != SIG_ERR &&
           sigprocmask(SIG_UNBLOCK, &alarm_only, NULL) == 0 &&
           setitimer(ITIMER_REAL, &timer, NULL) == 0;
}

/* Looks how much is left for the command that this process belongs to, and runs the command that is
 * given or writes the time. Returns the exit status. */
static int remaining_run(const struct remaining *r)
{
    const char *where = g_getenv(DEADLINE_VARIABLE);
    const char *token = g_getenv("ZKL_TOKEN"), *session = g_getenv("ZKL_SESSION");
    const bool runs = r->argv[0];

    if (!where)
        return fail(STATUS_USAGE,
                    "no lock to ask for: " DEADLINE_VARIABLE " is not set, so no zkl runs this");
    const struct deadline *d = deadline_open(where);
    if (!d)
        return fail(errno == EACCES || errno == EPERM ? STATUS_NOPERM : STATUS_LOST,
                    "%s: the deadline cannot be read: %s", where, g_strerror(errno));
    /* The timer is set before the look, so that it ends the command no later than that allows. */
    if (runs && !end_this_within(r->within_ms))
        return fail(STATUS_INTERNAL, "cannot set a timer: %s", g_strerror(errno));
    const int64_t left =
        deadline_left_of(d, token ? g_ascii_strtoull(token, NULL, 10) : 0,
                         session ? (int64_t)g_ascii_strtoull(session, NULL, 16) : 0);
    if (!runs)
        printf("%" PRId64 "\n", left);
    if (left == 0 || left - (runs ? r->within_ms : 0) < r->least_ms)
        return STATUS_LOST;
    if (!runs)
        return STATUS_OK;
    execvp(r->argv[0], r->argv);
    return fail(errno == ENOENT ? STATUS_NOTFOUND : STATUS_NOEXEC, "%s: %s", r->argv[0],
                g_strerror(errno));
}

int verb_remaining(struct settings *settings, int argc, char **argv)
{
    struct remaining r = {.within_ms = 1000};
    const GOptionEntry entries[] = {
        {"least", 0, 0, G_OPTION_ARG_INT64, &r.least_ms,
         "Fail unless SECS remain when COMMAND has ended (0)", "SECS"},
        {"within", 0, 0, G_OPTION_ARG_INT64, &r.within_ms, "How long COMMAND may take (1)", "SECS"},
        G_OPTION_ENTRY_NULL};
    const GOptionEntry *const tables[] = {entries, NULL};
    int status = options_parse(settings, tables, "remaining [OPTION...] [--] COMMAND [ARG...]",
                               "Under a lock, writes for how many milliseconds it is sure. With "
                               "COMMAND, a single process,\n"
                               "runs that instead, if the lock is sure until COMMAND has ended.",
                               &argc, &argv);

    if (status == GO_ON && r.within_ms == 0)
        status = fail(STATUS_USAGE, "--within: must be more than 0 seconds: 0");
    r.argv = argv + 1;
    return status == GO_ON ? remaining_run(&r) : status;
}
