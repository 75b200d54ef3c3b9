/* Lists of servers: dead ones anywhere, name servers that are slow or fail, hosts that refuse, move
 * or are dead. The one that serves is found again, by attempts that are counted. This program's
 * connect() and getaddrinfo() come before the C library's, for libzookeeper too. */
#include "handles.h"
#include "ports.h"
#include "runner.h"
#include "scenario.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(scenario_lists, .init = fault_start, .done = fault_stop);

enum { LIST_MAX = 7, OUTAGE_MS = 1000, ATTEMPTS_A_SECOND = 20 };

static atomic_uint attempts, marked; /* of libzookeeper: its sockets are inherited, ours are not */
static atomic_int marked_port, last_fd;

static void count(int fd, const struct sockaddr *to)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)to;

    atomic_fetch_add(&attempts, 1);
    atomic_store(&last_fd, fd);
    if (to->sa_family == AF_INET && ntohs(in->sin_port) == atomic_load(&marked_port))
        atomic_fetch_add(&marked, 1);
}

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to,
                                                   socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) =
        (__typeof__(&connect))dlsym(RTLD_NEXT, "connect");

    if (to->sa_family != AF_UNIX && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
        count(fd, to);
    return next(fd, to, length);
}

static double processor_ms(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3;
}

/* "ZKL_OUTAGE_MS": for a table of longer ones. */
static int outage_ms(void)
{
    const char *given = getenv("ZKL_OUTAGE_MS");

    return given ? atoi(given) : OUTAGE_MS;
}

static double ms_since(int64_t ns)
{
    return (double)(fault_boot_ns() - ns) / 1e6;
}

/* An outage in which somebody waits for the lock; frozen: nothing comes back, else all is refused.
 * The first round is without a pause, and so is the rest of another. */
static void outage(zkl_session *s, const char *what, unsigned servers, bool frozen)
{
    struct acquisition a;
    const int64_t id = zkl_session_id(s), begin = fault_boot_ns();

    if (frozen)
        proxy_freeze(fault.proxy, PROXY_BOTH);
    else
        proxy_cut(fault.proxy);
    atomic_store(&attempts, 0);
    const double processor = processor_ms();
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    g_usleep((gulong)outage_ms() * 1000);
    const double lasted = ms_since(begin), used = processor_ms() - processor;
    const unsigned made = atomic_load(&attempts);
    const int64_t back = fault_boot_ns();
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&a));
    printf(
        "%s: %u attempts (%.1f a second), %.1f %% of a processor; held %.0f ms after the end%s\n",
        what, made, made * 1e3 / lasted, used * 100 / lasted, (double)(a.at - back) / 1e6,
        zkl_session_id(s) == id ? "" : ", in a new session");
    CHECK(made <= 2 * (servers + 1) + (double)ATTEMPTS_A_SECOND * lasted / 1000);
    CHECK(outage_ms() > OUTAGE_MS || frozen || zkl_session_id(s) == id);
    acquisition_end(&a);
}

/* servers addresses, of which the one at place serves. */
static char *list_with(const struct held_port *dead, unsigned servers, unsigned place)
{
    GString *list = g_string_new(NULL);

    for (unsigned i = 0; i < servers; i++)
        g_string_append_printf(list, "%s127.0.0.1:%d", i ? "," : "",
                               i == place ? proxy_port(fault.proxy) : dead[i].port);
    return g_string_free(list, FALSE);
}

static void begin(void)
{
    fault_begin();
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN); /* as it is but in tests */
}

static void end(void)
{
    fault_end();
    zoo_set_debug_level((ZooLogLevel)0);
}

/* libzookeeper's order is random, so each place is as good as another. */
static void play_refused(unsigned servers)
{
    struct held_port dead[LIST_MAX];
    char what[40];

    begin();
    for (unsigned i = 0; i < servers; i++)
        REQUIRE(port_hold(&dead[i]));
    char *list = list_with(dead, servers, servers - 1);
    snprintf(what, sizeof what, "%u addresses, refused", servers);
    zkl_session *s = fault_session(list, FAULT_LONG_MS);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    outage(s, what, servers, false);
    outage(s, what, servers, false);
    end();
    for (unsigned i = 0; i < servers; i++)
        port_release(&dead[i]);
    g_free(list);
}

TEST_CASE(refused)
{
    for (unsigned servers = 1; servers <= LIST_MAX; servers++)
        play_refused(servers);
}

/* One name with two addresses, of which the server listens at one. */
TEST_CASE(dual_stack)
{
    begin();
    const int port = proxy_port(fault.proxy);
    char *list = g_strdup_printf("[::1]:%d,127.0.0.1:%d", port, port);
    zkl_session *s = fault_session(list, FAULT_LONG_MS);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    outage(s, "two families, refused", 2, false);
    end();
    g_free(list);
}

/* What is lost is sent again each second at least; where the kernel cannot do that it refuses. */
static void check_socket(void)
{
    enum { RTO_MAX_OPTION = 44 };
    int ms = 0;
    socklen_t length = sizeof ms;

    if (getsockopt(atomic_load(&last_fd), IPPROTO_TCP, RTO_MAX_OPTION, &ms, &length) == 0)
        CHECK_INT(ms, 1000);
}

TEST_CASE(silent)
{
    begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    check_socket();
    outage(s, "1 address, silent", 1, true);
    end();
}

/* ---- a dead host ---- */

/* Swallows what is sent to it: its queue of connections is full, so that not even the first packet
 * of one is answered. */
struct dead_host {
    struct held_port port; /* held before it starts */
    int listener, filler[3];
};

static void dead_host_start(struct dead_host *d)
{
    struct sockaddr_in to = {.sin_family = AF_INET};

    REQUIRE((d->listener = port_listen(&d->port)) >= 0);
    REQUIRE(listen(d->listener, 0) == 0);
    to.sin_port = htons((in_port_t)d->port.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < G_N_ELEMENTS(d->filler); i++) {
        d->filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(d->filler[i], (struct sockaddr *)&to, sizeof to);
    }
}

static void dead_host_stop(struct dead_host *d)
{
    for (size_t i = 0; i < G_N_ELEMENTS(d->filler); i++)
        close(d->filler[i]);
    close(d->listener);
    port_release(&d->port);
}

static void on_line(const zkl_log_record *record, void *data)
{
    if (strstr(record->text, "timed out"))
        atomic_fetch_add((atomic_uint *)data, 1);
}

static zkl_session *open_counted(int port, atomic_uint *timed_out)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = FAULT_LONG_MS;
    o.log = on_line;
    o.log_data = timed_out;
    o.log_level = ZKL_LOG_DEBUG;
    char *list = g_strdup_printf("127.0.0.1:%d,%s", port, proxy_connect(fault.proxy));
    zkl_session *s = fault_session_options(list, &o);
    g_free(list);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    return s;
}

/* An address that leaves libzookeeper without an answer keeps nobody from the one that serves for
 * as long as libzookeeper would wait, which is two thirds of the timeout. */
static void pass_over(zkl_session *s, int port, const atomic_uint *timed_out)
{
    enum { TRIES = 50 };

    atomic_store(&marked, 0);
    atomic_store(&marked_port, port);
    for (int i = 0; i < TRIES && atomic_load(&marked) == 0; i++) {
        proxy_reset(fault.proxy);
        EVENTUALLY(zkl_session_outage(s) != ZKL_OUTAGE_NONE);
        EVENTUALLY(zkl_session_outage(s) == ZKL_OUTAGE_NONE);
    }
    CHECK(atomic_load(&marked) > 0);
    CHECK_INT(atomic_load(timed_out), 0);
}

/* A server that has begun to take connections and say nothing. */
TEST_CASE(mute)
{
    atomic_uint timed_out = 0;

    begin();
    struct proxy *silent = proxy_start(fault.port);
    REQUIRE(silent);
    proxy_cut(silent);
    zkl_session *s = open_counted(proxy_port(silent), &timed_out);
    proxy_heal(silent);
    proxy_freeze(silent, PROXY_BOTH);
    pass_over(s, proxy_port(silent), &timed_out);
    end();
    proxy_stop(silent);
}

/* A host that has died: nobody takes the connection. */
TEST_CASE(dead)
{
    atomic_uint timed_out = 0;
    struct dead_host host;

    begin();
    REQUIRE(port_hold(&host.port));
    zkl_session *s = open_counted(host.port.port, &timed_out);
    dead_host_start(&host);
    pass_over(s, host.port.port, &timed_out);
    end();
    dead_host_stop(&host);
}

/* ---- names are resolved here ---- */

/* "zk.test" is 127.0.0.1 or another address, when its server says so. */
static struct {
    const char *_Atomic address; /* NULL: 127.0.0.1 */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool silent;  /* nobody gets an answer */
    int failures; /* how many get none after a while */
    int asked, waiting;
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool resolve(void)
{
    pthread_mutex_lock(&names.mutex);
    names.asked++;
    names.waiting++;
    while (names.silent)
        pthread_cond_wait(&names.changed, &names.mutex);
    names.waiting--;
    bool ok = names.failures == 0;
    names.failures -= !ok;
    pthread_mutex_unlock(&names.mutex);
    return ok;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo");

    if (!node || strcmp(node, "zk.test") != 0)
        return next(node, service, hints, ret);
    const char *address = atomic_load(&names.address);
    return resolve() ? next(address ? address : "127.0.0.1", service, hints, ret) : EAI_AGAIN;
}

static void set_names(bool silent, int failures)
{
    pthread_mutex_lock(&names.mutex);
    names.silent = silent;
    names.failures = failures;
    names.asked = 0;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.mutex);
}

static int asked(void)
{
    pthread_mutex_lock(&names.mutex);
    int count = names.asked;
    pthread_mutex_unlock(&names.mutex);
    return count;
}

static int waiting(void)
{
    pthread_mutex_lock(&names.mutex);
    int count = names.waiting;
    pthread_mutex_unlock(&names.mutex);
    return count;
}

static zkl_session *open_by_name(int port)
{
    char connect[32];

    g_snprintf(connect, sizeof connect, "zk.test:%d", port);
    return fault_session(connect, FAULT_SHORT_MS);
}

/* No answer for longer than the timeout. Calls with a limit come back, close too, others are not
 * held up, and whoever waits is served once there is one. */
TEST_CASE(s24_slow_names)
{
    struct acquisition held, late;

    fault_begin();
    set_names(true, 0);
    /* Renewals that are held up as well would be missed before the silence ends. */
    acquisition_queue(&held, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    zkl_session *s = open_by_name(fault.port), *closed = open_by_name(fault.port);
    acquisition_start(&late, fault_mutex(s), ZKL_FOREVER);
    CHECK_INT(zkl_session_wait(s, 50), ZKL_EUNREACHABLE);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), 50, NULL), ZKL_EUNREACHABLE);
    EVENTUALLY(waiting() == 1); /* one asks for both */
    zkl_mutex *m = fault_mutex(closed);
    fault_close(closed); /* it waits a while for the thread that asks */
    CHECK_INT(zkl_grant_state(held.grant), ZKL_HELD);
    CHECK_INT(atomic_load(&held.told.count), 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_ECLOSED);
    CHECK_INT(atomic_load(&late.done), 0);
    set_names(false, 2);
    acquisition_end(&held);
    REQUIRE(acquisition_granted(&late));
    CHECK(asked() >= 2);
    acquisition_end(&late);
    fault_end();
}

/* A loss is told in time though the session's next one cannot be opened, and that one is when it
 * can: a name that fails keeps its addresses. */
TEST_CASE(s24_names_fail_after_loss)
{
    struct acquisition holder, next, again;

    fault_begin();
    set_names(false, 0);
    zkl_session *s = open_by_name(proxy_port(fault.proxy));
    acquisition_queue(&holder, fault_mutex(s), 1);
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    set_names(true, 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    REQUIRE(acquisition_granted(&next));
    CHECK(told_at(&holder.told, ZKL_LOST) < next.at);
    acquisition_start(&again, fault_mutex(s), ZKL_FOREVER);
    proxy_thaw(fault.proxy);
    EVENTUALLY(waiting() > 0);
    acquisition_end(&holder);
    acquisition_end(&next);
    CHECK_INT(atomic_load(&again.done), 0);
    set_names(false, 2);
    REQUIRE(acquisition_granted(&again));
    acquisition_end(&again);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    fault_end();
}

/* The server has moved while there is no connection: its new address gets through to a handle that
 * was made with the old one. A quarter of the timeout would be too long to look for it. */
TEST_CASE(s24_name_moves)
{
    struct acquisition a;

    fault_begin();
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN); /* as it is but in tests */
    set_names(false, 0);
    atomic_store(&names.address, "127.0.0.9");
    char *connect = g_strdup_printf("zk.test:%d", proxy_port(fault.proxy));
    zkl_session *s = fault_session(connect, 200000);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    EVENTUALLY(zkl_session_outage(s) == ZKL_OUTAGE_REFUSED);
    atomic_store(&names.address, NULL);
    REQUIRE(acquisition_granted(&a));
    acquisition_end(&a);
    g_free(connect);
    fault_end();
    zoo_set_debug_level((ZooLogLevel)0);
}

/* One of three hosts refuses, and one is dead. */
TEST_CASE(s24_dead_hosts)
{
    struct acquisition a, next;
    struct dead_host dead;
    struct held_port refusing;

    fault_begin();
    set_names(false, 0);
    REQUIRE(port_hold(&dead.port) && port_hold(&refusing));
    dead_host_start(&dead);
    char *connect = g_strdup_printf("127.0.0.1:%d,127.0.0.1:%d,zk.test:%d", refusing.port,
                                    dead.port.port, proxy_port(fault.proxy));
    zkl_session *s = fault_session(connect, 2 * FAULT_SHORT_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    int64_t before = zkl_session_id(s);
    proxy_reset(fault.proxy); /* it goes through the list to come back, or too long for that */
    EVENTUALLY(told_times(&a.told, ZKL_HELD) + told_times(&a.told, ZKL_LOST) > 0);
    bool lost = told_times(&a.told, ZKL_LOST) > 0;
    CHECK(lost || atomic_load(&next.done) == 0);
    CHECK(lost || zkl_session_id(s) == before);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&next));
    CHECK(zkl_grant_token(next.grant) > 0);
    acquisition_end(&next);
    fault_end();
    dead_host_stop(&dead);
    port_release(&refusing);
    g_free(connect);
}

/* ---- every function, where nobody answers: it has returned while that is so ---- */

enum { CALL_MS = 20, LASTING_MS = 60000, NEVER_MS = 1000000000, UNTOLD = 1 };

static atomic_int told; /* the code that a completion was told, or UNTOLD */

static void done(const zkl_error *error, void *data)
{
    (void)data;
    atomic_store(&told, error ? error->code : 0);
}

static void acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    zkl_grant_release(grant);
    done(error, data);
}

static void open_other(struct handles *e)
{
    zkl_session_open(&e->out.zkl_session, e->servers, NULL, NULL);
}

static int end_other(struct handles *e)
{
    const zkl_session_claim claim = {.id = 1};

    return zkl_session_end(e->servers, NULL, &claim, CALL_MS);
}

static int unanswered_told(struct handles *e, int code)
{
    while (code == 0 && atomic_load(&told) == UNTOLD)
        usleep(1000);
    g_clear_pointer(&e->op, zkl_op_free);
    return code ? code : atomic_load(&told);
}

static int unanswered_waited(struct handles *e, int code)
{
    zkl_grant *grant = NULL;

    if (code == 0)
        code = zkl_op_wait(e->op, &grant);
    zkl_grant_release(grant);
    g_clear_pointer(&e->op, zkl_op_free);
    return code;
}

/* What frees comes last, for all of them. */
#define FREED(field, function) e->field
#define UNANSWERED(function, call)                                                                 \
    static int call_##function(struct handles *e)                                                  \
    {                                                                                              \
        const int64_t ms = CALL_MS;                                                                \
        (void)e, (void)ms;                                                                         \
        return call;                                                                               \
    }
#define CALL(function, may, arguments) UNANSWERED(function, function arguments)
#define BEGIN(function, may, arguments) UNANSWERED(function, unanswered_told(e, function arguments))
#define WAIT(function, may, arguments)                                                             \
    UNANSWERED(function, unanswered_waited(e, zkl_mutex_lock_async arguments))
#define OTHER(function, expression) UNANSWERED(function, ((void)(expression), 0))
#include "every_call.inc"

static int unanswered_free(struct handles *e)
{
    handles_free(e);
    zkl_session_close(g_steal_pointer(&e->s));
    return 0;
}

static const struct unanswered {
    const char *name;
    int (*fn)(struct handles *e);
    const char *arguments; /* with "ms" it has a limit */
    const char *may;
} unanswered[] = {
#define ROW(function, may, arguments) {#function, call_##function, #arguments, #may},
#define CALL ROW
#define BEGIN ROW
#define WAIT ROW
#define OTHER(function, expression) {#function, call_##function, "", ""},
#include "every_call.inc"
    {"zkl_session_end", end_other, "ms", ""},
    {"all that frees", unanswered_free, "", ""},
};

struct unanswered_call {
    const struct unanswered *row;
    struct handles *of;
    int code;
    atomic_bool returned;
};

static void *call_unanswered(void *data)
{
    struct unanswered_call *c = data;

    c->code = c->row->fn(c->of);
    atomic_store(&c->returned, true);
    return NULL;
}

static bool unanswered_in_time(int code)
{
    return code == ZKL_ETIMEDOUT || code == ZKL_EUNREACHABLE || code == ZKL_EHOST ||
           code == ZKL_EUNKNOWN;
}

/* A connection that is no more, or that there never was. */
static const struct silence {
    const char *what;
    bool served, names; /* there was a connection; it is the names that nobody answers */
} silences[] = {
    {"a resolver that hangs", false, true},
    {"a server that says nothing", false, false},
    {"a server that is lost, and a resolver that hangs", true, true},
    {"a server that has stopped", true, false},
};

static void silence_begins(const struct silence *silence)
{
    if (!silence->names)
        proxy_freeze(fault.proxy, PROXY_BOTH);
    else if (silence->served)
        proxy_cut(fault.proxy);
    set_names(silence->names, 0);
}

static void silence_ends(void)
{
    set_names(false, 0);
    proxy_heal(fault.proxy);
}

/* Where there was no server, what only a server grants is missing. A silent server is one, and
 * where nothing was sent nothing is to be deleted. */
static void check_limited(const struct silence *silence, const char *name, int code, double took_ms)
{
    const bool missing = !silence->served && (code == ZKL_EINVAL || code == ZKL_EPERM);
    const bool needless = code == 0 && (strcmp(name, "zkl_session_wait") == 0 ||
                                        strcmp(name, "zkl_session_flush") == 0);

    if (!unanswered_in_time(code) && !missing && !needless)
        runner_fail(__FILE__, __LINE__, "%s: %s: %s", silence->what, name, zkl_strerror(code));
    if (unanswered_in_time(code) && took_ms < CALL_MS)
        runner_fail(__FILE__, __LINE__, "%s: %s: before its time", silence->what, name);
}

/* False: it has not returned in the silence, which is over now. */
static bool check_unanswered(const struct silence *silence, struct handles *e,
                             const struct unanswered *row)
{
    struct unanswered_call c = {.row = row, .of = e};
    const int64_t begin = fault_boot_ns();
    pthread_t thread;

    atomic_store(&told, UNTOLD);
    REQUIRE(pthread_create(&thread, NULL, call_unanswered, &c) == 0);
    const bool returned = AWAIT(atomic_load(&c.returned));
    if (!returned) {
        runner_fail(__FILE__, __LINE__, "%s: %s waits", silence->what, row->name);
        silence_ends();
    }
    pthread_join(thread, NULL);
    progress_step();
    if (returned && strstr(row->arguments, "ms"))
        check_limited(silence, row->name, c.code, ms_since(begin));
    handles_free_out(e);
    return returned;
}

static void open_handles(struct handles *e, const struct silence *silence)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = silence->served ? LASTING_MS : NEVER_MS;
    o.log = on_line;
    o.log_data = &attempts;
    e->semaphore_options.limit = 8;
    REQUIRE(zkl_session_open(&e->s, e->servers, &o, NULL) == 0);
    if (silence->served)
        REQUIRE(zkl_session_wait(e->s, ZKL_FOREVER) == 0);
    handles_make(e);
    if (silence->served) {
        handles_acquire(e);
        handles_look(e);
        handles_joining(e);
    }
}

static void keep_silence(const struct silence *silence)
{
    struct handles e = HANDLES_INIT;
    char *servers = g_strdup_printf("zk.test:%d/unanswered", proxy_port(fault.proxy));

    e.servers = servers;
    if (!silence->served)
        silence_begins(silence);
    open_handles(&e, silence);
    const int64_t id = zkl_session_id(e.s);
    if (silence->served)
        silence_begins(silence);
    if (silence->names)
        EVENTUALLY(waiting() > 0);
    for (size_t i = 0; i < G_N_ELEMENTS(unanswered); i++)
        if (!strstr(unanswered[i].may, "PATIENT") && /* that takes a session timeout more */
            !check_unanswered(silence, &e, &unanswered[i]))
            break;
    silence_ends();
    if (e.s)
        unanswered_free(&e);
    if (silence->served)
        fault_expire(id);
    g_free(servers);
}

TEST_CASE(s24_every_call)
{
    fault_begin();
    set_names(false, 0);
    handles_heard = NULL;
    raw_create(fault.direct, "/unanswered", NULL, -1, 0, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(silences); i++)
        keep_silence(&silences[i]);
    fault_end();
}
