/* Each call that can fail, failed in turn: a launcher plays one scenario with one fault, here for
 * every n until the scenario makes no n-th call; `--play NAME CALL N ERROR` plays one. */
#include <errno.h>
#include <glib.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "client.h"
#include "play.h"
#include "progress.h"
#include "runner.h"

/* ---- launchers ---- */

/* Processes that have done nothing yet, each of which forks one play after the other: to start the
 * program anew for each takes a sanitizer's build many times as long. */
enum { LAUNCHERS = 12 };

struct result {
    int status; /* as of waitpid() */
    char *text; /* stdout and stderr; the caller's */
};

static struct launcher {
    int socket;
    int text; /* a file in memory that becomes stdout and stderr of each play */
} launchers[LAUNCHERS];

struct order {
    char name[32];
    enum call call;
    unsigned nth;
    int error;
};

static int run_order(const struct order *order, int text)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(text, STDOUT_FILENO);
        dup2(text, STDERR_FILENO);
        exit(play_run(order->name, order->call, order->nth, order->error));
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

static _Noreturn void launch(int orders, int text)
{
    struct order order;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (recv(orders, &order, sizeof(order), 0) == sizeof(order)) {
        int status = -1;
        if (ftruncate(text, 0) == 0 && lseek(text, 0, SEEK_SET) == 0)
            status = run_order(&order, text);
        if (send(orders, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
            break;
    }
    _exit(0);
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* First of all in main(): what it forks must have no threads and nothing prepared. */
static void launchers_start(void)
{
    for (struct launcher *l = launchers; l < launchers + LAUNCHERS; l++) {
        int ends[2];

        l->text = memfd_create("text", MFD_CLOEXEC);
        if (l->text < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            fail("a descriptor");
        l->socket = ends[0];
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0)
            launch(ends[1], l->text);
        close(ends[1]);
    }
}

static char *read_text(int file)
{
    off_t length = lseek(file, 0, SEEK_END);
    char *text = g_malloc0((gsize)length + 1);

    CHECK(pread(file, text, (size_t)length, 0) == length);
    return text;
}

/* Plays it in a new process of that launcher; one thread at a time for each. */
static struct result launcher_play(int launcher, const char *name, enum call call, unsigned nth,
                                   int error)
{
    const struct launcher *l = &launchers[launcher];
    struct order order = {.call = call, .nth = nth, .error = error};
    struct result r = {.status = -1};

    g_strlcpy(order.name, name, sizeof(order.name));
    if (!CHECK(send(l->socket, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order)) ||
        !CHECK(recv(l->socket, &r.status, sizeof(r.status), 0) == sizeof(r.status)))
        r.status = -1;
    r.text = read_text(l->text);
    return r;
}

/* ---- the table ---- */

TEST_SUITE(table);

enum { NTH_MAX = 2000 };

/* What may happen to a call. death: the library ends the process with these words, since it cannot
 * keep its promises. */
static const struct fault {
    enum call call;
    int error;
    const char *death;
    bool may_live; /* or it copes */
} faults[] = {
    {CALL_pthread_create, EAGAIN, NULL, false},
    {CALL_pthread_key_create, EAGAIN, NULL, false},
    {CALL_pthread_setspecific, ENOMEM, "cannot set a thread-specific value", false},
    {CALL_pthread_setname_np, ENOENT, NULL, false},
    {CALL_pthread_atfork, ENOMEM, "cannot register the handlers of fork", false},
    {CALL_sem_wait, EINTR, NULL, false},
    {CALL_eventfd, EMFILE, NULL, false},
    {CALL_eventfd_read, EAGAIN, NULL, false},
    {CALL_eventfd_write, EAGAIN, NULL, false},
    {CALL_timerfd_create, EMFILE, NULL, false},
    {CALL_timerfd_settime, EPERM, "setting a timerfd", false},
    {CALL_read, EINTR, NULL, false},
    {CALL_read, EAGAIN, NULL, false},
    {CALL_read, EIO, "reading a timerfd", false},
    {CALL_write, EINTR, NULL, false},
    {CALL_write, EAGAIN, NULL, false},
    {CALL_write, EPIPE, NULL, false},
    {CALL_close, EINTR, NULL, false},
    {CALL_gethostname, ENAMETOOLONG, NULL, false},
    {CALL_getaddrinfo, EAI_AGAIN, NULL, false},
    {CALL_socket, EMFILE, NULL, false},
    {CALL_connect, ENETUNREACH, NULL, false},
    {CALL_poll, EINTR, NULL, false},
    {CALL_poll, ENOMEM, NULL, false},
    {CALL_send, EPIPE, NULL, false},
    {CALL_recv, ECONNRESET, NULL, false},
    {CALL_zookeeper_init2, ENOMEM, NULL, false},
    {CALL_zookeeper_init2, ENOENT, NULL, false},
    {CALL_zoo_add_auth, ZINVALIDSTATE, NULL, false},
    {CALL_zoo_add_auth, ZSYSTEMERROR, NULL, false},
    {CALL_zoo_acreate2, ZINVALIDSTATE, NULL, false},
    {CALL_zoo_acreate2, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_acreate2, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_adelete, ZSYSTEMERROR, NULL, false},
    {CALL_zoo_adelete, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_aget, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_aget, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_awget, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_awget, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_aget_children2, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_aget_children2, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_async, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_async, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_aset, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_aset, ZBADARGUMENTS, NULL, false},
    {CALL_zoo_aremove_all_watches, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_aremove_all_watches, ZNOWATCHER, NULL, false},
    {CALL_zoo_amulti, ZMARSHALLINGERROR, NULL, false},
    {CALL_zoo_amulti, ZBADARGUMENTS, NULL, false},
    {CALL_answer, ZCONNECTIONLOSS, NULL, false},
    {CALL_answer, ANSWER_DONE + ZCONNECTIONLOSS, NULL, false},
    {CALL_answer, ZSESSIONEXPIRED, NULL, false},
    {CALL_answer, ZNOAUTH, NULL, false},
    {CALL_answer, ZAPIERROR, NULL, false},
    {CALL_answer, ZOPERATIONTIMEOUT, NULL, false},
};

/* A line for stderr that is to be tried again is not there. usual: what was said when nothing
 * failed. */
static bool misses_line(const struct fault *f, const char *usual, const char *text)
{
    static const char line[] = "zkl: /l: released, because the thread that held it ended\n";

    return f->call == CALL_write && (f->error == EINTR || f->error == EAGAIN) &&
           strstr(usual, line) && !strstr(text, line);
}

static bool is_as_it_should_be(const struct fault *f, const char *usual, const struct result *r,
                               bool *ret_reached)
{
    if (WIFEXITED(r->status)) {
        *ret_reached = strstr(r->text, "\nreached\n") || g_str_has_prefix(r->text, "reached\n");
        return WEXITSTATUS(r->status) == 0 && !(*ret_reached && f->death && !f->may_live) &&
               !misses_line(f, usual, r->text);
    }
    *ret_reached = true;
    return f->death && (WTERMSIG(r->status) == SIGTRAP || WTERMSIG(r->status) == SIGABRT) &&
           strstr(r->text, f->death);
}

/* What the workers share: the faults of one scenario. */
struct round {
    const char *name;
    const char *usual; /* what it says when nothing fails, with how often it makes each call */
    gint next;
    gint workers; /* each has a launcher of its own */
};

static unsigned count_of(const char *counts, enum call call)
{
    char **lines = g_strsplit(counts, "\n", -1);
    unsigned count = 0;

    for (char **l = lines; *l; l++) {
        size_t length = strlen(fault_names[call]);
        if (strncmp(*l, fault_names[call], length) == 0 && (*l)[length] == ' ')
            count = (unsigned)atoi(*l + length);
    }
    g_strfreev(lines);
    return count;
}

/* False: the scenario made no nth such call. */
static bool run_nth(int launcher, const struct round *round, const struct fault *f, unsigned nth)
{
    bool reached = false;
    struct result r = launcher_play(launcher, round->name, f->call, nth, f->error);

    if (!is_as_it_should_be(f, round->usual, &r, &reached))
        runner_fail(__FILE__, __LINE__, "%s with %s no. %u failing (%d): status 0x%x\n%s",
                    round->name, fault_names[f->call], nth, f->error, (unsigned)r.status, r.text);
    g_free(r.text);
    progress_step();
    return reached;
}

/* Each call that the scenario makes when nothing fails: until the n-th fails it goes on as then. */
static void *run_faults(void *data)
{
    struct round *round = data;
    int launcher = g_atomic_int_add(&round->workers, 1);

    for (size_t i; (i = (size_t)g_atomic_int_add(&round->next, 1)) < G_N_ELEMENTS(faults);) {
        unsigned count = MIN(count_of(round->usual, faults[i].call), NTH_MAX);
        for (unsigned nth = 1; nth <= count; nth++)
            run_nth(launcher, round, &faults[i], nth);
    }
    return NULL;
}

static void *run_memory(void *data)
{
    static const struct fault refused = {CALL_malloc, ENOMEM, "failed to allocate", true};
    struct round *round = data;
    int launcher = g_atomic_int_add(&round->workers, 1);

    for (unsigned nth; (nth = (unsigned)g_atomic_int_add(&round->next, 1) + 1) <= NTH_MAX;) {
        if (!run_nth(launcher, round, &refused, nth))
            break;
    }
    return NULL;
}

/* The scenario that the running test is named after, by that many threads. */
static void run_play(void *(*work)(void *round))
{
    const char *name = strchr(runner_current(), '.') + 1;
    struct result r = launcher_play(0, name, 0, 0, 0);
    struct round round = {.name = name, .usual = r.text};
    pthread_t threads[LAUNCHERS];

    if (!CHECK_INT(r.status, 0))
        puts(r.text);
    for (int i = 0; i < LAUNCHERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, &round) == 0);
    for (int i = 0; i < LAUNCHERS; i++)
        pthread_join(threads[i], NULL);
    g_free(r.text);
}

static void fail_calls(void)
{
    run_play(run_faults);
}

static void fail_memory(void)
{
    if (MEMORY_FAILS)
        run_play(run_memory);
    else
        runner_skip("the allocator is the sanitizer's");
}

/* A fault that no scenario comes to would test nothing. */
TEST_CASE(every_call_is_made)
{
    const struct play *const all[] = {plays_fake, plays_client};
    unsigned made[CALLS] = {0};

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        for (const struct play *p = all[i]; p->name; p++) {
            struct result r = launcher_play(0, p->name, 0, 0, 0);
            for (enum call call = 0; call < CALLS; call++)
                made[call] += count_of(r.text, call);
            g_free(r.text);
        }
    }
    for (enum call call = 0; call < CALLS; call++) {
        if (made[call] == 0 && (call != CALL_malloc || MEMORY_FAILS))
            runner_fail(__FILE__, __LINE__, "no scenario calls %s", fault_names[call]);
    }
}

static void add_cases(struct test_suite *suite, const struct play *plays)
{
    static struct test_case cases[32];
    static size_t count;

    for (; plays->name; plays++) {
        cases[count] = (struct test_case){.name = plays->name, .fn = fail_calls};
        runner_add(suite, &cases[count++]);
    }
}

static void add_memory_cases(void)
{
    static const char *const names[] = {"dispatch", "lock_async", "owner_ends", "watch",
                                        "lock_unlock"};
    static struct test_suite memory = {.name = "memory"};
    static struct test_case cases[G_N_ELEMENTS(names)];

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        cases[i] = (struct test_case){.name = names[i], .fn = fail_memory};
        runner_add(&memory, &cases[i]);
    }
}

int main(int argc, char **argv)
{
    static struct test_suite fake = {.name = "fake"}, client = {.name = "client"};

    if (argc == 6 && strcmp(argv[1], "--play") == 0)
        return play_main(argv + 2);
    launchers_start();
    add_cases(&fake, plays_fake);
    add_cases(&client, plays_client);
    add_memory_cases();
    return runner_main(argc, argv);
}
