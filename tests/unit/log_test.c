/* What is logged: each line with its event, session and path, and never many of one event. */
#include "lib/base/log.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by_hand.h"
#include "lib/base/fork.h"
#include "runner.h"

TEST_SUITE(log);

static zkl_session *s;
static GPtrArray *lines; /* "LEVEL EVENT SESSION PATH SUPPRESSED TEXT" */

static void on_log(const zkl_log_record *r, void *data)
{
    (void)data;
    CHECK_INT(r->size, sizeof *r);
    g_ptr_array_add(lines, g_strdup_printf("%d %s %d %s %d %s", (int)r->level, r->event,
                                           (int)r->session_id, r->path ? r->path : "-",
                                           (int)r->suppressed, r->text));
}

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.log = on_log;
    options.log_level = ZKL_LOG_DEBUG;
    lines = g_ptr_array_new_with_free_func(g_free);
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void stop(void)
{
    hand_close(s);
    g_ptr_array_unref(lines);
}

/* The next of those that were logged; they are all taken. */
static void check_next(guint i, const char *wanted)
{
    zkl_session_dispatch(s);
    REQUIRE(i < lines->len);
    CHECK_STR(lines->pdata[i], wanted);
}

static void check_count(guint wanted)
{
    zkl_session_dispatch(s);
    CHECK_INT(lines->len, wanted);
    g_ptr_array_set_size(lines, 0);
}

/* A loss behind the end of the session is still a matter of that session. */
TEST_CASE(lines_have_all)
{
    struct acquisition a;

    start();
    hand_hold(&a, s);
    check_next(0, "3 session 7 - 0 session 0x7, timeout 10000 ms");
    check_count(1);
    fake_event(STORE_EV_EXPIRED);
    char *lost = g_strdup_printf("2 lost 7 %s 0 %s: lost: %s", zkl_grant_node(a.grant), a.node,
                                 zkl_strloss(ZKL_LOSS_EXPIRED));
    check_next(0, "2 expired 7 - 0 session 0x7 expired");
    check_next(1, lost);
    check_count(2);
    hand_pass(s, 1000);
    check_next(0, "2 no-connection 0 - 0 no connection for 1 s: fake:1: no server answers");
    check_count(1);
    g_free(lost);
    hand_leave(&a);
    stop();
}

static void log_some(int count, const char *event)
{
    for (int i = 1; i <= count; i++)
        log_line(s->log, ZKL_LOG_WARN, event, "/p", "no. %d", i);
}

TEST_CASE(many_lines_are_counted)
{
    start();
    check_count(1);
    log_some(25, "x");
    log_some(2, "y");
    check_next(8, "2 x 7 /p 0 no. 9");
    check_next(9, "2 x 7 /p 0 no. 10 (more such lines are only counted, for 60 s)");
    check_next(10, "2 y 7 /p 0 no. 1");
    check_count(12);
    hand_pass(s, 59999);
    log_some(1, "x");
    check_count(0);
    hand_pass(s, 1);
    log_some(1, "y");
    check_next(0, "2 x 7 - 16 16 more lines of the event x left out");
    check_next(1, "2 y 7 /p 0 no. 1");
    check_count(2);
    log_some(11, "x");
    check_next(9, "2 x 7 /p 0 no. 10 (more such lines are only counted, for 120 s)");
    check_count(10);
    hand_pass(s, 120000);
    log_some(1, "x");
    check_next(0, "2 x 7 - 1 1 more line of the event x left out");
    check_count(2);
    hand_pass(s, 240000);
    log_some(11, "x"); /* nothing was left out meanwhile, and it is as at the beginning */
    check_next(9, "2 x 7 /p 0 no. 10 (more such lines are only counted, for 60 s)");
    check_count(10);
    stop();
}

TEST_CASE(the_end_tells_how_many)
{
    start();
    log_some(12, "x");
    check_count(11);
    hand_close(s);
    REQUIRE(lines->len == 1);
    CHECK_STR(lines->pdata[0], "2 x 7 - 2 2 more lines of the event x left out");
    g_ptr_array_unref(lines);
}

/* As libzookeeper says it, thirty times a second. */
static void attempt(void)
{
    static const char text[] = "2026-01-01 00:00:00,000:1(0x1):ZOO_ERROR@check_events@1: Socket "
                               "127.0.0.1:1 zk retcode=-4, errno=111(Connection refused)\n";

    log_library(s->log, ZKL_LOG_DEBUG, LIBRARY_FAILED, text);
}

static guint count_of(const char *event)
{
    guint count = 0;

    for (guint i = 0; i < lines->len; i++)
        count += strstr(lines->pdata[i], event) != NULL;
    return count;
}

/* 30 attempts a second, for an hour. */
TEST_CASE(an_hour_is_a_handful)
{
    start();
    fake_event(STORE_EV_DOWN);
    for (int i = 0; i < 3600 * 2; i++) {
        for (int n = 0; n < 15; n++)
            attempt();
        hand_pass(s, 500);
        zkl_session_dispatch(s);
    }
    CHECK_INT(count_of(" no-connection "), 6);
    CHECK(count_of(" libzookeeper-connect ") > 10 && count_of(" libzookeeper-connect ") <= 66);
    CHECK(count_of("no connection for 61 s, 1830 attempts: fake:1: no server answers") == 1);
    check_count(7 + count_of(" libzookeeper-connect "));
    fake_event(STORE_EV_UP);
    check_next(0, "2 connected-again 7 - 0 fake:1: connected again after 3600 s, 108000 attempts");
    check_count(1);
    stop();
}

TEST_CASE(a_line_of_the_library)
{
    start();
    log_library(s->log, ZKL_LOG_ERROR, LIBRARY_LINE, "ours \n");
    check_next(1, "1 libzookeeper 7 - 0 ours");
    check_count(2);
    stop();
}

/* ---- nobody reads stderr: who has a line goes on, and the number of dropped ones is told ---- */

enum { LINES = 5000 };

/* In the place of stderr: a pipe. */
struct pipe_end {
    int reader, usual;
};

static struct pipe_end pipe_begin(void)
{
    int ends[2];
    struct pipe_end p = {-1, dup(STDERR_FILENO)};

    REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && p.usual >= 0);
    log_stderr_flush();
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    p.reader = ends[0];
    return p;
}

/* What is there, up to the end of the last writer's or to that last line, for g_free(). */
static char *pipe_read(int fd, const char *last)
{
    GString *text = g_string_new(NULL);
    char some[4096];
    ssize_t size;

    while (!(last && g_str_has_suffix(text->str, last)) && (size = read(fd, some, sizeof some)) > 0)
        g_string_append_len(text, some, size);
    return g_string_free(text, FALSE);
}

/* With the rest of what is read. */
static char *pipe_end(struct pipe_end *p)
{
    dup2(p->usual, STDERR_FILENO);
    close(p->usual);
    char *text = pipe_read(p->reader, NULL);
    close(p->reader);
    return text;
}

/* Until it takes nothing more; how much it took. */
static size_t fill(void)
{
    static const char some[4096];
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    size_t all = 0;

    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    for (ssize_t size; (size = write(STDERR_FILENO, some, sizeof some)) > 0;)
        all += (size_t)size;
    fcntl(STDERR_FILENO, F_SETFL, flags);
    return all;
}

static void drain(int fd, size_t size)
{
    char some[4096];

    for (ssize_t got; size > 0; size -= (size_t)got)
        REQUIRE((got = read(fd, some, MIN(size, sizeof some))) > 0);
}

static void push(int from, int to)
{
    char text[32];

    for (int i = from; i < to; i++) {
        snprintf(text, sizeof text, "line %d", i);
        log_stderr(text);
    }
}

/* The writer ends the wait for it. */
TEST_CASE(stderr_in_order)
{
    const int before = log_stderr_flush_ms;
    struct pipe_end p = pipe_begin();
    GString *expected = g_string_new(NULL);

    log_stderr_flush_ms = 3600000;
    push(0, 100);
    log_stderr_flush();
    log_stderr_flush_ms = before;
    for (int i = 0; i < 100; i++)
        g_string_append_printf(expected, "zkl: line %d\n", i);
    char *text = pipe_end(&p);
    CHECK_STR(text, expected->str);
    g_free(text);
    g_string_free(expected, TRUE);
}

/* Every line is there or counted, at the place where it would be. */
static void check_lines(char **all, int last)
{
    int next = 0, dropped = 0, number, gaps = 0;

    for (char **l = all; **l; l++) {
        if (sscanf(*l, "zkl: line %d", &number) == 1) {
            CHECK_INT(number, next);
            next = number + 1;
        } else if (CHECK(sscanf(*l, "zkl: %d lines were dropped", &dropped) == 1)) {
            next += dropped;
            gaps++;
        }
    }
    CHECK_INT(next, last);
    CHECK(gaps > 0);
}

TEST_CASE(stderr_is_stuck)
{
    struct pipe_end p = pipe_begin();
    size_t room = fill();

    push(0, LINES);
    log_stderr_flush(); /* which is not for ever */
    push(LINES, 2 * LINES);
    drain(p.reader, room);
    char *head = pipe_read(p.reader, "dropped: stderr did not accept them\n");
    push(2 * LINES, 2 * LINES + 1);
    log_stderr_flush();
    char *rest = pipe_end(&p), *text = g_strconcat(head, rest, NULL);
    char **all = g_strsplit(text, "\n", -1);
    check_lines(all, 2 * LINES + 1);
    g_strfreev(all);
    g_free(text);
    g_free(rest);
    g_free(head);
}

static int pipe_without_reader(void)
{
    int nothing[2];

    REQUIRE(pipe2(nothing, O_CLOEXEC) == 0);
    close(nothing[0]);
    return nothing[1];
}

/* What the program would send there is not ours to disturb. */
static int own_connection(void)
{
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof self;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    REQUIRE(bind(fd, (struct sockaddr *)&self, size) == 0 &&
            getsockname(fd, (struct sockaddr *)&self, &size) == 0 &&
            connect(fd, (struct sockaddr *)&self, size) == 0);
    return fd;
}

/* What stderr refuses is told when it takes something again. */
TEST_CASE(stderr_refuses)
{
    static int (*const others[])(void) = {pipe_without_reader, own_connection};

    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        struct pipe_end p = pipe_begin();
        int pipe_writer = dup(STDERR_FILENO), other = others[i]();
        char any;

        dup2(other, STDERR_FILENO);
        push(0, 3);
        log_stderr_flush();
        CHECK(recv(other, &any, 1, MSG_DONTWAIT) < 0);
        close(other);
        dup2(pipe_writer, STDERR_FILENO);
        close(pipe_writer);
        push(3, 4);
        log_stderr_flush();
        char *text = pipe_end(&p);
        CHECK_STR(text, "zkl: 3 lines were dropped: stderr did not accept them\nzkl: line 3\n");
        g_free(text);
    }
}

/* There with a sanitizer that reports leaks when a child exits, whichever compiler linked it. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* A child has no writer, and writes nothing of its parent's, though that stands in a write. */
TEST_CASE(stderr_of_a_child)
{
    if (!runner_starts_threads_in_children())
        return;
    struct pipe_end p = pipe_begin();
    size_t room = fill();
    int status = -1, child_reads[2];

    fork_watch();
    push(0, LINES);
    REQUIRE(pipe2(child_reads, O_CLOEXEC) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        dup2(child_reads[1], STDERR_FILENO);
        log_stderr("of the child");
        log_stderr_flush();
        _exit(0);
    }
    close(child_reads[1]);
    char *text = pipe_read(child_reads[0], NULL);
    CHECK_STR(text, "zkl: of the child\n");
    g_free(text);
    close(child_reads[0]);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    drain(p.reader, room);
    g_free(pipe_read(p.reader, "dropped: stderr did not accept them\n"));
    log_stderr_flush();
    g_free(pipe_end(&p));
}

/* A process that ends right behind a line. */
TEST_CASE(stderr_at_exit)
{
    if (__lsan_do_recoverable_leak_check)
        runner_skip("a sanitizer speaks in children");
    if (__lsan_do_recoverable_leak_check || !runner_starts_threads_in_children())
        return;
    struct pipe_end p = pipe_begin();
    int status = -1;

    fflush(stdout); /* not twice */
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        log_stderr("the last words");
        exit(0);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    char *text = pipe_end(&p);
    CHECK_STR(text, "zkl: the last words\n");
    g_free(text);
}
