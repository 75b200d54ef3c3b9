/* What a session answers without a server, how it takes what the store reports, and its options:
 * servers, credentials, and the structs of all of the library's options. */
#include "by_hand.h"
#include "lib/base/credentials.h"
#include "lib/base/options.h"
#include "lib/base/thread.h"
#include "lib/session/core.h"
#include "runner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(session);

static void refused_options(const zkl_session_options *o, const char *named)
{
    zkl_session *s;
    zkl_error why = {.code = 0};

    CHECK_INT(zkl_session_open(&s, "a", o, &why), ZKL_EINVAL);
    CHECK_INT(why.code, ZKL_EINVAL);
    CHECK(strstr(why.text, named));
}

TEST_CASE(bad_options)
{
    static const zkl_credential no_auth = {"digest", NULL}, no_scheme = {NULL, "a:b"};
    static const struct {
        zkl_session_options o;
        const char *named;
    } bad[] = {
#define OPTIONS(...) {.size = sizeof(zkl_session_options), __VA_ARGS__}
        {OPTIONS(.acl = "x"), "acl"},
        {OPTIONS(.acl = "auth::cdrwa"), "credentials"},
        {OPTIONS(.acl = "world:anyone:r,auth:a:w"), "credentials"},
        {OPTIONS(.tick_ms = -1), "tick_ms"},
        {OPTIONS(.tick_ms = 6200), "tick_ms"}, /* no ensemble could renew a grant in time */
        {OPTIONS(.drift_permille = 220), "drift_permille"},
        {OPTIONS(.session_timeout_ms = 400), "session_timeout_ms"},
        {OPTIONS(.tick_ms = 6000, .drift_permille = 300), "tick_ms"},
        {OPTIONS(.drift_permille = -1), "drift_permille"},
        {OPTIONS(.drift_permille = 501), "drift_permille"},
        {OPTIONS(.dispatch = 2), "dispatch"},
        {OPTIONS(.fixed_servers = 2), "fixed_servers"},
        {OPTIONS(.credential_count = 1), "credential_count"},
        {OPTIONS(.credentials = &no_auth, .credential_count = 1), "credentials"},
        {OPTIONS(.credentials = &no_scheme, .credential_count = 1), "credentials"},
        {OPTIONS(.log_level = (zkl_log_level)-1), "log_level"},
        {OPTIONS(.log_level = (zkl_log_level)5), "log_level"},
#undef OPTIONS
        {{.size = sizeof(zkl_session_options), .session_timeout_ms = 199}, "session_timeout_ms"},
        {{.size = sizeof(zkl_session_options), .session_timeout_ms = 1000000001},
         "session_timeout_ms"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        refused_options(&bad[i].o, bad[i].named);
}

TEST_CASE(bad_arguments)
{
    zkl_session *s;
    zkl_error why;

    CHECK_INT(zkl_session_open(NULL, "a", NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_open(&s, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_open(&s, "a:x", NULL, &why), ZKL_EINVAL);
    CHECK_STR(why.path, "a:x");
}

struct heard {
    atomic_int events[ZKL_SESSION_CLOSED + 1];
    atomic_int code; /* of a wait in a callback */
};

static void hear(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct heard *h = data;

    (void)id;
    if (event == ZKL_SESSION_CONNECTED) {
        atomic_store(&h->code, zkl_session_wait(s, 0));
        CHECK_INT(zkl_session_dispatch(s), ZKL_EINVAL);
    }
    atomic_fetch_add(&h->events[event], 1);
    if (event == ZKL_SESSION_CLOSED) /* the last one */
        fake_event(STORE_EV_DOWN);
}

TEST_CASE(events)
{
    zkl_session *s = fake_session();
    struct heard h = {.code = 0};

    CHECK_INT(zkl_session_wait(s, INT64_MAX - 1), 0);
    CHECK_INT(zkl_session_id(s), FAKE_SESSION_ID);
    CHECK_INT(zkl_session_timeout_ms(s), FAKE_TIMEOUT_MS);
    CHECK_INT(zkl_session_on_change(s, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_on_change(s, hear, &h), 0);
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EUNREACHABLE);
    fake_event(STORE_EV_HOST);
    CHECK_INT(zkl_session_wait(s, 1), ZKL_EHOST);
    fake_event(STORE_EV_FOREIGN);
    CHECK_INT(zkl_session_wait(s, -7), ZKL_EUNREACHABLE);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    zkl_session_close(s);
    CHECK_INT(atomic_load(&h.code), ZKL_EDEADLK);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_CONNECTED]), 2);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_SUSPENDED]), 1);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_CLOSED]), 1);
}

struct masks {
    int calls;
    sigset_t in_callback, in_thread;
};

static void *note_mask(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

static void on_change_note_mask(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct masks *m = data;

    (void)s, (void)event, (void)id;
    note_mask(&m->in_callback);
    m->calls++;
}

static volatile sig_atomic_t faults;

static void on_fault(int signo)
{
    (void)signo;
    faults++;
}

static void on_change_raise(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)event, (void)id, (void)data;
    raise(SIGBUS);
}

/* What a callback starts has the mask of the program, and a fault in it reaches its handler. */
TEST_CASE(signals_in_callbacks)
{
    const struct sigaction action = {.sa_handler = on_fault};
    struct sigaction old;
    struct masks masks = {0};
    sigset_t one, before;
    pthread_t thread;

    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    zkl_session *s = fake_open_session("fake:1", NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGBUS, &action, &old);
    CHECK_INT(zkl_session_on_change(s, on_change_note_mask, &masks), 0);
    CHECK_INT(zkl_session_on_change(s, on_change_raise, NULL), 0);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    zkl_session_close(s);
    CHECK(masks.calls > 0 && faults > 0);
    CHECK(!sigismember(&masks.in_callback, SIGTERM) && sigismember(&masks.in_callback, SIGUSR1));
    sigaction(SIGBUS, &old, NULL);
    REQUIRE(thread_start(&thread, note_mask, &masks.in_thread) == 0);
    pthread_join(thread, NULL);
    CHECK(sigismember(&masks.in_thread, SIGTERM) && !sigismember(&masks.in_thread, SIGSEGV));
}

static int no_thread(struct store **ret, const struct store_config *config,
                     const struct store_sink *sink)
{
    (void)ret, (void)config, (void)sink;
    return -1;
}

TEST_CASE(ended_without_threads)
{
    const struct store_ops ops = {.open = no_thread};
    const zkl_session_claim claim = {.id = 1};

    session_store = &ops;
    CHECK_INT(zkl_session_end("a", NULL, &claim, 1000), ZKL_ENOMEM);
    session_store = &store_zk;
}

static struct store_sink claim_sink;

/* What a slow store tells before it stands still. */
struct slow {
    enum store_event tells[2];
    size_t count;
    int code; /* of zkl_session_end() then */
};

static const struct slow *slow;

static int open_slow(struct store **ret, const struct store_config *config,
                     const struct store_sink *sink)
{
    (void)ret, (void)config;
    claim_sink = *sink;
    for (size_t i = 0; i < slow->count; i++)
        sink->event(sink->context, slow->tells[i], 0, 0);
    return 0;
}

static void close_later(struct store *store)
{
    (void)store;
}

/* A store that looks a name up cannot close before that is done. */
TEST_CASE(ended_with_a_slow_store)
{
    static const struct slow rows[] = {
        {{0}, 0, ZKL_EUNREACHABLE},
        {{STORE_EV_HOST}, 1, ZKL_EHOST},
        {{STORE_EV_HOST, STORE_EV_DOWN}, 2, ZKL_EHOST},
        {{STORE_EV_HOST, STORE_EV_BEGIN}, 2, ZKL_EUNREACHABLE}, /* it was found */
    };
    const struct store_ops ops = {.open = open_slow, .close = close_later};
    const zkl_session_claim claim = {.id = 1};

    session_store = &ops;
    for (slow = rows; slow < rows + G_N_ELEMENTS(rows); slow++) {
        CHECK_INT(zkl_session_end("a", NULL, &claim, 10), slow->code);
        claim_sink.closed(claim_sink.context); /* frees what nobody else would */
    }
    session_store = &store_zk;
}

static struct {
    int opened, closed_unheard;
    bool heard;
} claim_stores;

/* The first store tells that the session is ours, the second that there is none. */
static void *claim_tell(void *unused)
{
    pthread_mutex_lock(claim_sink.monitor);
    claim_stores.heard = true;
    claim_sink.event(claim_sink.context, claim_stores.opened == 1 ? STORE_EV_UP : STORE_EV_EXPIRED,
                     1, 1000);
    pthread_mutex_unlock(claim_sink.monitor);
    return unused;
}

static int open_and_tell(struct store **ret, const struct store_config *config,
                         const struct store_sink *sink)
{
    (void)ret, (void)config;
    claim_sink = *sink;
    claim_stores.opened++;
    claim_stores.heard = false;
    return thread_start_detached(claim_tell, NULL);
}

static void *claim_tell_closed(void *unused)
{
    claim_sink.closed(claim_sink.context);
    return unused;
}

static void close_soon(struct store *store)
{
    (void)store;
    CHECK_INT(thread_start_detached(claim_tell_closed, NULL), 0);
}

static void close_and_tell(struct store *store)
{
    claim_stores.closed_unheard += !claim_stores.heard;
    close_soon(store);
}

static bool submit_nothing(struct store *store, const struct store_request *request,
                           store_done done, void *context)
{
    (void)store, (void)request, (void)done, (void)context;
    return false;
}

/* A session is ours when it is closed, and is taken up again until there is none. */
TEST_CASE(ended_at_the_second_try)
{
    const struct store_ops ops = {
        .open = open_and_tell, .submit = submit_nothing, .close = close_and_tell};
    const zkl_session_claim claim = {.id = 1};

    session_store = &ops;
    CHECK_INT(zkl_session_end("a", NULL, &claim, 3600000), 0);
    CHECK_INT(claim_stores.opened, 2);
    CHECK_INT(claim_stores.closed_unheard, 0);
    session_store = &store_zk;
}

static struct {
    int opened;
    bool with_credentials;
} strict;

/* A session that is taken up a second time has ended. */
static int open_strict(struct store **ret, const struct store_config *config,
                       const struct store_sink *sink)
{
    (void)ret;
    claim_sink = *sink;
    strict.with_credentials = config->credentials->count == 1 &&
                              strcmp(config->credentials->each[0].secret, "alice:secret") == 0;
    sink->event(sink->context, strict.opened++ == 0 ? STORE_EV_UP : STORE_EV_EXPIRED, 1, 1000);
    return 0;
}

static bool answer_strictly(struct store *store, const struct store_request *request,
                            store_done done, void *context)
{
    (void)store, (void)request;
    if (!strict.with_credentials)
        claim_sink.event(claim_sink.context, STORE_EV_AUTH, 0, 0);
    done(context, &(struct store_reply){.rc = strict.with_credentials ? STORE_OK : STORE_UNKNOWN});
    return true;
}

/* Each time that it is taken up prolongs it: one refusal is enough. */
TEST_CASE(ended_where_credentials_are_demanded)
{
    const struct store_ops ops = {
        .open = open_strict, .submit = answer_strictly, .close = close_soon};
    static const zkl_credential alice = {"digest", "alice:secret"};
    const zkl_session_claim claim = {.id = 1};
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    session_store = &ops;
    CHECK_INT(zkl_session_end("a", &o, &claim, 60000), ZKL_EAUTH);
    CHECK_INT(strict.opened, 1);
    strict.opened = 0;
    o.credentials = &alice;
    o.credential_count = 1;
    CHECK_INT(zkl_session_end("a", &o, &claim, 60000), 0);
    o.tls_ca = "a"; /* without the other two */
    CHECK_INT(zkl_session_end("a", &o, &claim, 60000), ZKL_EINVAL);
    CHECK_INT(strict.opened, 2);
    session_store = &store_zk;
}

struct ending {
    zkl_mutex *mutex;
    bool went_on;
};

/* To be cancelled at the next point where that may be. */
static void *free_canceled(void *data)
{
    struct ending *e = data;

    pthread_cancel(pthread_self());
    zkl_mutex_free(e->mutex);
    e->went_on = true;
    pthread_testcancel();
    return NULL;
}

/* The session's end is no such point, though a descriptor is closed: half of it would be left. */
TEST_CASE(the_last_reference_is_given_up_whole)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    struct ending e = {.went_on = false};
    pthread_t thread;
    void *result;

    o.dispatch = 1;
    zkl_session *s = fake_open_session("fake:1", &o);
    REQUIRE(zkl_mutex_new(&e.mutex, s, "/b", NULL) == 0);
    zkl_session_close(s);
    while (g_atomic_int_get(&s->refs) > 1)
        g_usleep(1000);
    REQUIRE(pthread_create(&thread, NULL, free_canceled, &e) == 0);
    pthread_join(thread, &result);
    CHECK(e.went_on);
    CHECK(result == PTHREAD_CANCELED);
}

static void *use_tls_canceled(void *data)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    const zkl_session_claim claim = {.id = 1};
    zkl_session *s;

    o.tls_ca = o.tls_cert = o.tls_key = "/dev/null";
    pthread_cancel(pthread_self());
    CHECK_INT(zkl_session_open(&s, "a", &o, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_end("a", &o, &claim, 0), ZKL_EINVAL);
    ((struct ending *)data)->went_on = true;
    pthread_testcancel();
    return NULL;
}

/* Where libzookeeper has TLS, files are read, which is a point of cancellation. */
TEST_CASE(files_of_tls_are_read_whole)
{
    struct ending e = {.went_on = false};
    pthread_t thread;
    void *result;

    REQUIRE(pthread_create(&thread, NULL, use_tls_canceled, &e) == 0);
    pthread_join(thread, &result);
    CHECK(e.went_on);
    CHECK(result == PTHREAD_CANCELED);
}

/* ---- a list of servers that changes, and what the ensemble says of itself: the session stays ----
 */

static const char config[] = "server.1=a:1:2:participant;b:3\nversion=0";

/* The store has the list at once. A waiter keeps its place, and a holder its grant. */
TEST_CASE(when_the_connection_is_lost)
{
    zkl_session *s = hand_session();
    struct acquisition holder, waiter;

    hand_hold(&holder, s);
    hand_enter(&waiter, s, ZKL_FOREVER);
    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    CHECK_STR(fake_hosts(), "other:2");
    hand_pass_proved(s, 3000);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 3000);
    CHECK_INT(zkl_session_id(s), FAKE_SESSION_ID);
    fake_event(STORE_EV_UP);
    CHECK_INT(zkl_session_id(s), FAKE_SESSION_ID);
    CHECK(zkl_grant_state(holder.grant) != ZKL_LOST);
    hand_leave(&holder);
    hand_leave(&waiter);
    hand_close(s);
}

struct hanging {
    int64_t left_ms;
    int64_t ids[2]; /* just before that, and then */
};

static void hang_at_close(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct hanging *h = data;

    (void)id;
    if (event != ZKL_SESSION_CLOSED)
        return;
    hand_pass(s, h->left_ms - 1);
    h->ids[0] = s->id;
    hand_pass(s, 1);
    h->ids[1] = s->id;
}

/* Others wait no longer for its nodes than if we had died, or since it was refused. */
TEST_CASE(closed_while_a_callback_hangs)
{
    for (int refused = 0; refused < 2; refused++) {
        zkl_session *s = hand_session();
        struct hanging h = {.left_ms = refused ? 6000 : 10000};

        CHECK_INT(zkl_session_on_change(s, hang_at_close, &h), 0);
        if (refused) {
            fake_event(STORE_EV_AUTH);
            hand_pass(s, 4000);
        }
        hand_close(s);
        CHECK_INT(h.ids[0], FAKE_SESSION_ID);
        CHECK_INT(h.ids[1], 0);
    }
}

/* The next session begins at it, too, whatever ended the one before. */
TEST_CASE(for_the_next_session)
{
    zkl_session *s = hand_session();

    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    CHECK_INT(zkl_session_set_servers(s, "third:3,[::1]:4/root"), 0);
    CHECK_INT(zkl_session_set_servers(s, "third:3,[::1]:4/root"), 0);
    fake_next_session();
    CHECK_STR(fake_hosts(), "third:3,::1:4");
    CHECK_INT(zkl_session_id(s), FAKE_SESSION_ID + 1);
    hand_close(s);
}

/* One that was never connected. */
TEST_CASE(before_a_connection)
{
    zkl_session *s = hand_session_with(NULL);

    CHECK_INT(zkl_session_set_servers(s, "other:2,[::1]:3/root"), 0);
    CHECK_STR(fake_hosts(), "other:2,::1:3");
    hand_close(s);
}

static void answer_config(const char *text, int length)
{
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = text, .length = length);
}

/* Read once with each connection, once more to be told of changes, and when there is one. */
TEST_CASE(the_ensemble_is_heard)
{
    zkl_session *s = hand_session();
    const int length = (int)strlen(config);

    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 1);
    answer_config(config, length);
    CHECK_STR(fake_config(), config);
    CHECK(fake_is_watching(STORE_GET, "/zookeeper/config"));
    answer_config(config, length);
    fake_reconnect();
    CHECK(!fake_is_watching(STORE_GET, "/zookeeper/config")); /* the library sets it again */
    answer_config(config, length);
    hand_pass(s, 30000);
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 0);
    fake_watch("/zookeeper/config", false);
    CHECK(fake_is_watching(STORE_GET, "/zookeeper/config"));
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 1);
    answer_config(config, 8);
    CHECK_STR(fake_config(), "server.1");
    fake_watch("/zookeeper", false); /* another node */
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 0);
    fake_next_session();
    answer_config(config, length);
    CHECK(fake_is_watching(STORE_GET, "/zookeeper/config"));
    hand_close(s);
}

/* A server that stands alone is left no watch. */
TEST_CASE(one_server_is_no_ensemble)
{
    zkl_session *s = hand_session();

    answer_config(NULL, 0);
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 0);
    hand_close(s);
}

/* What cannot be read, or is of an earlier connection, is not heard. */
TEST_CASE(unheard)
{
    zkl_session *s = hand_session();

    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_NOAUTH, .data = config, .length = 8);
    CHECK_STR(fake_config(), "");
    fake_reconnect();
    fake_reconnect();
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = config, .length = 8);
    CHECK_STR(fake_config(), "");
    hand_close(s);
}

TEST_CASE(fixed_servers)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.fixed_servers = 1;
    zkl_session *s = hand_session_with(&o);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_watching(STORE_GET, "/zookeeper/config"));
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = config, .length = 8);
    CHECK_STR(fake_config(), "");
    fake_watch("/zookeeper/config", false);
    CHECK(!fake_is_asked(STORE_GET, "/zookeeper/config"));
    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    CHECK_STR(fake_hosts(), "other:2");
    hand_close(s);
}

/* A session was not proved for long. It is replaced if it is connected to a server of the user's
 * list, and kept if those servers may be gone. */
TEST_CASE(cold)
{
    for (int strays = 0; strays < 2; strays++) {
        zkl_session *s = hand_session_with(NULL);
        struct acquisition a;

        session_set_warm_ms(s, 0);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
        ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = config, .length = 8);
        fake_stray(strays);
        hand_pass(s, 30000);
        hand_enter(&a, s, ZKL_FOREVER);
        CHECK_INT(zkl_session_id(s), strays ? FAKE_SESSION_ID : 0);
        hand_leave(&a);
        fake_stray(false);
        hand_close(s);
    }
}

TEST_CASE(bad_servers)
{
    zkl_session *s = hand_session();

    CHECK_INT(zkl_session_set_servers(NULL, "other:2/root"), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, "other:x/root"), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, "other:2"), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, "other:2/boot"), ZKL_EINVAL);
    CHECK_STR(fake_hosts(), "fake:1");
    hand_close(s);
}

/* ---- credentials: one copy while the session lives, and none when it has closed ---- */

/* The allocator writes over the beginning of what is freed, so what is looked for is the end. */
enum { LENGTH = 80, BEGINNING = 40, TAIL = LENGTH - BEGINNING, CHUNK = 65536 };
static const size_t region_max = (size_t)256 << 20; /* larger ones are a sanitizer's own */

/* Nothing else in our memory looks like that: each byte is made when it is compared. Each seed
 * makes another secret. */
static volatile int seed;

static char secret_byte(int i)
{
    return (char)('!' + (seed + i * i * 31) % 90);
}

static void make_secret(char *ret)
{
    for (int i = 0; i < LENGTH; i++)
        ret[i] = secret_byte(i);
    ret[LENGTH] = '\0';
}

static bool is_secret(const char *at)
{
    for (int i = 0; i < TAIL; i++)
        if (at[i] != secret_byte(BEGINNING + i))
            return false;
    return true;
}

static int count_in(int memory, uintptr_t from, uintptr_t to)
{
    static char chunk[CHUNK];
    const char first = secret_byte(BEGINNING);
    int found = 0;

    for (ssize_t n; from < to; from += (uintptr_t)n) {
        n = pread(memory, chunk, MIN(sizeof chunk, to - from), (off_t)from);
        if (n < TAIL)
            break;
        for (ssize_t i = 0; i + TAIL <= n; i++)
            found += chunk[i] == first && is_secret(chunk + i);
        explicit_bzero(chunk, sizeof chunk);
        n = from + (uintptr_t)n < to ? n - TAIL + 1 : n;
    }
    return found;
}

/* In all memory that this process may write. */
static int copies(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), found = 0;
    char line[512], access[8];
    uintptr_t from, to;

    REQUIRE(maps && memory >= 0);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, access) == 3 &&
            strcmp(access, "rw-p") == 0 && to - from < region_max)
            found += count_in(memory, from, to);
    fclose(maps);
    close(memory);
    return found;
}

static zkl_session *open_with_secret(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    char secret[LENGTH + 1];
    const zkl_credential credentials[] = {{"digest", "a:b"}, {"digest", secret}};
    zkl_session *s;

    make_secret(secret);
    options.credentials = credentials;
    options.credential_count = G_N_ELEMENTS(credentials);
    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", &options, NULL) == 0);
    session_store = &store_zk;
    explicit_bzero(secret, sizeof secret);
    return s;
}

/* How many copies there are in the life of a session. */
struct found_copies {
    int open, expired, closed;
};

static struct found_copies find_copies(int of_seed)
{
    struct found_copies found;

    seed = of_seed;
    zkl_session *s = open_with_secret();
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    found.open = copies();
    fake_event(STORE_EV_EXPIRED); /* they are for the next incarnation, too */
    found.expired = copies();
    session_ref(s); /* as a handle has */
    zkl_session_close(s);
    found.closed = copies();
    session_unref(s);
    return found;
}

/* The first call of a function of a library looks it up, which saves registers on the stack, and
 * they may hold a secret. So the first round, which has another secret, is not judged. */
TEST_CASE(credentials_are_wiped)
{
#ifdef __SANITIZE_THREAD__
    runner_skip("ThreadSanitizer's own memory is too much to be searched");
    return;
#endif
    find_copies(76);
    const struct found_copies found = find_copies(77);

    CHECK_INT(found.open, 1);
    CHECK_INT(found.expired, 1);
    CHECK_INT(found.closed, 0);
}

/* ---- structs of options: which sizes are taken, and what zeros in them mean ---- */

enum { BYTES = 8192 };

/* Each answers the code of a call with options that are there from the first byte on. */
static int open_session(zkl_session *unused, const void *options)
{
    zkl_session *s = NULL;

    (void)unused;
    int code = zkl_session_open(&s, "127.0.0.1:1", options, NULL);
    zkl_session_close(s);
    return code;
}

static int new_mutex(zkl_session *s, const void *options)
{
    zkl_mutex *m = NULL;
    int code = zkl_mutex_new(&m, s, "/a", options);

    zkl_mutex_free(m);
    return code;
}

static int new_election(zkl_session *s, const void *options)
{
    zkl_election *e = NULL;
    int code = zkl_election_new(&e, s, "/a", "c", options);

    zkl_election_free(e);
    return code;
}

static int new_barrier(zkl_session *s, const void *options)
{
    zkl_barrier *b = NULL;
    int code = zkl_barrier_new(&b, s, "/a", options);

    zkl_barrier_free(b);
    return code;
}

static int new_semaphore(zkl_session *s, const void *options)
{
    zkl_semaphore *m = NULL;
    int code = zkl_semaphore_new(&m, s, "/a", options);

    zkl_semaphore_free(m);
    return code;
}

static int new_once(zkl_session *s, const void *options)
{
    zkl_once *o = NULL;
    int code = zkl_once_new(&o, s, "/a", options);

    zkl_once_free(o);
    return code;
}

static int join_as_member(zkl_session *s, const void *options)
{
    zkl_member *m = NULL;
    int code = zkl_member_join(&m, s, "/a", "m", NULL, 0, options);

    zkl_member_free(m);
    return code;
}

static void ignore_shards(zkl_shards *all, zkl_shards_event event, const zkl_shards_news *news,
                          void *data)
{
    (void)all, (void)event, (void)news, (void)data;
}

static int start_shards(zkl_session *s, const void *options)
{
    zkl_shards *all = NULL;
    int code = zkl_shards_start(&all, s, "/s", 1, "m", ignore_shards, NULL, options);

    zkl_shards_free(all);
    return code;
}

/* It looks at the path next, and asks no server. */
static int read_queue(zkl_session *s, const void *options)
{
    zkl_queue *q = NULL;
    zkl_error why = {.code = 0};
    int code = zkl_queue_read(&q, s, "no path", options, 0);

    zkl_last_error(&why);
    return strcmp(why.path, "no path") == 0 ? 0 : code;
}

static const zkl_session_options session_init = ZKL_SESSION_OPTIONS_INIT;
static const zkl_mutex_options mutex_init = ZKL_MUTEX_OPTIONS_INIT;
static const zkl_election_options election_init = ZKL_ELECTION_OPTIONS_INIT;
static const zkl_queue_options queue_init = ZKL_QUEUE_OPTIONS_INIT;
static const zkl_barrier_options barrier_init = ZKL_BARRIER_OPTIONS_INIT;
static const zkl_semaphore_options semaphore_init = ZKL_SEMAPHORE_OPTIONS_INIT;
static const zkl_once_options once_init = ZKL_ONCE_OPTIONS_INIT;
static const zkl_member_options member_init = ZKL_MEMBER_OPTIONS_INIT;
static const zkl_shards_options shards_init = ZKL_SHARDS_OPTIONS_INIT;

static const struct kind {
    const void *init;
    size_t size;
    size_t known; /* without reserved */
    int (*call)(zkl_session *s, const void *options);
} kinds[] = {
    {&session_init, sizeof session_init, offsetof(zkl_session_options, reserved), open_session},
    {&mutex_init, sizeof mutex_init, offsetof(zkl_mutex_options, reserved), new_mutex},
    {&election_init, sizeof election_init, offsetof(zkl_election_options, reserved), new_election},
    {&queue_init, sizeof queue_init, sizeof queue_init, read_queue},
    {&barrier_init, sizeof barrier_init, offsetof(zkl_barrier_options, reserved), new_barrier},
    {&semaphore_init, sizeof semaphore_init, sizeof semaphore_init, new_semaphore},
    {&once_init, sizeof once_init, offsetof(zkl_once_options, reserved), new_once},
    {&member_init, sizeof member_init, sizeof member_init, join_as_member},
    {&shards_init, sizeof shards_init, sizeof shards_init, start_shards},
};

/* The options as they would be with that size, and a byte set somewhere. */
static int call(zkl_session *s, const struct kind *k, size_t size, size_t set)
{
    char *options = g_malloc0(BYTES);

    memcpy(options, k->init, k->size);
    memcpy(options, &size, sizeof size);
    if (set > 0)
        options[set] = 1;
    int code = k->call(s, options);
    g_free(options);
    return code;
}

TEST_CASE(sizes_of_options)
{
    zkl_session *s = fake_session();

    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const struct kind *k = &kinds[i];
        CHECK_INT(k->call(s, NULL), 0);
        CHECK_INT(call(s, k, k->size, 0), 0);
        for (size_t size = 0; size < k->known; size++)
            CHECK_INT(call(s, k, size, 0), ZKL_EINVAL);
        /* What a later version may have made of reserved: nothing is ignored that was set. */
        for (size_t set = k->known; set < k->size; set++)
            CHECK_INT(call(s, k, k->size, set), ZKL_EINVAL);
        CHECK_INT(zkl_last_error(NULL), ZKL_EINVAL);
        CHECK_INT(call(s, k, k->size + 1, 0), 0);
        CHECK_INT(call(s, k, k->size + 64, 0), 0);
        CHECK_INT(call(s, k, k->size, k->size), 0); /* that is not the struct's any more */
        CHECK_INT(call(s, k, k->size + 1, k->size), ZKL_EINVAL);
        CHECK_INT(call(s, k, k->size + 64, k->size + 63), ZKL_EINVAL);
        CHECK_INT(call(s, k, BYTES, 0), ZKL_EINVAL);
        CHECK_INT(call(s, k, SIZE_MAX, 0), ZKL_EINVAL);
    }
    zkl_session_close(s);
}

/* A struct of which only size is set says the same as its macro. */
#define CHECK_MACRO(type, init, ...)                                                               \
    do {                                                                                           \
        static const zkl_##type macro = init, zeros = {.size = sizeof zeros, __VA_ARGS__};         \
        CHECK(memcmp(&macro, &zeros, sizeof zeros) == 0);                                          \
    } while (0)

TEST_CASE(macros_of_options)
{
    CHECK_MACRO(barrier_options, ZKL_BARRIER_OPTIONS_INIT);
    CHECK_MACRO(election_options, ZKL_ELECTION_OPTIONS_INIT);
    CHECK_MACRO(member_options, ZKL_MEMBER_OPTIONS_INIT);
    CHECK_MACRO(mutex_options, ZKL_MUTEX_OPTIONS_INIT);
    CHECK_MACRO(once_options, ZKL_ONCE_OPTIONS_INIT);
    CHECK_MACRO(queue_options, ZKL_QUEUE_OPTIONS_INIT);
    CHECK_MACRO(semaphore_options, ZKL_SEMAPHORE_OPTIONS_INIT);
    CHECK_MACRO(session_options, ZKL_SESSION_OPTIONS_INIT, .log_level = ZKL_LOG_WARN);
    CHECK_MACRO(shards_options, ZKL_SHARDS_OPTIONS_INIT);
}

TEST_CASE(version)
{
    char *numbers =
        g_strdup_printf("%d.%d.%d", ZKL_VERSION_MAJOR, ZKL_VERSION_MINOR, ZKL_VERSION_PATCH);

    CHECK_STR(zkl_version(), ZKL_VERSION);
    CHECK_STR(zkl_version(), numbers);
    g_free(numbers);
}

TEST_CASE(status_size)
{
    zkl_session *s = fake_session();
    zkl_election_status status[2] = {{.size = sizeof status}};
    zkl_election *e;

    REQUIRE(zkl_election_new(&e, s, "/a", "c", NULL) == 0);
    for (size_t size = 0; size < sizeof *status; size++) {
        status->size = size;
        CHECK_INT(zkl_election_get_status(e, status), ZKL_EINVAL);
    }
    status->size = sizeof status;
    CHECK_INT(zkl_election_get_status(e, status), 0);
    CHECK_INT(status->size, sizeof *status);
    zkl_election_free(e);
    zkl_session_close(s);
}

struct grown {
    size_t size;
    int64_t first, second, third;
};

/* The first version had .first, the library has .second, and a newer program has .third. */
TEST_CASE(structs_that_grow)
{
    enum {
        FIRST = offsetof(struct grown, second),
        SECOND = offsetof(struct grown, third),
    };
    static const struct grown ours = {SECOND, 1, 2, 3};
    static const struct grown filled[] = {{0, -1, -1, -1},
                                          {FIRST - 1, -1, -1, -1},
                                          {FIRST, 1, -1, -1},
                                          {SECOND, 1, 2, -1},
                                          {SECOND, 1, 2, -1}};
    const size_t sizes[] = {0, FIRST - 1, FIRST, SECOND, sizeof ours};
    struct grown theirs;

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        theirs = (struct grown){sizes[i], -1, -1, -1};
        CHECK_INT(!options_give(&theirs, &ours, SECOND, FIRST), sizes[i] >= FIRST);
        CHECK_INT(theirs.size, filled[i].size);
        CHECK_INT(theirs.first, filled[i].first);
        CHECK_INT(theirs.second, filled[i].second);
        CHECK_INT(theirs.third, filled[i].third);
    }
    CHECK(options_give(&theirs, &ours, FIRST - 1, FIRST) != NULL);
    CHECK(options_give(NULL, &ours, SECOND, FIRST) != NULL);
}

static void count_warning(const zkl_log_record *record, void *data)
{
    if (record->level == ZKL_LOG_WARN)
        atomic_fetch_add((atomic_int *)data, 1);
}

/* Clocks are still taken to differ, and warnings to be of interest. */
TEST_CASE(options_of_zeros)
{
    atomic_int warnings = 0;
    zkl_session_options o = {.size = sizeof o, .log = count_warning, .log_data = &warnings};
    zkl_session *s;

    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", &o, NULL) == 0);
    session_store = &store_zk;
    CHECK_INT(zkl_session_timeout_ms(s), 10000);
    CHECK_INT(s->proofs.drift_permille, 100);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    fake_event(STORE_EV_EXPIRED);
    zkl_session_close(s);
    CHECK_INT(atomic_load(&warnings), 1);
}
