/* Answers to the questions of our own that are cut anywhere, that lie, or that do not end. */
#include "lib/store/probe.h"

#include <arpa/inet.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe_listener.h"
#include "runner.h"

TEST_SUITE(probe_answers);

enum { GREETING = 49, WELCOME = 41, SRVR = 4, ENDLESS = 1 << 20, TRIES = 20 };

static const char welcome[WELCOME] = {0, 0, 0, WELCOME - 4};

struct server {
    struct probe_listener listener;
    size_t asks; /* length of the question */
    const char *says;
    size_t length;
    unsigned times; /* it says that so often more */
};

static void *serve(void *data)
{
    const struct server *server = data;
    char question[GREETING];

    for (int fd; (fd = accept(server->listener.fd, NULL, NULL)) >= 0;) {
        CHECK_INT(recv(fd, question, server->asks, MSG_WAITALL), server->asks);
        CHECK_INT(send(fd, server->says, server->length, MSG_NOSIGNAL), server->length);
        for (unsigned left = server->times; left > 0; left--)
            if (send(fd, server->says, server->length, MSG_NOSIGNAL) < 0)
                break;
        close(fd);
    }
    return NULL;
}

/* ---- of who has seen too much ---- */

static enum rollback_evidence zxid_of(const char *says, size_t length, unsigned times)
{
    struct server server = {.asks = GREETING, .says = says, .length = length, .times = times};

    probe_listen(&server.listener, serve, &server);
    enum rollback_evidence heard = probe_zxid(server.listener.hosts, 5, NULL);
    probe_listen_end(&server.listener);
    return heard;
}

/* Nobody waits longer than a moment for an answer, which a busy machine may need. */
static void check_serves(const char *says, size_t length, unsigned times)
{
    enum rollback_evidence heard = ROLLBACK_NONE;

    for (int left = TRIES; left > 0 && heard == ROLLBACK_NONE; left--)
        heard = zxid_of(says, length, times);
    CHECK_INT(heard, ROLLBACK_SERVES);
}

TEST_CASE(welcome_cut_at_each_byte)
{
    for (size_t length = 0; length < WELCOME - 1; length++)
        CHECK_INT(zxid_of(welcome, length, 0), ROLLBACK_NONE);
    check_serves(welcome, WELCOME - 1, 0);
    check_serves(welcome, WELCOME, 0);
}

/* In its length or its protocol, the only numbers that are looked at. */
TEST_CASE(welcome_that_lies)
{
    static const int32_t lies[] = {-1, INT32_MIN, INT32_MAX, 0, 1, 35, 38};
    char said[WELCOME];

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(lies); i++) {
        const int32_t lie = lies[i / 2];
        if (i % 2 == 1 && lie == 0)
            continue; /* the protocol's true number */
        const uint32_t wire = htonl((uint32_t)lie);
        memcpy(said, welcome, sizeof said);
        memcpy(said + 4 * (i % 2), &wire, sizeof wire);
        CHECK_INT(zxid_of(said, sizeof said, 0), ROLLBACK_NONE);
    }
}

/* An answer without end is read only as far as it is of interest. */
TEST_CASE(welcome_without_end)
{
    check_serves(welcome, sizeof welcome, ENDLESS);
    CHECK_INT(zxid_of("\377\377\377\377", 4, ENDLESS), ROLLBACK_NONE);
}

/* ---- is that a ZooKeeper? ---- */

static char *hosts_of(const char *says, size_t length, unsigned times, enum store_trouble *ret)
{
    struct server server = {.asks = SRVR, .says = says, .length = length, .times = times};

    struct probe_found found;
    char *good = NULL;

    probe_listen(&server.listener, serve, &server);
    *ret = TROUBLE_SILENT;
    for (int left = TRIES; left > 0 && *ret == TROUBLE_SILENT; left--) {
        g_free(good);
        good = probe_hosts(server.listener.hosts, NULL, &found);
        *ret = found.trouble;
    }
    probe_listen_end(&server.listener);
    return good;
}

/* A server that says nothing stays. One that says something must say all that a ZooKeeper is known
 * by. */
TEST_CASE(words_cut_at_each_byte)
{
    static const char words[] = "Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f";
    const size_t known = strlen("Zookeeper version: ");
    enum store_trouble trouble;

    for (size_t length = 0; length < sizeof words; length++) {
        char *good = hosts_of(words, length, 0, &trouble);
        CHECK_INT(good != NULL, length == 0 || length >= known);
        CHECK_INT(trouble, length == 0      ? TROUBLE_HANGS_UP
                           : length < known ? TROUBLE_FOREIGN
                                            : TROUBLE_NONE);
        g_free(good);
    }
}

TEST_CASE(words_without_end)
{
    enum store_trouble trouble;

    CHECK(hosts_of("\0\377\033", 3, ENDLESS, &trouble) == NULL);
    CHECK_INT(trouble, TROUBLE_FOREIGN);
    CHECK(hosts_of("Zookeeper version", 17, ENDLESS, &trouble) == NULL);
    CHECK_INT(trouble, TROUBLE_FOREIGN);
}
