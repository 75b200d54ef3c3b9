/* What servers say to who has seen too much: only what they do on purpose counts. */
#include "lib/store/probe.h"

#include <arpa/inet.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner.h"
#include "suites.h"

enum { GREETING = 49, WELCOME = 41, ZXID_AT = 8, MANY = 100 };

/* Takes connections one by one; those behind the first so many it closes without a word. */
struct server {
    int listener;
    int before, room; /* of these neither the first ones nor more than so many are welcome */
    bool refuses;     /* who has seen anything */
    char hosts[32];
    pthread_t thread;
};

static bool is_welcome(const struct server *server, int number, const uint8_t *greeting)
{
    static const uint8_t nothing[8];

    if (number < server->before || number >= server->before + server->room)
        return false;
    return !server->refuses || memcmp(greeting + ZXID_AT, nothing, sizeof nothing) == 0;
}

static void *serve(void *data)
{
    static const uint8_t welcome[WELCOME] = {0, 0, 0, WELCOME - 4};
    struct server *server = data;
    uint8_t greeting[GREETING];

    for (int number = 0, fd; (fd = accept(server->listener, NULL, NULL)) >= 0; number++) {
        if (recv(fd, greeting, sizeof greeting, MSG_WAITALL) == GREETING &&
            is_welcome(server, number, greeting))
            CHECK_INT(send(fd, welcome, sizeof welcome, MSG_NOSIGNAL), WELCOME);
        close(fd);
    }
    return NULL;
}

static void start(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0);
    REQUIRE(listen(server->listener, MANY) == 0);
    REQUIRE(getsockname(server->listener, (struct sockaddr *)&address, &size) == 0);
    g_snprintf(server->hosts, sizeof server->hosts, "127.0.0.1:%d", ntohs(address.sin_port));
    REQUIRE(pthread_create(&server->thread, NULL, serve, server) == 0);
}

static void stop(struct server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

static void greetings(void)
{
    static const struct {
        int before, room;
        bool refuses;
        enum rollback_evidence wanted;
    } rows[] = {
        {0, MANY, false, ROLLBACK_SERVES}, /* as it should */
        {0, MANY, true, ROLLBACK_REFUSES}, /* its data has gone back */
        {0, 0, false, ROLLBACK_NONE},      /* it does not serve */
        {0, 1, false, ROLLBACK_NONE},      /* no more connections than that */
        {0, 2, false, ROLLBACK_NONE},      {1, MANY, false, ROLLBACK_NONE}, /* it has just begun */
        {2, MANY, false, ROLLBACK_NONE},   {0, 1, true, ROLLBACK_NONE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct server server = {
            .before = rows[i].before, .room = rows[i].room, .refuses = rows[i].refuses};

        start(&server);
        enum rollback_evidence heard = probe_zxid(server.hosts, 5);
        stop(&server);
        if (heard != rows[i].wanted)
            runner_fail(__FILE__, __LINE__, "row %zu: %d", i, heard);
    }
}

static void nobody_listens(void)
{
    struct server server = {.room = MANY};

    start(&server);
    stop(&server);
    CHECK_INT(probe_zxid(server.hosts, 5), ROLLBACK_NONE);
}

static const struct test_case cases[] = {
    {"greetings", greetings},
    {"nobody_listens", nobody_listens},
    {NULL, NULL},
};

const struct test_suite probe_suite = {.name = "probe", .cases = cases};
