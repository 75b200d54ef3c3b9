/* What servers say to our own questions: only what they do on purpose counts, and no answer does
 * harm. */
#include "lib/store/probe.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "held.h"
#include "runner.h"

TEST_SUITE(probe);

/* A server on a port of its own, which one thread serves. */
struct probe_listener {
    int fd;
    char hosts[32]; /* "127.0.0.1:P" */
    pthread_t thread;
};

static void probe_listen(struct probe_listener *ret, void *(*serve)(void *server), void *server)
{
    enum { MANY = 100 };
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ret->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(ret->fd, (struct sockaddr *)&address, sizeof address) == 0);
    REQUIRE(listen(ret->fd, MANY) == 0);
    REQUIRE(getsockname(ret->fd, (struct sockaddr *)&address, &size) == 0);
    g_snprintf(ret->hosts, sizeof ret->hosts, "127.0.0.1:%d", ntohs(address.sin_port));
    REQUIRE(pthread_create(&ret->thread, NULL, serve, server) == 0);
}

static void probe_listen_end(struct probe_listener *listener)
{
    shutdown(listener->fd, SHUT_RDWR);
    pthread_join(listener->thread, NULL);
    close(listener->fd);
}

enum {
    GREETING = 49,
    WELCOME = 41,
    SRVR = 4,
    ZXID_AT = 8,
    MANY = 100,
    ENDLESS = 1 << 20,
    TRIES = 20
};

static const char welcome[WELCOME] = {0, 0, 0, WELCOME - 4};

/* Takes connections one by one; those behind the first so many it closes without a word. */
struct server {
    struct probe_listener listener;
    int before, room; /* of these neither the first ones nor more than so many are welcome */
    bool refuses;     /* who has seen anything */
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
    struct server *server = data;
    uint8_t greeting[GREETING];

    for (int number = 0, fd; (fd = accept(server->listener.fd, NULL, NULL)) >= 0; number++) {
        if (recv(fd, greeting, sizeof greeting, MSG_WAITALL) == GREETING &&
            is_welcome(server, number, greeting))
            CHECK_INT(send(fd, welcome, sizeof welcome, MSG_NOSIGNAL), WELCOME);
        close(fd);
    }
    return NULL;
}

TEST_CASE(greetings)
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

        probe_listen(&server.listener, serve, &server);
        enum rollback_evidence heard = probe_zxid(server.listener.hosts, 5, NULL);
        probe_listen_end(&server.listener);
        if (heard != rows[i].wanted)
            runner_fail(__FILE__, __LINE__, "row %zu: %d", i, heard);
    }
}

/* A server that has fallen back refuses a session that another one takes. */
TEST_CASE(one_of_two_refuses)
{
    struct server servers[] = {{.room = MANY, .refuses = true}, {.room = MANY}};

    for (size_t i = 0; i < G_N_ELEMENTS(servers); i++)
        probe_listen(&servers[i].listener, serve, &servers[i]);
    char *hosts = g_strjoin(",", servers[0].listener.hosts, servers[1].listener.hosts, NULL);
    const enum rollback_evidence heard = probe_zxid(hosts, 5, NULL);
    g_free(hosts);
    for (size_t i = 0; i < G_N_ELEMENTS(servers); i++)
        probe_listen_end(&servers[i].listener);
    CHECK_INT(heard, ROLLBACK_SERVES);
}

TEST_CASE(nobody_listens)
{
    struct server server = {.room = MANY};

    probe_listen(&server.listener, serve, &server);
    probe_listen_end(&server.listener);
    CHECK_INT(probe_zxid(server.listener.hosts, 5, NULL), ROLLBACK_NONE);
}

/* ---- why nobody serves ---- */

/* Says that to whatever begins with a byte, and keeps the connection; NULL: hangs up. */
struct speaker {
    struct probe_listener listener;
    uint8_t to;
    const char *words;
    size_t length;
};

static void *speak(void *data)
{
    const struct speaker *speaker = data;
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(int));
    uint8_t first;

    for (int fd; (fd = accept(speaker->listener.fd, NULL, NULL)) >= 0;) {
        if (!speaker->words) {
            close(fd);
            continue;
        }
        g_array_append_val(kept, fd);
        if (recv(fd, &first, 1, 0) == 1 && first == speaker->to)
            CHECK_INT(send(fd, speaker->words, speaker->length, MSG_NOSIGNAL), speaker->length);
    }
    for (guint i = 0; i < kept->len; i++)
        close(g_array_index(kept, int, i));
    g_array_unref(kept);
    return NULL;
}

static const char alert[] = {21, 3, 3, 0, 2, 2, 40}, server_hello[] = {22, 3, 3, 0, 80, 2};

TEST_CASE(troubles)
{
    static const struct {
        uint8_t to;
        const char *words;
        size_t length;
        enum store_trouble wanted;
    } rows[] = {
        {0, NULL, 0, TROUBLE_HANGS_UP},
        {0, "", 0, TROUBLE_SILENT},
        {'s', "-ERR unknown command", 20, TROUBLE_FOREIGN},
        {'s', "Zookeeper version: 3.8.0", 24, TROUBLE_NONE},
        {'s', "srvr is not executed because", 28, TROUBLE_NONE},
        {'s', "This ZooKeeper instance is not currently serving requests", 57, TROUBLE_NOT_SERVING},
        {'s', alert, sizeof alert, TROUBLE_TLS},
        {22, alert, sizeof alert, TROUBLE_TLS},
        {22, server_hello, sizeof server_hello, TROUBLE_TLS},
        {22, "HTTP/1.1 400", 12, TROUBLE_SILENT},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct speaker speaker = {
            .to = rows[i].to, .words = rows[i].words, .length = rows[i].length};

        probe_listen(&speaker.listener, speak, &speaker);
        const enum store_trouble heard = probe_trouble(speaker.listener.hosts, NULL);
        probe_listen_end(&speaker.listener);
        if (heard != rows[i].wanted)
            runner_fail(__FILE__, __LINE__, "row %zu: %d", i, (int)heard);
    }
}

/* One that says nothing is left out where another is a ZooKeeper, and stays where none is. */
TEST_CASE(silent)
{
    struct speaker mute = {.words = "", .to = 's'};
    struct speaker server = {.words = "Zookeeper version: 3.8.0", .length = 24, .to = 's'};
    struct probe_found found;

    probe_listen(&mute.listener, speak, &mute);
    probe_listen(&server.listener, speak, &server);
    char *both = g_strdup_printf("%s,%s", mute.listener.hosts, server.listener.hosts);
    char *good = probe_hosts(both, NULL, &found);
    CHECK_STR(good, server.listener.hosts);
    CHECK(found.answered && found.silent && !found.foreign);
    g_free(good);
    good = probe_hosts(mute.listener.hosts, NULL, &found);
    CHECK_STR(good, mute.listener.hosts);
    CHECK(!found.answered && !found.silent);
    g_free(good);
    good = probe_answering(both);
    CHECK_STR(good, server.listener.hosts);
    CHECK(!probe_answering(mute.listener.hosts));
    CHECK(probe_serves(server.listener.hosts, NULL));
    CHECK(!probe_serves(mute.listener.hosts, NULL));
    g_free(good);
    g_free(both);
    probe_listen_end(&server.listener);
    probe_listen_end(&mute.listener);
}

/* The listener is gone, and its port with it. */
TEST_CASE(trouble_of_nobody)
{
    struct server server = {.room = MANY};
    char *good;
    struct probe_found found;

    probe_listen(&server.listener, serve, &server);
    probe_listen_end(&server.listener);
    CHECK_INT(probe_trouble(server.listener.hosts, NULL), TROUBLE_REFUSED);
    good = probe_hosts(server.listener.hosts, NULL, &found);
    CHECK_STR(good, server.listener.hosts);
    CHECK_INT(found.trouble, TROUBLE_REFUSED);
    CHECK(found.named && !found.foreign);
    g_free(good);
    CHECK(probe_hosts("no.such.host.invalid:1", NULL, &found) == NULL);
    CHECK(!found.named);
    CHECK_INT(probe_trouble("no.such.host.invalid:1", NULL), TROUBLE_UNKNOWN);
}

TEST_CASE(trouble_of_our_own)
{
    struct rlimit before, none;
    const int next = dup(STDERR_FILENO);

    REQUIRE(next >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){(rlim_t)next, before.rlim_max};
    close(next);
    CHECK_INT(probe_own_trouble(), TROUBLE_UNKNOWN);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    const enum store_trouble own = probe_own_trouble(), all = probe_trouble("127.0.0.1:1", NULL);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_INT(own, TROUBLE_DESCRIPTORS);
    CHECK_INT(all, TROUBLE_DESCRIPTORS);
}

/* ---- answers that are cut anywhere, that lie, or that do not end ---- */

struct liar {
    struct probe_listener listener;
    size_t asks; /* length of the question */
    const char *says;
    size_t length;
    unsigned times; /* it says that so often more */
};

static void *answer_anything(void *data)
{
    const struct liar *liar = data;
    char question[GREETING];

    for (int fd; (fd = accept(liar->listener.fd, NULL, NULL)) >= 0;) {
        CHECK_INT(recv(fd, question, liar->asks, MSG_WAITALL), liar->asks);
        CHECK_INT(send(fd, liar->says, liar->length, MSG_NOSIGNAL), liar->length);
        for (unsigned left = liar->times; left > 0; left--)
            if (send(fd, liar->says, liar->length, MSG_NOSIGNAL) < 0)
                break;
        close(fd);
    }
    return NULL;
}

/* ---- of who has seen too much ---- */

static enum rollback_evidence zxid_of(const char *says, size_t length, unsigned times)
{
    struct liar liar = {.asks = GREETING, .says = says, .length = length, .times = times};

    probe_listen(&liar.listener, answer_anything, &liar);
    enum rollback_evidence heard = probe_zxid(liar.listener.hosts, 5, NULL);
    probe_listen_end(&liar.listener);
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
    struct liar liar = {.asks = SRVR, .says = says, .length = length, .times = times};

    struct probe_found found;
    char *good = NULL;

    probe_listen(&liar.listener, answer_anything, &liar);
    *ret = TROUBLE_SILENT;
    for (int left = TRIES; left > 0 && *ret == TROUBLE_SILENT; left--) {
        g_free(good);
        good = probe_hosts(liar.listener.hosts, NULL, &found);
        *ret = found.trouble;
    }
    probe_listen_end(&liar.listener);
    return good;
}

/* A liar that says nothing stays. One that says something must say all that a ZooKeeper is known
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

/* The kernel may take a part of a question; the rest is sent later. */
TEST_CASE(asked_byte_by_byte)
{
    static const char words[] = "Zookeeper version: 3.8.0";
    enum store_trouble trouble;

    held_limit_send(1);
    char *good = hosts_of(words, strlen(words), 0, &trouble);
    held_limit_send(0);
    CHECK(good != NULL);
    CHECK_INT(trouble, TROUBLE_NONE);
    g_free(good);
}

TEST_CASE(words_without_end)
{
    enum store_trouble trouble;

    CHECK(hosts_of("\0\377\033", 3, ENDLESS, &trouble) == NULL);
    CHECK_INT(trouble, TROUBLE_FOREIGN);
    CHECK(hosts_of("Zookeeper version", 17, ENDLESS, &trouble) == NULL);
    CHECK_INT(trouble, TROUBLE_FOREIGN);
}
