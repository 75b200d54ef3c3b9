/* Observers of a group: what is read again when, and what is told of it. */
#include "lib/session/participant.h"
#include "members_story.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(members_observe);

TEST_CASE(nobody_is_there)
{
    observed_begin();
    observed_listed(1, "");
    observed_told("0");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_rest(0);
    observed_listed(2, "");
    observed_told("");
    observed_end();
    observed_begin();
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, GROUP, .rc = STORE_NONODE);
    observed_told("0");
    observed_end();
}

/* In the order in which they came, and those that left before. */
TEST_CASE(tells_in_order)
{
    observed_begin();
    observed_listed(9, "a b c");
    observed_node("a", 7, 7, "x");
    observed_node("b", 5, 9, "y");
    observed_node("c", 6, 6, "z");
    observed_told("+b=y +c=z +a=x 3");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_rest(3);
    observed_listed(20, "a d e");
    observed_node("d", 20, 20, "v");
    observed_changes("a");
    observed_node("e", 19, 19, "w");
    observed_told("-b=y -c=z +e=w +d=v 3");
    observed_rest(3);
    observed_listed(20, "a d e");
    observed_node("a", 7, 21, "u");
    observed_told("~a=u 3");
    observed_end();
}

/* Only what is new, or was changed, is read. */
TEST_CASE(reads_what_has_changed)
{
    observed_begin_with_two();
    observed_changes("a");
    CHECK(!fake_is_asked(STORE_GET, GROUP));
    observed_rest(2);
    observed_listed(9, "a b");
    CHECK(!fake_is_asked(STORE_GET, GROUP "/b"));
    observed_node("a", 5, 8, "2");
    observed_told("~a=2 2");
    hand_pass(observed.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    fake_fire(GROUP, STORE_FIRED_CHILDREN); /* at once, after a pause */
    observed_listed(10, "a b c");
    CHECK_INT(fake_count(STORE_GET, GROUP), 1);
    observed_node("c", 10, 10, "3");
    observed_told("+c=3 3");
    observed_end();
}

/* What has gone is told as it was told before, and forgotten. */
TEST_CASE(tells_who_left)
{
    observed_begin_with_two();
    fake_watch(GROUP "/a", true);
    CHECK(!fake_is_asked(STORE_LIST, GROUP)); /* the watch on the children fires, too */
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_rest(2);
    observed_listed(10, "b");
    CHECK(!fake_is_asked(STORE_GET, GROUP));
    observed_told("-a=1 1");
    hand_pass(observed.s, 1000);
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_listed(11, "a b");
    observed_node("a", 11, 11, "3");
    observed_told("+a=3 2");
    fake_fire(GROUP "/b", STORE_FIRED_GONE);
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_rest(2);
    observed_listed(13, "a b"); /* made anew meanwhile */
    observed_node("b", 12, 12, "4");
    observed_told("-b=1 +b=4 2");
    fake_fire(GROUP, STORE_FIRED_GONE);
    observed_rest(2);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, GROUP, .rc = STORE_NONODE);
    zkl_session_dispatch(observed.s);
    CHECK(strcmp(observed.told->str, "-a=3 -b=4 0") == 0 ||
          strcmp(observed.told->str, "-b=4 -a=3 0") == 0);
    g_string_truncate(observed.told, 0);
    observed_end();
}

/* The watch on the children fires as well, and that one tells of more. */
TEST_CASE(is_not_listed_for_one_that_is_gone)
{
    observed_begin_with_two();
    hand_pass(observed.s, 1000);
    fake_watch(GROUP "/a", true);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_listed(10, "b");
    observed_told("-a=1 1");
    observed_end();
}

/* It was in the list, and is gone. */
TEST_CASE(is_gone_when_it_is_read)
{
    observed_begin();
    observed_listed(9, "a b");
    observed_node("a", 5, 5, "1");
    ANSWER(STORE_GET, GROUP "/b", .rc = STORE_NONODE);
    observed_told("+a=1 1");
    hand_pass(observed.s, 1000);
    observed_changes("a");
    observed_listed(9, "a b"); /* made anew: it has no watch */
    observed_node("b", 8, 8, "2");
    observed_node("a", 5, 5, "1");
    observed_told("+b=2 2");
    hand_pass(observed.s, 1000);
    observed_changes("b");
    observed_listed(9, "a b");
    ANSWER(STORE_GET, GROUP "/b", .rc = STORE_NONODE);
    observed_told("-b=2 1");
    observed_end();
}

/* Its watch fires while it is being read, or others are. */
TEST_CASE(changes_while_they_are_read)
{
    observed_begin();
    observed_listed(9, "a b");
    observed_node("a", 5, 5, "1");
    observed_changes("a");
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    observed_node("b", 6, 6, "1");
    observed_told("+a=1 +b=1 2");
    observed_rest(2);
    observed_listed(9, "a b");
    observed_node("a", 5, 7, "2");
    observed_told("~a=2 2");
    hand_pass(observed.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    observed_end();
}

/* Likewise the children. */
TEST_CASE(children_change_while_they_are_read)
{
    observed_begin();
    observed_listed(9, "a");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_node("a", 5, 5, "1");
    observed_told("+a=1 1");
    observed_rest(1);
    observed_listed(10, "");
    observed_told("-a=1 0");
    observed_end();
}

/* What is found while the last calls are still to come is told together. */
TEST_CASE(is_told_slowly)
{
    observed_begin();
    observed_listed(9, "a");
    observed_node("a", 5, 5, "1");
    hand_pass(observed.s, 1000);
    observed_changes("a");
    observed_listed(9, "a");
    observed_node("a", 5, 6, "2");
    observed_changes("a");
    CHECK(!fake_is_asked(STORE_LIST, GROUP)); /* what was read is told first */
    observed_told("+a=1 1");
    observed_told("~a=2 1");
    observed_rest(1);
    observed_listed(9, "a");
    observed_node("a", 5, 7, "3");
    observed_told("~a=3 1");
    observed_end();
}

/* Neither told nor forgotten: it is tried again, and observed.log. */
TEST_CASE(may_not_be_read)
{
    observed_begin_with_two();
    hand_pass(observed.s, 1000);
    observed_changes("a");
    observed_listed(9, "a b");
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_NOAUTH);
    observed_told("");
    CHECK(strstr(observed.log, "watching the members: the server refused") != NULL);
    observed_changes("b"); /* is seen then, too */
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    hand_pass(observed.s, 999);
    CHECK(!fake_is_asked(STORE_SYNC, GROUP));
    hand_pass(observed.s, 1);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    observed_listed(9, "a b");
    observed_node("a", 5, 7, "2");
    observed_node("b", 6, 8, "2");
    observed_told("~a=2 ~b=2 2");
    observed_end();
}

/* Nobody is told without it: the first list is not complete. */
TEST_CASE(may_not_be_read_at_first)
{
    observed_begin();
    observed_listed(9, "a b");
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_NOAUTH);
    observed_node("b", 6, 6, "1");
    observed_told("");
    hand_pass(observed.s, 1000);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    observed_listed(9, "a b");
    CHECK(!fake_is_asked(STORE_GET, GROUP "/b"));
    observed_node("a", 5, 5, "1");
    observed_told("+a=1 +b=1 2");
    observed_end();
}

/* In the next session all is read again, and differences are told. */
TEST_CASE(in_the_next_session)
{
    observed_begin_with_two();
    hand_pass(observed.s, 1000);
    observed_changes("a");
    observed_listed(9, "a b");
    fake_next_session();
    observed_told("");
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    observed_listed(10, "b c");
    observed_node("c", 10, 10, "1");
    observed_node("b", 6, 8, "2");
    observed_told("-a=1 ~b=2 +c=1 2");
    observed_end();
}

/* An older answer is none, unless the servers' data have gone back. */
TEST_CASE(data_go_back)
{
    for (int back = 0; back < 2; back++) {
        observed_begin();
        observed_listed(9, "a");
        observed_node("a", 5, 8, "2");
        observed_told("+a=2 1");
        hand_pass(observed.s, 1000);
        if (back) {
            session_lock(observed.s);
            participants_tell(observed.s, NEWS_REWOUND);
            session_unlock(observed.s);
        }
        observed_changes("a");
        observed_listed(back ? 7 : 9, "a");
        observed_node("a", 5, 6, "1");
        observed_told(back ? "~a=1 1" : "");
        observed_end();
    }
}

/* Other children of a party are none; ids are what they hold. */
TEST_CASE(of_a_party)
{
    observed_begin_as(ZKL_MEMBER_PARTY);
    observed_listed(9, "0__party__ other");
    CHECK(!fake_is_asked(STORE_GET, GROUP "/other"));
    observed_node("0__party__", 5, 5, "me");
    zkl_session_dispatch(observed.s);
    CHECK_STR(observed.told->str, "+me=me 1");
    g_string_truncate(observed.told, 0);
    observed_end();
}

/* When there is no room for the watch of a member, that member is read with each list. Such watches
 * may take half of the room; the other half is for watches that are indispensable, like the
 * list's. */
TEST_CASE(too_much_is_watched)
{
    observed_begin();
    observed.s->watched_bytes += 256 * 1024;
    observed_listed(9, "a");
    CHECK(!fake_is_watching(STORE_GET, GROUP "/a"));
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_OK, .czxid = 5, .mzxid = 5, .data = "1", .length = 1);
    observed_told("+a=1 1");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_rest(1);
    CHECK(fake_is_watching(STORE_LIST, GROUP));
    observed.s->watched_bytes -= 256 * 1024;
    observed_listed(9, "a");
    observed_node("a", 5, 6, "2");
    observed_told("~a=2 1");
    observed_end();
}

/* What is being read is not asked for again, whatever is listed meanwhile. */
TEST_CASE(is_listed_while_it_is_read)
{
    observed_begin();
    observed.s->watched_bytes += 256 * 1024;
    observed_listed(9, "a");
    fake_reconnect();
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    observed_listed(9, "a");
    CHECK_INT(fake_count(STORE_GET, GROUP), 1);
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_OK, .czxid = 5, .mzxid = 5, .data = "1", .length = 1);
    observed_told("+a=1 1");
    observed.s->watched_bytes -= 256 * 1024;
    observed_end();
}

/* Nothing is left of it. */
TEST_CASE(ends)
{
    observed_begin_with_two();
    zkl_watch_free(g_steal_pointer(&observed.watch));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP "/a"));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP "/b"));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP));
    observed_changes("a");
    hand_pass(observed.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    observed_end();
    observed_begin();
    observed_listed(9, "a");
    zkl_watch_free(g_steal_pointer(&observed.watch));
    observed_node("a", 5, 5, "1");
    observed_told("");
    observed_end();
    observed_begin_with_two(); /* at once, even while one is read */
    hand_pass(observed.s, 1000);
    observed_changes("a");
    observed_listed(9, "a b");
    zkl_watch_free(g_steal_pointer(&observed.watch));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP "/b"));
    observed_node("a", 5, 7, "2");
    observed_told("");
    observed_end();
}
