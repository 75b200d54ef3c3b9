/* Barriers, counters and groups for zkl-peer: see peers.sh for the commands. */
#include "zkl_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static zkl_double_barrier *inside;
static zkl_member *member;

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
    while (!err && (!*added || now() < end)) {
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
    while (!err && (!*added || now() < end)) {
        err = zkl_counter_get(c, ZKL_FOREVER, &value);
        if (!err)
            err = zkl_counter_set(c, value + 1, NULL, ZKL_FOREVER);
        *added += !err;
    }
    zkl_counter_free(c);
    return err;
}

static int tell_number(zkl_session *s, const char *path)
{
    zkl_counter *c;
    int64_t value;
    int err = zkl_counter_new(&c, s, path, ZKL_COUNTER_64);

    if (err)
        return err;
    err = zkl_counter_get(c, ZKL_FOREVER, &value);
    zkl_counter_free(c);
    if (!err)
        printf("ok %" PRId64 "\n", value);
    fflush(stdout);
    return err;
}

static int join(zkl_session *s, char **words)
{
    const bool party = words[0][0] == 'p';
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;

    zkl_member_free(member);
    member = NULL;
    o.layout = party ? ZKL_MEMBER_PARTY : ZKL_MEMBER_GROUP;
    o.parents = party ? ZKL_PARENTS_PERSISTENT : ZKL_PARENTS_CONTAINER;
    int err = zkl_member_join(&member, s, words[1], words[2], party ? NULL : words[3],
                              party ? 0 : strlen(words[3]), &o);
    return err ? err : zkl_member_wait(member, ZKL_FOREVER);
}

static int list(zkl_session *s, char **words)
{
    const bool party = words[0][0] == 'p';
    const zkl_member_layout layout = party ? ZKL_MEMBER_PARTY : ZKL_MEMBER_GROUP;
    zkl_members *ms;
    int err = zkl_members_read(&ms, s, words[1], layout, ZKL_FOREVER);

    if (err)
        return err;
    printf("ok ");
    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        const zkl_member_info *m = zkl_members_get(ms, i);
        printf("%s%s%s%.*s", i ? "," : "", m->id, party ? "" : "=", (int)m->size,
               (const char *)m->data);
    }
    puts("");
    fflush(stdout);
    zkl_members_free(ms);
    return 0;
}

/* False: it is about something else. */
static bool group_obey(zkl_session *s, char **words, int count, int *ret)
{
    const char *verb = words[0];

    if ((count == 4 && strcmp(verb, "gjoin") == 0) || (count == 3 && strcmp(verb, "pjoin") == 0))
        *ret = join(s, words);
    else if (count == 4 && strcmp(verb, "gset") == 0)
        *ret = zkl_member_update(member, words[3], strlen(words[3]), ZKL_FOREVER);
    else if (count == 1 && strcmp(verb, "gleave") == 0)
        *ret = zkl_member_leave(member, ZKL_FOREVER);
    else
        return false;
    return true;
}

bool shared_obey(zkl_session *s, char **words, int count)
{
    const char *verb = words[0];
    long added = 0;
    int err;

    if (count == 2 && (strcmp(verb, "glist") == 0 || strcmp(verb, "plist") == 0)) {
        err = list(s, words);
        if (!err)
            return true;
    } else if (count == 2 && strcmp(verb, "number") == 0) {
        err = tell_number(s, words[1]);
        if (!err)
            return true;
    } else if (group_obey(s, words, count, &err)) {
        ; /* told below */
    } else if (count >= 2 && strcmp(verb, "blind") != 0 && verb[0] == 'b')
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
    zkl_member_free(member);
}
