/* Barriers and counters for zkl-peer: see peers.sh for the commands. */
#include "zkl_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static zkl_double_barrier *inside;

static int of_barrier(zkl_session *s, char **words)
{
    zkl_barrier *b;
    int err = zkl_barrier_new(&b, s, words[1], NULL);

    if (err)
        return err;
    if (strcmp(words[0], "bset") == 0)
        err = zkl_barrier_set(b, ZKL_FOREVER);
    else if (strcmp(words[0], "bremove") == 0)
        err = zkl_barrier_remove(b, ZKL_FOREVER);
    else
        err = zkl_barrier_wait(b, atol(words[2]));
    zkl_barrier_free(b);
    return err;
}

static int enter(zkl_session *s, char **words)
{
    zkl_double_barrier_free(inside);
    inside = NULL;
    int err = zkl_double_barrier_new(&inside, s, words[1], atoi(words[2]), NULL);
    return err ? err : zkl_double_barrier_enter(inside, atol(words[3]));
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int add(zkl_session *s, char **words, long *added)
{
    zkl_counter *c;
    const double end = now() + atof(words[3]);
    int err = zkl_counter_new(&c, s, words[1],
                              strcmp(words[2], "8") == 0 ? ZKL_COUNTER_64 : ZKL_COUNTER_32);

    if (err)
        return err;
    while (!err && now() < end) {
        err = zkl_counter_add(c, 1, NULL, ZKL_FOREVER, NULL);
        *added += !err;
    }
    zkl_counter_free(c);
    return err;
}

/* Without the lock's protection: what such a counter is worth beside others. */
static int add_blindly(zkl_session *s, char **words, long *added)
{
    zkl_counter *c;
    const double end = now() + atof(words[3]);
    int64_t value;
    int err = zkl_counter_new(&c, s, words[1], ZKL_COUNTER_64);

    if (err)
        return err;
    while (!err && now() < end) {
        err = zkl_counter_get(c, ZKL_FOREVER, &value);
        if (!err)
            err = zkl_counter_set(c, value + 1, NULL, ZKL_FOREVER);
        *added += !err;
    }
    zkl_counter_free(c);
    return err;
}

bool shared_obey(zkl_session *s, char **words, int count)
{
    const char *verb = words[0];
    long added = 0;
    int err;

    if (count >= 2 && strcmp(verb, "blind") != 0 && verb[0] == 'b')
        err = of_barrier(s, words);
    else if (count == 4 && strcmp(verb, "denter") == 0)
        err = enter(s, words);
    else if (count == 2 && strcmp(verb, "dleave") == 0 && inside)
        err = zkl_double_barrier_leave(inside, atol(words[1]));
    else if (count == 4 && strcmp(verb, "add") == 0)
        err = add(s, words, &added);
    else if (count == 4 && strcmp(verb, "blind") == 0)
        err = add_blindly(s, words, &added);
    else
        return false;
    if (err == ZKL_ETIMEDOUT)
        puts("late");
    else if (err)
        printf("error: %s\n", zkl_strerror(err));
    else if (added)
        printf("ok %ld\n", added);
    else
        puts("ok");
    fflush(stdout);
    return true;
}

void shared_end(void)
{
    zkl_double_barrier_free(inside);
}
