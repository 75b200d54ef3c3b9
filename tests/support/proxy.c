#include "proxy.h"

#include "proxy_link.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Called with the mutex held: the orders given so far are in force from here on. */
static void obey(struct proxy *p)
{
    if (p->orders.cut && p->listener >= 0) {
        close(p->listener);
        p->listener = -1;
    } else if (!p->orders.cut && p->listener < 0) {
        p->listener = port_listen(&p->port);
    }
    for (guint i = 0; (p->reset_all || p->orders.cut) && i < p->links->len; i++)
        link_free(g_ptr_array_index(p->links, i), true);
    if (p->reset_all || p->orders.cut)
        g_ptr_array_set_size(p->links, 0);
    p->reset_all = false;
    p->obeyed = p->asked;
    pthread_cond_broadcast(&p->changed);
}

static void accept_all(struct proxy *p)
{
    for (int fd; (fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
        p->stats.connections++;
        struct link *l = link_new(p, fd);
        if (l)
            g_ptr_array_add(p->links, l);
    }
}

static int ask_all(struct proxy *p, GArray *fds)
{
    int64_t now = g_get_monotonic_time(), wake_at = INT64_MAX;
    struct pollfd own[2] = {{.fd = p->wake, .events = POLLIN},
                            {.fd = p->listener, .events = POLLIN}};
    g_array_set_size(fds, 0);
    g_array_append_vals(fds, own, 2);
    for (guint i = 0; i < p->links->len; i++) {
        struct pollfd pair[2];
        link_ask(g_ptr_array_index(p->links, i), pair, now, &wake_at);
        g_array_append_vals(fds, pair, 2);
    }
    if (wake_at == INT64_MAX)
        return -1;
    return (int)CLAMP((wake_at - now + 999) / 1000, 0, G_MAXINT);
}

static void serve_all(struct proxy *p, const struct pollfd *fds)
{
    guint polled = p->links->len;
    uint64_t wakes;
    if (fds[0].revents && read(p->wake, &wakes, sizeof(wakes)) < 0 && errno != EAGAIN)
        p->stop = true;
    for (guint i = polled; i-- > 0;) {
        struct link *l = g_ptr_array_index(p->links, i);
        bool orderly = true;
        if (!link_serve(l, &fds[2 + 2 * i])) {
            orderly = l->stream[UP].eof && (l->fd[DOWN] < 0 || l->stream[DOWN].shut);
            link_free(l, !orderly);
            g_ptr_array_remove_index(p->links, i);
        }
    }
    if (fds[1].revents)
        accept_all(p);
}

static void *run(void *data)
{
    struct proxy *p = data;
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(struct pollfd));
    pthread_mutex_lock(&p->mutex);
    obey(p);
    while (!p->stop) {
        int timeout = ask_all(p, fds);
        pthread_mutex_unlock(&p->mutex);
        int n = poll(&g_array_index(fds, struct pollfd, 0), fds->len, timeout);
        pthread_mutex_lock(&p->mutex);
        uint64_t asked = p->asked, obeyed = p->obeyed;
        if (asked != obeyed)
            obey(p); /* before anything read meanwhile gets through; links may be gone */
        if (n >= 0 && asked == obeyed)
            serve_all(p, &g_array_index(fds, struct pollfd, 0));
        pthread_cond_broadcast(&p->changed);
    }
    p->reset_all = p->orders.cut = true;
    obey(p);
    pthread_mutex_unlock(&p->mutex);
    g_array_free(fds, TRUE);
    return NULL;
}

static struct proxy *start(enum proxy_kind kind, int target_port, uint32_t seed)
{
    struct proxy *p = g_new0(struct proxy, 1);
    sigset_t all, before;
    p->kind = kind;
    p->target_port = target_port;
    p->listener = -1;
    p->links = g_ptr_array_new();
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    bool ok = p->wake >= 0 && port_hold(&p->port) && (p->listener = port_listen(&p->port)) >= 0;
    p->connect = g_strdup_printf("127.0.0.1:%d", p->port.port);
    p->noise = seed ? seed : (uint32_t)p->port.port; /* no two are late in step */
    sigfillset(&all);                                /* signals are for the test's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->started = ok && pthread_create(&p->thread, NULL, run, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->started)
        return p;
    proxy_stop(p);
    return NULL;
}

struct proxy *proxy_start(int target_port)
{
    return start(KIND_PROXY, target_port, 0);
}

struct proxy *proxy_start_raw(int target_port)
{
    return start(KIND_RAW, target_port, 0);
}

struct proxy *mute_server_start(void)
{
    return start(KIND_MUTE, 0, 0);
}

struct proxy *rubbish_server_start(uint32_t seed)
{
    return start(KIND_RUBBISH, 0, seed);
}

void proxy_stop(struct proxy *p)
{
    uint64_t one = 1;
    if (!p)
        return;
    if (p->started) {
        pthread_mutex_lock(&p->mutex);
        p->stop = true;
        pthread_mutex_unlock(&p->mutex);
        while (write(p->wake, &one, sizeof(one)) < 0 && errno == EINTR)
            ;
        pthread_join(p->thread, NULL);
    }
    if (p->listener >= 0)
        close(p->listener);
    if (p->wake >= 0)
        close(p->wake);
    port_release(&p->port);
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->changed);
    g_ptr_array_free(p->links, TRUE);
    g_free(p->connect);
    g_free(p->announced);
    g_free(p->announce);
    g_free(p);
}
