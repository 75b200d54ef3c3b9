/* Threads that take the lock, increment under it and give it back, again and again. */
#include "zkl_peer.h"

#include "tests/support/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { AFTER_ERROR_US = 20000, LONGER = 50, LINE_MAX_SIZE = 256 };

struct attempt {
    struct peer_lock *lock;
    pthread_t thread[PEER_THREADS_MAX];
    int threads;
    atomic_bool told;
    char kind[32];
    bool reads, numbers;
    int longer; /* with permits, so that several are had at once */
    int counter, history;
    int64_t end_ns;
    long least;
    atomic_long grants, errors;
    bool fenced;
};

/* Which grant: of a token, the turn. */
struct pair {
    uint64_t token, turn;
};

/* The file's lock is the process's, all its threads'. */
static pthread_mutex_t access_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads the number, or writes it if write is true. One access is one step; between two of them only
 * the lock stands. */
static int step(struct attempt *c, struct pair by, uint64_t *number, bool write)
{
    char line[LINE_MAX_SIZE] = "";
    struct pair last = {0, 0};
    uint64_t now;

    if (pread(c->counter, line, sizeof line - 1, 0) <= 0 ||
        sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &last.token, &now, &last.turn) < 2)
        return -EBADMSG;
    if (c->fenced && (last.token > by.token || (last.token == by.token && last.turn > by.turn)))
        return -ESTALE;
    if (!write)
        *number = now;
    int n = snprintf(line, sizeof line, "%020" PRIu64 " %020" PRIu64 " %020" PRIu64 "\n", by.token,
                     *number, by.turn);
    return pwrite(c->counter, line, (size_t)n, 0) == n ? 0 : -EIO;
}

static int step_locked(struct attempt *c, struct pair by, uint64_t *number, bool write)
{
    if (lockf(c->counter, F_LOCK, 0) != 0)
        return -errno;
    int err = step(c, by, number, write);
    if (lockf(c->counter, F_ULOCK, 0) != 0 && !err)
        err = -errno;
    return err;
}

static int access_counter(struct attempt *c, struct pair by, uint64_t *number, bool write)
{
    pthread_mutex_lock(&access_lock);
    int err = step_locked(c, by, number, write);
    pthread_mutex_unlock(&access_lock);
    return err;
}

/* As tests/history records it, and the kind. */
static int record(struct attempt *c, int64_t at, const char *word, struct pair by, uint64_t number)
{
    char line[LINE_MAX_SIZE];
    int n =
        snprintf(line, sizeof line, "%" PRId64 " 0 %d %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
                 at, (int)getpid(), word, number, by.token, by.turn, c->kind);

    return write(c->history, line, (size_t)n) == n ? 0 : -EIO;
}

/* A reader looks twice, and must see the same. */
static int use(struct attempt *c, struct pair by)
{
    int64_t begin = now_ns();
    uint64_t number = 0;
    int err = access_counter(c, by, &number, false);

    if (!err)
        err = record(c, begin, "begin", by, number);
    if (c->reads || random() % 4 == 0)
        usleep((useconds_t)(c->longer * (1000 + random() % 4000)));
    number += !c->reads;
    if (!err)
        err = access_counter(c, by, &number, !c->reads);
    if (!err)
        err = record(c, now_ns(), c->reads ? "read" : "write", by, number);
    return err;
}

/* A holder of numbers says which it has, and has them for a while. */
static int use_numbers(struct attempt *c, struct pair by)
{
    const uint64_t had = peer_lock_numbers(c->lock);
    int err = record(c, now_ns(), "begin", by, had);

    usleep((useconds_t)(1000 + random() % 4000));
    return err ? err : record(c, now_ns(), "numbers", by, peer_lock_numbers(c->lock));
}

static bool turn(struct attempt *c)
{
    const zkl_grant *g;
    int err = peer_lock_take(c->lock, ZKL_FOREVER, &g);

    if (err) {
        fprintf(stderr, "%s: lock: %s\n", c->kind, zkl_strerror(err));
        return false;
    }
    const struct pair by = {zkl_grant_token(g), zkl_grant_turn(g)};
    int used = c->numbers ? use_numbers(c, by) : use(c, by);
    if (used)
        fprintf(stderr, "%s: counter: %s\n", c->kind, strerror(-used));
    err = peer_lock_release(c->lock);
    if (err)
        fprintf(stderr, "%s: unlock: %s\n", c->kind, zkl_strerror(err));
    return !used && !err;
}

static bool goes_on(const struct attempt *c)
{
    return now_ns() < c->end_ns || (atomic_load(&c->grants) < c->least && !progress_is_late());
}

static void *run(void *data)
{
    struct attempt *c = data;

    while (!atomic_load(&c->told) && goes_on(c)) {
        if (turn(c)) {
            if (goes_on(c) && c->least > 0)
                progress_step();
            atomic_fetch_add(&c->grants, 1);
        } else {
            atomic_fetch_add(&c->errors, 1);
            usleep(AFTER_ERROR_US);
        }
    }
    return NULL;
}

static void join_all(struct attempt *c)
{
    while (c->threads > 0)
        pthread_join(c->thread[--c->threads], NULL);
}

static void contend_free(struct attempt *c)
{
    atomic_store(&c->told, true);
    join_all(c);
    peer_lock_free(c->lock);
    if (c->counter >= 0)
        close(c->counter);
    if (c->history >= 0)
        close(c->history);
    free(c);
}

static bool start_threads(struct attempt *c)
{
    int wanted = peer_threads(c->kind);

    while (c->threads < wanted && pthread_create(&c->thread[c->threads], NULL, run, c) == 0)
        c->threads++;
    return c->threads == wanted;
}

struct attempt *contend_start(zkl_session *s, char **args)
{
    struct attempt *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    srandom((unsigned)getpid());
    snprintf(c->kind, sizeof c->kind, "%s", args[1]);
    c->reads = peer_reads(args[1]);
    c->numbers = peer_numbers(args[1]);
    c->longer = strstr(args[1], "-permit") ? LONGER : 1;
    c->counter = open(args[2], O_RDWR | O_CLOEXEC);
    c->history = open(args[3], O_WRONLY | O_APPEND | O_CLOEXEC);
    c->end_ns = now_ns() + atol(args[4]) * INT64_C(1000000000);
    c->least = atol(args[5]);
    c->fenced = strcmp(args[6], "1") == 0;
    if (c->counter < 0 || c->history < 0 || peer_lock_new(&c->lock, s, args[0], args[1]) != 0 ||
        !start_threads(c)) {
        contend_free(c);
        return NULL;
    }
    return c;
}

void contend_end(struct attempt *c, bool now, long *grants, long *errors)
{
    if (now)
        atomic_store(&c->told, true);
    join_all(c);
    *grants = atomic_load(&c->grants);
    *errors = atomic_load(&c->errors);
    contend_free(c);
}
