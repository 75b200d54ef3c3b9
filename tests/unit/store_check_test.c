/* What the real store does by itself. It checks what libzookeeper hands over as good although it
 * was not in the answer, lists of servers, and its sockets. */
#include "lib/base/callbacks.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "lib/store/store_zk.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

TEST_SUITE(store_check);

/* ---- answers ---- */

static int check_names(int32_t count, char **data)
{
    return store_zk_check_names(ZOK, &(struct String_vector){count, data});
}

TEST_CASE(names)
{
    char a[] = "a", b[] = "", *good[] = {a, b}, *bad[] = {a, NULL}, *first[] = {NULL, a};

    CHECK_INT(check_names(2, good), ZOK);
    CHECK_INT(check_names(0, NULL), ZOK);
    CHECK_INT(check_names(0, good), ZOK);
    CHECK_INT(check_names(1, bad), ZOK);
    CHECK_INT(check_names(2, bad), ZMARSHALLINGERROR);
    CHECK_INT(check_names(2, first), ZMARSHALLINGERROR);
    CHECK_INT(check_names(1, NULL), ZMARSHALLINGERROR);
    CHECK_INT(check_names(-1, NULL), ZMARSHALLINGERROR);
    CHECK_INT(check_names(INT32_MIN, good), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_names(ZOK, NULL), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_names(ZNONODE, NULL), ZNONODE);
}

TEST_CASE(data)
{
    CHECK_INT(store_zk_check_data(ZOK, "x", 1), ZOK);
    CHECK_INT(store_zk_check_data(ZOK, NULL, 0), ZOK);
    CHECK_INT(store_zk_check_data(ZOK, NULL, -1), ZOK);
    CHECK_INT(store_zk_check_data(ZOK, NULL, -2), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_data(ZOK, "x", INT32_MIN), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_data(ZOK, NULL, 1), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_data(ZNOAUTH, NULL, 0), ZNOAUTH);
}

TEST_CASE(path)
{
    CHECK_INT(store_zk_check_path(ZOK, "/a/b-0000000001", "/a/b-"), ZOK);
    CHECK_INT(store_zk_check_path(ZOK, "/a", "/a"), ZOK);
    CHECK_INT(store_zk_check_path(ZOK, NULL, "/a"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "", "/a"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "/", "/a"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "/other-0000000001", "/a/b-"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "/a/b-1/c", "/a/b-"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZNODEEXISTS, NULL, "/a"), ZNODEEXISTS);
}

/* Every code that there is, up to ZooKeeper 3.9. */
TEST_CASE(codes)
{
    static const struct {
        int code;
        enum store_rc rc;
    } rows[] = {
        {ZOK, STORE_OK},
        {ZNONODE, STORE_NONODE},
        {ZNODEEXISTS, STORE_EXISTS},
        {ZBADVERSION, STORE_BADVERSION},
        {ZNOTEMPTY, STORE_NOTEMPTY},
        {ZNOCHILDRENFOREPHEMERALS, STORE_NOCHILDREN},
        {ZUNIMPLEMENTED, STORE_UNIMPLEMENTED},
        {ZNOAUTH, STORE_NOAUTH},
        {ZINVALIDACL, STORE_NOAUTH},
        {-125 /* QUOTAEXCEEDED */, STORE_NOAUTH},
        /* Whether it was done is not known. */
        {ZSYSTEMERROR, STORE_UNKNOWN},
        {ZRUNTIMEINCONSISTENCY, STORE_UNKNOWN},
        {ZCONNECTIONLOSS, STORE_UNKNOWN},
        {ZMARSHALLINGERROR, STORE_UNKNOWN},
        {ZOPERATIONTIMEOUT, STORE_UNKNOWN},
        {ZINVALIDSTATE, STORE_UNKNOWN},
        {ZSESSIONEXPIRED, STORE_UNKNOWN},
        {-12 /* UNKNOWNSESSION */, STORE_UNKNOWN},
        {ZAUTHFAILED, STORE_UNKNOWN},
        {ZCLOSING, STORE_UNKNOWN},
        {ZSESSIONMOVED, STORE_UNKNOWN},
        {-122 /* REQUESTTIMEOUT */, STORE_UNKNOWN},
        {-124 /* SESSIONCLOSEDREQUIRESASLAUTH */, STORE_UNKNOWN},
        {-127 /* THROTTLEDOP */, STORE_UNKNOWN},
        /* Nobody answers so to what the library asks. */
        {-3 /* DATAINCONSISTENCY */, STORE_BAD},
        {ZBADARGUMENTS, STORE_BAD},
        {-13 /* NEWCONFIGNOQUORUM */, STORE_BAD},
        {-14 /* RECONFIGINPROGRESS */, STORE_BAD},
        {-15 /* SSLCONNECTIONERROR */, STORE_BAD},
        {ZAPIERROR, STORE_BAD},
        {ZINVALIDCALLBACK, STORE_BAD},
        {ZNOTHING, STORE_BAD},
        {-119 /* NOTREADONLY */, STORE_BAD},
        {-120 /* EPHEMERALONLOCALSESSION */, STORE_BAD},
        {-121 /* NOWATCHER */, STORE_BAD},
        {-123 /* RECONFIGDISABLED */, STORE_BAD},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CHECK_INT(store_zk_map_rc(rows[i].code), rows[i].rc);
}

/* ---- lists of servers ---- */

TEST_CASE(servers_are_counted)
{
    CHECK_INT(names_count("127.0.0.1:2181"), 1);
    CHECK_INT(names_count("127.0.0.1:2181,::1:2181"), 2);
    CHECK_INT(names_count("127.0.0.1:2181,::1:2181,127.0.0.2:2181"), 3);
}

/* A store that nobody has opened, and its connector. */
struct unopened {
    struct store store;
    pthread_mutex_t monitor;
    bool waits;
};

static void *wait_for_news(void *data)
{
    struct unopened *u = data;

    pthread_mutex_lock(&u->monitor);
    u->waits = true;
    while (!u->store.heard)
        pthread_cond_wait(&u->store.wake, &u->monitor);
    pthread_mutex_unlock(&u->monitor);
    return NULL;
}

static void lock_when_it_waits(struct unopened *u)
{
    pthread_mutex_lock(&u->monitor);
    while (!u->waits) {
        pthread_mutex_unlock(&u->monitor);
        g_usleep(1000);
        pthread_mutex_lock(&u->monitor);
    }
}

/* It wakes the connector, which takes it over, once. */
TEST_CASE(a_list_is_heard)
{
    struct unopened u = {.monitor = PTHREAD_MUTEX_INITIALIZER,
                         .store.wake = PTHREAD_COND_INITIALIZER};
    pthread_t connector;

    CHECK(!store_zk_take_hosts(&u.store));
    REQUIRE(pthread_create(&connector, NULL, wait_for_news, &u) == 0);
    lock_when_it_waits(&u);
    store_zk.set_hosts(&u.store, "a:1");
    pthread_mutex_unlock(&u.monitor);
    pthread_join(connector, NULL);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(store_zk_take_hosts(&u.store), i == 0);
        CHECK_STR(u.store.hosts, "a:1");
    }
    g_free(u.store.hosts);
}

/* ---- outages ---- */

/* One that has begun after a later connection has a time of its own. */
TEST_CASE(waits_in_one_outage)
{
    const struct {
        bool up;
        unsigned connections; /* that there have been */
        bool stays;           /* after the second */
    } rows[] = {{false, 2, true}, {true, 3, false}, {false, 3, false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct unopened u = {.monitor = PTHREAD_MUTEX_INITIALIZER,
                             .store.sink.monitor = &u.monitor,
                             .store.up = rows[i].up,
                             .store.connections = rows[i].connections};
        thread_cond_init(&u.store.wake);
        pthread_mutex_lock(&u.monitor);
        CHECK_INT(store_zk_stays_down(&u.store, NULL, 2, 1), rows[i].stays);
        pthread_mutex_unlock(&u.monitor);
        pthread_cond_destroy(&u.store.wake);
    }
}

/* ---- lines of libzookeeper's ---- */

#define TRIED_ALL "1:ZOO_WARN@zookeeper_interest@1: Delaying connection"

static GString *heard; /* "LEVEL EVENT;" of each line */

static void on_heard(const zkl_log_record *record, void *unused)
{
    (void)unused;
    g_string_append_printf(heard, "%d %s;", (int)record->level, record->event);
}

/* Its errors and warnings have their levels; all else is a detail, and so is what is about
 * attempts to connect. */
TEST_CASE(lines_have_levels)
{
    static const char *const rows[][2] = {
        {"1:ZOO_ERROR@free_completions@1: x", "1 libzookeeper;"},
        {"1:ZOO_WARN@process_completions@1: x", "2 libzookeeper;"},
        {"1:ZOO_INFO@zookeeper_close@1: x", "4 libzookeeper;"},
        {"1:ZOO_DEBUG@zoo_awget@1: x", "4 libzookeeper;"},
        {"1:ZOO_ERROR@handle_socket_error_msg@1: x zk retcode=-4", "4 libzookeeper-connect;"},
        {"1:ZOO_INFO@check_events@1: x", "4 libzookeeper-connect;"},
    };
    pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
    struct callbacks *callbacks = callbacks_new(true);
    struct store a = {.sink.monitor = &monitor, .up = true};
    const log_callback_fn tell = store_zk_log(&a);

    heard = g_string_new(NULL);
    a.log = log_new(on_heard, NULL, ZKL_LOG_DEBUG, callbacks);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_string_truncate(heard, 0);
        tell(rows[i][0]);
        callbacks_flush(callbacks);
        CHECK_STR(heard->str, rows[i][1]);
    }
    store_zk_end_log(&a);
    callbacks_stop(callbacks);
    log_free(a.log);
    callbacks_free(callbacks);
    g_string_free(heard, TRUE);
}

/* Each store has a function of its own, as long as it lives. */
TEST_CASE(lines_find_their_store)
{
    pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
    struct store a = {.sink.monitor = &monitor, .up = true},
                 b = {.sink.monitor = &monitor, .up = true};
    const log_callback_fn of_a = store_zk_log(&a), of_b = store_zk_log(&b);

    CHECK(store_zk_log(&a) == of_a);
    CHECK(store_zk_log(&b) == of_b);
    of_a(TRIED_ALL);
    of_a(TRIED_ALL);
    of_b(TRIED_ALL);
    CHECK_INT(a.rounds, 2);
    CHECK_INT(b.rounds, 1);
    store_zk_end_log(&a);
    of_a(TRIED_ALL);
    of_b(TRIED_ALL);
    CHECK_INT(a.rounds, 2);
    CHECK_INT(b.rounds, 2);
    store_zk_end_log(&b);
}

/* ---- without a server ---- */

/* Static, as its last word comes from a thread that goes on. */
static struct {
    pthread_mutex_t monitor;
    int unknown_hosts, others, closed;
} told = {.monitor = PTHREAD_MUTEX_INITIALIZER};

static void on_told(void *unused, enum store_event event, int64_t id, int timeout_ms)
{
    (void)unused, (void)id, (void)timeout_ms;
    if (event == STORE_EV_HOST)
        told.unknown_hosts++;
    else
        told.others++;
}

static void on_told_closed(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&told.monitor);
    told.closed++;
    pthread_mutex_unlock(&told.monitor);
}

/* With the monitor held before and after. */
static void await_told(const int *times)
{
    while (*times == 0) {
        pthread_mutex_unlock(&told.monitor);
        g_usleep(1000);
        pthread_mutex_lock(&told.monitor);
    }
}

/* The session is told why there is no connection. */
TEST_CASE(unknown_host)
{
    const struct store_config config = {.hosts = "no.such.host.invalid:1", .timeout_ms = 10000};
    const struct store_sink sink = {
        .event = on_told, .closed = on_told_closed, .monitor = &told.monitor};
    struct store *store;

    pthread_mutex_lock(&told.monitor);
    told.unknown_hosts = told.others = told.closed = 0;
    REQUIRE(store_zk.open(&store, &config, &sink) == 0);
    await_told(&told.unknown_hosts);
    store_zk.close(store);
    await_told(&told.closed);
    CHECK_INT(told.others, 0);
    pthread_mutex_unlock(&told.monitor);
}

/* ---- connections that are stuck ---- */

/* A connection of ours to somebody who takes everything and says nothing. */
struct mute {
    int listener, fd;
    struct address address;
};

static void mute_begin(struct mute *ret)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof to;

    *ret = (struct mute){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         .fd = socket(AF_INET, SOCK_STREAM, 0)};
    REQUIRE(bind(ret->listener, (struct sockaddr *)&to, size) == 0);
    REQUIRE(listen(ret->listener, 1) == 0);
    REQUIRE(getsockname(ret->listener, (struct sockaddr *)&to, &size) == 0);
    REQUIRE(connect(ret->fd, (struct sockaddr *)&to, size) == 0);
    REQUIRE(send(ret->fd, "x", 1, 0) == 1);
    memcpy(&ret->address.bytes, &to, size);
    ret->address.length = size;
}

static void mute_end(const struct mute *m)
{
    close(m->fd);
    close(m->listener);
}

/* What it would read is the end. */
static bool mute_is_dropped(const struct mute *m)
{
    char byte;

    return recv(m->fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* An older kernel does not tell of all that decides. */
static bool kernel_tells(const struct mute *m)
{
    struct tcp_info info;
    socklen_t length = sizeof info;

    return getsockopt(m->fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && length == sizeof info;
}

/* A record lock of this process, which goes when it closes any descriptor of that file. */
static int begin_lock(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[] = "/tmp/zkl-lock-XXXXXX";
    const int fd = mkstemp(path);

    REQUIRE(fd >= 0 && unlink(path) == 0 && fcntl(fd, F_SETLK, &whole) == 0);
    return fd;
}

/* As another process sees it. */
static bool is_locked(int fd)
{
    int status = -1;
    const pid_t pid = fork();

    if (pid == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        _exit(fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* What is stuck goes, and nothing else, as a connection of the program's own to another port, which
 * is stuck for longer, or a lock on a file. */
TEST_CASE(stuck)
{
    const int locked = begin_lock();
    struct mute other, wanted;
    GArray *servers = g_array_new(FALSE, FALSE, sizeof(struct address));

    mute_begin(&other);
    mute_begin(&wanted);
    g_array_append_val(servers, wanted.address);
    if (kernel_tells(&wanted)) {
        while (!store_zk_drop_stuck(servers))
            g_usleep(10000);
        CHECK(mute_is_dropped(&wanted));
        CHECK(!mute_is_dropped(&other));
        CHECK(is_locked(locked));
    } else {
        runner_skip("the kernel's tcp_info is shorter");
    }
    close(locked);
    g_array_unref(servers);
    mute_end(&wanted);
    mute_end(&other);
}
