/* Creates that are done late: whose nodes are looked for, when, and for how long. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(late_create);

enum { IDS = 64 }; /* that are looked for in one directory */

static zkl_session *s;
static struct acquisition a;

static void list(int count, char **names)
{
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = count);
}

/* A contender whose create was not answered leaves, and asks for a last list. Returns the name that
 * its node would have, for g_free(). */
static char *begin_leaving(int number)
{
    hand_enter(&a, s, 0);
    char *late = fake_created_name("/root/l/", number);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    return late;
}

static char *leave(int number)
{
    char *late = begin_leaving(number);

    list(0, NULL);
    hand_leave(&a);
    return late;
}

static void check_listed_after(int64_t ms)
{
    hand_pass(s, ms - 1);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    hand_pass(s, 1);
    CHECK(fake_is_asked(STORE_LIST, "/root/l"));
}

/* After that many seconds, and in longer and longer intervals; then no more. */
static void check_intervals(int first_s)
{
    for (int pause_s = first_s; pause_s <= 81; pause_s *= 3) {
        check_listed_after(pause_s * 1000);
        list(0, NULL);
    }
    hand_pass(s, 1000 * 1000);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
}

/* A server had kept the create back, and it is done after all: when another was made instead, was
 * granted and is gone. */
TEST_CASE(deletes_what_is_made_late)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    char *late = fake_created_name("/root/l", 9), *name = strrchr(late, '/') + 1;
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    list(0, NULL);
    g_free(a.node);
    a.node = fake_created_name("/root/l", 4);
    hand_answer_entry(&a, -1);
    zkl_session_dispatch(s);
    REQUIRE(a.grant != NULL);
    hand_leave(&a);
    check_listed_after(1000);
    list(0, NULL); /* not yet */
    check_listed_after(3000);
    list(1, &name);
    CHECK(fake_is_asked(STORE_DELETE, late));
    check_intervals(9);
    g_free(late);
    hand_close(s);
}

/* Those of two contenders at once, and nobody else's. */
TEST_CASE(deletes_all_that_are_made_late)
{
    char *names[] = {"_c_other-lock-0000000003", NULL, NULL};

    s = hand_session();
    char *first = leave(4), *second = leave(5);
    names[1] = strrchr(second, '/') + 1;
    names[2] = strrchr(first, '/') + 1;
    check_listed_after(1000);
    list(3, names);
    CHECK_INT(fake_count(STORE_DELETE, "/root/l/"), 2);
    CHECK(fake_is_asked(STORE_DELETE, first));
    CHECK(fake_is_asked(STORE_DELETE, second));
    check_intervals(3);
    g_free(first);
    g_free(second);
    hand_close(s);
}

/* The next one may be done as late as the first, so it is looked for as long. */
TEST_CASE(begins_anew_with_the_next)
{
    static const struct {
        int64_t lists_ms[2]; /* before the next one, one behind the other; 0: none */
        int64_t next_ms;     /* later */
        int64_t left_ms;     /* until the first list for it */
    } rows[] = {
        {{0, 0}, 600, 400}, /* that of the first comes soon */
        {{1000, 0}, 600, 1000},
        {{1000, 3000}, 600, 1000},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        s = hand_session();
        g_free(leave(4));
        for (int n = 0; n < 2 && rows[i].lists_ms[n] > 0; n++) {
            check_listed_after(rows[i].lists_ms[n]);
            list(0, NULL);
        }
        hand_pass(s, rows[i].next_ms);
        g_free(leave(5));
        check_listed_after(rows[i].left_ms);
        list(0, NULL);
        check_intervals(3);
        hand_close(s);
    }
}

/* A list that is under way is the first for the next one, too. */
TEST_CASE(begins_anew_while_it_lists)
{
    s = hand_session();
    g_free(leave(4));
    check_listed_after(1000);
    list(0, NULL);
    char *late = begin_leaving(5), *name = strrchr(late, '/') + 1;
    hand_pass(s, 3000);
    CHECK_INT(fake_count(STORE_LIST, "/root/l"), 2);
    list(0, NULL); /* that of the contender, which ends */
    hand_leave(&a);
    list(1, &name);
    CHECK(fake_is_asked(STORE_DELETE, late));
    check_intervals(3);
    g_free(late);
    hand_close(s);
}

/* The oldest id of too many is forgotten; its node goes with the session. */
TEST_CASE(forgets_the_oldest)
{
    char *nodes[IDS + 1], *names[IDS + 1];

    s = hand_session();
    for (int i = 0; i <= IDS; i++) {
        nodes[i] = leave(i);
        names[i] = strrchr(nodes[i], '/') + 1;
    }
    check_listed_after(1000);
    list(IDS + 1, names);
    CHECK_INT(fake_count(STORE_DELETE, "/root/l/"), IDS);
    CHECK(!fake_is_asked(STORE_DELETE, nodes[0]));
    for (int i = 0; i <= IDS; i++)
        g_free(nodes[i]);
    hand_close(s);
}

/* What may come late goes with its session; a list that is under way is for nothing then. */
TEST_CASE(nothing_is_late_in_another_session)
{
    for (int asked = 0; asked < 2; asked++) {
        s = hand_session();
        g_free(leave(4));
        hand_pass(s, asked ? 1000 : 500);
        CHECK_INT(fake_is_asked(STORE_LIST, "/root/l"), asked);
        fake_event(STORE_EV_EXPIRED);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
        hand_pass(s, 1000 * 1000);
        CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
        hand_close(s);
    }
}

/* A contender that enters again in the next session has left nothing there. */
TEST_CASE(nothing_is_late_of_the_session_before)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    fake_next_session();
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NOAUTH);
    list(0, NULL);
    hand_leave(&a);
    hand_pass(s, 1000 * 1000);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    hand_close(s);
}

/* Likewise where nothing will work any more, and a list is answered all the same. */
TEST_CASE(nothing_is_late_behind_the_end)
{
    for (int asked = 0; asked < 2; asked++) {
        s = hand_session();
        char *late = leave(4), *name = strrchr(late, '/') + 1;
        hand_pass(s, asked ? 1000 : 500);
        fake_event(STORE_EV_AUTH);
        if (asked)
            list(1, &name);
        hand_pass(s, 1000 * 1000);
        CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
        CHECK(!fake_is_asked(STORE_DELETE, late));
        hand_close(s);
        s = hand_session();
        g_free(leave(4));
        hand_pass(s, asked ? 1000 : 500);
        hand_close(s);
        g_free(late);
    }
}
