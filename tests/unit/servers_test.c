/* A list of servers that changes, and what the ensemble says of itself: the session stays. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(servers);

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

static void hear(const char *text, int length)
{
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = text, .length = length);
}

/* Read once with each connection, once more to be told of changes, and when there is one. */
TEST_CASE(the_ensemble_is_heard)
{
    zkl_session *s = hand_session();
    const int length = (int)strlen(config);

    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 1);
    hear(config, length);
    CHECK_STR(fake_config(), config);
    CHECK(fake_is_watching(STORE_GET, "/zookeeper/config"));
    hear(config, length);
    fake_reconnect();
    CHECK(!fake_is_watching(STORE_GET, "/zookeeper/config")); /* the library sets it again */
    hear(config, length);
    hand_pass(s, 30000);
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 0);
    fake_watch("/zookeeper/config", false);
    CHECK(fake_is_watching(STORE_GET, "/zookeeper/config"));
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 1);
    hear(config, 8);
    CHECK_STR(fake_config(), "server.1");
    fake_watch("/zookeeper", false); /* another node */
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 0);
    fake_next_session();
    hear(config, length);
    CHECK(fake_is_watching(STORE_GET, "/zookeeper/config"));
    hand_close(s);
}

/* A server that stands alone is left no watch. */
TEST_CASE(one_server_is_no_ensemble)
{
    zkl_session *s = hand_session();

    hear(NULL, 0);
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
static void cold(bool strays)
{
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

TEST_CASE(cold_at_home)
{
    cold(false);
}

TEST_CASE(cold_astray)
{
    cold(true);
}

TEST_CASE(bad_arguments)
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
