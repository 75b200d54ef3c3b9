/* Each function that returns an error, in each plight that it can be in. It is called with handles
 * of an estate, at paths below /x. */
#include "by_hand.h"
#include "handles.h"
#include "held.h"
#include "progress.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(every_call);

/* What can become of a call. */
enum {
    GETS_NULL = 1 << 0,   /* ZKL_EINVAL, without its handle */
    IN_CHILD = 1 << 1,    /* ZKL_ECHILD */
    CLOSED = 1 << 2,      /* ZKL_ECLOSED, when the session of its handle was closed */
    CLOSING = 1 << 3,     /* the same, in the last callback of the session that it gets */
    BLOCKS = 1 << 4,      /* ZKL_EDEADLK in a callback */
    CONNECTED = 1 << 5,   /* ZKL_EUNREACHABLE, ZKL_EHOST or ZKL_EAUTH without a connection */
    ANSWERED = 1 << 6,    /* ZKL_ETIMEDOUT without an answer */
    PERMITTED = 1 << 7,   /* ZKL_EACCES */
    UNDERSTOOD = 1 << 8,  /* ZKL_EPROTO, when the server refuses without a good reason */
    CREATES = 1 << 9,     /* ZKL_EPATH, when the parent is ephemeral */
    LOCKS = 1 << 10,      /* as a contender: ZKL_EBUSY, ZKL_ELAYOUT, ZKL_ELIMIT, ZKL_EOVERFLOW */
    LATCH = 1 << 16,      /* of those, an election's */
    REENTERS = 1 << 11,   /* ZKL_ELOST, when what the thread holds was lost */
    CANCELABLE = 1 << 12, /* ZKL_ECANCELED */
    HOLDER = 1 << 13,     /* ZKL_ELOST and ZKL_EPERM, when its grant was lost or released */
    ENDED = 1 << 14,      /* ZKL_EAUTH only if the credentials are refused meanwhile */
    WATCHES = 1 << 17,    /* ZKL_ELIMIT without room for a watch; of contenders see LOCKS */
    OF_SESSION = 1 << 18, /* ZKL_ECLOSED when the session is closed meanwhile */
    WRITES = 1 << 19,     /* a counter: ZKL_EBUSY, ZKL_ELAYOUT, ZKL_EUNKNOWN; the fence's errors */
    CHANGES = 1 << 20, /* in a transaction: ZKL_EUNKNOWN when it was sent, or else ZKL_ETIMEDOUT */
    MEMBERS = 1 << 21, /* a member: ZKL_EBUSY, ZKL_ELIMIT, and ZKL_EPERM when it has left */
    MEETS = 1 << 22,   /* enters a double barrier: ZKL_EBUSY, and ZKL_ELOST */
    LEAVES = 1 << 24,  /* leaves it: the same */
    LIMITED = 1 << 23, /* a semaphore: ZKL_ENOENT when the data is no limit */
    SPARES = 1 << 25,  /* what it finds need not be told: else ZKL_EINVAL */
    GOES_ON = 1 << 26, /* freed meanwhile, it ends as if it were not; others with ZKL_ECLOSED, */
    WAITED = 1 << 27,  /* but the wait for an operation that is freed with ZKL_ECANCELED */
    PATIENT = 1 << 15, /* waits for a session timeout, whatever its own limit; needs no grant */
    RECORDS = 1 << 28, /* what it has done, which may take a session timeout more */
};

struct estate {
    struct handles of;
    bool cancels;     /* of.op as soon as it has begun */
    atomic_int asked; /* below /x, since the estate was begun; or a completion is awaited */
    atomic_int told, code;
};

struct every_call {
    const char *name;
    int (*fn)(struct handles *e, int64_t timeout_ms); /* what it returned, or told if that was 0 */
    unsigned may;
    const char *arguments; /* in which a limit is "ms" */
};

enum { SHORT_MS = 5, LONG_MS = 1000, SHORT_SESSION_MS = 300 };

static struct estate estate; /* of the call that is tried */

static bool estate_alone(const struct store_request *request, struct store_reply *reply)
{
    static char path[128], *names[1];

    *reply = (struct store_reply){.rc = STORE_OK,
                                  .path = request->path,
                                  .ephemeral_owner = FAKE_SESSION_ID,
                                  .czxid = 5,
                                  .pzxid = 5,
                                  .data = "",
                                  .names = names};
    if (!g_str_has_prefix(request->path, "/x"))
        return false;
    if (request->kind == STORE_CREATE && request->mode == STORE_EPHEMERAL_SEQUENTIAL) {
        g_snprintf(path, sizeof path, "%s0000000007", request->path);
        reply->path = path;
    } else if (request->kind == STORE_CREATE && request->mode == STORE_EPHEMERAL) {
        g_strlcpy(path, request->path, sizeof path);
    }
    if (strcmp(request->path, "/x/s") == 0) {
        reply->data = "1"; /* the limit */
        reply->length = 1;
    }
    if (g_str_has_suffix(request->path, "/ready") || g_str_has_suffix(request->path, "/record"))
        reply->rc = STORE_NONODE;
    names[0] = path[0] ? strrchr(path, '/') + 1 : path;
    reply->count = request->kind == STORE_LIST;
    return true;
}

static bool count(const struct store_request *request, struct store_reply *reply)
{
    (void)reply;
    estate.asked += g_str_has_prefix(request->path, "/x");
    return false;
}

static void estate_begin_bare(int session_timeout_ms)
{
    struct handles *e = &estate.of;

    estate = (struct estate){.of = HANDLES_INIT};
    e->s = fake_open_session("fake:1", NULL);
    e->servers = "fake:2";
    e->semaphore_options.limit = 1;
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, session_timeout_ms);
    fake_answer_at_once(estate_alone);
    handles_make(e);
    REQUIRE(zkl_double_barrier_enter(e->inside, ZKL_FOREVER) == 0);
    fake_answer_at_once(NULL);
}

static void estate_begin(void)
{
    estate_begin_bare(FAKE_TIMEOUT_MS);
    fake_answer_at_once(estate_alone);
    handles_acquire(&estate.of);
    fake_answer_at_once(NULL);
}

static void estate_close(void)
{
    zkl_session_close(estate.of.s);
    estate.of.s = NULL;
}

static void estate_end(void)
{
    fake_answer_at_once(NULL);
    handles_free(&estate.of);
    estate_close();
}

static void done(const zkl_error *err, void *data)
{
    (void)data;
    estate.code = err ? err->code : 0;
    estate.told = 1;
}

static void acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    zkl_grant_release(grant);
    done(err, data);
}

static int waits; /* that of the thread that calls, for zkl_call_waits() */

static int told(int code)
{
    estate.asked += code == 0;
    if (code == 0 && estate.cancels)
        zkl_op_cancel(estate.of.op);
    g_atomic_int_set(&waits, 1); /* we do, in place of the call */
    while (code == 0 && !estate.told)
        g_usleep(200);
    g_atomic_int_set(&waits, 0);
    return code ? code : estate.code;
}

static int waited(int code, zkl_grant **ret)
{
    if (code == 0 && estate.cancels)
        zkl_op_cancel(estate.of.op);
    return code ? code : zkl_op_wait(estate.of.op, ret);
}

/* Sorts of functions. */
#define MADE (GETS_NULL | IN_CHILD | CLOSING)
#define OWNED (GETS_NULL | IN_CHILD)
#define ASKS (CONNECTED | ANSWERED | PERMITTED | UNDERSTOOD)
#define ENTERS (OWNED | CLOSED | ASKS | CREATES | LOCKS)
#define READS (OWNED | BLOCKS | ASKS)

/* The functions, and the table of them. */
#define CALL(function, may, arguments)                                                             \
    static int call_##function(struct handles *e, int64_t ms)                                      \
    {                                                                                              \
        (void)ms;                                                                                  \
        return function arguments;                                                                 \
    }
#define BEGIN(function, may, arguments)                                                            \
    static int call_##function(struct handles *e, int64_t ms)                                      \
    {                                                                                              \
        return told(function arguments);                                                           \
    }
#define WAIT(function, may, arguments)                                                             \
    static int call_##function(struct handles *e, int64_t ms)                                      \
    {                                                                                              \
        return waited(zkl_mutex_lock_async arguments, &e->out.zkl_grant);                          \
    }
#include "every_call.inc"

static const struct every_call every_call[] = {
#define ROW(function, may, arguments) {#function, call_##function, may, #arguments},
#define CALL ROW
#define BEGIN ROW
#define WAIT ROW
#include "every_call.inc"
    {NULL, NULL, 0, NULL},
};

static void every_judge(const struct every_call *c, int got, int code)
{
    if (got != code)
        runner_fail(__FILE__, __LINE__, "%s: %s, not %s", c->name, zkl_strerror(got),
                    zkl_strerror(code));
}

static void every_check(const struct every_call *c, int64_t timeout_ms, int code)
{
    every_judge(c, c->fn(&estate.of, timeout_ms), code);
}

/* Each function of that kind and not the other, with an estate of its own that was prepared. */
static void every_check_but(unsigned may, unsigned not, void (*prepare)(void), int64_t timeout_ms,
                            int code)
{
    for (const struct every_call *c = every_call; c->name; c++) {
        if (!(c->may & may) || (c->may & not ))
            continue;
        if (c->may & PATIENT)
            estate_begin_bare(SHORT_SESSION_MS);
        else
            estate_begin();
        if (prepare)
            prepare();
        every_check(c, timeout_ms, code);
        estate_end();
    }
}

static void every_check_all(unsigned may, void (*prepare)(void), int64_t timeout_ms, int code)
{
    every_check_but(may, 0, prepare, timeout_ms, code);
}

/* The same without a place for what they find. */
static int places; /* that were not given, in the call that is tried */

#define OUT(field) (places++, NULL)
#define CALL(function, may, arguments)                                                             \
    static int blind_##function(struct handles *e, int64_t ms)                                     \
    {                                                                                              \
        (void)ms;                                                                                  \
        return function arguments;                                                                 \
    }
#include "every_call.inc"

static const struct every_call every_blind_call[] = {
#define CALL(function, may, arguments) {#function, blind_##function, may, #arguments},
#include "every_call.inc"
    {NULL, NULL, 0, NULL},
};

TEST_CASE(without_output)
{
    int all = 0;

    for (const struct every_call *c = every_blind_call; c->name; c++) {
        if (c->may & PATIENT)
            continue;
        estate_begin();
        fake_answer_at_once(estate_alone);
        places = 0;
        int got = c->fn(&estate.of, SHORT_MS);
        if (places > 0 && got != (c->may & SPARES ? 0 : ZKL_EINVAL))
            runner_fail(__FILE__, __LINE__, "%s without an output: %s", c->name, zkl_strerror(got));
        all += places;
        estate_end();
    }
    CHECK(all > 20);
    CHECK(zkl_last_error(NULL) < 0);
    CHECK_INT(zkl_shards_share_of(NULL, NULL), 0);
}

TEST_CASE(without_handle)
{
    memset(&estate, 0, sizeof estate);
    for (const struct every_call *c = every_call; c->name; c++)
        if (c->may & GETS_NULL)
            every_check(c, SHORT_MS, ZKL_EINVAL);
}

static void try_as_child(void)
{
    for (const struct every_call *c = every_call; c->name; c++)
        if ((c->may & IN_CHILD) && c->fn(&estate.of, ZKL_FOREVER) != ZKL_ECHILD) {
            dprintf(2, "%s in a child\n", c->name);
            _exit(1);
        }
    _exit(0);
}

TEST_CASE(in_a_child)
{
    int ended = -1;

    estate_begin();
    handles_joining(&estate.of);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        try_as_child();
    REQUIRE(waitpid(pid, &ended, 0) == pid);
    CHECK_INT(ended, 0);
    estate_end();
}

static void close_session(void)
{
    handles_joining(&estate.of);
    estate_close();
}

TEST_CASE(after_the_close)
{
    every_check_all(CLOSED, close_session, SHORT_MS, ZKL_ECLOSED);
}

static void call_when_closed(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)id, (void)data;
    if (event == ZKL_SESSION_CLOSED)
        for (const struct every_call *c = every_call; c->name; c++)
            if (c->may & CLOSING)
                every_check(c, SHORT_MS, ZKL_ECLOSED);
}

TEST_CASE(in_the_last_callback)
{
    estate_begin();
    CHECK_INT(zkl_session_on_change(estate.of.s, call_when_closed, NULL), 0);
    zkl_session *s = estate.of.s;
    zkl_session_close(s);
    estate.of.s = NULL;
    estate_end();
}

static atomic_bool called;

static void call_inside(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)id, (void)data;
    if (event == ZKL_SESSION_CONNECTED && !called) {
        for (const struct every_call *c = every_call; c->name; c++)
            if (c->may & BLOCKS)
                every_check(c, SHORT_MS, ZKL_EDEADLK);
        called = true;
    }
}

TEST_CASE(in_a_callback)
{
    called = false;
    estate_begin();
    CHECK_INT(zkl_session_on_change(estate.of.s, call_inside, NULL), 0);
    while (!called)
        g_usleep(200);
    estate_end();
}

static void disconnect(void)
{
    fake_event(STORE_EV_DOWN);
}

static void lose_name(void)
{
    disconnect();
    fake_event(STORE_EV_HOST);
}

static void refuse_credentials(void)
{
    fake_event(STORE_EV_AUTH);
}

TEST_CASE(without_a_connection)
{
    every_check_all(CONNECTED, disconnect, SHORT_MS, ZKL_EUNREACHABLE);
    every_check_all(CONNECTED, lose_name, SHORT_MS, ZKL_EHOST);
    every_check_but(CONNECTED, ENDED | HOLDER, refuse_credentials, SHORT_MS, ZKL_EAUTH);
}

TEST_CASE(without_an_answer)
{
    every_check_all(ANSWERED, NULL, SHORT_MS, ZKL_ETIMEDOUT);
}

static enum store_rc refusal;

static bool refuse(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = refusal};
    return g_str_has_prefix(request->path, "/x");
}

static void refuse_all(void)
{
    fake_answer_at_once(refuse);
}

TEST_CASE(refused)
{
    refusal = STORE_NOAUTH;
    every_check_all(PERMITTED, refuse_all, LONG_MS, ZKL_EACCES);
    refusal = STORE_BAD;
    every_check_all(UNDERSTOOD, refuse_all, LONG_MS, ZKL_EPROTO);
}

/* Nothing is there yet, and nothing can be made. */
static bool below_ephemeral(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){
        .rc = request->kind == STORE_CREATE || request->kind == STORE_MULTI ? STORE_NOCHILDREN
              : request->kind == STORE_SYNC                                 ? STORE_OK
                                                                            : STORE_NONODE};
    return g_str_has_prefix(request->path, "/x");
}

static void be_below_ephemeral(void)
{
    fake_answer_at_once(below_ephemeral);
}

TEST_CASE(no_children)
{
    every_check_all(CREATES, be_below_ephemeral, LONG_MS, ZKL_EPATH);
}

/* ---- what only some functions return ---- */

#define BEFORE "_c_00000000-0000-8000-8000-000000000000"

static const char *rival; /* that came first; NULL: one like the own node */
static const char *number;

static bool behind_rival(const struct store_request *request, struct store_reply *reply)
{
    static char path[128], first[128], *names[2];
    bool answered = estate_alone(request, reply);

    if (request->kind == STORE_DELETE && !strstr(request->path, "/_c_"))
        reply->rc = STORE_NOTEMPTY; /* the directory of numbers that are used up */
    if (request->kind == STORE_CREATE && request->mode == STORE_EPHEMERAL_SEQUENTIAL) {
        g_snprintf(path, sizeof path, "%s%s", request->path, number);
        reply->path = path;
        const char *own = strrchr(path, '/') + 1;
        g_snprintf(first, sizeof first, BEFORE "%.*s0000000001",
                   (int)(strlen(own) - strlen(BEFORE) - strlen(number)), own + strlen(BEFORE));
        if (strstr(first, "__READ__"))
            memcpy(strstr(first, "__READ__"), "__WRIT__", 8); /* readers share */
    }
    if (request->kind == STORE_LIST && path[0]) {
        names[0] = rival ? (char *)rival : first;
        names[1] = strrchr(path, '/') + 1;
        reply->names = names;
        reply->count = 2;
    }
    return answered;
}

static void come_behind(void)
{
    fake_answer_at_once(behind_rival);
}

static void have_no_room(void)
{
    estate.of.s->watched_bytes = 512 * 1024;
    come_behind();
}

static void own_enough(void)
{
    estate.of.s->owned_bytes = 1024 * 1024;
    come_behind();
}

TEST_CASE(contending)
{
    number = "0000000007";
    rival = NULL;
    every_check_all(LOCKS, come_behind, 0, ZKL_EBUSY);
    every_check_all(LOCKS, come_behind, -7, ZKL_EBUSY);
    every_check_all(LOCKS, come_behind, INT64_MIN, ZKL_EBUSY);
    every_check_all(LOCKS, have_no_room, LONG_MS, ZKL_ELIMIT);
    every_check_all(LOCKS | MEETS | MEMBERS, own_enough, LONG_MS, ZKL_ELIMIT);
    rival = BEFORE "-latch-0000000001";
    every_check_but(LOCKS, LATCH, come_behind, LONG_MS, ZKL_ELAYOUT);
    rival = BEFORE "-__READ__0000000001";
    every_check_but(LATCH, 0, come_behind, LONG_MS, ZKL_ELAYOUT);
    number = "2147483647";
    rival = NULL;
    every_check_all(LOCKS, come_behind, LONG_MS, ZKL_EOVERFLOW);
}

static void cancel(void)
{
    estate.cancels = true;
}

TEST_CASE(canceled)
{
    every_check_all(CANCELABLE, cancel, LONG_MS, ZKL_ECANCELED);
}

static void end_session(void)
{
    fake_event(STORE_EV_EXPIRED);
}

static void give_up(void)
{
    fake_answer_at_once(estate_alone);
    CHECK_INT(zkl_election_resign(estate.of.leader), 0);
    CHECK_INT(zkl_member_leave(estate.of.joined, ZKL_FOREVER), 0);
    estate.of.fence = estate.of.own; /* which stays a grant until it is freed */
    estate.of.own = estate.of.grant;
    estate.of.grant = (zkl_grant *)estate.of.fence;
    CHECK_INT(zkl_once_end(estate.of.working, estate.of.run, NULL, 0, ZKL_FOREVER), 0);
}

/* The first change of a fenced transaction is that of the grant's node. */
static bool without_node(const struct store_request *request, struct store_reply *reply)
{
    bool answered = estate_alone(request, reply);

    if (request->kind == STORE_MULTI || g_str_has_prefix(request->path, "/x/h/"))
        reply->rc = STORE_NONODE;
    return answered;
}

static void lose_node(void)
{
    estate.of.fence = estate.of.grant;
    fake_answer_at_once(without_node);
}

TEST_CASE(holding_no_more)
{
    every_check_all(HOLDER | LEAVES, end_session, SHORT_MS, ZKL_ELOST);
    every_check_all(WRITES, lose_node, LONG_MS, ZKL_ELOST);
    every_check_all(HOLDER | WRITES, give_up, SHORT_MS, ZKL_EPERM);
}

TEST_CASE(still_to_unlock)
{
    for (const struct every_call *c = every_call; c->name; c++) {
        if (!(c->may & REENTERS))
            continue;
        estate_begin();
        fake_answer_at_once(estate_alone);
        every_check(c, ZKL_FOREVER, 0);
        end_session();
        every_check(c, LONG_MS, ZKL_ELOST);
        if (strcmp(c->name, "zkl_rwlock_lock") == 0)
            CHECK_INT(zkl_rwlock_unlock(estate.of.rwlock), ZKL_ELOST);
        estate_end();
    }
}

static void be_alone_without_room(void)
{
    estate.of.s->watched_bytes = 512 * 1024;
    fake_answer_at_once(estate_alone);
}

/* Another member is inside. */
static bool in_company(const struct store_request *request, struct store_reply *reply)
{
    static char *names[2] = {NULL, "other"};
    bool answered = estate_alone(request, reply);

    if (request->kind == STORE_LIST) {
        names[0] = reply->names[0];
        reply->names = names;
        reply->count = 2;
    }
    return answered;
}

static void leave_company_without_room(void)
{
    be_alone_without_room();
    fake_answer_at_once(in_company);
}

TEST_CASE(watching)
{
    every_check_all(LEAVES, leave_company_without_room, LONG_MS, ZKL_ELIMIT);
    every_check_all(WATCHES, be_alone_without_room, LONG_MS, ZKL_ELIMIT);
}

/* ---- what happens while a call is in progress ---- */

static void (*meanwhile)(void);

/* That its thread waits alone shows that a call has begun: others may ask for something, too. */
static void *happen(void *data)
{
    (void)data;
    while (estate.asked == 0 || !g_atomic_int_get(&waits))
        g_usleep(200);
    meanwhile();
    return NULL;
}

/* A member that has its node, and does not know the others yet. */
static bool unlisted(const struct store_request *request, struct store_reply *reply)
{
    bool answered = request->kind != STORE_LIST && estate_alone(request, reply);

    estate.asked += request->kind == STORE_LIST;
    return answered;
}

static void be_silent(void)
{
    fake_answer_at_once(count);
}

static void be_silent_about_others(void)
{
    be_silent();
    fake_answer_at_once(unlisted);
}

/* A call that waits for a connection asks for nothing. */
static void disconnect_meanwhile(void)
{
    fake_event(STORE_EV_DOWN);
    estate.asked++;
}

/* What comes of the call, with an estate of its own. */
static int call_meanwhile(const struct every_call *c, void (*before)(void), void (*fn)(void))
{
    pthread_t thread;

    estate_begin();
    before();
    meanwhile = fn;
    REQUIRE(pthread_create(&thread, NULL, happen, NULL) == 0);
    zkl_call_waits(&waits);
    const int code = c->fn(&estate.of, 10 * LONG_MS);
    CHECK_INT(g_atomic_int_get(&waits), 0);
    zkl_call_waits(NULL);
    pthread_join(thread, NULL);
    estate_end();
    return code;
}

static void check_meanwhile(unsigned may, void (*before)(void), void (*fn)(void), int code)
{
    for (const struct every_call *c = every_call; c->name; c++)
        if (c->may & may)
            every_judge(c, call_meanwhile(c, before, fn), code);
}

static void close_meanwhile(void)
{
    estate_close();
}

TEST_CASE(ended_meanwhile)
{
    check_meanwhile(ENDED, be_silent, refuse_credentials, ZKL_EAUTH);
    check_meanwhile(OF_SESSION, be_silent, close_meanwhile, ZKL_ECLOSED);
    check_meanwhile(CHANGES, disconnect_meanwhile, close_meanwhile, ZKL_ECLOSED);
    check_meanwhile(MEETS, be_silent_about_others, end_session, ZKL_ELOST);
}

/* What the call has asked for. */
static void answer_meanwhile(void)
{
    fake_answer_all(estate_alone);
}

/* All handles and grants, the call's own and its fence; then the answer comes. */
static void free_meanwhile(void)
{
    session_lock(estate.of.s); /* what the caller has written before is seen */
    session_unlock(estate.of.s);
    REQUIRE(estate.asked > 0);
    handles_free(&estate.of);
    answer_meanwhile();
}

static void be_silent_behind_a_fence(void)
{
    estate.of.fence = estate.of.grant;
    be_silent();
}

TEST_CASE(freed_meanwhile)
{
    for (const struct every_call *c = every_call; c->name; c++) {
        if (!(c->may & (ANSWERED | CHANGES)) || (c->may & OF_SESSION))
            continue;
        const int code = c->may & GOES_ON  ? call_meanwhile(c, be_silent, answer_meanwhile)
                         : c->may & WAITED ? ZKL_ECANCELED
                                           : ZKL_ECLOSED;
        every_judge(c, call_meanwhile(c, be_silent, free_meanwhile), code);
    }
    check_meanwhile(WRITES, be_silent_behind_a_fence, free_meanwhile, ZKL_EPERM);
}

/* ---- limits: the clock stands still until the call waits, goes on by the limit, and stands still
 * again: what the call waits for then is beyond its limit ---- */

enum { ANSWERS_MAX = 10 };

struct limited {
    const struct every_call *call;
    int code;
    atomic_bool returned;
};

static atomic_int answers_left; /* before nobody answers any more */

static bool fall_silent(const struct store_request *request, struct store_reply *reply)
{
    return g_str_has_prefix(request->path, "/x") && answers_left-- > 0 &&
           estate_alone(request, reply);
}

static void *call_limited(void *data)
{
    struct limited *l = data;

    l->code = l->call->fn(&estate.of, SHORT_MS);
    l->returned = true;
    return NULL;
}

/* For an answer or a completion; two of the calls wait by a clock that nobody can stop, and return
 * by themselves. */
static bool limited_is_waiting(const struct limited *l)
{
    return held_waiting() > 0 || estate.asked > 0 || l->returned;
}

/* False: it was over before it had to wait. */
static bool check_limit(const struct every_call *c, int answers, void (*prepare)(void))
{
    struct limited l = {.call = c};
    pthread_t thread;

    hand_begin();
    estate_begin();
    prepare();
    answers_left = answers;
    REQUIRE(pthread_create(&thread, NULL, call_limited, &l) == 0);
    CHECK(AWAIT(limited_is_waiting(&l)));
    const bool waited = !l.returned;
    hand_pass(estate.of.s, SHORT_MS);
    if (c->may & (PATIENT | RECORDS))
        hand_pass(estate.of.s, FAKE_TIMEOUT_MS);
    if (!AWAIT(l.returned)) {
        runner_fail(__FILE__, __LINE__, "%s, behind %d answers: goes on", c->name, answers);
        while (!l.returned) {
            hand_pass(estate.of.s, FAKE_TIMEOUT_MS);
            g_usleep(1000);
        }
    }
    pthread_join(thread, NULL);
    handles_free_out(&estate.of);
    estate_end();
    hand_end();
    return waited;
}

static void be_silent_soon(void)
{
    fake_answer_at_once(fall_silent);
}

TEST_CASE(within_the_limit)
{
    number = "0000000007";
    rival = NULL;
    for (const struct every_call *c = every_call; c->name; c++) {
        if (!strstr(c->arguments, "ms"))
            continue;
        for (int answers = 0; answers < ANSWERS_MAX; answers++)
            if (!check_limit(c, answers, be_silent_soon))
                break;
        check_limit(c, 0, disconnect);
        check_limit(c, 0, lose_name);
        if (c->may & LOCKS)
            check_limit(c, 0, come_behind);
    }
}

/* ---- counters ---- */

static bool written_first(const struct store_request *request, struct store_reply *reply)
{
    bool answered = estate_alone(request, reply);

    if (request->kind == STORE_SET)
        reply->rc = STORE_BADVERSION;
    return answered;
}

static bool odd_data(const struct store_request *request, struct store_reply *reply)
{
    bool answered = estate_alone(request, reply);

    reply->data = "odd";
    reply->length = 3;
    return answered;
}

static bool never_written(const struct store_request *request, struct store_reply *reply)
{
    return request->kind != STORE_SET && estate_alone(request, reply);
}

static void be_late(void)
{
    fake_answer_at_once(written_first);
}

static void read_odd_data(void)
{
    fake_answer_at_once(odd_data);
}

static void lose_write(void)
{
    fake_answer_at_once(never_written);
}

TEST_CASE(counting)
{
    every_check_all(WRITES, be_late, ZKL_FOREVER, ZKL_EBUSY);
    every_check_all(WRITES, read_odd_data, ZKL_FOREVER, ZKL_ELAYOUT);
    every_check_all(WRITES, lose_write, SHORT_MS, ZKL_EUNKNOWN);
    every_check_all(LIMITED, read_odd_data, LONG_MS, ZKL_ENOENT);
}

/* ---- transactions, members, double barriers ---- */

static void ignore(const zkl_error *err, void *data)
{
    (void)err, (void)data;
}

/* The next one waits for its answer. */
static void begin_transaction(void)
{
    REQUIRE(zkl_grant_multi_async(estate.of.grant, NULL, 0, 0, ZKL_FOREVER, ignore, NULL) == 0);
    REQUIRE(zkl_grant_multi_async(estate.of.run, NULL, 0, 0, ZKL_FOREVER, ignore, NULL) == 0);
    REQUIRE(zkl_grant_multi_async(estate.of.own, NULL, 0, 0, ZKL_FOREVER, ignore, NULL) == 0);
}

TEST_CASE(too_much)
{
    const zkl_change huge = {
        .kind = ZKL_CHANGE_SET, .version = -1, .path = "/x", .data = "", .size = 1000001};

    estate_begin();
    CHECK_INT(zkl_grant_multi_async(estate.of.grant, &huge, 1, 0, 0, ignore, NULL), ZKL_ELIMIT);
    CHECK_INT(zkl_election_proclaim_async(estate.of.leader, "", 65537, 0, ignore, NULL),
              ZKL_ELIMIT);
    estate_end();
}

TEST_CASE(changing)
{
    every_check_all(CHANGES, NULL, SHORT_MS, ZKL_EUNKNOWN);
    every_check_all(CHANGES, begin_transaction, SHORT_MS, ZKL_ETIMEDOUT);
}

static bool anothers(const struct store_request *request, struct store_reply *reply)
{
    bool answered = estate_alone(request, reply);

    if (request->kind == STORE_CREATE)
        reply->rc = STORE_EXISTS;
    reply->ephemeral_owner = FAKE_SESSION_ID + 1;
    return answered;
}

static void be_second(void)
{
    fake_answer_at_once(anothers);
}

static void leave(void)
{
    zkl_member *m = handles_joining(&estate.of);

    fake_answer_at_once(estate_alone);
    zkl_member_leave(m, SHORT_MS);
}

TEST_CASE(joining)
{
    every_check_all(MEMBERS, be_second, SHORT_MS, ZKL_EBUSY);
    every_check_all(MEMBERS, leave, SHORT_MS, ZKL_EPERM);
}

static void be_meeting(void)
{
    REQUIRE(zkl_double_barrier_leave_async(estate.of.inside, ZKL_FOREVER, ignore, NULL) == 0);
    REQUIRE(zkl_double_barrier_enter_async(estate.of.pair, ZKL_FOREVER, ignore, NULL) == 0);
}

TEST_CASE(meeting)
{
    every_check_all(MEETS | LEAVES, be_meeting, SHORT_MS, ZKL_EBUSY);
}

TEST_CASE(not_inside)
{
    estate_begin();
    CHECK_INT(zkl_double_barrier_leave(estate.of.pair, SHORT_MS), ZKL_EPERM);
    CHECK_INT(zkl_double_barrier_leave_async(estate.of.pair, SHORT_MS, ignore, NULL), ZKL_EPERM);
    estate_end();
}

/* ---- scopes: what none of their guards frees, LeakSanitizer finds ---- */

static void estate_begin_all(void)
{
    estate_begin();
    fake_answer_at_once(estate_alone);
    handles_look(&estate.of);
}

/* clang says which variables nobody uses, even of these. */
#define GUARDED(type, field, made)                                                                 \
    GUARD(type) field = g_steal_pointer(&estate.of.field);                                         \
    (void)field;

static void end_by_scope(void)
{
#define GUARD ZKL_AUTO
    GUARD(zkl_session) session = g_steal_pointer(&estate.of.s);

    (void)session;
#define HANDLE GUARDED
#define RIGHT GUARDED
#define VIEW GUARDED
#include "every_call.inc"
#undef GUARD
}

static void end_by_glib(void)
{
#define GUARD g_autoptr
    GUARD(zkl_session) session = g_steal_pointer(&estate.of.s);

    (void)session;
#define HANDLE GUARDED
#define RIGHT GUARDED
#define VIEW GUARDED
#include "every_call.inc"
#undef GUARD
}

TEST_CASE(out_of_scope)
{
    estate_begin_all();
    end_by_scope();
    estate_end();
    estate_begin_all();
    end_by_glib();
    estate_end();
}
