/* A process cannot wait for the close of its session and end at once. So a child keeps the
 * connection, on which the deletes were sent. When we have gone and nobody else writes there, it
 * adds the request to close the session. The child makes no other use of the protocol.
 * docs/design/guard.md has the argument. */
#include "closing.h"
#include "events.h"
#include "guard/cgroup.h"
#include "guard/processes.h"
#include "guard/ps_name.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long the child waits for the server to hang up, on all connections together. */
#define REMAIN_MS 10000
#define CONNECTIONS 4 /* the most that a session has */

struct closing {
    struct worker_shared shared; /* with the thread that closes; its lock guards the two flags */
    zkl_session *session;
    bool quiet;  /* no callback comes any more (ZKL_SESSION_CLOSED) */
    bool closed; /* the server has confirmed, or the library has given it up */
};

static GArray *inherited; /* connections that are none of the session's */

/* Lists the descriptors of our connections in ascending order, as /proc does. */
static GArray *list_connections(void)
{
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        const int fd = atoi(name);
        struct sockaddr_storage peer = {0};
        socklen_t length = sizeof peer;

        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
            g_array_append_val(fds, fd);
    }
    return fds;
}

void closing_prepare(void)
{
    if (inherited)
        g_array_unref(inherited);
    inherited = list_connections();
}

/* ---- the child: async-signal-safe calls only ---- */

/* Closes all descriptors except those in keep, which ascend. Other processes, our guard for one,
 * wait until a descriptor is closed everywhere. */
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

void closing_detach(int outside)
{
    ps_name_set(CLOSING_NAME);
    setsid();
    while (write(outside, "0", 1) < 0 && errno == EINTR)
        continue;
}

/* Waits for the parent's end, then asks to close the session on each connection, and waits for the
 * server. fds ascend, and have room for one more. parent is a pipe that ends with the parent.
 * outside: as in closing_detach(). */
static _Noreturn void close_after_parent(int *fds, size_t count, int parent, int outside)
{
    /* ZooKeeper's request closeSession (-11) as request number 0, after its length. */
    static const unsigned char request[12] = {0, 0, 0, 8, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf5};
    char nothing, answers[4096];
    int64_t left;

    closing_detach(outside);
    fds[count] = fcntl(parent, F_DUPFD, fds[count - 1] + 1);
    if (fds[count] < 0 || !close_others(fds, count + 1))
        _exit(STATUS_INTERNAL);
    while (read(fds[count], &nothing, sizeof nothing) < 0 && errno == EINTR)
        continue;
    const int64_t until = now_ms() + REMAIN_MS;
    for (size_t i = 0; i < count; i++)
        send(fds[i], request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
    /* Waits until the server hangs up. Replies are read, since unread ones would reset the
     * connection; the server would then lose what it has not read yet. */
    for (size_t i = 0; i < count; i++) {
        struct pollfd in = {.fd = fds[i], .events = POLLIN};

        while ((left = until - now_ms()) > 0 && poll(&in, 1, (int)left) > 0)
            if (recv(fds[i], answers, sizeof answers, MSG_DONTWAIT) <= 0)
                break;
    }
    _exit(STATUS_OK);
}

/* ---- the process that ends ---- */

/* Finds the session's connections: those that were not open at closing_prepare(). */
static size_t find_own_connections(int fds[CONNECTIONS])
{
    g_autoptr(GArray) all = list_connections();
    size_t count = 0;

    for (guint i = 0; i < all->len && count < CONNECTIONS; i++) {
        const int fd = g_array_index(all, int, i);
        bool own = true;

        for (guint k = 0; inherited && k < inherited->len; k++)
            own &= g_array_index(inherited, int, k) != fd;
        if (own)
            fds[count++] = fd;
    }
    return count;
}

/* Forks the child that closes the session after our end. Any signal ends the child: a service
 * manager that waits for all of our processes may need that. We keep our end of the pipe open as
 * long as we live. */
static void fork_closer(void)
{
    int fds[CONNECTIONS + 1];
    const size_t count = find_own_connections(fds);
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
        close_after_parent(fds, count, ends[0], outside);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    if (outside >= 0)
        close(outside);
}

/* Sets a flag of c, and wakes await_close(). */
static void closing_set(struct closing *c, bool *flag)
{
    pthread_mutex_lock(&c->shared.lock);
    *flag = true;
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
        closing_set(c, &c->quiet);
}

static void *close_session(void *data)
{
    struct closing *c = data;

    zkl_session_close(c->session);
    closing_set(c, &c->quiet);
    closing_set(c, &c->closed);
    closing_unref(c);
    return NULL;
}

/* Waits until no callback comes any more, however long that takes. Then waits until the session is
 * closed, but not after patience_ms from the call. Returns whether it is closed. */
static bool await_close(struct closing *c, int64_t patience_ms)
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
    else if (!await_close(c, patience_ms))
        fork_closer();
    closing_unref(c);
}
