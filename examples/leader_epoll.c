/* A daemon that leads or follows, in a loop of its own: epoll(7) over zkl_session_fd(). While it
 * leads, it writes its id each second into the file STORE/leader, which refuses the late write of a
 * former leader. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zkl.h>

#include "fenced_store.h"

static const zkl_grant *term; /* while we lead */

/* Inside zkl_session_dispatch(), so that nothing here needs a lock. */
static void on_election(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                        const zkl_error *err, void *data)
{
    (void)e;
    (void)data;
    if (event == ZKL_ELECTION_LEADING)
        printf("leading with token %llu\n", (unsigned long long)zkl_grant_token(term = grant));
    else if (event == ZKL_ELECTION_LOST || event == ZKL_ELECTION_RESIGNED)
        printf("following, after token %llu\n", (unsigned long long)zkl_grant_token(grant));
    else if (event == ZKL_ELECTION_FAILED)
        fprintf(stderr, "%s\n", err->text);
    if (event == ZKL_ELECTION_LOST || event == ZKL_ELECTION_RESIGNED)
        term = NULL;
    fflush(stdout);
}

/* The time left is asked for right before each thing that only a leader may do: a callback may
 * still be on its way. The fence stops what comes too late all the same. */
static void work(const char *store, const char *id)
{
    struct fence fence = {zkl_grant_token(term), 0}, highest;

    if (zkl_grant_remaining_ms(term) == 0)
        return;
    const int err = fenced_put(store, "leader", &fence, id, &highest);
    fprintf(stderr, "%s\n", err ? strerror(-err) : "working");
}

static void add(int poll, int fd)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.fd = fd};

    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &readable);
}

/* Until it is asked to end. */
static void loop(zkl_session *s, int asked, const char *store, const char *id)
{
    const struct itimerspec each_second = {{1, 0}, {1, 0}};
    const int poll = epoll_create1(EPOLL_CLOEXEC), fd = zkl_session_fd(s);
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event event = {.data.fd = -1};
    uint64_t ticks;

    timerfd_settime(timer, 0, &each_second, NULL);
    add(poll, fd);
    add(poll, timer);
    add(poll, asked);
    while (event.data.fd != asked) {
        if (epoll_wait(poll, &event, 1, -1) != 1)
            continue; /* stopped, and continued */
        if (event.data.fd == fd)
            zkl_session_dispatch(s);
        else if (event.data.fd == timer && read(timer, &ticks, sizeof ticks) > 0)
            work(store, id);
    }
    close(timer);
    close(poll);
}

int main(int argc, char **argv)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_election *e = NULL;
    zkl_session *s;
    sigset_t signals;
    int code;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before there are threads */
    options.dispatch = 1;
    if (argc != 5 || zkl_session_open(&s, argv[1], &options, NULL) != 0)
        return 64; /* CONNECT PATH ID STORE */
    code = zkl_election_new(&e, s, argv[2], argv[3], NULL);
    if (code == 0)
        code = zkl_election_start(e, on_election, NULL);
    if (code == 0)
        loop(s, signalfd(-1, &signals, SFD_CLOEXEC), argv[4], argv[3]);
    zkl_election_free(e); /* resigns */
    zkl_session_close(s); /* calls what is left */
    return code == 0 ? 0 : 70;
}
