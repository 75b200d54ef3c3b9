/* What only some functions return, in a plight that each of them can be in. */
#include "every_call.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(some_calls);

#define OTHER "_c_00000000-0000-8000-8000-000000000000"

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
        g_snprintf(first, sizeof first, OTHER "%.*s0000000001",
                   (int)(strlen(own) - strlen(OTHER) - strlen(number)), own + strlen(OTHER));
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
    estate.s->watched_bytes = 512 * 1024;
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
    rival = OTHER "-latch-0000000001";
    every_check_but(LOCKS, LATCH, come_behind, LONG_MS, ZKL_ELAYOUT);
    rival = OTHER "-__READ__0000000001";
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
    CHECK_INT(zkl_election_resign(estate.leader), 0);
    CHECK_INT(zkl_member_leave(estate.joined, ZKL_FOREVER), 0);
    estate.grant = estate.fence = estate.own; /* which stays valid */
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
    estate.fence = estate.grant;
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
        estate_begin(&estate);
        fake_answer_at_once(estate_alone);
        every_check(c, ZKL_FOREVER, 0);
        end_session();
        every_check(c, LONG_MS, ZKL_ELOST);
        if (strcmp(c->name, "zkl_rwlock_lock") == 0)
            CHECK_INT(zkl_rwlock_unlock(estate.rwlock), ZKL_ELOST);
        estate_end(&estate);
    }
}

static void be_alone_without_room(void)
{
    estate.s->watched_bytes = 512 * 1024;
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

/* Only its thread's sleep shows that a call has begun: others may ask for something, too. */
static void await_sleep(const char *stat)
{
    char state = 0;

    for (int asleep = 0; asleep < 5; asleep = state == 'S' ? asleep + 1 : 0) {
        char *text = NULL;
        g_usleep(200);
        if (g_file_get_contents(stat, &text, NULL, NULL))
            state = strrchr(text, ')')[2];
        g_free(text);
    }
}

static char *stat_of_thread(void)
{
    return g_strdup_printf("/proc/self/task/%d/stat", gettid());
}

static void *happen(void *stat)
{
    while (estate.asked == 0)
        g_usleep(200);
    await_sleep(stat);
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
    estate_silence(&estate);
}

static void be_silent_about_others(void)
{
    be_silent();
    fake_answer_at_once(unlisted);
}

/* A call that waits for a connection asks for nothing. */
static void disconnect(void)
{
    fake_event(STORE_EV_DOWN);
    estate.asked++;
}

static void check_meanwhile(unsigned may, void (*before)(void), void (*fn)(void), int code)
{
    pthread_t thread;
    char *stat = stat_of_thread();

    meanwhile = fn;
    for (const struct every_call *c = every_call; c->name; c++) {
        if (!(c->may & may))
            continue;
        estate_begin(&estate);
        before();
        REQUIRE(pthread_create(&thread, NULL, happen, stat) == 0);
        every_check(c, 10 * LONG_MS, code);
        pthread_join(thread, NULL);
        estate_end(&estate);
    }
    g_free(stat);
}

static void refuse_credentials(void)
{
    fake_event(STORE_EV_AUTH);
}

static void close_session(void)
{
    estate_close(&estate);
}

TEST_CASE(ended_meanwhile)
{
    check_meanwhile(ENDED, be_silent, refuse_credentials, ZKL_EAUTH);
    check_meanwhile(OF_SESSION, be_silent, close_session, ZKL_ECLOSED);
    check_meanwhile(CHANGES, disconnect, close_session, ZKL_ECLOSED);
    check_meanwhile(MEETS, be_silent_about_others, end_session, ZKL_ELOST);
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
    REQUIRE(zkl_grant_multi_async(estate.grant, NULL, 0, 0, ZKL_FOREVER, ignore, NULL) == 0);
    REQUIRE(zkl_grant_multi_async(estate.own, NULL, 0, 0, ZKL_FOREVER, ignore, NULL) == 0);
}

TEST_CASE(too_much)
{
    const zkl_change huge = {
        .kind = ZKL_CHANGE_SET, .version = -1, .path = "/x", .data = "", .size = 1000001};

    estate_begin(&estate);
    CHECK_INT(zkl_grant_multi_async(estate.grant, &huge, 1, 0, 0, ignore, NULL), ZKL_ELIMIT);
    CHECK_INT(zkl_election_proclaim_async(estate.leader, "", 65537, 0, ignore, NULL), ZKL_ELIMIT);
    estate_end(&estate);
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
    zkl_member *m = estate_joining(&estate);

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
    REQUIRE(zkl_double_barrier_leave_async(estate.inside, ZKL_FOREVER, ignore, NULL) == 0);
    REQUIRE(zkl_double_barrier_enter_async(estate.pair, ZKL_FOREVER, ignore, NULL) == 0);
}

TEST_CASE(meeting)
{
    every_check_all(MEETS | LEAVES, be_meeting, SHORT_MS, ZKL_EBUSY);
}

TEST_CASE(not_inside)
{
    estate_begin(&estate);
    CHECK_INT(zkl_double_barrier_leave(estate.pair, SHORT_MS), ZKL_EPERM);
    CHECK_INT(zkl_double_barrier_leave_async(estate.pair, SHORT_MS, ignore, NULL), ZKL_EPERM);
    estate_end(&estate);
}
