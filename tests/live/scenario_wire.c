/* Slow and lossy wires: a renewal lost, replies late, bytes one by one; and a write to the resource
 * that is late. */
#include "ports.h"
#include "runner.h"
#include "scenario.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TEST_SUITE(scenario_wire, .init = fault_start, .done = fault_stop);

/* A renewal changes nothing, so that it may be done twice or not at all. */
TEST_CASE(s16_renewal)
{
    for (int request = 0; request < 2; request++) {
        struct acquisition a, next;

        fault_begin();
        acquisition_queue(&a, fault_mutex(fault_proxied(FAULT_LONG_MS)), 1);
        acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
        uint64_t token = zkl_grant_token(a.grant);
        proxy_reset_stats(fault.proxy);
        if (request)
            proxy_lose_request_to(fault.proxy, PROXY_OP_SET_DATA);
        else
            proxy_lose_reply_to(fault.proxy, PROXY_OP_SET_DATA);
        CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
        EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) >= 1);
        EVENTUALLY(told_times(&a.told, ZKL_HELD) >= 1);
        CHECK_INT(fault_children(), 2);
        CHECK(zkl_grant_token(a.grant) == token);
        CHECK_INT(atomic_load(&next.done), 0);
        acquisition_end(&a);
        CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
        REQUIRE(acquisition_granted(&next));
        CHECK(zkl_grant_token(next.grant) > token);
        acquisition_end(&next);
        fault_end();
    }
}

static void run_rivals(int timeout_ms)
{
    zkl_session *s[] = {fault_proxied(timeout_ms), fault_direct(timeout_ms)};
    struct rivals *c = rivals_start(s, 2, 2);

    for (int i = 0; i < 2; i++)
        rivals_are_served(c);
    rivals_end(c);
    fault_end();
}

TEST_CASE(s17_late_and_unsteady)
{
    fault_begin();
    proxy_delay_ms(fault.proxy, PROXY_BOTH, 25);
    proxy_jitter_ms(fault.proxy, PROXY_BOTH, 225);
    run_rivals(3000);
}

TEST_CASE(s17_bytes_one_by_one)
{
    fault_begin();
    proxy_segment(fault.proxy, 1);
    run_rivals(FAULT_LONG_MS);
}

/* More than what a chain of renewals can bridge: grants may be lost, but not shared. */
TEST_CASE(x_replies_late_by_half_a_timeout)
{
    enum { TIMEOUT_MS = 1000 };

    fault_begin();
    proxy_delay_ms(fault.proxy, PROXY_TO_CLIENT, TIMEOUT_MS / 2);
    run_rivals(TIMEOUT_MS);
}

/* ---- 27: the resource, a server of its own, behind a proxy of its own ---- */

struct resource {
    struct held_port port;
    int listener;
    _Atomic uint64_t highest;
    atomic_bool stop;
    pthread_t thread;
};

/* "TAKE" and a token; the answer is "yes\n" or "no!\n". */
struct write {
    char word[4];
    uint64_t token;
} __attribute__((packed));

static void serve(struct resource *r, int fd)
{
    struct write w;

    if (recv(fd, &w, sizeof w, MSG_WAITALL) == (ssize_t)sizeof w) {
        const char *answer = resource_write(&r->highest, w.token) ? "yes\n" : "no!\n";
        CHECK_INT(send(fd, answer, 4, MSG_NOSIGNAL), 4);
    }
}

static void *serve_all(void *data)
{
    enum { CLIENTS = 8 };
    struct resource *r = data;
    struct pollfd fds[CLIENTS] = {{.fd = r->listener, .events = POLLIN}};
    nfds_t count = 1;

    while (!atomic_load(&r->stop)) {
        if (poll(fds, count, 20) <= 0)
            continue;
        for (nfds_t i = count; i-- > 1;) {
            if (!fds[i].revents)
                continue;
            serve(r, fds[i].fd);
            close(fds[i].fd);
            fds[i] = fds[--count];
        }
        int fd = fds[0].revents && count < CLIENTS ? accept(r->listener, NULL, NULL) : -1;
        if (fd >= 0)
            fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    while (--count > 0) /* the listener is resource_stop()'s */
        close(fds[count].fd);
    return NULL;
}

static void resource_start(struct resource *r)
{
    memset(r, 0, sizeof *r);
    REQUIRE(port_hold(&r->port) && (r->listener = port_listen(&r->port)) >= 0);
    REQUIRE(pthread_create(&r->thread, NULL, serve_all, r) == 0);
}

static void resource_stop(struct resource *r)
{
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    close(r->listener);
    port_release(&r->port);
}

/* The connection on which the answer will come. */
static int send_write(int port, uint64_t token)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    struct write w = {.word = {'T', 'A', 'K', 'E'}, .token = token};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    REQUIRE(send(fd, &w, sizeof w, MSG_NOSIGNAL) == (ssize_t)sizeof w);
    return fd;
}

static bool was_taken(int fd)
{
    char answer[5] = "";

    CHECK_INT(recv(fd, answer, 4, MSG_WAITALL), 4);
    CHECK(strcmp(answer, "yes\n") == 0 || strcmp(answer, "no!\n") == 0);
    close(fd);
    return answer[0] == 'y';
}

TEST_CASE(s27_write_on_its_way)
{
    struct acquisition holder, next;
    struct resource resource;

    fault_begin();
    resource_start(&resource);
    struct proxy *way = proxy_start(resource.port.port);
    REQUIRE(way != NULL);
    acquisition_queue(&holder, fault_mutex(fault_proxied(FAULT_SHORT_MS)), 1);
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    CHECK(was_taken(send_write(proxy_port(way), zkl_grant_token(holder.grant))));
    proxy_freeze(way, PROXY_TO_SERVER);
    CHECK(zkl_grant_remaining_ms(holder.grant) > 0);
    int late = send_write(proxy_port(way), zkl_grant_token(holder.grant));
    proxy_freeze(fault.proxy, PROXY_BOTH);
    REQUIRE(acquisition_granted(&next));
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_LOST);
    CHECK(was_taken(send_write(resource.port.port, zkl_grant_token(next.grant))));
    proxy_thaw(way);
    CHECK(!was_taken(late));
    CHECK(was_taken(send_write(resource.port.port, zkl_grant_token(next.grant))));
    proxy_thaw(fault.proxy);
    acquisition_end(&holder);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    acquisition_end(&next);
    proxy_stop(way);
    resource_stop(&resource);
    fault_end();
}
