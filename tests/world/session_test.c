/* A session without what uses it: only lib/session and what is below it are linked. */
#include <stdatomic.h>

#include "lib/session/core.h"
#include "lib/session/incarnation.h"
#include "lib/session/participant.h"
#include "lib/session/request.h"
#include "puppet.h"

TEST_SUITE(session_alone);

enum { TIMEOUT_MS = 10000 };

struct user {
    struct participant participant;
    bool busy, holding;
    unsigned heard[NEWS_COUNT];
};

static struct host *host;
static zkl_session *session;
static struct user *user;
static atomic_bool freed;

static bool is_busy(const struct participant *p)
{
    return ((const struct user *)p)->busy;
}

static enum presence presence_of_user(const struct participant *p)
{
    return ((const struct user *)p)->holding ? PRESENCE_HOLDS : PRESENCE_NONE;
}

#define HEAR(function, news)                                                                       \
    static void function(struct participant *p)                                                    \
    {                                                                                              \
        ((struct user *)p)->heard[news]++;                                                         \
    }

HEAR(on_up, NEWS_UP)
HEAR(on_proved, NEWS_PROVED)
HEAR(on_deadline, NEWS_DEADLINE_MOVED)
HEAR(on_suspect, NEWS_SUSPECT)
HEAR(on_deadline_passed, NEWS_DEADLINE_PASSED)
/* As the attempts that had made it: their nodes went with the incarnation. */
static void on_replaced(struct participant *p)
{
    ((struct user *)p)->heard[NEWS_REPLACED]++;
    p->session->orphans = 0;
}

HEAR(on_refused, NEWS_REFUSED)
HEAR(on_closed, NEWS_CLOSED)

static void free_user(struct participant *p)
{
    freed = true;
    g_free((struct user *)p);
}

static const struct participant_ops ops = {.is_busy = is_busy,
                                           .needs_deadline = is_busy,
                                           .presence = presence_of_user,
                                           .on = {[NEWS_UP] = on_up,
                                                  [NEWS_PROVED] = on_proved,
                                                  [NEWS_DEADLINE_MOVED] = on_deadline,
                                                  [NEWS_SUSPECT] = on_suspect,
                                                  [NEWS_DEADLINE_PASSED] = on_deadline_passed,
                                                  [NEWS_REPLACED] = on_replaced,
                                                  [NEWS_REFUSED] = on_refused,
                                                  [NEWS_CLOSED] = on_closed},
                                           .free = free_user};

static void run_timers(void)
{
    struct host *before = host_enter(host);

    session_lock(session);
    timers_run(session->timers);
    session_unlock(session);
    zkl_session_dispatch(session);
    host_enter(before);
}

static void run_for(int64_t ns)
{
    int64_t end = world_now(world) + ns;

    while (world_now(world) < end) {
        session_lock(session);
        int64_t due = timers_next(session->timers);
        session_unlock(session);
        int64_t until = MIN(end, due == INT64_MAX ? INT64_MAX : host_when(host, due));
        world_run_next(world, MAX(until, world_now(world)));
        run_timers();
    }
}

/* Connected, with a user that contends. warm_ms: how long it stays proved without. */
static void begin(int servers, int64_t warm_ms)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    begin_world((struct world_config){.seed = 3, .servers = servers, .reap_ms = 60000});
    timers_by_hand = true;
    session_store = &world_store;
    options.dispatch = 1;
    options.session_timeout_ms = TIMEOUT_MS;
    host = world_host(world, "a", 0);
    struct host *before = host_enter(host);
    REQUIRE(zkl_session_open(&session, "any:1", &options, NULL) == 0);
    session_set_warm_ms(session, warm_ms);
    freed = false;
    session_lock(session);
    user = (struct user *)participant_of(session, &ops, sizeof *user);
    user->busy = true;
    session_unlock(session);
    host_enter(before);
    run_for(SECOND);
    REQUIRE(user->heard[NEWS_UP] == 1);
}

static void end(void)
{
    struct host *before = host_enter(host);

    zkl_session_close(session);
    host_enter(before);
    for (int ms = 0; !freed && ms < 60000; ms++)
        g_usleep(1000); /* by the thread that has closed the store, perhaps */
    CHECK(freed);
    pass(SECOND);
    CHECK_INT(world_session_count(world), 0);
    end_world();
    session_store = &store_zk;
    timers_by_hand = false;
}

/* Proofs go on while somebody contends, whoever that is, and no longer. */
TEST_CASE(kept_proved_while_busy)
{
    begin(3, 0);
    run_for(60 * SECOND);
    CHECK(user->heard[NEWS_PROVED] > 10);
    CHECK_INT(user->heard[NEWS_DEADLINE_PASSED], 0);
    user->busy = false;
    run_for(10 * SECOND);
    unsigned before = user->heard[NEWS_PROVED];
    run_for(60 * SECOND);
    CHECK_INT(user->heard[NEWS_PROVED], before);
    end();
}

static void on_user_answered(struct request *r, const struct store_reply *reply)
{
    (void)reply;
    *(bool *)r->context = true;
}

/* Whether an answered write of the user's moves the deadline. */
static bool user_write_moves(void)
{
    struct host *before = host_enter(host);
    const struct instant deadline = session->proofs.deadline;
    bool answered = false;

    session_lock(session);
    request_send(session,
                 request_new(STORE_DELETE, g_strdup("/none"), on_user_answered, &answered));
    session_unlock(session);
    host_enter(before);
    while (!answered)
        run_for(MILLI);
    return session->proofs.deadline.boot > deadline.boot;
}

/* Somebody who goes by the deadline would hear of each write; where there is nobody, it costs
 * nothing. */
TEST_CASE(moved_by_a_users_write)
{
    begin(1, 60000);
    while (!user_write_moves())
        continue;
    CHECK(!user_write_moves()); /* a few ms later */
    user->busy = false;
    CHECK(user_write_moves());
    end();
}

/* In this order: it may end, it has ended as far as anybody can tell, it has ended. */
TEST_CASE(told_of_an_expiry)
{
    begin(3, 0);
    for (int i = 0; i < 3; i++)
        world_cut(host, i, true, true);
    run_for(TIMEOUT_MS * MILLI - MILLI);
    CHECK(user->heard[NEWS_SUSPECT] > 0);
    CHECK_INT(user->heard[NEWS_DEADLINE_PASSED], 1);
    CHECK_INT(user->heard[NEWS_REPLACED], 0);
    run_for(20 * SECOND);
    for (int i = 0; i < 3; i++)
        world_heal(host, i);
    run_for(20 * SECOND);
    CHECK_INT(user->heard[NEWS_REPLACED], 1);
    CHECK_INT(user->heard[NEWS_UP], 2);
    end();
}

static void purge(void)
{
    struct host *before = host_enter(host);

    session_lock(session);
    session->orphans = 1;
    incarnation_purge(session);
    session_unlock(session);
    host_enter(before);
    run_for(SECOND);
}

/* Where a node stands that only the end of the session removes. */
TEST_CASE(not_replaced_while_held)
{
    begin(3, 0);
    user->holding = true;
    purge();
    CHECK_INT(user->heard[NEWS_REPLACED], 0);
    user->holding = false;
    purge();
    CHECK_INT(user->heard[NEWS_REPLACED], 1);
    end();
}

TEST_CASE(found_by_its_ops)
{
    static const struct participant_ops other = {.free = free_user};

    begin(3, 0);
    session_lock(session);
    CHECK(participant_of(session, &ops, sizeof *user) == &user->participant);
    CHECK(participant_of(session, &other, sizeof *user) != &user->participant);
    session_unlock(session);
    end();
}
