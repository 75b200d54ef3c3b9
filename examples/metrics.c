/* A daemon that has a lock for as long as it runs, and that Prometheus scrapes: whatever it is
 * asked on PORT, it answers with the metrics of its session. */
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zkl.h>

static zkl_grant *mine; /* is read when the session is closed, behind the callback */

/* On a thread of the library. */
static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)data;
    if (err)
        fprintf(stderr, "%s\n", err->text);
    else
        printf("mine, with token %llu\n", (unsigned long long)zkl_grant_token(mine = grant));
    fflush(stdout);
}

static void answer(int fd, zkl_session *s)
{
    const struct timeval second = {1, 0}; /* for the question, whoever is there */
    const zkl_label label = {"path", "/jobs/metrics"};
    static char text[65536]; /* some 200 lines are much shorter */
    char question[4096];

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    if (read(fd, question, sizeof question) > 0 &&
        zkl_session_prometheus(s, &label, 1, text, sizeof text) > 0)
        dprintf(fd, "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n%s", text);
    close(fd);
}

/* On this machine alone; 0: a port that is free. */
static int listen_at(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return -1;
    printf("http://127.0.0.1:%u/metrics\n", ntohs(at.sin_port));
    return fd;
}

int main(int argc, char **argv)
{
    struct pollfd wait[2] = {{.events = POLLIN}, {.events = POLLIN}};
    zkl_mutex *m = NULL;
    zkl_session *s;
    sigset_t signals;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before there are threads */
    wait[0].fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (argc != 3 || zkl_session_open(&s, argv[1], NULL, NULL) != 0)
        return 64; /* CONNECT PORT */
    wait[1].fd = listen_at((uint16_t)atoi(argv[2]));
    if (wait[1].fd >= 0 && zkl_mutex_new(&m, s, "/jobs/metrics", NULL) == 0 &&
        zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, NULL, NULL) == 0)
        while (poll(wait, 2, -1) < 1 || !wait[0].revents)
            if (wait[1].revents)
                answer(accept(wait[1].fd, NULL, NULL), s);
    zkl_mutex_free(m);
    zkl_session_close(s);
    zkl_grant_release(mine);
    return wait[0].revents ? 0 : 71;
}
