/* Names are asked for once a second, by one thread, and no fork begins meanwhile. */
#include "lib/store/names.h"

#include <dlfcn.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "runner.h"

/* "….names.test" is what answer says; NULL: it fails. */
static struct {
    const char *_Atomic answer;
    atomic_int asked, inside, long_ms;
    atomic_int allowed;  /* names that no_fork_meanwhile() lets its thread ask for */
    atomic_bool hurries; /* the threads inside need not take that long */
} server;

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo");

    if (!node || !g_str_has_suffix(node, ".names.test"))
        return next(node, service, hints, ret);
    const char *answer = atomic_load(&server.answer);
    atomic_fetch_add(&server.asked, 1);
    atomic_fetch_add(&server.inside, 1);
    for (int ms = atomic_load(&server.long_ms); ms > 0 && !atomic_load(&server.hurries); ms--)
        usleep(1000);
    atomic_fetch_sub(&server.inside, 1);
    return answer ? next(answer, service, hints, ret) : EAI_AGAIN;
}

static struct instant now, (*real_clock)(void);

static struct instant clock_by_hand(void)
{
    return now;
}

static int init(void)
{
    real_clock = clock_now;
    return 0;
}

TEST_SUITE(names, .init = init);

static void end(void)
{
    clock_now = real_clock;
}

static void begin(const char *answer, int long_ms)
{
    atomic_store(&server.answer, answer);
    atomic_store(&server.asked, 0);
    atomic_store(&server.long_ms, long_ms);
    atomic_store(&server.hurries, false);
    atomic_store(&server.allowed, INT_MAX);
    now = real_clock();
    clock_now = clock_by_hand;
    runner_at_end(end);
}

static void check_found(const char *host_port, const char *wanted, int asked)
{
    GString *text = g_string_new(NULL);
    GArray *found = names_find(host_port);

    for (guint i = 0; i < found->len; i++)
        names_append(text, &g_array_index(found, struct address, i));
    CHECK_STR(text->str, wanted);
    CHECK_INT(atomic_load(&server.asked), asked);
    g_string_free(text, TRUE);
    g_array_unref(found);
}

TEST_CASE(addresses_ask_nobody)
{
    begin(NULL, 0);
    check_found("127.0.0.2:21", "127.0.0.2:21", 0);
    check_found("::1:21", "::1:21", 0);
    check_found("1.2.3:21", "1.2.0.3:21", 0);
    end();
}

TEST_CASE(once_a_second)
{
    begin("127.0.0.2", 0);
    for (int i = 0; i < 3; i++)
        check_found("once.names.test:21", "127.0.0.2:21", 1);
    atomic_store(&server.answer, "127.0.0.3");
    now.boot += 999 * CLOCK_MS;
    check_found("once.names.test:21", "127.0.0.2:21", 1);
    now.boot += 1 * CLOCK_MS;
    check_found("once.names.test:21", "127.0.0.3:21", 2);
    end();
}

/* The last addresses stay, and the pauses grow. */
TEST_CASE(one_that_fails)
{
    static const int pauses[] = {1000, 2000, 4000, 4000, 4000};
    int asked = 1;

    begin("127.0.0.2", 0);
    check_found("fails.names.test:21", "127.0.0.2:21", asked);
    atomic_store(&server.answer, NULL);
    now.boot += 1000 * CLOCK_MS;
    check_found("fails.names.test:21", "127.0.0.2:21", ++asked);
    for (size_t i = 0; i < G_N_ELEMENTS(pauses); i++) {
        now.boot += (pauses[i] - 1) * CLOCK_MS;
        check_found("fails.names.test:21", "127.0.0.2:21", asked);
        now.boot += 1 * CLOCK_MS;
        check_found("fails.names.test:21", "127.0.0.2:21", ++asked);
    }
    check_found("new.names.test:21", "", ++asked);
    check_found("new.names.test:21", "", asked);
    end();
}

enum { NAMES = 10 };

static void *ask(void *data)
{
    for (int i = 0; i < NAMES; i++) {
        while (atomic_load(&server.allowed) <= i)
            usleep(100);
        char host[40];
        snprintf(host, sizeof host, "%s%d.names.test:21", (const char *)data, i);
        g_array_unref(names_find(host));
    }
    while (atomic_load(&server.allowed) <= NAMES) /* in a child, one that has ended is a leak */
        usleep(100);
    return NULL;
}

/* All want the same answers. */
TEST_CASE(many_ask_once)
{
    pthread_t threads[4];

    begin("127.0.0.2", 2);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        REQUIRE(pthread_create(&threads[i], NULL, ask, (void *)"many") == 0);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(atomic_load(&server.asked), NAMES);
    end();
}

static void *ask_slow(void *host)
{
    g_array_unref(names_find(host));
    return NULL;
}

/* Another one's, say of another ensemble, is answered meanwhile, and handles are made. */
TEST_CASE(a_slow_name)
{
    pthread_t thread;

    begin("127.0.0.2", 20000);
    REQUIRE(pthread_create(&thread, NULL, ask_slow, (void *)"slow.names.test:21") == 0);
    while (atomic_load(&server.inside) == 0)
        usleep(100);
    atomic_store(&server.long_ms, 0);
    check_found("quick.names.test:21", "127.0.0.2:21", 2);
    names_begin();
    names_end();
    CHECK_INT(atomic_load(&server.inside), 1);
    atomic_store(&server.hurries, true);
    pthread_join(thread, NULL);
    check_found("slow.names.test:21", "127.0.0.2:21", 2);
    end();
}

static pid_t fork_child(void)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    return child;
}

static void *fork_canceled(void *child)
{
    pthread_cancel(pthread_self());
    *(pid_t *)child = fork_child();
    pthread_testcancel();
    return NULL;
}

/* A thread that is canceled in fork() leaves nothing locked for the next. */
TEST_CASE(canceled_in_fork)
{
    pthread_t asking, forking;
    pid_t first = -1, next;
    void *ended = NULL;

    begin("127.0.0.2", 20000);
    REQUIRE(pthread_create(&asking, NULL, ask_slow, (void *)"canceled.names.test:21") == 0);
    while (atomic_load(&server.inside) == 0)
        usleep(100);
    REQUIRE(pthread_create(&forking, NULL, fork_canceled, &first) == 0);
    pthread_join(forking, &ended);
    CHECK(first > 0 && waitpid(first, NULL, 0) == first);
    CHECK(ended == PTHREAD_CANCELED);
    atomic_store(&server.hurries, true);
    pthread_join(asking, NULL);
    next = fork_child();
    CHECK(next > 0 && waitpid(next, NULL, 0) == next);
    end();
}

/* What the C library locks meanwhile would be locked in the child for ever. One name at a time: a
 * fork does not wait for ever while there is always another. */
TEST_CASE(no_fork_meanwhile)
{
    const int before = names_fork_ms;
    pthread_t thread;
    int status;

    begin("127.0.0.2", 5);
    names_fork_ms = 3600000;
    atomic_store(&server.allowed, 0);
    REQUIRE(pthread_create(&thread, NULL, ask, (void *)"fork") == 0);
    for (int i = 1; i <= NAMES; i++) {
        atomic_store(&server.allowed, i);
        while (atomic_load(&server.asked) < i)
            usleep(100);
        const pid_t child = fork();
        if (child == 0)
            _exit(atomic_load(&server.inside));
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_INT(status, 0);
    }
    atomic_store(&server.allowed, NAMES + 1);
    pthread_join(thread, NULL);
    names_fork_ms = before;
    end();
}
