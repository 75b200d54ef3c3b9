#include "play.h"

#include <dirent.h>
#include <glib.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/log.h"

static struct usage {
    int fds, threads;
} before;

void play_fail(const char *file, int line, const char *condition)
{
    fault_end();
    printf("%s:%d: EXPECT(%s)\n", file, line, condition);
    fflush(stdout);
    _exit(1);
}

void play_pause(void)
{
    g_usleep(1000);
}

static int entries(const char *folder)
{
    int count = 0;

    fault_spare(true);
    DIR *d = opendir(folder);
    EXPECT(d);
    while (readdir(d))
        count++;
    closedir(d);
    fault_spare(false);
    return count;
}

static struct usage usage_now(void)
{
    return (struct usage){entries("/proc/self/fd"), entries("/proc/self/task")};
}

void play_begin(void)
{
    before = usage_now();
}

/* A thread that was waited for may still have its entry for a moment. */
static void wait_usage(struct usage limit)
{
    for (struct usage now = usage_now(); now.fds > limit.fds || now.threads > limit.threads;
         now = usage_now())
        play_pause();
}

void play_end(void)
{
    wait_usage(before);
}

void play_stays(int threads, int fds)
{
    before.threads += threads;
    before.fds += fds;
}

zkl_session *play_open(const char *connect, const zkl_session_options *options)
{
    zkl_session *s = NULL;
    zkl_error why;
    struct usage at_first = usage_now();
    int code = zkl_session_open(&s, connect, options, &why);

    if (code == 0)
        return s;
    EXPECT(code == ZKL_ENOMEM && why.code == code && s == NULL);
    EXPECT(fault_reached());
    wait_usage(at_first);
    EXPECT(zkl_session_open(&s, connect, options, NULL) == 0);
    return s;
}

void play_thread(void *(*run)(void *data), void *data, void **ret)
{
    pthread_t thread;

    fault_spare(true);
    EXPECT(pthread_create(&thread, NULL, run, data) == 0);
    fault_spare(false);
    pthread_join(thread, ret);
}

void outcome_take(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct outcome *o = data;

    o->grant = grant;
    if (error)
        o->error = *error;
    atomic_fetch_add(&o->calls, 1);
}

void states_take(const zkl_grant *grant, zkl_state state, void *data)
{
    struct states *s = data;

    (void)grant;
    atomic_fetch_add(&s->told[state], 1);
}

/* ---- the process ---- */

static const struct play *find(const char *name)
{
    const struct play *const all[] = {plays_fake, plays_client};

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        for (const struct play *p = all[i]; p->name; p++) {
            if (strcmp(p->name, name) == 0)
                return p;
        }
    }
    return NULL;
}

static enum call find_call(const char *name)
{
    enum call call = 0;

    while (call < CALLS && strcmp(fault_names[call], name) != 0)
        call++;
    return call;
}

static void *do_nothing(void *unused)
{
    return unused;
}

int play_run(const char *name, enum call call, unsigned nth, int error)
{
    const struct play *play = find(name);

    EXPECT(play && call < CALLS);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    log_stderr_flush_ms = INT_MAX; /* a line is there, or was dropped */
    /* GLib's log prepares itself at its first line, and would wait for itself where that is the one
     * that says that memory is out. */
    g_message("plays %s", play->name);
    /* With the first thread a sanitizer's own may come. */
    play_thread(do_nothing, NULL, NULL);
    play_begin();
    fault_set(call, nth, error);
    play->fn();
    play_end();
    fault_end();
    if (nth > 0)
        printf("%s\n", fault_reached() ? "reached" : "not reached");
    for (call = 0; call < CALLS && nth == 0; call++)
        printf("%s %u\n", fault_names[call], fault_count(call));
    return 0;
}

int play_main(char **argv)
{
    return play_run(argv[0], find_call(argv[1]), (unsigned)atoi(argv[2]), atoi(argv[3]));
}
