/* One watch per path, however many subscribe, and none that nobody wants. */
#include "lib/session/watch.h"

#include "by_hand.h"
#include "lib/session/incarnation.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(watch);

#define PATH "/root/w"
enum { COST = sizeof PATH - 1 + 8 };

static zkl_session *s;

struct subscriber {
    struct subscription subscription;
    int fired, gone;
    struct subscriber *again; /* to subscribe to PATH when this one fires */
    struct subscriber *drops; /* to unsubscribe then */
    bool ends;                /* the session, then */
};

static struct subscriber a, b;

static void on_answer(struct request *r, const struct store_reply *reply)
{
    struct subscriber *subscriber = r->context;

    watch_answered(s, r, reply, &subscriber->subscription);
}

/* Sends a read that leaves a watch. */
static void want(struct subscriber *subscriber, const char *path)
{
    struct request *r = request_new(STORE_GET, g_strdup(path), on_answer, subscriber);

    REQUIRE(watch_add(s, r, &subscriber->subscription));
    request_send(s, r);
}

static void on_fired(struct subscription *i, bool gone)
{
    struct subscriber *subscriber = SUBSCRIBER(i, struct subscriber, subscription);

    CHECK(!subscriber->subscription.watch);
    subscriber->fired++;
    subscriber->gone += gone;
    if (subscriber->again)
        want(subscriber->again, PATH);
    if (subscriber->drops)
        watch_drop(&subscriber->drops->subscription, false);
    if (subscriber->ends)
        incarnation_replace(s, LOSS_REPLACED);
}

static void start(void)
{
    s = hand_session();
    a = (struct subscriber){.subscription = {.fired = on_fired}};
    b = (struct subscriber){.subscription = {.fired = on_fired}};
}

static void answer(enum store_rc rc)
{
    ANSWER(STORE_GET, PATH, .rc = rc);
}

/* One watch stands. */
static void start_watching(void)
{
    start();
    want(&a, PATH);
    answer(STORE_OK);
}

/* One watch that both have. */
static void start_two(void)
{
    start();
    want(&a, PATH);
    want(&b, PATH);
    answer(STORE_OK);
    answer(STORE_OK);
}

/* Nothing is watched, and nothing under way. */
static void stop(void)
{
    CHECK_INT(s->watched_bytes, 0);
    CHECK_INT(g_hash_table_size(s->watches), 0);
    hand_close(s);
}

TEST_CASE(fires_once)
{
    start();
    want(&a, PATH);
    CHECK(fake_request(STORE_GET, PATH).watch);
    answer(STORE_OK);
    CHECK_INT(s->watched_bytes, COST);
    fake_fire("/root/other", STORE_FIRED_GONE);
    CHECK_INT(a.fired, 0);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 1);
    CHECK_INT(a.gone, 1);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH)); /* it is used up */
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 1);
    stop();
}

TEST_CASE(fires_for_all)
{
    start_two();
    CHECK_INT(s->watched_bytes, COST);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 1);
    CHECK_INT(b.fired, 1);
    CHECK_INT(a.gone + b.gone, 0);
    stop();
}

/* In the order in which they came. */
TEST_CASE(fires_in_order)
{
    static const struct {
        struct subscriber *first, *second;
    } rows[] = {{&a, &b}, {&b, &a}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        want(rows[i].first, PATH);
        want(rows[i].second, PATH);
        answer(STORE_OK);
        answer(STORE_OK);
        rows[i].first->drops = rows[i].second;
        fake_fire(PATH, STORE_FIRED_CHANGED);
        CHECK_INT(rows[i].first->fired, 1);
        CHECK_INT(rows[i].second->fired, 0);
        stop();
    }
}

TEST_CASE(removed_with_the_last_subscription)
{
    start_two();
    watch_drop(&a.subscription, false);
    watch_drop(&a.subscription, false);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    watch_drop(&b.subscription, false);
    CHECK(fake_is_asked(STORE_UNWATCH, PATH));
    CHECK_INT(s->watched_bytes, COST); /* until the server says so */
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired + b.fired, 0);
    stop();
}

/* The watch may be set after nobody wants it any more. */
TEST_CASE(dropped_before_the_answer)
{
    start();
    want(&a, PATH);
    watch_drop(&a.subscription, true);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    answer(STORE_OK);
    CHECK(fake_is_asked(STORE_UNWATCH, PATH));
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    stop();
}

TEST_CASE(deleting_removes_it)
{
    start_watching();
    watch_drop(&a.subscription, true);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    CHECK_INT(s->watched_bytes, COST);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 0);
    stop();
}

TEST_CASE(no_watch_without_a_node)
{
    start();
    want(&a, PATH);
    want(&b, PATH);
    answer(STORE_NONODE);
    CHECK(!a.subscription.watch);
    CHECK(b.subscription.watch != NULL);
    CHECK_INT(s->watched_bytes, COST);
    answer(STORE_NONODE);
    CHECK(!b.subscription.watch);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    stop();
}

/* libzookeeper sets it again at the reconnect, so it has to be removed again. */
TEST_CASE(removal_cut_off)
{
    start_watching();
    watch_drop(&a.subscription, false);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_UNKNOWN);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    fake_event(STORE_EV_UP);
    CHECK(fake_is_asked(STORE_UNWATCH, PATH));
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_BAD);
    stop();
}

/* Each try costs the session its connection. One that is answered begins anew. */
TEST_CASE(removal_hung_up_on)
{
    enum { HOUR_S = 3600 };
    int tries = 0;

    start_watching();
    watch_drop(&a.subscription, false);
    for (int second = 0; second < HOUR_S; second++) {
        if (fake_is_asked(STORE_UNWATCH, PATH)) {
            tries++;
            fake_event(STORE_EV_DOWN);
            ANSWER(STORE_UNWATCH, PATH, .rc = STORE_UNKNOWN);
            fake_event(STORE_EV_UP);
        }
        hand_pass(s, 1000);
    }
    CHECK(tries > 10 && tries < 20);
    while (!fake_is_asked(STORE_UNWATCH, PATH))
        hand_pass(s, HOUR_S * 1000);
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    CHECK_INT(s->watched_bytes, 0);
    want(&a, PATH);
    answer(STORE_OK);
    watch_drop(&a.subscription, false);
    CHECK(fake_is_asked(STORE_UNWATCH, PATH));
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    stop();
}

static void fail_removal(void)
{
    start_watching();
    watch_drop(&a.subscription, false);
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_UNKNOWN);
}

/* On a standing connection it would fail again, so it is tried again a little later. */
TEST_CASE(removal_not_done)
{
    fail_removal();
    hand_pass(s, 99);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    CHECK_INT(s->watched_bytes, COST);
    hand_pass(s, 1);
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_UNKNOWN);
    hand_pass(s, 100);
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    stop();
}

/* Nothing is left to remove by then: somebody wants it, or it was used up. */
TEST_CASE(removal_not_needed)
{
    fail_removal();
    want(&b, PATH);
    hand_pass(s, 200);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(b.fired, 1);
    stop();
    fail_removal();
    fake_fire(PATH, STORE_FIRED_GONE);
    hand_pass(s, 200);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    stop();
    fail_removal();
    hand_close(s); /* while it waits */
}

TEST_CASE(wanted_again_while_being_removed)
{
    start_watching();
    watch_drop(&a.subscription, false);
    want(&b, PATH);
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    CHECK_INT(s->watched_bytes, COST);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(b.fired, 1);
    CHECK_INT(a.fired, 0);
    stop();
}

TEST_CASE(moves_to_another_path)
{
    start();
    want(&a, "/root/x");
    ANSWER(STORE_GET, "/root/x", .rc = STORE_OK);
    want(&a, PATH);
    CHECK(fake_is_asked(STORE_UNWATCH, "/root/x"));
    ANSWER(STORE_UNWATCH, "/root/x", .rc = STORE_OK);
    answer(STORE_OK);
    fake_fire("/root/x", STORE_FIRED_GONE);
    CHECK_INT(a.fired, 0);
    want(&a, PATH); /* the same again: one subscription still */
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 1);
    stop();
}

/* A subscriber that comes while the watch fires waits for the next event. */
TEST_CASE(wanted_again_while_firing)
{
    start();
    a.again = &a;
    want(&a, PATH);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 1);
    CHECK(a.subscription.watch != NULL);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 2);
    a.again = NULL;
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 3);
    CHECK_INT(a.gone, 1);
    stop();
}

TEST_CASE(dropped_while_firing)
{
    start();
    a.drops = &b;
    want(&a, PATH);
    want(&b, PATH);
    answer(STORE_OK);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 1);
    CHECK_INT(b.fired, 0);
    stop();
}

/* Nothing of it is left to look at; one subscription or two end the round differently. */
TEST_CASE(session_ended_while_firing)
{
    start();
    a.ends = true;
    want(&a, PATH);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 1);
    stop();

    start();
    a.ends = true;
    want(&a, PATH);
    want(&b, PATH);
    answer(STORE_OK);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired, 1);
    CHECK_INT(b.fired, 0);
    CHECK(!b.subscription.watch);
    stop();
}

/* Nothing is left that the next session would be asked to remove. */
TEST_CASE(asked_again_when_the_session_ends)
{
    start_watching();
    want(&a, PATH);
    fake_event(STORE_EV_DOWN);
    answer(STORE_UNKNOWN);
    fake_event(STORE_EV_EXPIRED);
    CHECK(!a.subscription.watch);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID + 1, FAKE_TIMEOUT_MS);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    stop();
}

/* What an event of before the newest read has changed, that read will tell. */
TEST_CASE(asked_twice)
{
    start();
    want(&a, PATH);
    want(&a, PATH);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 0);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 1);
    stop();
}

enum { EACH = 1024, MOST = 512 };

/* Whether the nth long path may be watched, too. */
static bool watch_long(int n, bool optional, struct subscription *i)
{
    char path[EACH - 8 + 1];

    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[1] = (char)('a' + n % 26);
    path[2] = (char)('a' + n / 26);
    path[sizeof path - 1] = '\0';
    struct request *r = request_new(STORE_GET, g_strdup(path), on_answer, NULL);
    const bool added = optional ? watch_add_optional(s, r, i) : watch_add(s, r, i);
    CHECK_INT(r->what.watch, added);
    request_free(r);
    return added;
}

/* 512 KiB in all: what a server takes in one packet, at a reconnect, with room to spare. */
TEST_CASE(limited)
{
    struct subscription many[MOST + 1] = {0};

    start();
    for (int i = 0; i <= MOST; i++)
        CHECK_INT(watch_long(i, false, &many[i]), i < MOST);
    CHECK_INT(s->watched_bytes, EACH * MOST);
    CHECK(many[0].watch && !many[MOST].watch);
    watch_clear(s);
    CHECK(!many[0].watch && !many[MOST - 1].watch);
    stop();
}

/* What is not needed leaves half of it. */
TEST_CASE(limited_if_optional)
{
    struct subscription many[MOST / 2 + 1] = {0};

    start();
    for (int i = 0; i <= MOST / 2; i++)
        CHECK_INT(watch_long(i, true, &many[i]), i < MOST / 2);
    CHECK(!watch_long(MOST / 2, true, &many[MOST / 2]));
    CHECK(watch_long(MOST / 2, false, &many[MOST / 2]));
    watch_clear(s);
    stop();
}

TEST_CASE(over_with_the_session)
{
    start_watching();
    want(&b, PATH);
    fake_event(STORE_EV_EXPIRED);
    CHECK(!a.subscription.watch && !b.subscription.watch);
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.fired + b.fired, 0);
    stop();
}

/* What happened before the answer, the answer tells; the watch that it leaves is still wanted. */
TEST_CASE(waits_for_its_answer)
{
    start();
    want(&b, PATH);
    answer(STORE_OK);
    want(&a, PATH);
    want(&b, PATH);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired + b.fired, 0);
    answer(STORE_OK);
    answer(STORE_OK);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.gone, 1);
    CHECK_INT(b.gone, 1);
    stop();
}

/* Only what is asked for anew does: others fire. */
TEST_CASE(one_waits_for_its_answer)
{
    start_watching();
    want(&b, PATH);
    answer(STORE_OK);
    want(&a, PATH);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 0);
    CHECK_INT(b.fired, 1);
    answer(STORE_OK);
    fake_fire(PATH, STORE_FIRED_CHANGED);
    CHECK_INT(a.fired, 1);
    stop();
}

/* What was dropped has nothing to do with the answer any more. */
TEST_CASE(dropped_before_a_failure)
{
    start();
    want(&a, PATH);
    watch_drop(&a.subscription, false);
    answer(STORE_NONODE);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    stop();
}

/* Asked for twice: only the newest request's failure ends the subscription. */
TEST_CASE(an_older_failure_is_none)
{
    start();
    want(&a, PATH);
    want(&a, PATH);
    answer(STORE_NOAUTH);
    answer(STORE_OK);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    fake_fire(PATH, STORE_FIRED_GONE);
    CHECK_INT(a.gone, 1);
    stop();
}

/* What has fired is asked for anew, or removed; an answer under way tells. */
TEST_CASE(doubted)
{
    start_two();
    a.again = &a;
    watch_doubt_all(s);
    CHECK_INT(a.fired, 1);
    CHECK_INT(b.fired, 1);
    CHECK_INT(a.gone + b.gone, 0);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    a.again = NULL;
    watch_doubt_all(s);
    CHECK_INT(a.fired, 1);
    answer(STORE_OK);
    watch_doubt_all(s);
    CHECK_INT(a.fired, 2);
    CHECK(fake_is_asked(STORE_UNWATCH, PATH));
    ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
    stop();
    start_watching();
    watch_drop(&a.subscription, true);
    watch_doubt_all(s);
    CHECK(!fake_is_asked(STORE_UNWATCH, PATH));
    fake_fire(PATH, STORE_FIRED_GONE);
    stop();
}

/* The servers' data may have gone back only in a long outage: the store has looked around in it, or
 * a holder's proofs were overdue before it began. */
TEST_CASE(doubted_after_a_long_outage)
{
    static const struct {
        bool holds;
        int64_t silent_ms;      /* before the connection is lost */
        enum store_event looks; /* what the store finds; UP: it has not looked */
        bool doubted;
    } rows[] = {{false, 0, STORE_EV_UNSERVED, true}, {false, 0, STORE_EV_SERVED, true},
                {false, 0, STORE_EV_REFUSED, true},  {false, 0, STORE_EV_UP, false},
                {false, 5000, STORE_EV_UP, false},   {true, 5000, STORE_EV_UP, true},
                {true, 1000, STORE_EV_UP, false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct acquisition holder = {0};
        start_watching();
        if (rows[i].holds)
            hand_hold(&holder, s);
        hand_pass(s, rows[i].silent_ms);
        fake_event(STORE_EV_DOWN);
        if (rows[i].looks != STORE_EV_UP)
            fake_event(rows[i].looks);
        fake_event(STORE_EV_UP);
        CHECK_INT(a.fired, rows[i].doubted);
        a.again = &a;
        fake_event(STORE_EV_DOWN);
        fake_event(STORE_EV_UP);
        CHECK_INT(a.fired, rows[i].doubted); /* that is over */
        a.again = NULL;
        if (rows[i].holds)
            hand_leave(&holder);
        if (a.subscription.watch)
            watch_drop(&a.subscription, false);
        if (fake_is_asked(STORE_UNWATCH, PATH))
            ANSWER(STORE_UNWATCH, PATH, .rc = STORE_OK);
        hand_close(s);
    }
}
