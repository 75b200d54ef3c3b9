/* A watch tells that a queue may have changed: once for each change, at the right time. */
#include "by_hand.h"
#include "runner.h"

#include "lib/queue/children_watch.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(queue_watch);

#define QUEUE "/root/q"

struct watching {
    zkl_session *s;
    zkl_watch *watch;
    int told, warnings;
    bool freed;
    pthread_t freer;
};

static void on_change(void *data)
{
    struct watching *w = data;

    w->told++;
}

static void begin(struct watching *w)
{
    *w = (struct watching){.told = 0};
    w->s = hand_session_counting(&w->warnings);
    REQUIRE(zkl_queue_watch(&w->watch, w->s, "/q", on_change, w) == 0);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
}

static void end(struct watching *w)
{
    zkl_watch_free(w->watch);
    hand_close(w->s);
}

static void answer_list(int count)
{
    static char name[] = "lock-0000000000";
    char **names = g_new(char *, (gsize)count + 1);

    for (int i = 0; i < count; i++)
        names[i] = name;
    CHECK(fake_is_watching(STORE_LIST, QUEUE));
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_OK, .names = names, .count = count);
    g_free(names);
}

/* Calls since the last time. */
static int told(struct watching *w)
{
    int before = w->told;

    zkl_session_dispatch(w->s);
    return w->told - before;
}

/* Told when the watch stands, so that nothing can be missed behind it. */
TEST_CASE(once_for_each_change)
{
    struct watching w;

    begin(&w);
    CHECK_INT(told(&w), 0);
    answer_list(1);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 1000);
    CHECK_INT(told(&w), 0);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    CHECK_INT(told(&w), 0);
    CHECK(!fake_is_asked(STORE_SYNC, QUEUE)); /* the event shows that the server is there */
    answer_list(2);
    CHECK_INT(told(&w), 1);
    CHECK_INT(w.warnings, 0);
    end(&w);
}

/* One call for all that is found before it begins. */
TEST_CASE(told_together)
{
    struct watching w;

    begin(&w);
    answer_list(1);
    for (int i = 0; i < 3; i++) {
        hand_pass(w.s, 1000);
        fake_fire(QUEUE, STORE_FIRED_CHILDREN);
        answer_list(i);
    }
    CHECK_INT(told(&w), 1);
    CHECK_INT(told(&w), 0);
    end(&w);
}

/* The first change after a pause at once, those behind it 100 ms later, and later yet for many. */
TEST_CASE(not_too_often)
{
    struct watching w;

    begin(&w);
    answer_list(0);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    hand_pass(w.s, 99);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    hand_pass(w.s, 1);
    answer_list(1000);
    hand_pass(w.s, 150);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    hand_pass(w.s, 49);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    hand_pass(w.s, 1);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    CHECK(fake_is_asked(STORE_LIST, QUEUE));
    end(&w);
}

TEST_CASE(path_comes_and_goes)
{
    struct watching w;

    begin(&w);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NONODE);
    CHECK(fake_is_watching(STORE_STAT, QUEUE));
    CHECK_INT(told(&w), 0);
    ANSWER(STORE_STAT, QUEUE, .rc = STORE_NONODE);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CREATED);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_GONE);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, QUEUE, .rc = STORE_OK); /* made anew just then */
    answer_list(0);
    CHECK_INT(told(&w), 1);
    end(&w);
}

/* Behind a sync, since the next server may lag; even when a look was waiting for its time. */
TEST_CASE(after_a_connection)
{
    struct watching w;

    begin(&w);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    fake_event(STORE_EV_DOWN);
    hand_pass(w.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    hand_pass(w.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE)); /* that was the look which had to wait */
    CHECK_INT(told(&w), 1);
    end(&w);
}

TEST_CASE(after_another_session)
{
    struct watching w;

    begin(&w);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    CHECK(fake_is_asked(STORE_LIST, QUEUE));
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    end(&w);
}

/* Told that it fails, and logged, once, so that a read can say why; tried again later. */
TEST_CASE(refused)
{
    struct watching w;

    begin(&w);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NOAUTH);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 999);
    CHECK(!fake_is_asked(STORE_SYNC, QUEUE));
    hand_pass(w.s, 1);
    CHECK_INT(w.warnings, 1);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_NOAUTH);
    CHECK_INT(told(&w), 0);
    CHECK_INT(w.warnings, 1);
    hand_pass(w.s, 2000);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NOAUTH); /* news again, and soon tried again */
    CHECK_INT(told(&w), 1);
    hand_pass(w.s, 1000);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    end(&w);
}

/* Neither what was queued before nor what comes behind; and the server's watch goes. */
TEST_CASE(not_after_free)
{
    struct watching w;

    begin(&w);
    answer_list(0);
    zkl_watch_free(w.watch);
    CHECK_INT(told(&w), 0);
    CHECK_INT(fake_count(STORE_UNWATCH, QUEUE), 1);
    REQUIRE(zkl_queue_watch(&w.watch, w.s, "/q", on_change, &w) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    zkl_watch_free(w.watch);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NONODE); /* asked before */
    CHECK(!fake_is_asked(STORE_STAT, QUEUE));
    CHECK_INT(told(&w), 0);
    REQUIRE(zkl_queue_watch(&w.watch, w.s, "/q", on_change, &w) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    zkl_watch_free(w.watch); /* while it rests */
    hand_pass(w.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    CHECK_INT(told(&w), 0);
    zkl_watch_free(NULL);
    hand_close(w.s);
}

static void free_itself(void *data)
{
    struct watching *w = data;

    w->told++;
    zkl_watch_free(w->watch);
}

TEST_CASE(freed_when_told)
{
    struct watching w = {.s = hand_session()};

    REQUIRE(zkl_queue_watch(&w.watch, w.s, "/q", free_itself, &w) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_SYNC, QUEUE));
    hand_close(w.s);
}

static void *free_watch(void *data)
{
    struct watching *w = data;

    hand_is_waiter();
    zkl_watch_free(w->watch);
    w->freed = true;
    return NULL;
}

/* A thread that frees it waits until the call is through. */
static void let_it_be_freed(void *data)
{
    struct watching *w = data;

    REQUIRE(pthread_create(&w->freer, NULL, free_watch, w) == 0);
    hand_await_waiter(w->s);
    CHECK(!w->freed);
    w->told++;
}

TEST_CASE(freed_while_told)
{
    struct watching w = {.s = hand_session()};

    REQUIRE(zkl_queue_watch(&w.watch, w.s, "/q", let_it_be_freed, &w) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_list(0);
    CHECK_INT(told(&w), 1);
    pthread_join(w.freer, NULL);
    CHECK(w.freed);
    hand_close(w.s);
}

/* Also between two tries. */
TEST_CASE(ends_with_the_session)
{
    struct watching w;

    begin(&w);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NOAUTH);
    CHECK_INT(told(&w), 1);
    hand_close(w.s);
    CHECK_INT(w.told, 1);
    CHECK_INT(zkl_queue_watch(&w.watch, w.s, "/q", on_change, &w), ZKL_ECLOSED);
    zkl_watch_free(w.watch);
}

TEST_CASE(bad_arguments)
{
    zkl_session *s = fake_session();
    zkl_watch *w = NULL;
    int i = 0;

    CHECK_INT(zkl_queue_watch(NULL, s, "/q", on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, NULL, "/q", on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, s, "q", on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, s, NULL, on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, s, "/q", NULL, &i), ZKL_EINVAL);
    CHECK(w == NULL);
    CHECK(!fake_is_asked(STORE_SYNC, "/q"));
    zkl_session_close(s);
}

/* As a read would be: told to those who watch, and to who begins to. */
TEST_CASE(credentials_refused)
{
    struct watching w;
    zkl_watch *late;

    begin(&w);
    answer_list(1);
    CHECK_INT(told(&w), 1);
    fake_event(STORE_EV_AUTH);
    CHECK_INT(told(&w), 1);
    REQUIRE(zkl_queue_watch(&late, w.s, "/q", on_change, &w) == 0);
    CHECK_INT(told(&w), 1);
    zkl_watch_free(late);
    end(&w);
}
