/* Members of a command's tree, out of tables of processes. */
#include "runner.h"
#include "tools/guard/processes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(tree);

#define GUARD 10
#define LEADER 20
#define SESSION 5
#define ROOM 16

/* "1 3:7+9t": who is a member, how deep behind ":", "t" for a zkl. */
static void tell(const struct tree *tree, struct process *list, size_t count, char *text)
{
    struct member members[ROOM];
    size_t found;

    tree_sort(list, count);
    found = tree_members(tree, (struct process_table){list, count}, members);
    *text = '\0';
    for (size_t i = 0; i < found; i++)
        sprintf(text + strlen(text), "%s%d:%d%s", i == 0 ? "" : " ", (int)members[i].process->pid,
                members[i].nesting, members[i].tool ? "t" : "");
}

#define EXPECT_MEMBERS(tree, text, ...)                                                            \
    do {                                                                                           \
        struct process list_[] = {__VA_ARGS__};                                                    \
        char found_[256];                                                                          \
        tell(tree, list_, sizeof list_ / sizeof *list_, found_);                                   \
        CHECK_STR(found_, text);                                                                   \
    } while (0)

#define PROCESS(pid_, parent_, group_, session_, start_, ...)                                      \
    {                                                                                              \
        .pid = (pid_), .parent = (parent_), .group = (group_), .session = (session_),              \
        .start = (start_), __VA_ARGS__                                                             \
    }

/* pid, parent, group; born in the order of their pids. */
#define P(pid_, parent_, group_, ...)                                                              \
    PROCESS(pid_, parent_, group_, SESSION, (uint64_t)(pid_), __VA_ARGS__)

static const struct tree of_guard = {.root = GUARD, .group = LEADER};

TEST_CASE(by_parenthood)
{
    EXPECT_MEMBERS(&of_guard, "20:0 21:0 30:0 31:0 40:0", P(1, 0, 1), P(GUARD, 1, GUARD),
                   P(LEADER, GUARD, LEADER), P(21, LEADER, LEADER), P(30, 21, 30), P(31, 30, 31),
                   P(40, GUARD, 40), P(50, 1, 50), P(51, 50, 50));
}

/* The leader's id is kept by a zombie; and what is above a process need not be seen. */
TEST_CASE(by_group)
{
    EXPECT_MEMBERS(&of_guard, "21:0 22:0", P(1, 0, 1), P(GUARD, 1, GUARD),
                   P(LEADER, GUARD, LEADER, .dead = true), P(21, 1, LEADER), P(22, 99, LEADER),
                   P(23, 99, 23));
}

TEST_CASE(no_group_known)
{
    static const struct tree tree = {.root = GUARD};

    EXPECT_MEMBERS(&tree, "20:0", P(GUARD, 1, GUARD), P(LEADER, GUARD, LEADER), P(21, 1, 0));
}

/* The tool stands in for a guard that is stopped: what is below either. */
TEST_CASE(a_helper_is_none)
{
    static const struct tree tree = {.root = 9, .helper = GUARD, .group = LEADER};

    EXPECT_MEMBERS(&tree, "20:0 30:0", P(9, 1, 9), P(GUARD, 9, GUARD, .guard = true),
                   P(LEADER, GUARD, LEADER), P(30, 9, 30));
}

TEST_CASE(strangers_are_none)
{
    struct process before[] = {P(30, GUARD, 30), P(40, GUARD, 40)};
    const struct tree tree = {.root = GUARD, .group = LEADER, .prior = {before, 2}};

    /* 40 is another one of that number. */
    EXPECT_MEMBERS(&tree, "20:0 40:0", P(LEADER, GUARD, LEADER), P(30, GUARD, 30), P(31, 30, 31),
                   PROCESS(40, GUARD, 40, SESSION, 41, ));
}

TEST_CASE(other_sessions_left_alone)
{
    static const struct tree tree = {
        .root = GUARD, .group = LEADER, .session = SESSION, .leave_sessions = true};

    EXPECT_MEMBERS(&tree, "20:0 22:0 32:0", P(LEADER, GUARD, LEADER), P(22, LEADER, 22),
                   PROCESS(30, GUARD, 30, 30, 30, ), PROCESS(31, 30, 31, 30, 31, ), P(32, 30, 22));
}

/* Its leader is outside of our namespace, as in a container. */
TEST_CASE(other_sessions_left_alone_beside_number_0)
{
    static const struct tree tree = {.root = GUARD, .group = LEADER, .leave_sessions = true};

    EXPECT_MEMBERS(&tree, "20:0 32:0", PROCESS(LEADER, GUARD, LEADER, 0, LEADER, ),
                   PROCESS(30, GUARD, 30, 30, 30, ), PROCESS(31, 30, 31, 30, 31, ),
                   PROCESS(32, LEADER, 32, 0, 32, ));
}

TEST_CASE(locks_within)
{
    EXPECT_MEMBERS(&of_guard, "20:0 30:0t 31:0 40:1 41:1t 42:1 50:2 60:0t 61:0t 62:0",
                   P(LEADER, GUARD, LEADER), P(30, LEADER, LEADER, .name = "zkl"),
                   P(31, 30, 31, .guard = true), P(40, 31, 40), P(41, 40, 40, .name = "zkl"),
                   P(42, 41, 42, .guard = true), P(50, 42, 50),
                   P(60, LEADER, LEADER, .name = "zkl"), P(61, 60, LEADER, .name = "zkl"),
                   P(62, 61, 62, .guard = true));
}

TEST_CASE(who_closes_a_session_is_none)
{
    EXPECT_MEMBERS(&of_guard, "20:0", P(GUARD, 1, GUARD), P(LEADER, GUARD, LEADER),
                   P(30, GUARD, 30, .closing = true), P(31, LEADER, LEADER, .closing = true));
}

/* If numbers began again, parents have higher numbers than their children. A table that was read
 * while numbers were used again may have circles. */
TEST_CASE(numbers_used_again)
{
    EXPECT_MEMBERS(&of_guard, "11:0 12:0 20:0", P(11, 12, 11), P(12, LEADER, 12),
                   P(LEADER, GUARD, LEADER), P(30, 31, 30), P(31, 32, 31), P(32, 30, 32));
}

TEST_CASE(nobody)
{
    EXPECT_MEMBERS(&of_guard, "", P(1, 0, 1), P(GUARD, 1, GUARD),
                   P(LEADER, GUARD, LEADER, .dead = true));
}

/* ---- the look right before a signal ---- */

struct world {
    const struct process *list;
    size_t count;
};

static bool read_world(pid_t pid, struct process *ret, void *data)
{
    const struct world *w = data;

    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].pid == pid) {
            *ret = w->list[i];
            return true;
        }
    return false;
}

static const struct process table[] = {P(GUARD, 1, GUARD), P(LEADER, GUARD, LEADER),
                                       P(30, LEADER, 30), P(40, 30, 40)};

static bool still(const struct tree *tree, const struct process *member, const struct process *now,
                  size_t count)
{
    struct world w = {now, count};

    return tree_still(tree, (struct process_table){table, 4}, member, read_world, &w);
}

TEST_CASE(still_a_member)
{
    static const struct process handed_over[] = {P(40, GUARD, 40)};
    static const struct tree no_group = {.root = GUARD};

    CHECK(still(&of_guard, &table[3], table, 4));
    CHECK(still(&no_group, &table[3], table, 4));
    CHECK(still(&of_guard, &table[3], handed_over, 1));
}

TEST_CASE(no_longer_that_one)
{
    static const struct process other[] = {PROCESS(40, 30, 40, SESSION, 99, ), P(30, LEADER, 30),
                                           P(LEADER, GUARD, LEADER)};
    static const struct process gone[] = {P(30, LEADER, 30)};

    CHECK(!still(&of_guard, &table[3], other, 3));
    CHECK(!still(&of_guard, &table[3], gone, 1));
}

/* Its parent's number means somebody else now: the table's parent may never have been its own. */
TEST_CASE(the_parent_is_another)
{
    static const struct process other[] = {P(40, 30, 40), PROCESS(30, LEADER, 30, SESSION, 99, ),
                                           P(LEADER, GUARD, LEADER)};
    static const struct process orphan[] = {P(40, 1, 40), P(30, LEADER, 30),
                                            P(LEADER, GUARD, LEADER)};
    static const struct process unknown[] = {P(40, 77, 40), P(77, GUARD, 77)};

    CHECK(!still(&of_guard, &table[3], other, 3));
    CHECK(!still(&of_guard, &table[3], orphan, 3));
    CHECK(!still(&of_guard, &table[3], unknown, 2));
}

TEST_CASE(never_a_stranger)
{
    struct process before[] = {P(30, LEADER, 30)};
    const struct tree tree = {.root = GUARD, .prior = {before, 1}};

    CHECK(!still(&tree, &table[3], table, 4));
}

/* ---- of /proc ---- */

struct family {
    int told[2]; /* a byte by each that is there */
    int held[2]; /* each ends when we close it, or are dead */
};

static _Noreturn void belong(const struct family *f)
{
    char none;

    close(f->held[1]);
    if (write(f->told[1], "", 1) != 1 || read(f->held[0], &none, 1) != 0)
        _exit(1);
    _exit(0);
}

static void *fork_one(void *data)
{
    if (fork() == 0)
        belong(data);
    return NULL;
}

static void *fork_and_stay(void *data)
{
    fork_one(data);
    pause();
    return NULL;
}

/* One with a child of its second thread, and one that it has left to us, in another session. */
static pid_t begin_family(struct family *f)
{
    pthread_t thread;
    pid_t pid;

    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && pipe(f->told) == 0 && pipe(f->held) == 0);
    pid = fork();
    if (pid != 0)
        return pid;
    pthread_create(&thread, NULL, fork_and_stay, f);
    pid = fork();
    if (pid == 0) {
        setsid();
        fork_one(f);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    belong(f);
}

static char *members_in(const struct tree *tree, GArray *list)
{
    const struct process_table of_list = {(const struct process *)(const void *)list->data,
                                          list->len};
    struct member *members = g_new(struct member, of_list.count + 1);
    const size_t count = tree_members(tree, of_list, members);
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text, "%d ", (int)members[i].process->pid);
    g_free(members);
    g_array_unref(list);
    g_string_append_printf(text, "(%zu)", count);
    return g_string_free(text, FALSE);
}

static GArray *look_in_parts(const struct tree *tree)
{
    struct processes_look look;
    int parts = 1;

    processes_look_begin(&look, LOOK_ROUNDS_MOST);
    while (processes_look_on(tree, &look, 1) == LOOK_UNFINISHED)
        parts++;
    CHECK(parts > 1);
    return processes_look_end(&look);
}

static void expect_same_members(const struct tree *tree, const char *count)
{
    char *all = members_in(tree, processes_read());
    char *below = members_in(tree, processes_below(tree));
    char *in_parts = members_in(tree, look_in_parts(tree));

    CHECK_STR(below, all);
    CHECK_STR(in_parts, all);
    g_free(in_parts);
    CHECK(g_str_has_suffix(below, count));
    g_free(all);
    g_free(below);
}

TEST_CASE(a_part_of_proc_has_the_members_of_all)
{
#ifdef __SANITIZE_THREAD__
    runner_skip("a process that another thread has forked may have no thread of its own");
    return;
#endif
    struct tree tree = {.root = getpid()};
    struct process first;
    struct family f;
    const pid_t pid = begin_family(&f);
    char three[3];

    for (size_t i = 0; i < sizeof three; i++)
        CHECK(read(f.told[0], three + i, 1) == 1);
    expect_same_members(&tree, "(3)");
    CHECK(process_read(pid, &first, NULL));
    tree.prior = (struct process_table){&first, 1};
    expect_same_members(&tree, "(1)");
    tree.root = pid;
    tree.prior.count = 0;
    expect_same_members(&tree, "(1)");
    close(f.held[1]);
    while (wait(NULL) > 0)
        continue;
    CHECK(!processes_below(&tree)); /* there is none any more */
}

static int next_descriptor(void)
{
    const int fd = dup(STDERR_FILENO);

    close(fd);
    return fd;
}

/* Those that are kept go, one for each look that finds no other. */
static void spend_kept(void)
{
    struct rlimit before, none;
    struct process p;

    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    for (int i = 0; i < 2; i++)
        if (process_read(getpid(), &p, NULL))
            _exit(1);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* The number 0 is as good as others where a command was started without stdin. */
static void look_without_stdin(void)
{
    struct process p;

    spend_kept();
    const bool kept = processes_reserve();
    close(STDIN_FILENO);
    errno = EMFILE; /* of something before */
    if (!kept || !process_read(getpid(), &p, NULL) || next_descriptor() != STDIN_FILENO)
        _exit(2);
    spend_kept();
    const bool kept_0 = processes_reserve();
    const int next = next_descriptor();
    if (!kept_0 || next == STDIN_FILENO || !processes_reserve() || next_descriptor() != next)
        _exit(3);
    _exit(0);
}

/* Not all file systems keep to the 32 bits of a long: stat() of a zkl on another one would fail. */
TEST_CASE(numbers_of_files)
{
    struct stat any;

    CHECK_INT(sizeof any.st_ino, 8);
    CHECK_INT(sizeof any.st_size, 8);
}

TEST_CASE(no_descriptor_is_wasted)
{
    int status;
    const pid_t pid = fork();

    if (pid == 0)
        look_without_stdin();
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}
