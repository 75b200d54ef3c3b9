/* A process cannot wait for the close of its session and end at once. So a child keeps the
 * connection, on which the deletes were sent. When we have gone and nobody else writes there, it
 * adds the request to close the session. It makes no other use of the protocol.
 * docs/design/guard.md has the argument. */
#include "closing.h"
#include "events.h"
#include "guard/cgroup.h"
#include "guard/processes.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long that child waits for the server to hang up. */
#define REMAIN_MS 10000
#define CONNECTIONS 4

struct closing {
    struct worker_shared shared; /* by the thread that closes */
    zkl_session *session;
    bool quiet;  /* ZKL_SESSION_CLOSED: no callback comes any more */
    bool closed; /* the server knows, or has been given up */
};

static GArray *inherited;

static bool is_connection(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof peer;

    return getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
           (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
}

static GArray *connections(void)
{
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        const int fd = atoi(name);

        if (is_connection(fd))
            g_array_append_val(fds, fd);
    }
    return fds;
}

void closing_prepare(void)
{
    if (inherited)
        g_array_unref(inherited);
    inherited = connections();
}

static bool is_inherited(int fd)
{
    for (guint i = 0; inherited && i < inherited->len; i++)
        if (g_array_index(inherited, int, i) == fd)
            return true;
    return false;
}

/* ---- the child: async-signal-safe calls only ---- */

/* All but these, which are in order: our guard, for one, waits for the end of a connection. */
static bool close_others(const int *keep, size_t count)
{
    unsigned from = 0;

    for (size_t i = 0; i < count; i++) {
        if ((unsigned)keep[i] > from && close_range(from, (unsigned)keep[i] - 1, 0) != 0)
            return false;
        from = (unsigned)keep[i] + 1;
    }
    return close_range(from, ~0U, 0) == 0;
}

/* A request of ZooKeeper's: its length, a number of ours, and closeSession. */
static void ask_to_close(int fd)
{
    static const unsigned char request[12] = {0, 0, 0, 8, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf5};

    send(fd, request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Replies are read, since unread ones would reset the connection, and with it undo what the server
 * has not read yet. */
static void await_hang_up(int fd, int64_t until)
{
    struct pollfd in = {.fd = fd, .events = POLLIN};
    char answers[4096];
    int64_t left;

    while ((left = until - now_ms()) > 0 && poll(&in, 1, (int)left) > 0)
        if (recv(fd, answers, sizeof answers, MSG_DONTWAIT) <= 0)
            return;
}

void closing_detach(int outside)
{
    prctl(PR_SET_NAME, CLOSING_NAME);
    setsid();
    while (write(outside, "0", 1) < 0 && errno == EINTR)
        continue;
}

/* fds are in order; after them is room for one more. */
static _Noreturn void remain(int *fds, size_t count, int parent, int outside)
{
    char nothing;

    closing_detach(outside);
    fds[count] = fcntl(parent, F_DUPFD, fds[count - 1] + 1);
    if (fds[count] < 0 || !close_others(fds, count + 1))
        _exit(STATUS_INTERNAL);
    while (read(fds[count], &nothing, sizeof nothing) < 0 && errno == EINTR)
        continue;
    const int64_t until = now_ms() + REMAIN_MS;
    for (size_t i = 0; i < count; i++)
        ask_to_close(fds[i]);
    for (size_t i = 0; i < count; i++)
        await_hang_up(fds[i], until);
    _exit(STATUS_OK);
}

/* ---- we ---- */

static size_t own_connections(int fds[CONNECTIONS])
{
    g_autoptr(GArray) all = connections();
    size_t count = 0;

    for (guint i = 0; i < all->len && count < CONNECTIONS; i++)
        if (!is_inherited(g_array_index(all, int, i)))
            fds[count++] = g_array_index(all, int, i);
    return count;
}

/* Any signal ends the child: a service manager that waits for all of our processes may wish that.
 * The other end of the pipe stays open as long as we live. */
static void leave_behind(void)
{
    int fds[CONNECTIONS + 1];
    const size_t count = own_connections(fds);
    sigset_t all, none, before;
    int ends[2];

    if (count == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    const int outside = cgroup_open_outside();
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (fork() == 0) {
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        close(ends[1]);
        remain(fds, count, ends[0], outside);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    if (outside >= 0)
        close(outside);
}

static void closing_tell(struct closing *c, bool *what)
{
    pthread_mutex_lock(&c->shared.lock);
    *what = true;
    pthread_cond_broadcast(&c->shared.changed);
    pthread_mutex_unlock(&c->shared.lock);
}

static void closing_unref(struct closing *c)
{
    if (worker_shared_leave(&c->shared))
        g_free(c);
}

static void closing_on_session(zkl_session *session, zkl_session_event event, int64_t id,
                               void *data)
{
    struct closing *c = data;

    (void)session;
    (void)id;
    if (event == ZKL_SESSION_CLOSED)
        closing_tell(c, &c->quiet);
}

static void *close_session(void *data)
{
    struct closing *c = data;

    zkl_session_close(c->session);
    closing_tell(c, &c->quiet);
    closing_tell(c, &c->closed);
    closing_unref(c);
    return NULL;
}

static bool confirmed(struct closing *c, int64_t patience_ms)
{
    const struct timespec until = worker_after_ms(patience_ms);
    bool more = true;
    bool closed;

    pthread_mutex_lock(&c->shared.lock);
    while (!c->quiet)
        pthread_cond_wait(&c->shared.changed, &c->shared.lock);
    while (!c->closed && more)
        more = worker_await(&c->shared.changed, &c->shared.lock, &until);
    closed = c->closed;
    pthread_mutex_unlock(&c->shared.lock);
    return closed;
}

void closing_close(zkl_session *session, int64_t patience_ms)
{
    if (!session)
        return;
    struct closing *c = g_new0(struct closing, 1);
    c->session = session;
    worker_shared_init(&c->shared);
    zkl_session_on_change(session, closing_on_session, c);
    if (worker_start(NULL, close_session, c) != 0)
        close_session(c);
    else if (!confirmed(c, patience_ms))
        leave_behind();
    closing_unref(c);
}
