/* A daemon whose threads share one lock. While no other process wants it, they pass it on among
 * themselves, and no request goes to a server. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zkl.h>

/* A thread looks after WAIT_MS whether it is to stop, and has then lost its place in line. An
 * operation (zkl_mutex_lock_async()) that is canceled keeps it until then. */
enum { THREADS = 3, ITEMS = 20, RETAIN_MS = 10000, WAIT_MS = 1000 };

static zkl_mutex *mutex;
static atomic_int stop;

/* On a thread of the library: another contender waits. */
static void on_wanted(const zkl_grant *grant, zkl_state state, void *data)
{
    atomic_int *wanted = data;

    (void)grant;
    (void)state;
    atomic_store(wanted, 1);
}

/* Some items of work. The fence goes with each thing that is written, and whoever keeps it refuses
 * lower ones. */
static void take_turn(const zkl_grant *grant, atomic_int *wanted)
{
    char fence[ZKL_FENCE_SIZE];

    zkl_grant_fence(grant, fence, sizeof fence);
    printf("%s token %llu turn %llu\n", fence, (unsigned long long)zkl_grant_token(grant),
           (unsigned long long)zkl_grant_turn(grant));
    fflush(stdout);
    zkl_grant_on_wanted(grant, on_wanted, wanted);
    for (int i = 0; i < ITEMS && !atomic_load(wanted); i++)
        if (zkl_grant_remaining_ms(grant) > 0)
            usleep(1000); /* the work */
    if (atomic_load(wanted))
        printf("%s wanted\n", fence);
}

static void *run(void *unused)
{
    atomic_int *wanted = malloc(sizeof *wanted); /* a call may come late */
    const zkl_grant *grant;
    zkl_error error;

    (void)unused;
    while (wanted && !atomic_load(&stop)) {
        atomic_store(wanted, 0);
        const int code = zkl_mutex_lock(mutex, WAIT_MS, &grant);
        if (code == 0) {
            take_turn(grant, wanted);
            zkl_mutex_unlock(mutex);
        } else if (code != ZKL_ETIMEDOUT) { /* which may come at once, again and again */
            zkl_last_error(&error);
            fprintf(stderr, "%s\n", error.text);
            sleep(1);
        }
    }
    return wanted;
}

int main(int argc, char **argv)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    pthread_t threads[THREADS];
    void *wanted[THREADS];
    zkl_session *s;
    sigset_t asked;
    int signo, n = 0;

    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &asked, NULL); /* for all threads: sigwait() takes it */
    options.retain_ms = RETAIN_MS;
    if (argc != 3 || zkl_session_open(&s, argv[1], NULL, NULL) != 0)
        return 64;
    if (zkl_mutex_new(&mutex, s, argv[2], &options) == 0)
        while (n < THREADS && pthread_create(&threads[n], NULL, run, NULL) == 0)
            n++;
    if (n == THREADS)
        sigwait(&asked, &signo);
    atomic_store(&stop, 1);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], &wanted[i]);
    zkl_mutex_free(mutex); /* gives back what it retains */
    zkl_session_close(s);  /* no callback runs behind this */
    for (int i = 0; i < n; i++)
        free(wanted[i]);
    return n == THREADS ? 0 : 70;
}
