/* A list of servers that changes while the session lives.
 *
 * libzookeeper's own zoo_set_servers() is not used: it may close a socket without an event, with
 * requests under way that nobody fails, and frees a string that its other thread may be printing
 * (3.8.0). So a handle keeps the list that it was made with, and the change takes effect with the
 * next one: at once if there is no connection and nobody uses the session, since what was under way
 * has then been told to be unknown, and all watches and proofs end with the session. */
#include <string.h>

#include "incarnation.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/path.h"
#include "participant.h"

#define AGAIN_NS (500 * CLOCK_MS)

struct servers {
    struct participant participant;
    char *used; /* the list of the present handle; NULL: that which the session has */
    struct timer timer;
};

static void look(void *data);

static void look_at(struct servers *servers, int64_t in_ns)
{
    timers_arm(servers->participant.session->timers, &servers->timer, clock_now().boot + in_ns,
               look, servers);
}

/* What is held may be given back, or be taken over by the old servers, at any time. */
static void look(void *data)
{
    struct servers *servers = data;
    zkl_session *s = servers->participant.session;

    if (!servers->used || s->up || s->closing || s->refused)
        return;
    if (!incarnation_may_end(s, ENDING_SERVERS)) {
        look_at(servers, AGAIN_NS);
        return;
    }
    log_line(s->log, ZKL_LOG_INFO, "servers-changed", NULL, "a new session on %s", s->shown_hosts);
    incarnation_replace(s, LOSS_REPLACED);
}

/* Not at once: others are to hear of it first. */
static void on_down(struct participant *p)
{
    struct servers *servers = (struct servers *)p;

    if (servers->used && !p->session->up)
        look_at(servers, 0);
}

static void on_replaced(struct participant *p)
{
    g_clear_pointer(&((struct servers *)p)->used, g_free);
}

static void on_closed(struct participant *p)
{
    timers_cancel(&((struct servers *)p)->timer);
}

static void free_servers(struct participant *p)
{
    g_free(((struct servers *)p)->used);
    g_free(p);
}

static const struct participant_ops participant = {.on = {[NEWS_SUSPECT] = on_down,
                                                          [NEWS_LAPSED] = on_down,
                                                          [NEWS_REPLACED] = on_replaced,
                                                          [NEWS_CLOSED] = on_closed},
                                                   .free = free_servers};

static struct servers *servers_of(zkl_session *s)
{
    return (struct servers *)participant_of(s, &participant, sizeof(struct servers));
}

/* Takes the list that the session had. One that comes back to that of the handle is no change. */
static void note_used(struct servers *servers, char *former)
{
    if (servers->used)
        g_free(former);
    else
        servers->used = former;
    if (strcmp(servers->used, servers->participant.session->hosts) == 0)
        g_clear_pointer(&servers->used, g_free);
}

/* Takes hosts. */
static int change(zkl_session *s, char *hosts)
{
    struct servers *servers;
    char *former = s->hosts;

    if (s->closing) {
        g_free(hosts);
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    }
    if (strcmp(hosts, s->hosts) == 0) { /* a new session would cost every place in line */
        g_free(hosts);
        return 0;
    }
    char *shown = s->shown_hosts;
    s->hosts = hosts;
    s->shown_hosts = path_show_hosts(hosts); /* a child of fork() reads one or the other */
    g_free(shown);
    servers = servers_of(s);
    note_used(servers, former);
    look_at(servers, 0);
    return 0;
}

int session_split_connect(const char *connect, char **ret_hosts, char **ret_chroot)
{
    const char *wrong = path_split_connect(connect, ret_hosts, ret_chroot);

    if (!wrong)
        return 0;
    return error_set(ZKL_EINVAL, connect, "connect string \"%.100s\": %s", connect ? connect : "",
                     wrong);
}

int zkl_session_set_servers(zkl_session *s, const char *connect)
{
    int code = session_check(s);
    char *hosts, *chroot;

    if (!code)
        code = session_split_connect(connect, &hosts, &chroot);
    if (code)
        return code;
    const bool same = strcmp(chroot, s->chroot) == 0;
    g_free(chroot);
    if (!same) {
        g_free(hosts);
        return error_set(ZKL_EINVAL, connect, "connect string \"%.100s\": it has another chroot",
                         connect);
    }
    session_lock(s);
    code = change(s, hosts);
    session_unlock(s);
    return code;
}
