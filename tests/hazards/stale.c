/* What no lock can prevent, and what does: the holder is stopped between its last look at the lock
 * and its write, or the write is on its way for too long. The lock is zkl in both halves; only the
 * token makes the difference. */
#include "hazard.h"

#include "process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program of examples/, built beside us. */
static char *fenced_store_program(void)
{
    char *exe = g_file_read_link("/proc/self/exe", NULL), *folder = g_path_get_dirname(exe);
    char *program = g_build_filename(folder, "..", "..", "examples", "fenced-store", NULL);

    g_free(folder);
    g_free(exe);
    return program;
}

int fenced_store(const char *store, const char *verb, uint64_t token, const char *value, char **out)
{
    char *program = fenced_store_program();
    char *number = token ? g_strdup_printf("%" PRIu64, token) : NULL;
    const char *argv[] = {program, store, verb, "report", number, value, NULL};
    int status = -1;

    if (g_spawn_sync(NULL, (char **)(uintptr_t)argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                     out, NULL, &status, NULL))
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    g_free(number);
    g_free(program);
    return status;
}

/* The next holder's write. */
static void write_next(enum worker_design design, const char *where, uint64_t token)
{
    if (design == WORKER_WRITES_PLAIN)
        CHECK(g_file_set_contents(where, "of the next holder", -1, NULL));
    else
        CHECK_INT(fenced_store(where, "put", token, "of the next holder", NULL), 0);
}

struct story {
    int64_t wrote;         /* the stale write's status: 0 accepted */
    int64_t first, second; /* tokens */
    char *left;            /* what is there in the end */
};

static void read_left(struct story *story, const char *where, bool fenced)
{
    if (fenced)
        CHECK_INT(fenced_store(where, "get", 0, NULL, &story->left), 0);
    else
        CHECK(g_file_get_contents(where, &story->left, NULL, NULL));
    g_strchomp(story->left);
}

/* ---- stale_write ---- */

static struct story stop_before_writing(enum worker_design design)
{
    struct story story = {.left = NULL};
    struct scratch scratch;
    struct acquisition b;
    struct worker w;

    fault_begin();
    REQUIRE(scratch_make(&scratch, "zkl-hazards"));
    char *file = g_build_filename(scratch.path, "report", NULL);
    const char *where = design == WORKER_WRITES_PLAIN ? file : scratch.path;
    worker_start(&w, design, zk_server_connect(fault.server), fault.path, where);
    worker_step(&w);
    story.first = worker_says(&w, "token");
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    worker_step(&w);
    CHECK_INT(worker_says(&w, "owner"), 1); /* it has looked, and holds */
    process_pause(w.pid);
    REQUIRE(acquisition_granted(&b));
    story.second = (int64_t)zkl_grant_token(b.grant);
    write_next(design, where, (uint64_t)story.second);
    worker_step(&w);
    process_resume(w.pid);
    story.wrote = worker_says(&w, "wrote");
    read_left(&story, where, design == WORKER_WRITES_FENCED);
    worker_finish(&w);
    acquisition_end(&b);
    fault_end();
    g_free(file);
    scratch_remove(&scratch);
    return story;
}

static void stale_write_usual(void)
{
    struct story s = stop_before_writing(WORKER_WRITES_PLAIN);

    CHECK_INT(s.wrote, 0);
    CHECK_STR(s.left, "of the paused holder");
    tell("a plain file under a zkl lock: the holder looked, held, and was stopped before it wrote; "
         "the next holder was granted the lock and wrote; the first one woke and wrote over it. "
         "What is left is the report \"%s\".",
         s.left);
    g_free(s.left);
}

static void stale_write_zkl(void)
{
    struct story s = stop_before_writing(WORKER_WRITES_FENCED);

    CHECK_INT(s.wrote, 1);
    CHECK(s.second > s.first);
    CHECK_STR(s.left, "of the next holder");
    tell("the same, with the token in each write and a store that refuses lower ones "
         "(examples/fenced_store.c): the late write came with token %" PRId64
         " after one with %" PRId64 " and was refused. What is left is the report \"%s\".",
         s.first, s.second, s.left);
    g_free(s.left);
}

/* ---- late_write ---- */

/* A write on its way: it has been sent, and arrives when its standard input says so. */
static pid_t send_write(bool fenced, const char *store, uint64_t token, int input)
{
    static const char
        plain[] = "read -r go; printf 'of the earlier holder' >\"$1/report\"",
        through_store[] =
            "read -r go; exec \"$2\" \"$1\" put report \"$3\" 'of the earlier holder'";
    char *program = fenced_store_program(), *number = g_strdup_printf("%" PRIu64, token);
    const char *const argv[] = {
        "/bin/sh", "-c", fenced ? through_store : plain, "sh", store, program, number, NULL};
    const struct process_options o = {.argv = argv, .input = input};
    pid_t pid = process_spawn(&o);

    REQUIRE(pid > 0);
    g_free(number);
    g_free(program);
    return pid;
}

static int deliver_write(pid_t pid, int way)
{
    int status = -1;

    CHECK_INT(write(way, "\n", 1), 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct story arrive_late(enum worker_design design)
{
    struct story story = {.left = NULL};
    struct scratch scratch;
    struct acquisition a, b;
    int way[2];

    fault_begin();
    REQUIRE(scratch_make(&scratch, "zkl-hazards"));
    REQUIRE(pipe2(way, O_CLOEXEC) == 0);
    char *file = g_build_filename(scratch.path, "report", NULL);
    bool fenced = design == WORKER_WRITES_FENCED;
    zkl_session *s = fault_direct(FAULT_LONG_MS), *t = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&b, fault_mutex(t), 2);
    story.first = (int64_t)zkl_grant_token(a.grant);
    CHECK(zkl_grant_remaining_ms(a.grant) > 0);
    pid_t courier = send_write(fenced, scratch.path, zkl_grant_token(a.grant), way[0]);
    acquisition_end(&a); /* in order: it has sent all that it had to send */
    REQUIRE(acquisition_granted(&b));
    story.second = (int64_t)zkl_grant_token(b.grant);
    write_next(design, fenced ? scratch.path : file, zkl_grant_token(b.grant));
    story.wrote = deliver_write(courier, way[1]);
    read_left(&story, fenced ? scratch.path : file, fenced);
    close(way[0]);
    close(way[1]);
    acquisition_end(&b);
    fault_end();
    g_free(file);
    scratch_remove(&scratch);
    return story;
}

static void late_write_usual(void)
{
    struct story s = arrive_late(WORKER_WRITES_PLAIN);

    CHECK_INT(s.wrote, 0);
    CHECK_STR(s.left, "of the earlier holder");
    tell("a plain file under a zkl lock: A sent its write while it held and released in order; B "
         "was granted the lock and wrote; then A's write arrived. What is left is the report "
         "\"%s\".",
         s.left);
    g_free(s.left);
}

static void late_write_zkl(void)
{
    struct story s = arrive_late(WORKER_WRITES_FENCED);

    CHECK_INT(s.wrote, 1);
    CHECK(s.second > s.first);
    CHECK_STR(s.left, "of the next holder");
    tell("the same with tokens: A's write arrived with %" PRId64 " after B's with %" PRId64
         " and was refused. What is left is the report \"%s\".",
         s.first, s.second, s.left);
    g_free(s.left);
}

const struct hazard hazards_stale[] = {
    {"stale_write", "a write comes after the loss", stale_write_usual, stale_write_zkl,
     "cli/fenced.sh cli/fences.sh mutex.tokens_rise attempt_hold.tokens_are_those_of_the_node"},
    {"late_write", "a write is sent in time and arrives late", late_write_usual, late_write_zkl,
     "cli/fenced.sh mutex.tokens_rise"},
    {.name = NULL},
};
