/* zkl-peer CONNECT locks: obeys one command a line on its standard input, and answers each by one
 * line, as Peer.java and peer.py do; see peers.sh for the commands. Ends with its input. */
#include "zkl_peer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS_MAX = 8 };

static zkl_session *session;
static struct peer_lock *lock; /* the one held */
static const zkl_grant *held;
static struct attempt *contend;
static atomic_int asked, wanted; /* to give way, by others; since it listens */

static void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void answer(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

static void answer_error(int err)
{
    if (err)
        answer("error: %s", zkl_strerror(err));
    else
        answer("ok");
}

static void take(const char *path, const char *kind, int64_t timeout_ms)
{
    int err = peer_lock_new(&lock, session, path, kind);

    if (!err)
        err = peer_lock_take(lock, timeout_ms, &held);
    if (!err) {
        answer("ok %" PRIu64 " %s", zkl_grant_token(held), zkl_grant_node(held));
        return;
    }
    peer_lock_free(lock);
    lock = NULL;
    if (err == ZKL_EBUSY)
        answer("busy");
    else
        answer_error(err);
}

static void release(void)
{
    int err = peer_lock_release(lock);

    held = NULL;
    peer_lock_free(lock);
    lock = NULL;
    answer_error(err);
}

static void list(const char *path)
{
    zkl_queue *q;
    int err = zkl_queue_read(&q, session, path, NULL, ZKL_FOREVER);

    if (err) {
        answer_error(err);
        return;
    }
    printf("ok");
    for (size_t i = 0; i < zkl_queue_count(q); i++)
        printf(" %s", zkl_queue_get(q, i)->node);
    answer("%s", "");
    zkl_queue_free(q);
}

static void state(void)
{
    static const char *const names[] = {"HELD", "SUSPECT", "LOST", "RELEASED"};

    answer("ok %s", names[zkl_grant_state(held)]);
}

static void count_one(const zkl_grant *grant, zkl_state now, void *counter)
{
    (void)grant, (void)now;
    atomic_fetch_add((atomic_int *)counter, 1);
}

static void heed(void)
{
    atomic_store(&asked, 0);
    atomic_store(&wanted, 0);
    zkl_grant_on_wanted(held, count_one, &wanted);
    answer_error(zkl_grant_on_revoke(held, count_one, &asked));
}

/* Creates a node, if the lock still stands. */
static void fenced(const char *path, const char *data)
{
    const zkl_change change = {ZKL_CHANGE_CREATE, -1, path, data, strlen(data)};

    answer_error(zkl_grant_multi(held, &change, 1, 0, ZKL_FOREVER));
}

static void end_contend(bool now)
{
    long grants, errors;

    contend_end(contend, now, &grants, &errors);
    contend = NULL;
    answer("ok %ld %ld", grants, errors);
}

static void start_contend(char **args)
{
    contend = contend_start(session, args);
    answer(contend ? "ok" : "error: it does not start");
}

static void now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    answer("ok %" PRId64, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec);
}

static bool is(char **words, int count, const char *verb, int args)
{
    return count == args + 1 && strcmp(words[0], verb) == 0;
}

static void obey(char **words, int count)
{
    if (is(words, count, "hold", 2))
        take(words[1], words[2], ZKL_FOREVER);
    else if (is(words, count, "try", 2))
        take(words[1], words[2], 0);
    else if (is(words, count, "release", 0) && held)
        release();
    else if (is(words, count, "list", 2))
        list(words[1]);
    else if (is(words, count, "state", 0) && held)
        state();
    else if (is(words, count, "heed", 0) && held)
        heed();
    else if (is(words, count, "asked", 0) && held)
        answer("ok %d", atomic_load(&asked));
    else if (is(words, count, "wanted", 0) && held)
        answer("ok %d", atomic_load(&wanted));
    else if (is(words, count, "fenced", 2) && held)
        fenced(words[1], words[2]);
    else if (is(words, count, "contend", 7) && !contend)
        start_contend(words + 1);
    else if (is(words, count, "join", 0) && contend)
        end_contend(false);
    else if (is(words, count, "stop", 0) && contend)
        end_contend(true);
    else if (is(words, count, "now", 0))
        now();
    else if (!shared_obey(session, words, count))
        answer("error: no such command now");
}

static int split(char *line, char **words)
{
    int count = 0;
    char *rest = line;

    for (char *word; count < WORDS_MAX && (word = strtok_r(rest, " \n", &rest));)
        words[count++] = word;
    return count;
}

int main(int argc, char **argv)
{
    const char *timeout = getenv("PEER_SESSION_MS");
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    char *words[WORDS_MAX], *line = NULL;
    size_t size = 0;

    if (argc != 3 || strcmp(argv[2], "locks") != 0) {
        fputs("usage: zkl-peer CONNECT locks\n", stderr);
        return 64;
    }
    o.session_timeout_ms = timeout ? atoi(timeout) : 4000;
    if (zkl_session_open(&session, argv[1], &o, NULL) != 0)
        return 69;
    while (getline(&line, &size, stdin) >= 0) {
        int count = split(line, words);
        if (count > 0)
            obey(words, count);
    }
    free(line);
    if (contend)
        end_contend(true);
    peer_lock_free(lock);
    shared_end();
    zkl_session_close(session);
    return 0;
}
