/* Nobody reads stderr. A thread that has a line for it goes on, and the number of dropped lines is
 * told. */
#include "lib/base/log.h"

#include "lib/base/fork.h"
#include "runner.h"

#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(log_stderr);

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

TEST_CASE(in_order)
{
    struct pipe_end p = pipe_begin();
    GString *expected = g_string_new(NULL);

    push(0, 100);
    log_stderr_flush();
    for (int i = 0; i < 100; i++)
        g_string_append_printf(expected, "zkl: line %d\n", i);
    char *text = pipe_end(&p);
    CHECK_STR(text, expected->str);
    g_free(text);
    g_string_free(expected, TRUE);
}

/* Every line is there or counted, at the place where it would be. */
static void check_lines(char **lines, int last)
{
    int next = 0, dropped = 0, number, gaps = 0;

    for (char **l = lines; **l; l++) {
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

TEST_CASE(stuck)
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
    char **lines = g_strsplit(text, "\n", -1);
    check_lines(lines, 2 * LINES + 1);
    g_strfreev(lines);
    g_free(text);
    g_free(rest);
    g_free(head);
}

/* What stderr refuses is told when it takes something again. */
TEST_CASE(refused)
{
    struct pipe_end p = pipe_begin();
    int pipe_writer = dup(STDERR_FILENO), nothing[2];

    REQUIRE(pipe2(nothing, O_CLOEXEC) == 0);
    close(nothing[0]);
    dup2(nothing[1], STDERR_FILENO); /* nobody can ever read it */
    close(nothing[1]);
    push(0, 3);
    log_stderr_flush();
    dup2(pipe_writer, STDERR_FILENO);
    close(pipe_writer);
    push(3, 4);
    log_stderr_flush();
    char *text = pipe_end(&p);
    CHECK_STR(text, "zkl: 3 lines were dropped: stderr did not accept them\nzkl: line 3\n");
    g_free(text);
}

/* There with a sanitizer that reports leaks when a child exits, whichever compiler linked it. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* A child has no writer, and writes nothing of its parent's, though that stands in a write. */
TEST_CASE(forked)
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
TEST_CASE(at_exit)
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
