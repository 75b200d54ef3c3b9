#include "every_call.h"

#include <string.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

bool estate_alone(const struct store_request *request, struct store_reply *reply)
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
    if (g_str_has_suffix(request->path, "/ready"))
        reply->rc = STORE_NONODE;
    names[0] = path[0] ? strrchr(path, '/') + 1 : path;
    reply->count = request->kind == STORE_LIST;
    return true;
}

static struct estate *silent;

static bool count(const struct store_request *request, struct store_reply *reply)
{
    (void)reply;
    silent->asked += g_str_has_prefix(request->path, "/x");
    return false;
}

void estate_silence(struct estate *e)
{
    silent = e;
    fake_answer_at_once(count);
}

void estate_begin_bare(struct estate *e, int session_timeout_ms)
{
    static const char *const paths[] = {"/x/m", "/x/n"};
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    *e = (struct estate){.s = fake_open_session("fake:1", NULL)};
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, session_timeout_ms);
    o.limit = 1;
    fake_answer_at_once(estate_alone);
    REQUIRE(zkl_barrier_new(&e->barrier, e->s, "/x/b", NULL) == 0);
    REQUIRE(zkl_double_barrier_new(&e->pair, e->s, "/x/d", 1, NULL) == 0);
    REQUIRE(zkl_double_barrier_new(&e->inside, e->s, "/x/i", 1, NULL) == 0);
    REQUIRE(zkl_double_barrier_enter(e->inside, ZKL_FOREVER) == 0);
    REQUIRE(zkl_counter_new(&e->counter, e->s, "/x/c", ZKL_COUNTER_32) == 0);
    REQUIRE(zkl_election_new(&e->candidate, e->s, "/x/e", "id", NULL) == 0);
    REQUIRE(zkl_election_new(&e->leader, e->s, "/x/l", "id", NULL) == 0);
    REQUIRE(zkl_mutex_new(&e->mutex, e->s, "/x/m", NULL) == 0);
    REQUIRE(zkl_mutex_new(&e->held, e->s, "/x/h", NULL) == 0);
    REQUIRE(zkl_multilock_new(&e->multilock, e->s, paths, 2, NULL) == 0);
    REQUIRE(zkl_rwlock_new(&e->rwlock, e->s, "/x/r", NULL) == 0);
    REQUIRE(zkl_semaphore_new(&e->semaphore, e->s, "/x/s", &o) == 0);
    fake_answer_at_once(NULL);
}

void estate_begin(struct estate *e)
{
    estate_begin_bare(e, FAKE_TIMEOUT_MS);
    fake_answer_at_once(estate_alone);
    REQUIRE(zkl_election_campaign(e->leader, ZKL_FOREVER, &e->own) == 0);
    REQUIRE(zkl_mutex_lock(e->held, ZKL_FOREVER, &e->grant) == 0);
    REQUIRE(zkl_member_join(&e->joined, e->s, "/x/g", "id", NULL, 0, NULL) == 0);
    REQUIRE(zkl_member_wait(e->joined, ZKL_FOREVER) == 0);
    fake_answer_at_once(NULL);
}

void estate_close(struct estate *e)
{
    zkl_session_close(e->s);
    e->s = NULL;
}

void estate_end(struct estate *e)
{
    fake_answer_at_once(NULL);
    zkl_op_free(e->op);
    zkl_barrier_free(e->barrier);
    zkl_double_barrier_free(e->pair);
    zkl_double_barrier_free(e->inside);
    zkl_counter_free(e->counter);
    zkl_grant_release(e->own);
    zkl_election_free(e->candidate);
    zkl_election_free(e->leader);
    zkl_mutex_free(e->mutex);
    zkl_mutex_free(e->held);
    zkl_multilock_free(e->multilock);
    zkl_rwlock_free(e->rwlock);
    zkl_semaphore_free(e->semaphore);
    zkl_member_free(e->joined);
    zkl_member_free(e->joining);
    zkl_session_close(e->s);
}

static void done(const zkl_error *err, void *data)
{
    struct estate *e = data;

    e->code = err ? err->code : 0;
    e->told = 1;
}

static void acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    zkl_grant_release(grant);
    done(err, data);
}

static int told(struct estate *e, int code)
{
    e->asked += code == 0;
    if (code == 0 && e->cancels)
        zkl_op_cancel(e->op);
    while (code == 0 && !e->told)
        g_usleep(200);
    return code ? code : e->code;
}

static int waited(struct estate *e, int code, zkl_grant **ret)
{
    if (code == 0 && e->cancels)
        zkl_op_cancel(e->op);
    return code ? code : zkl_op_wait(e->op, ret);
}

zkl_member *estate_joining(struct estate *e)
{
    if (e->s && !e->joining)
        REQUIRE(zkl_member_join(&e->joining, e->s, "/x/j", "id", NULL, 0, NULL) == 0);
    return e->joining;
}

static void on_state(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant, (void)state, (void)data;
}

static void on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)event, (void)id, (void)data;
}

static void on_election(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                        const zkl_error *err, void *data)
{
    (void)e, (void)event, (void)grant, (void)err, (void)data;
}

static void on_leader(const zkl_leader *leader, void *data)
{
    (void)leader, (void)data;
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    (void)event, (void)member, (void)all, (void)data;
}

static void on_queue(void *data)
{
    (void)data;
}

static void on_call(struct _zhandle *zh, void *data)
{
    (void)zh, (void)data;
}

/* What a call that fails never writes. */
static union {
    zkl_barrier *barrier;
    zkl_double_barrier *pair;
    zkl_counter *counter;
    zkl_election *election;
    zkl_mutex *mutex;
    zkl_multilock *multilock;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_member *member;
    zkl_members *members;
    zkl_queue *queue;
    zkl_watch *watch;
    zkl_grant *grant;
    zkl_deadline deadline;
    zkl_part part;
    zkl_session_claim claim;
    zkl_stats stats;
    int64_t number;
    char text[ZKL_FENCE_SIZE];
    int limit;
} out;
static struct zoo_op check;
static const char *const two[] = {"/x/m", "/x/n"};
static const zkl_change change = {.kind = ZKL_CHANGE_SET, .version = -1, .path = "/x/data"};
static zkl_election_status status = ZKL_ELECTION_STATUS_INIT;

/* Sorts of functions. */
#define MADE (GETS_NULL | IN_CHILD | CLOSING)
#define OWNED (GETS_NULL | IN_CHILD)
#define ASKS (CONNECTED | ANSWERED | PERMITTED | UNDERSTOOD)
#define ENTERS (OWNED | CLOSED | ASKS | CREATES | LOCKS)
#define READS (OWNED | BLOCKS | ASKS)

/* The functions, and the table of them. */
#define JOINING estate_joining(e)
#define SERVERS "fake:2"
#define OTHER(function, call)
#define CALL(function, flags, arguments)                                                           \
    static int call_##function(struct estate *e, int64_t ms)                                       \
    {                                                                                              \
        (void)ms;                                                                                  \
        return function arguments;                                                                 \
    }
#define BEGIN(function, flags, arguments)                                                          \
    static int call_##function(struct estate *e, int64_t ms)                                       \
    {                                                                                              \
        return told(e, function arguments);                                                        \
    }
#define WAIT(function, flags, arguments)                                                           \
    static int call_##function(struct estate *e, int64_t ms)                                       \
    {                                                                                              \
        return waited(e, zkl_mutex_lock_async arguments, &out.grant);                              \
    }
#include "every_call.inc"
#undef CALL
#undef BEGIN
#undef WAIT

#define CALL(function, flags, arguments) {#function, call_##function, flags},
#define BEGIN(function, flags, arguments) {#function, call_##function, flags},
#define WAIT(function, flags, arguments) {#function, call_##function, flags},
const struct every_call every_call[] = {
#include "every_call.inc"
    {NULL, NULL, 0},
};

struct estate estate;

void every_check(const struct every_call *c, int64_t timeout_ms, int code)
{
    int got = c->fn(&estate, timeout_ms);

    if (got != code)
        runner_fail(__FILE__, __LINE__, "%s: %s, not %s", c->name, zkl_strerror(got),
                    zkl_strerror(code));
}

/* Each function of that kind and not the other, with an estate of its own that was prepared. */
void every_check_but(unsigned may, unsigned not, void (*prepare)(void), int64_t timeout_ms,
                     int code)
{
    for (const struct every_call *c = every_call; c->name; c++) {
        if (!(c->may & may) || (c->may & not ))
            continue;
        if (c->may & PATIENT)
            estate_begin_bare(&estate, SHORT_SESSION_MS);
        else
            estate_begin(&estate);
        if (prepare)
            prepare();
        every_check(c, timeout_ms, code);
        estate_end(&estate);
    }
}

void every_check_all(unsigned may, void (*prepare)(void), int64_t timeout_ms, int code)
{
    every_check_but(may, 0, prepare, timeout_ms, code);
}
