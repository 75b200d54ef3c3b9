/* Long queues: the head leaves a hint, and the next in line goes by it. */
#include "attempt_play.h"
#include "runner.h"

#include "rule.h"

#include <stdio.h>
#include <string.h>

TEST_SUITE(attempt_hint);

/* Number 7 waits for 5, and the queue is a long one from two on. */
static void wait_in_long_queue(void)
{
    play_start_in_long_queue(2);
    SAY("enter");
    SAY("created 7");
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
}

static void succeed(void)
{
    wait_in_long_queue();
    STEP("pred gone", ST_SUCCEEDING, "read-hint, prove");
}

/* ---- the next in line ---- */

TEST_CASE(named)
{
    succeed();
    STEP("hint named v4 9", ST_PROVING, "");
    STEP("read 7", ST_HOLDING, "hint v4, grant, arm");
}

TEST_CASE(found_gone_by_the_watch)
{
    wait_in_long_queue();
    STEP("watched nonode", ST_SUCCEEDING, "read-hint, prove");
}

/* Only its predecessor's will do. */
TEST_CASE(not_named)
{
    static const char *const hints[] = {"hint empty 9", "hint foreign 9", "hint other 9",
                                        "hint nonode", "hint refused"};
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
        succeed();
        STEP(hints[i], ST_LISTING, "list");
        STEP("read 7", ST_LISTING, "");
        STEP("listed 3 7* 8", ST_WAITING, "read, watch 3");
    }
}

/* An answer that is not to this question. */
TEST_CASE(named_before)
{
    succeed();
    STEP("hint named 9 stale", ST_SUCCEEDING, "");
}

/* Read before the hint, the own node may have stood in an earlier directory. */
TEST_CASE(proof_before_the_hint)
{
    succeed();
    STEP("read 7", ST_LISTING, "list");
    STEP("hint named 9", ST_LISTING, "");
    STEP("listed 3 7*", ST_WAITING, "read, watch 3");
}

TEST_CASE(own_node_gone)
{
    succeed();
    SAY("hint named v4 9");
    STEP("read nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 12", ST_LISTING, "");
    STEP("listed 12* 13 unread v4", ST_HOLDING, "grant, arm"); /* what was known is not any more */
}

TEST_CASE(own_node_of_another_session)
{
    succeed();
    SAY("hint named 9");
    STEP("read 7 others", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(given_up)
{
    succeed();
    STEP("abort", ST_DONE, "fail aborted, delete");
    succeed();
    STEP("replaced", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(no_deadline)
{
    succeed();
    SAY("hint named v4 9");
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("extended", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "hint v4, grant, arm");
}

/* ---- when not to ask ---- */

TEST_CASE(short_queue)
{
    play_start_in_long_queue(3);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7* 8 9");
    STEP("pred gone", ST_LISTING, "list");
}

TEST_CASE(the_only_one_ahead)
{
    play_start_in_long_queue(1);
    SAY("enter");
    SAY("created 7");
    SAY("listed 5 7* 8 9");
    STEP("pred gone", ST_PROVING, "prove");

    play_start_in_long_queue(1);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7*");
    STEP("pred gone", ST_SUCCEEDING, "read-hint, prove");
}

/* Among numbers that are used up order is another. */
TEST_CASE(near_the_last_number)
{
    char words[64];
    for (int below = 0; below < 2; below++) {
        play_start_in_long_queue(2);
        SAY("enter");
        snprintf(words, sizeof words, "created %d", RULE_NUMBER_WARN - below);
        SAY(words);
        snprintf(words, sizeof words, "listed 3 5 %d*", RULE_NUMBER_WARN - below);
        SAY(words);
        SAY("pred gone");
        CHECK_STR(play_actions(), below ? "read-hint, prove" : "list");
    }
}

/* ---- leaving a hint ---- */

static const struct {
    const char *listed, *actions;
} leavings[] = {
    {"listed 7* 8", "hint v0, grant, arm"},
    {"listed 7* 8 v3", "hint v3, grant, arm"},
    {"listed 7*", "grant, arm"},
    {"listed 7* 8 v-1", "grant, arm"},
    {"listed 7* 8 unread v3", "grant, arm"}, /* it may be others' */
};

TEST_CASE(left_by_one_that_listed)
{
    for (size_t i = 0; i < sizeof(leavings) / sizeof(*leavings); i++) {
        play_start_in_long_queue(2);
        SAY("enter");
        SAY("created 7");
        STEP(leavings[i].listed, ST_HOLDING, leavings[i].actions);
        STEP("release", ST_DONE, "delete");
    }
    play_start(false); /* takes no part */
    SAY("enter");
    SAY("created 7");
    STEP("listed 7* 8", ST_HOLDING, "grant, arm");
}

TEST_CASE(left_in_a_long_queue_only)
{
    succeed();
    SAY("hint named v4 1");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* What was read is known as long as the version is the same. */
TEST_CASE(left_after_reading)
{
    static const struct {
        const char *hint, *listed, *actions;
    } rows[] = {
        {"hint other v4 9", "listed 7* 8 unread v4", "hint v4, grant, arm"},
        {"hint other v4 9", "listed 7* 8 unread v5", "grant, arm"},
        {"hint foreign v4 9", "listed 7* 8 unread v4", "grant, arm"},
        {"hint foreign v4 9", "listed 7* 8 v5", "hint v5, grant, arm"}, /* given up */
        {"hint empty v0 9", "listed 7* 8", "hint v0, grant, arm"},
        {"hint refused v4 9", "listed 7* 8 unread v4", "grant, arm"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        succeed();
        SAY(rows[i].hint);
        STEP(rows[i].listed, ST_HOLDING, rows[i].actions);
    }
}

/* A reader holds beside other readers, so its grant proves nothing about contenders before it. When
 * a writer ends, its own reader may stand there. So neither leaves a hint. */
TEST_CASE(not_left_by_one_of_many)
{
    static const enum rule rules[] = {RULE_LOCK, RULE_OWN_KAZOO, RULE_WRITE, RULE_READ, RULE_LEASE};

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        play_start_in_long_queue(1);
        play.c.rule = rules[i];
        if (rules[i] == RULE_LEASE)
            play.c.limit = 1;
        SAY("enter");
        SAY("created 7");
        STEP("listed 7*", ST_HOLDING, i < 2 ? "hint v0, grant, arm" : "grant, arm");
    }
}

/* ---- the words ---- */

static enum head_hint read_text(const char *text, const char *name)
{
    return head_hint_read(text, strlen(text), name);
}

TEST_CASE(words)
{
    CHECK_INT(head_hint_read(NULL, 0, "a-1"), HINT_NONE);
    CHECK_INT(read_text("zkl head 1 a-1", "a-1"), HINT_NAMED);
    CHECK_INT(read_text("zkl head 1 a-1", "a-12"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-12", "a-1"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-2", "a-1"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-1\n", "a-1"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-1", ""), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 ", ""), HINT_FOREIGN);
    CHECK_INT(read_text("zkl head 2 a-1", "a-1"), HINT_FOREIGN);
    CHECK_INT(read_text("zkl", ""), HINT_FOREIGN);
    CHECK_INT(read_text("12\nproclaimed", ""), HINT_FOREIGN);
    CHECK_INT(head_hint_read("\0", 1, ""), HINT_FOREIGN);
}
