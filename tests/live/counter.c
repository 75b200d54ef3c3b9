/* Processes and threads on one lock, each reading, adding one and writing back. */
#include "fourletter.h"
#include "live.h"
#include "process.h"
#include "runner.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(counter, .init = live_init);

enum { PROCESSES = 32, THREADS = 32, ALL = PROCESSES + THREADS, ACQUISITIONS = 10000 };

/* What the file holds, guarded by nothing but the lock. */
struct tally {
    uint64_t count;
    uint64_t token; /* of the last who wrote */
};

/* 0, or which step went wrong. */
static int add_one(zkl_mutex *m, int fd)
{
    struct tally tally;
    const zkl_grant *g;
    if (zkl_mutex_lock(m, ZKL_FOREVER, &g) != 0)
        return 2;
    if (pread(fd, &tally, sizeof(tally), 0) != (ssize_t)sizeof(tally))
        return 3;
    if (zkl_grant_token(g) <= tally.token)
        return 4;
    tally.token = zkl_grant_token(g);
    tally.count++;
    if (pwrite(fd, &tally, sizeof(tally), 0) != (ssize_t)sizeof(tally))
        return 5;
    progress_step();
    return zkl_mutex_unlock(m) == 0 ? 0 : 6;
}

static int work(zkl_session *s, const char *path, const char *file, int times)
{
    zkl_mutex *m;
    int wrong = 1, fd = open(file, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && zkl_mutex_new(&m, s, path, NULL) == 0) {
        for (wrong = 0; wrong == 0 && times > 0; times--)
            wrong = add_one(m, fd);
        zkl_mutex_free(m);
    }
    if (fd >= 0)
        close(fd);
    return wrong;
}

/* CONNECT PATH FILE TIMES; the status is that of work(). */
int counter_worker(int argc, char **argv)
{
    zkl_session *s;
    if (argc != 4 || zkl_session_open(&s, argv[0], NULL, NULL) != 0)
        return 10;
    int wrong = work(s, argv[1], argv[2], atoi(argv[3]));
    zkl_session_close(s);
    return wrong;
}

struct worker {
    pid_t pid; /* a process */
    pthread_t thread;
    zkl_session *session;
    const char *path, *file;
    int times, wrong;
};

static void *run_thread(void *data)
{
    struct worker *w = data;
    w->wrong = work(w->session, w->path, w->file, w->times);
    return NULL;
}

static void start_thread(struct worker *w)
{
    REQUIRE(pthread_create(&w->thread, NULL, run_thread, w) == 0);
}

static void start_process(struct live *t, struct worker *w)
{
    char self[4096] = "", times[16];
    REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    g_snprintf(times, sizeof(times), "%d", w->times);
    const char *const argv[] = {self, "--counter-worker", t->connect, w->path, w->file, times,
                                NULL};
    struct process_options o = {.argv = argv, .input = -1};
    w->pid = process_spawn(&o);
    REQUIRE(w->pid > 0);
}

static void join(struct worker *w)
{
    int status = 0;
    if (!w->pid) {
        pthread_join(w->thread, NULL);
    } else {
        REQUIRE(waitpid(w->pid, &status, 0) == w->pid);
        w->wrong = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    CHECK_INT(w->wrong, 0);
}

/* $ZKL_TEST_SCALE percent, for builds that are many times slower. */
static int acquisitions(void)
{
    const char *scale = getenv("ZKL_TEST_SCALE");
    int percent = scale ? atoi(scale) : 100;
    return MAX(ACQUISITIONS / 100 * CLAMP(percent, 1, 1000), ALL);
}

static char *make_tally(void)
{
    const struct tally none = {0, 0};
    char *file;
    int fd = g_file_open_tmp("zkl-counter-XXXXXX", &file, NULL);
    REQUIRE(fd >= 0);
    CHECK(write(fd, &none, sizeof(none)) == (ssize_t)sizeof(none));
    close(fd);
    return file;
}

static struct tally read_tally(const char *file)
{
    struct tally tally = {0, 0};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, &tally, sizeof(tally)) == (ssize_t)sizeof(tally));
    close(fd);
    return tally;
}

/* wchp tells for each path the sessions that watch it: here the nodes of the holder and of the
 * first waiter have at most two, their own and the follower's; any other its follower's only; and
 * in all there is one for each contender, and one more for each of those two. */
static void check_watches(struct live *t)
{
    char **queue = live_queue(t, t->lock), *text = fourletter(t->port, "wchp");
    REQUIRE(text != NULL);
    char **lines = g_strsplit(text, "\n", -1);
    int all = 0, here = 0, most = 0;
    for (char **line = lines; *line; line++) {
        if (**line == '/') {
            CHECK(g_strv_contains((const gchar *const *)queue, *line));
            CHECK(strcmp(*line, queue[ALL]) != 0); /* nobody waits for the last */
            here = 0;
            most = strcmp(*line, queue[0]) == 0 || strcmp(*line, queue[1]) == 0 ? 2 : 1;
        } else if (**line == '\t') {
            all++;
            CHECK(++here <= most);
        }
    }
    CHECK(all >= ALL && all <= ALL + 2);
    g_strfreev(lines);
    free(text);
    g_strfreev(queue);
}

static void start_all(struct live *t, struct worker *w, const char *file, int total)
{
    zkl_session *shared = live_open(t, t->connect, NULL);
    for (int i = 0; i < ALL; i++) {
        w[i] = (struct worker){.session = shared, .path = t->lock, .file = file};
        w[i].times = total / ALL + (i < total % ALL);
        if (i % 2)
            start_thread(&w[i]);
        else
            start_process(t, &w[i]);
    }
}

/* The server counts whom each delete wakes: the one in front hears of its own, and one waiter. */
static int64_t woken(struct live *t)
{
    return fourletter_mntr(t->port, "zk_sum_node_deleted_watch_count");
}

TEST_CASE(counts)
{
    struct live *t = live_begin();
    struct worker w[ALL];
    char *file = make_tally();
    int total = acquisitions();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    start_all(t, w, file, total);
    LIVE_UNTIL(live_contenders(t, t->lock) == ALL + 1);
    LIVE_UNTIL(live_watches(t) >= ALL);
    check_watches(t);
    int64_t before = woken(t);
    CHECK(before >= 0);
    CHECK_INT(read_tally(file).count, 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (int i = 0; i < ALL; i++)
        join(&w[i]);
    CHECK_INT(read_tally(file).count, total);
    CHECK(woken(t) - before >= total && woken(t) - before <= 2 * (total + 1));
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    unlink(file);
    g_free(file);
    live_end(t);
}
