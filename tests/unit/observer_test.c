/* Observers over a store that answers what the test says. */
#include "election_story.h"
#include "lib/queue/children_watch.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(observer);

static zkl_watch *observe(struct election_story *s)
{
    zkl_watch *o;

    REQUIRE(zkl_election_watch(&o, s->election, election_on_leader, s) == 0);
    return o;
}

/* One name each, so that who is first is who is there. */
static void answer_list(const char *name)
{
    char *names[] = {(char *)(uintptr_t)name};

    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = names, .count = name ? 1 : 0);
}

#define A "_c_a-latch-0000000001"
#define B "_c_b-latch-0000000002"
#define LOCK "_c_c-lock-0000000000"

#define ANSWER_NODE(name, token, payload)                                                          \
    ANSWER(STORE_GET, PATH_OF(name), .rc = STORE_OK, .czxid = (token), .data = (payload),          \
           .length = (int)strlen(payload))

static void answer_data(const char *data)
{
    CHECK(fake_is_watching(STORE_GET, ELECTION));
    ANSWER(STORE_GET, ELECTION, .rc = STORE_OK, .data = data, .length = (int)strlen(data));
}

static zkl_watch *begin_with(struct election_story *s, const char *name, uint64_t token,
                             const char *id, const char *data)
{
    election_begin(s, NULL);
    zkl_watch *o = observe(s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(name);
    char *path = g_strconcat(ELECTION "/", name, NULL);
    CHECK(fake_is_watching(STORE_GET, path));
    ANSWER(STORE_GET, path, .rc = STORE_OK, .czxid = token, .data = id, .length = (int)strlen(id));
    g_free(path);
    answer_data(data);
    return o;
}

static void end(struct election_story *s, zkl_watch *o)
{
    zkl_watch_free(o);
    election_end(s);
}

/* A lower token than one told leads nobody who checks it; the next higher one is told. */
TEST_CASE(tokens_rise)
{
    struct election_story s;
    zkl_watch *o = begin_with(&s, A, 5, "a", "");

    TOLD(&s, "a");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    CHECK(!fake_is_asked(STORE_SYNC, ELECTION)); /* the event shows that the server is there */
    answer_list(B);
    ANSWER_NODE(B, 4, "b");
    TOLD(&s, "a nobody");
    fake_fire(PATH_OF(B), STORE_FIRED_GONE);
    answer_list(A);
    ANSWER_NODE(A, 6, "a");
    TOLD(&s, "a nobody a");
    end(&s, o);
}

#define OURS "_c_1b4e28ba-2fa1-81d2-883f-0016d3cca427-latch-0000000001"

/* A transaction of the leader's changes its node, not its id. */
TEST_CASE(transactions_unseen)
{
    struct election_story s;
    zkl_watch *o = begin_with(&s, OURS, 5, "a", "");

    TOLD(&s, "a");
    fake_fire(PATH_OF(OURS), STORE_FIRED_CHANGED);
    ANSWER(STORE_GET, PATH_OF(OURS), .rc = STORE_OK, .version = 1, .czxid = 5,
           .data = "a\nzkl tx 1", .length = 11);
    election_flush(&s);
    TOLD(&s, "a");
    end(&s, o);
}

/* After a reconnect everything is looked at again, behind a sync; the same is not told again. */
TEST_CASE(reconnected)
{
    struct election_story s;
    zkl_watch *o = begin_with(&s, A, 5, "a", "5\nx");

    TOLD(&s, "a=x");
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_LIST, ELECTION));
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(A);
    ANSWER_NODE(A, 5, "a");
    answer_data("5\nx");
    election_flush(&s);
    TOLD(&s, "a=x");
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    answer_data("7\ny");
    TOLD(&s, "a=x b=y");
    end(&s, o);
}

/* A query that a disconnection cut off is stale, whatever is answered to it later. */
TEST_CASE(stale_queries)
{
    struct election_story s;

    election_begin(&s, NULL);
    zkl_watch *o = observe(&s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    answer_list(A); /* of before */
    CHECK(!fake_is_asked(STORE_GET, ELECTION));
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    answer_data("");
    TOLD(&s, "b");
    end(&s, o);
}

/* Another session of ours: nothing of the old one counts, and the same leader is no news. */
TEST_CASE(another_session)
{
    struct election_story s;
    zkl_watch *o = begin_with(&s, A, 5, "a", "");

    TOLD(&s, "a");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    CHECK(fake_is_asked(STORE_LIST, ELECTION));
    fake_event(STORE_EV_EXPIRED);
    CHECK(!fake_is_asked(STORE_LIST, ELECTION));
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(A);
    CHECK(fake_is_watching(STORE_GET, PATH_OF(A)));
    ANSWER_NODE(A, 5, "a");
    answer_data("");
    election_flush(&s);
    TOLD(&s, "a");
    end(&s, o);
}

/* The servers' data have gone back. Lower tokens count in the next session, whether or not the
 * servers have since passed what the last session had seen. */
TEST_CASE(servers_have_gone_back)
{
    for (int passed = 0; passed <= 1; passed++) {
        struct election_story s;
        zkl_watch *o = begin_with(&s, B, 5, "b", "");

        TOLD(&s, "b");
        fake_event(STORE_EV_DOWN);
        fake_event(STORE_EV_REFUSED);
        if (passed)
            fake_event(STORE_EV_SERVED);
        fake_next_session();
        ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
        answer_list(A);
        ANSWER_NODE(A, 2, "a");
        answer_data("");
        election_flush(&s);
        TOLD(&s, "b a");
        end(&s, o);
    }
}

TEST_CASE(left_between_list_and_read)
{
    struct election_story s;

    election_begin(&s, NULL);
    zkl_watch *o = observe(&s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(A);
    ANSWER(STORE_GET, PATH_OF(A), .rc = STORE_NONODE);
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    answer_data("");
    TOLD(&s, "b");
    end(&s, o);
}

/* Only what carries the leader's token is its own; and changes of it are told. */
TEST_CASE(whose_data)
{
    struct election_story s;
    zkl_watch *o = begin_with(&s, A, 5, "a", "4\nold");

    TOLD(&s, "a");
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    answer_data("5\nnew");
    TOLD(&s, "a a=new");
    fake_fire(PATH_OF(A), STORE_FIRED_CHANGED); /* as proclaiming does */
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    ANSWER_NODE(A, 5, "a");
    answer_data("5\nnewer");
    TOLD(&s, "a a=new a=newer");
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    answer_data("7\nof the next"); /* which is not seen yet */
    TOLD(&s, "a a=new a=newer a");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    answer_list(B);
    ANSWER_NODE(B, 7, "b"); /* its watch stands: nothing is read again */
    TOLD(&s, "a a=new a=newer a b=of the next");
    CHECK(!fake_is_asked(STORE_GET, ELECTION));
    end(&s, o);
}

/* Nobody: by a watch on the children, or on the path's coming. Other layouts are nobody. */
TEST_CASE(nobody)
{
    struct election_story s;

    election_begin(&s, NULL);
    zkl_watch *o = observe(&s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NONODE);
    CHECK(fake_is_watching(STORE_STAT, ELECTION));
    ANSWER(STORE_STAT, ELECTION, .rc = STORE_NONODE);
    TOLD(&s, "nobody");
    fake_fire(ELECTION, STORE_FIRED_CREATED);
    CHECK(!fake_is_watching(STORE_LIST, ELECTION));
    answer_list(LOCK);
    CHECK(fake_is_watching(STORE_LIST, ELECTION));
    answer_list(LOCK);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_list(A);
    ANSWER_NODE(A, 5, "a");
    answer_data("");
    TOLD(&s, "nobody a");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    answer_list(NULL);
    answer_list(NULL);
    TOLD(&s, "nobody a nobody");
    fake_fire(ELECTION, STORE_FIRED_GONE); /* the directory: both of its watches */
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, ELECTION, .rc = STORE_OK); /* made anew just then */
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    answer_data("");
    TOLD(&s, "nobody a nobody b");
    end(&s, o);
}

/* A watch set for an observer that is gone by then is removed; one on the children leaves that on
 * the node alone. */
TEST_CASE(watches_are_removed)
{
    struct election_story s;

    election_begin(&s, NULL);
    zkl_watch *o = observe(&s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(A);
    zkl_watch_free(o);
    CHECK_INT(fake_count(STORE_UNWATCH, ELECTION), 0);
    ANSWER_NODE(A, 5, "a");
    CHECK(fake_is_asked(STORE_UNWATCH, PATH_OF(A)));
    ANSWER(STORE_GET, ELECTION, .rc = STORE_NONODE); /* it left none */
    CHECK_INT(fake_count(STORE_UNWATCH, ELECTION), 1);
    election_flush(&s);
    TOLD(&s, "");
    election_end(&s);
}

/* Refused: tried again later, from the beginning. */
TEST_CASE(refused)
{
    struct election_story s;

    election_begin(&s, NULL);
    zkl_watch *o = observe(&s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    fake_await(STORE_SYNC, ELECTION);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(A);
    ANSWER(STORE_GET, PATH_OF(A), .rc = STORE_NOAUTH);
    answer_data("");
    fake_await(STORE_SYNC, ELECTION);
    TOLD(&s, "");
    end(&s, o);
}

static void *free_observer(void *o)
{
    zkl_watch_free(o);
    return NULL;
}

static const struct children_watch *watch_of(const zkl_watch *o)
{
    return (const struct children_watch *)o;
}

static bool is_stopped(struct election_story *s, const zkl_watch *o)
{
    session_lock(s->session);
    bool stopped = watch_of(o)->stopped;
    session_unlock(s->session);
    return stopped;
}

/* What is queued behind the call under way is not told any more. */
TEST_CASE(freed_with_more_to_tell)
{
    struct election_story s;
    zkl_watch *o = begin_with(&s, A, 5, "a", "");
    pthread_t thread;

    TOLD(&s, "a");
    election_hold_up(&s, true);
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    answer_data("5\nx");
    TOLD(&s, "a a=x");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    REQUIRE(pthread_create(&thread, NULL, free_observer, o) == 0);
    while (!is_stopped(&s, o))
        g_usleep(1000);
    election_hold_up(&s, false);
    pthread_join(thread, NULL);
    election_flush(&s);
    TOLD(&s, "a a=x");
    election_end(&s);
}

/* The session's end is the observer's, also between two tries. */
TEST_CASE(closed_in_a_pause)
{
    struct election_story s;

    election_begin(&s, NULL);
    zkl_watch *o = observe(&s);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    zkl_session_close(s.session);
    s.session = NULL;
    CHECK(watch_of(o)->stopped && !watch_of(o)->driver.timer->at);
    end(&s, o);
}
