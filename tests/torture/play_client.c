/* Over the real store, with libzookeeper played by client.c. */
#include "client.h"
#include "lib/base/error.h"
#include "play.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

/* ---- what answers the store's question whether a ZooKeeper is there ---- */

static struct {
    int fd;
    pthread_t thread;
    char address[64];
} greeter;

/* Until its socket is shut. */
static void *greet(void *unused)
{
    static const char words[] = "Zookeeper version: played";
    char asked[4];

    fault_spare(true);
    for (int fd; (fd = accept(greeter.fd, NULL, NULL)) >= 0; close(fd)) {
        if (recv(fd, asked, sizeof asked, MSG_WAITALL) == sizeof asked)
            send(fd, words, strlen(words), MSG_NOSIGNAL);
    }
    return unused;
}

static const char *greeter_start(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;

    fault_spare(true);
    greeter.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(bind(greeter.fd, (struct sockaddr *)&a, size) == 0);
    EXPECT(listen(greeter.fd, 16) == 0);
    EXPECT(getsockname(greeter.fd, (struct sockaddr *)&a, &size) == 0);
    EXPECT(pthread_create(&greeter.thread, NULL, greet, NULL) == 0);
    fault_spare(false);
    snprintf(greeter.address, sizeof greeter.address, "127.0.0.1:%d", ntohs(a.sin_port));
    return greeter.address;
}

static void greeter_stop(void)
{
    fault_spare(true);
    shutdown(greeter.fd, SHUT_RDWR);
    pthread_join(greeter.thread, NULL);
    close(greeter.fd);
    fault_spare(false);
}

/* ---- which errors are documented ---- */

static const int of_lock[] = {ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST,  ZKL_EACCES,
                              ZKL_EAUTH,     ZKL_EPATH,        ZKL_EPROTO, 0};
static const int of_read[] = {ZKL_ENOENT, ZKL_EACCES, ZKL_EUNREACHABLE, ZKL_EHOST,
                              ZKL_EAUTH,  ZKL_EPROTO, ZKL_ETIMEDOUT,    0};
static const int of_multi[] = {ZKL_ELOST, ZKL_ENOENT,   ZKL_EACCES, ZKL_EPROTO,
                               ZKL_EPATH, ZKL_EUNKNOWN, 0};
static const int of_unlock[] = {ZKL_ELOST, 0};

/* What the library must get over by itself. */
static bool is_passing(int error)
{
    return error == ZCONNECTIONLOSS || error == ANSWER_DONE + ZCONNECTIONLOSS ||
           error == ZMARSHALLINGERROR || error == ZINVALIDSTATE;
}

/* Success, or one of those, by the fault. */
static int check(int code, const int *documented)
{
    zkl_error why;

    if (code == 0)
        return 0;
    while (*documented && *documented != code)
        documented++;
    if (*documented == 0)
        printf("%d: %s\n", code, zkl_strerror(code));
    EXPECT(*documented != 0 && fault_reached());
    EXPECT(code == ZKL_EUNKNOWN || !is_passing(fault_error()));
    EXPECT(zkl_last_error(&why) == code && why.text[0]);
    return code;
}

static int first_of(int a, int b)
{
    return a ? a : b;
}

/* ---- scenarios ---- */

static int try_read(zkl_session *s)
{
    zkl_queue *q;
    int code = check(zkl_queue_read(&q, s, "/a/l", NULL, ZKL_FOREVER), of_read);

    if (code)
        return code;
    EXPECT(zkl_queue_count(q) <= 1 && (fault_reached() || zkl_queue_count(q) == 1));
    zkl_queue_free(q);
    return 0;
}

static int work(zkl_session *s, zkl_mutex *m)
{
    static const zkl_change change = {.kind = ZKL_CHANGE_CHECK, .version = -1, .path = "/a"};
    const zkl_grant *g;
    int code = check(zkl_mutex_lock(m, ZKL_FOREVER, &g), of_lock);

    if (code)
        return code;
    EXPECT(zkl_grant_token(g) != 0);
    code = try_read(s);
    code = first_of(code, check(zkl_grant_multi(g, &change, 1, 0, ZKL_FOREVER), of_multi));
    return first_of(code, check(zkl_mutex_unlock(m), of_unlock));
}

static void end_session(zkl_session *s)
{
    PLAY_AWAIT(client_nodes("/a/l/") == 0);
    PLAY_AWAIT(client_watches() == 0);
    zkl_session_close(s);
    client_forget();
    greeter_stop();
}

static void lock_unlock(void)
{
    zkl_session *s = play_open(greeter_start(), NULL);
    zkl_mutex *m;

    EXPECT(zkl_mutex_new(&m, s, "/a/l", NULL) == 0);
    if (work(s, m) != 0)
        EXPECT(work(s, m) == 0);
    zkl_mutex_free(m);
    end_session(s);
}

static void take_turn(struct outcome *o)
{
    PLAY_AWAIT(atomic_load(&o->calls));
    EXPECT(o->grant || check(error_keep(&o->error), of_lock));
    zkl_grant_release(o->grant);
}

/* The second waits for the first, watching it; but a fault may turn them round. */
static void hand_over(void)
{
    zkl_session *s = play_open(greeter_start(), NULL);
    zkl_mutex *m, *n;
    struct outcome a = {.calls = 0}, b = {.calls = 0};

    EXPECT(zkl_mutex_new(&m, s, "/a/l", NULL) == 0);
    EXPECT(zkl_mutex_new(&n, s, "/a/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(m, ZKL_FOREVER, outcome_take, &a, NULL) == 0);
    EXPECT(zkl_mutex_lock_async(n, ZKL_FOREVER, outcome_take, &b, NULL) == 0);
    PLAY_AWAIT(atomic_load(&a.calls) || atomic_load(&b.calls));
    bool first = atomic_load(&a.calls);
    EXPECT(first || fault_reached());
    take_turn(first ? &a : &b);
    take_turn(first ? &b : &a);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    end_session(s);
}

/* The lock is given back with the changes, in one step. Once it has begun it is given back whatever
 * becomes of them. */
static void release_fenced(void)
{
    static const zkl_change changes[] = {
        {.kind = ZKL_CHANGE_CREATE, .path = "/a/x", .data = "1", .size = 1},
        {.kind = ZKL_CHANGE_SET, .path = "/a/x", .version = 0},
        {.kind = ZKL_CHANGE_DELETE, .path = "/a/x", .version = -1},
    };
    zkl_session *s = play_open(greeter_start(), NULL);
    zkl_mutex *m;
    const zkl_grant *g;

    EXPECT(zkl_mutex_new(&m, s, "/a/l", NULL) == 0);
    while (check(zkl_mutex_lock(m, ZKL_FOREVER, &g), of_lock) != 0)
        continue;
    int code = check(zkl_grant_multi(g, changes, 3, ZKL_MULTI_RELEASE, ZKL_FOREVER), of_multi);
    EXPECT(zkl_grant_state(g) == ZKL_RELEASED || code == ZKL_ELOST);
    check(zkl_mutex_unlock(m), of_unlock);
    EXPECT(client_nodes("/a/x") == 0);
    EXPECT(work(s, m) == 0 || work(s, m) == 0);
    zkl_mutex_free(m);
    end_session(s);
}

/* Held until the chain of proofs has gone round. */
static void lock_in_ensemble(void)
{
    client_is_ensemble();
    zkl_session *s = play_open(greeter_start(), NULL);
    zkl_mutex *m;

    EXPECT(zkl_mutex_new(&m, s, "/a/l", NULL) == 0);
    while (check(zkl_mutex_lock(m, ZKL_FOREVER, NULL), of_lock) != 0)
        continue;
    PLAY_AWAIT(fault_count(CALL_zoo_async) > 0 && fault_count(CALL_zoo_aset) > 0);
    int code = zkl_mutex_unlock(m);
    EXPECT(code == 0 || code == ZKL_ELOST); /* where processors are slow */
    zkl_mutex_free(m);
    end_session(s);
}

/* The first of two gives up while it watches another session's node: the watch goes too. */
static void waiter_leaves(void)
{
    zkl_session *s = play_open(greeter_start(), NULL);
    zkl_mutex *m, *n;
    zkl_op *op;
    struct outcome a = {.calls = 0}, b = {.calls = 0};

    EXPECT(zkl_mutex_new(&m, s, "/a/l", NULL) == 0);
    EXPECT(zkl_mutex_new(&n, s, "/a/l", NULL) == 0);
    client_rival(true);
    EXPECT(zkl_mutex_lock_async(m, ZKL_FOREVER, outcome_take, &a, &op) == 0);
    EXPECT(zkl_mutex_lock_async(n, ZKL_FOREVER, outcome_take, &b, NULL) == 0);
    PLAY_AWAIT(client_watches() > 1 || fault_reached()); /* its own and that node */
    zkl_op_cancel(op);
    zkl_op_free(op);
    PLAY_AWAIT(atomic_load(&a.calls));
    EXPECT(a.error.code == ZKL_ECANCELED || fault_reached());
    zkl_grant_release(a.grant);
    client_rival(false);
    take_turn(&b);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    end_session(s);
}

/* Another is first: busy, and then nothing is left. */
static void try_busy(void)
{
    zkl_session *s = play_open(greeter_start(), NULL);
    zkl_mutex *m, *n;
    struct outcome first = {.calls = 0};

    EXPECT(zkl_mutex_new(&m, s, "/a/l", NULL) == 0);
    EXPECT(zkl_mutex_new(&n, s, "/a/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(n, ZKL_FOREVER, outcome_take, &first, NULL) == 0);
    PLAY_AWAIT(atomic_load(&first.calls));
    int code = zkl_mutex_lock(m, 0, NULL);
    EXPECT(code == ZKL_EBUSY || fault_reached());
    if (code == 0)
        zkl_mutex_unlock(m);
    else if (code != ZKL_EBUSY)
        check(code, of_lock);
    zkl_grant_release(first.grant);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    end_session(s);
}

static void with_credentials(void)
{
    const zkl_credential credential = {"digest", "user:password"};
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.credentials = &credential;
    o.credential_count = 1;
    o.acl = "auth::cdrwa";
    zkl_session *s = play_open(greeter_start(), &o);
    EXPECT(zkl_session_wait(s, ZKL_FOREVER) == 0);
    /* Those that could not be taken yet are given again. */
    const bool too_early = fault_is(CALL_zoo_add_auth, 1) && fault_error() == ZINVALIDSTATE;
    PLAY_AWAIT(fault_count(CALL_zoo_add_auth) >= (too_early ? 2 : 1));
    end_session(s);
}

const struct play plays_client[] = {
    {"lock_unlock", lock_unlock},           {"release_fenced", release_fenced},
    {"lock_in_ensemble", lock_in_ensemble}, {"hand_over", hand_over},
    {"waiter_leaves", waiter_leaves},       {"try_busy", try_busy},
    {"with_credentials", with_credentials}, {NULL, NULL},
};
