/* A server whose data has gone back refuses every session that has seen more: all goes on by
 * itself in a new one. Without a server nothing does. */
#include "election_actors.h"
#include "fault.h"
#include "fourletter.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(fault_restore, .init = fault_start, .done = fault_stop);

/* What a session and all that is made from it are told. */
struct user {
    zkl_session *session;
    zkl_mutex *mutex;
    struct acquisition holder;
    zkl_election *election;
    struct tale terms, leaders;
    zkl_watch *observer;
    zkl_watch *watch;
    atomic_int changes, replaced, warned, refused;
};

static void on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct user *u = data;

    (void)s, (void)id;
    atomic_fetch_add(&u->replaced, event == ZKL_SESSION_REPLACED);
}

static void on_log(const zkl_log_record *record, void *data)
{
    struct user *u = data;

    if (g_getenv("ZKL_TEST_LOG"))
        fprintf(stderr, "%d %s\n", record->level, record->text);
    atomic_fetch_add(&u->refused,
                     strstr(record->text, "older than what this session has seen") != NULL);
    atomic_fetch_add(&u->warned, record->level == ZKL_LOG_WARN &&
                                     strstr(record->text, "do not accept it any more"));
}

static void on_queue(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

/* A session that holds a lock, leads, observes and watches a queue. */
static void user_start(struct user *u, int timeout_ms)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    *u = (struct user){.terms = TALE_INIT, .leaders = TALE_INIT};
    options.session_timeout_ms = timeout_ms;
    options.log = on_log;
    options.log_data = u;
    REQUIRE(zkl_session_open(&u->session, zk_server_connect(fault.server), &options, NULL) == 0);
    zkl_session_on_change(u->session, on_session, u);
    REQUIRE(zkl_session_wait(u->session, ZKL_FOREVER) == 0);
    REQUIRE(zkl_mutex_new(&u->mutex, u->session, fault.path, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        REQUIRE(zkl_mutex_lock(u->mutex, ZKL_FOREVER, NULL) == 0);
        zkl_mutex_unlock(u->mutex);
    }
    acquisition_queue(&u->holder, u->mutex, 1);
    u->election = election_of(u->session, "/restore/election", "me");
    REQUIRE(zkl_election_watch(&u->observer, u->election, tale_leader, &u->leaders) == 0);
    REQUIRE(zkl_election_start(u->election, tale_event, &u->terms) == 0);
    REQUIRE(zkl_queue_watch(&u->watch, u->session, fault.path, on_queue, &u->changes) == 0);
    EVENTUALLY(tale_ends(&u->terms, "leading") && tale_ends(&u->leaders, "me"));
    EVENTUALLY(atomic_load(&u->changes) > 0);
}

static void user_end(struct user *u)
{
    acquisition_end(&u->holder);
    zkl_watch_free(u->watch);
    zkl_watch_free(u->observer);
    zkl_election_free(u->election);
    zkl_mutex_free(u->mutex);
    zkl_session_close(u->session);
}

/* Everything works again, in a session that was told to be another. */
static void check_goes_on(struct user *u, uint64_t token, int64_t session)
{
    EVENTUALLY(atomic_load(&u->replaced) == 1);
    EVENTUALLY(atomic_load(&u->warned) == 1);
    CHECK_INT(zkl_grant_state(u->holder.grant), ZKL_LOST);
    CHECK_INT(told_times(&u->holder.told, ZKL_LOST), 1);
    int seen = atomic_load(&u->changes);
    CHECK_INT(zkl_mutex_lock(u->mutex, ZKL_FOREVER, NULL), 0);
    CHECK(zkl_session_id(u->session) != session);
    EVENTUALLY(atomic_load(&u->changes) > seen); /* a node came */
    CHECK_INT(zkl_mutex_unlock(u->mutex), 0);
    EVENTUALLY(tale_ends(&u->terms, "deposed leading"));
    EVENTUALLY(tale_ends(&u->leaders, "me") && u->leaders.token == u->terms.token);
    CHECK(u->terms.token != token);
    CHECK_INT(atomic_load(&u->replaced), 1);
}

/* ---- the server's data ---- */

static void run(const char *command)
{
    char *line = g_strdup_printf("cd '%s/data' && %s", zk_server_dir(fault.server, 0), command);

    REQUIRE(system(line) == 0);
    g_free(line);
}

static uint64_t server_zxid(void)
{
    char *reply = NULL;
    AWAIT((reply = fourletter(fault.port, "srvr")) != NULL);
    const char *at = reply ? strstr(reply, "Zxid: ") : NULL;
    uint64_t zxid = at ? g_ascii_strtoull(at + 6, NULL, 16) : 0;

    free(reply);
    return zxid;
}

/* Tokens begin anew. */
static void forget_token(struct tale *t)
{
    pthread_mutex_lock(&t->lock);
    t->token = 0;
    pthread_mutex_unlock(&t->lock);
}

static void relaunch(void)
{
    REQUIRE(zk_server_launch(fault.server, 0) && zk_server_wait(fault.server, 0));
    raw_close(fault.direct); /* it has seen more, too */
    REQUIRE(fault_raw_open());
}

static void serve_again(struct user *u)
{
    forget_token(&u->terms);
    forget_token(&u->leaders);
    relaunch();
}

static void keep_data(void)
{
    run("rm -rf ../kept && cp -a --sparse=always version-2 ../kept");
}

static void take_data_back(void)
{
    zk_server_kill(fault.server, 0);
    run("rm -rf version-2 && mv ../kept version-2");
}

TEST_CASE(emptied)
{
    struct user u;

    fault_begin();
    user_start(&u, 3000);
    uint64_t token = u.terms.token;
    int64_t session = zkl_session_id(u.session);
    zk_server_kill(fault.server, 0);
    run("rm -rf version-2");
    serve_again(&u);
    check_goes_on(&u, token, session);
    CHECK(u.terms.token < token); /* which the page says */
    CHECK_INT(atomic_load(&u.refused), 1);
    user_end(&u);
    fault_end();
}

/* Only renewals are lost, of which the library alone knows the zxids: the session and its nodes
 * are restored as well. */
TEST_CASE(last_transactions_lost)
{
    struct user u;

    fault_begin();
    user_start(&u, FAULT_SHORT_MS);
    uint64_t token = u.terms.token;
    int64_t session = zkl_session_id(u.session);
    keep_data();
    uint64_t kept = server_zxid();
    EVENTUALLY(server_zxid() > kept + 12); /* more than its own next ones */
    CHECK_INT(zkl_grant_state(u.holder.grant), ZKL_HELD);
    take_data_back();
    serve_again(&u);
    check_goes_on(&u, token, session);
    user_end(&u);
    fault_end();
}

static void count_on(int zxids)
{
    for (int i = 0; i < zxids; i++)
        REQUIRE(raw_set(fault.direct, "/restore-count", "", 0) == ZOK);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    (void)all;
    if (event != ZKL_MEMBERS_ALL && member->size == 1)
        atomic_store((atomic_int *)data, *(const char *)member->data);
}

/* A holder is cut off while the data go back. What it watches is changed with a zxid that it has
 * seen by another name, and then the servers count past all that it has seen. They take it back,
 * and its watch with it, which is not fired. */
TEST_CASE(grown_past_what_was_seen)
{
    enum { TIMEOUT_MS = 40000, ZXIDS = 50 };
    static atomic_int told;
    struct acquisition holder = {0};
    zkl_watch *watch;

    atomic_store(&told, 0);
    fault_begin();
    raw_create(fault.direct, "/restore-count", "", 0, 0, NULL);
    raw_create(fault.direct, "/restore-group", "", 0, 0, NULL);
    raw_create(fault.direct, "/restore-group/member", "1", 1, 0, NULL);
    zkl_session *s = fault_proxied(TIMEOUT_MS);
    const int64_t session = zkl_session_id(s);
    REQUIRE(zkl_members_watch(&watch, s, "/restore-group", ZKL_MEMBER_GROUP, on_members, &told) ==
            0);
    EVENTUALLY(atomic_load(&told) == '1');
    acquisition_queue(&holder, fault_mutex(s), 1);
    keep_data();
    count_on(ZXIDS);
    const uint64_t seen = server_zxid();
    zkl_queue *queue;
    REQUIRE(zkl_queue_read(&queue, s, fault.path, NULL, ZKL_FOREVER) == 0); /* it has seen them */
    zkl_queue_free(queue);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(told_times(&holder.told, ZKL_SUSPECT) == 1);
    proxy_cut(fault.proxy);
    take_data_back();
    relaunch();
    REQUIRE(raw_set(fault.direct, "/restore-group/member", "2", 1) == ZOK);
    CHECK(server_zxid() < seen);
    count_on(2 * ZXIDS);
    CHECK(server_zxid() > seen);
    proxy_heal(fault.proxy);
    EVENTUALLY(atomic_load(&told) == '2');
    CHECK(zkl_session_id(s) == session);
    acquisition_end(&holder);
    zkl_watch_free(watch);
    fault_end();
}

/* For longer than makes a session end where a server serves: place and session are kept. */
TEST_CASE(outage_keeps_the_session)
{
    enum { TIMEOUT_MS = 2500 };
    struct user u;

    fault_begin();
    user_start(&u, TIMEOUT_MS);
    int64_t session = zkl_session_id(u.session);
    zk_server_kill(fault.server, 0);
    EVENTUALLY(told_times(&u.holder.told, ZKL_LOST) == 1);
    g_usleep(4 * TIMEOUT_MS * 1000); /* the outage itself */
    CHECK_INT(atomic_load(&u.replaced), 0);
    CHECK(zkl_session_id(u.session) == session);
    serve_again(&u);
    EVENTUALLY(tale_ends(&u.terms, "leading") && strstr(u.terms.text, "deposed"));
    CHECK_INT(atomic_load(&u.warned), 0);
    user_end(&u);
    fault_end();
}
