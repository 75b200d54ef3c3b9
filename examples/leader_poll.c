/* A daemon that leads or follows, in a loop of its own: poll(2) over zkl_session_fd(). */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <zkl.h>

static const zkl_grant *term; /* while we lead */
static volatile sig_atomic_t stop;

static void on_signal(int signo)
{
    (void)signo;
    stop = 1;
}

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

/* Right before each thing that only a leader may do: a callback may still be on its way. */
static void work(void)
{
    if (term && zkl_grant_remaining_ms(term) > 0)
        fputs("working\n", stderr);
}

int main(int argc, char **argv)
{
    const struct timespec second = {.tv_sec = 1};
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct pollfd wait = {.events = POLLIN};
    sigset_t none, term_signal;
    zkl_session *s;
    zkl_election *e = NULL;

    sigemptyset(&none);
    sigemptyset(&term_signal);
    sigaddset(&term_signal, SIGTERM);
    sigprocmask(SIG_BLOCK, &term_signal,
                NULL); /* before there are threads: heard by ppoll() alone */
    signal(SIGTERM, on_signal);
    options.dispatch = 1;
    if (argc != 4 || zkl_session_open(&s, argv[1], &options, NULL) != 0)
        return 64;
    if (zkl_election_new(&e, s, argv[2], argv[3], NULL) == 0 &&
        zkl_election_start(e, on_election, NULL) == 0)
        for (wait.fd = zkl_session_fd(s); !stop; work())
            if (ppoll(&wait, 1, &second, &none) > 0)
                zkl_session_dispatch(s);
    zkl_election_free(e); /* resigns */
    zkl_session_close(s); /* calls what is left */
    return stop ? 0 : 70;
}
