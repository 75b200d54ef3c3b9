/* A writer becomes a reader, and whatever becomes of it meanwhile. */
#include "attempt_play.h"
#include "suites.h"

static void hold(enum child_kind kind)
{
    play_start_as(kind, false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 7* 8w", ST_HOLDING, "grant, arm");
}

static void begin(void)
{
    hold(CHILD_WRITE);
    STEP("downgrade", ST_HOLDING, "create-shared");
    CHECK_INT(play.c.downgrade, DOWNGRADE_CREATING);
}

static void read_by_name(void)
{
    begin();
    STEP("shared-created unknown", ST_HOLDING, "read-shared");
    CHECK_INT(play.c.downgrade, DOWNGRADE_READING);
}

static void confirmed(void)
{
    begin();
    STEP("shared-created", ST_HOLDING, "read-exclusive");
    CHECK_INT(play.c.downgrade, DOWNGRADE_PROVING);
}

static void proved(void)
{
    confirmed();
    STEP("exclusive-read", ST_HOLDING, "move");
    CHECK_INT(play.c.downgrade, DOWNGRADE_MOVING);
}

static void refused(void)
{
    begin();
    STEP("shared-created refused", ST_HOLDING, "read, arm");
    CHECK_INT(play.c.downgrade, DOWNGRADE_PAUSED);
}

static void moved(void)
{
    uint64_t token;
    uint32_t tag;

    proved();
    token = play.c.token;
    tag = play.c.tag;
    STEP("moved", ST_HOLDING, "delete-exclusive, arm");
    CHECK(play.c.tag > tag); /* no answer that is under way is the newest */
    CHECK_INT(play.c.downgrade, DOWNGRADE_NONE);
    CHECK_INT(play.c.kind, CHILD_READ);
    CHECK_INT(play.c.token, token);
    CHECK_INT(play.c.number, 7);
}

/* The caller hears of nothing, and its grant goes on. */
static void all_is_well(void)
{
    moved();
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    STEP("release", ST_DONE, "delete");
    CHECK_INT(play.grants, 1);
    CHECK_INT(play.revokes, 0);
}

static void outcome_unknown(void)
{
    static const char *const answers[] = {"shared-created unknown", "shared-created exists",
                                          "shared-created others"};

    for (int i = 0; i < 2; i++) {
        begin();
        STEP(answers[i], ST_HOLDING, "read-shared");
        STEP("shared-read", ST_HOLDING, "read-exclusive");
        STEP("exclusive-read", ST_HOLDING, "move");
        begin();
        STEP(answers[i], ST_HOLDING, "read-shared");
        STEP("shared-read nonode", ST_HOLDING, "create-shared");
        STEP(answers[i], ST_HOLDING, "read-shared"); /* however often */
        STEP("shared-read nonode", ST_HOLDING, "create-shared");
        STEP("shared-created", ST_HOLDING, "read-exclusive");
        STEP("exclusive-read", ST_HOLDING, "move");
    }
    begin();
    STEP(answers[2], ST_HOLDING, "read, arm"); /* it is another's */
}

/* It stays a writer, and goes on trying. */
static void cannot_be_had(void)
{
    static const char *const created[] = {"shared-created refused", "shared-created nonode",
                                          "shared-created bad", "shared-created limit"};
    static const char *const found[] = {"shared-read others", "shared-read refused",
                                        "shared-read bad"};

    for (int i = 0; i < 4; i++) {
        begin();
        STEP(created[i], ST_HOLDING, "read, arm");
        CHECK_INT(play.out.list[1].number, ATTEMPT_RETRY_MS);
        STEP("timer", ST_HOLDING, "read, create-shared");
        STEP("shared-created", ST_HOLDING, "read-exclusive");
        STEP("exclusive-read", ST_HOLDING, "move");
    }
    for (int i = 0; i < 3; i++) {
        read_by_name();
        STEP(found[i], ST_HOLDING, "read, arm");
        CHECK_INT(play.c.kind, CHILD_WRITE);
        SAY("timer");
        CHECK_INT(play.c.downgrade, DOWNGRADE_CREATING);
    }
    refused();
    STEP("read nonode", ST_DONE, "revoke deleted, delete-shared");
    hold(CHILD_WRITE);
    STEP("timer", ST_HOLDING, "read");
    SAY("read 7");
    SAY("downgrade");
    STEP("shared-created refused", ST_HOLDING, "arm"); /* it has its watch */
}

/* Removed before the read node was there, another writer may have come in: both must go. */
static void write_node_was_gone(void)
{
    static const char *const answers[] = {"exclusive-read nonode", "exclusive-read others"};

    for (int i = 0; i < 2; i++) {
        confirmed();
        STEP(answers[i], ST_DONE, "revoke deleted, delete-shared");
    }
    confirmed();
    STEP("exclusive-read refused", ST_HOLDING, "read, arm");
    SAY("timer");
    STEP("shared-created exists", ST_HOLDING, "read-shared");
    STEP("shared-read", ST_HOLDING, "read-exclusive");
    STEP("exclusive-read", ST_HOLDING, "move");
}

/* To give way: by what was written into the write node. */
static void asked_meanwhile(void)
{
    struct event ev;

    for (int before = 0; before < 2; before++) {
        confirmed();
        play.c.asked = before;
        REQUIRE(play_event(&ev, "exclusive-read"));
        ev.asked = true;
        play_give(&ev, __FILE__, __LINE__);
        CHECK_STR(play_actions(), before ? "move" : "move, asked");
        CHECK(play.c.asked);
    }
}

/* Who waits for the write node would wait for the read node next, so that goes first. */
static void released_meanwhile(void)
{
    void (*const ways[])(void) = {begin, read_by_name, confirmed, proved, refused};

    for (int i = 0; i < 5; i++) {
        ways[i]();
        STEP("release", ST_DONE, "delete-shared, delete");
        STEP("shared-created", ST_DONE, "");
        STEP("shared-read nonode", ST_DONE, "");
        STEP("moved", ST_DONE, "");
    }
    moved();
    STEP("release", ST_DONE, "delete");
}

static void lost_meanwhile(void)
{
    void (*const ways[])(void) = {begin, read_by_name, confirmed, proved, refused};

    for (int i = 0; i < 5; i++) {
        ways[i]();
        STEP("lapsed", ST_LAPSED, "revoke deadline");
        STEP("shared-created unknown", ST_LAPSED, "");
        STEP("shared-read nonode", ST_LAPSED, "");
        STEP("moved", ST_LAPSED, "");
        STEP("timer", ST_LAPSED, "");
        STEP("release", ST_DONE, "delete-shared, delete");
        ways[i]();
        STEP("own gone", ST_DONE, "revoke deleted, delete-shared");
    }
    moved();
    STEP("own gone", ST_DONE, "revoke deleted");
    moved();
    SAY("lapsed");
    STEP("release", ST_DONE, "delete");
}

/* Both go with it. */
static void session_ends_meanwhile(void)
{
    static const char *const ends[] = {"replaced", "end"};
    static const char *const revokes[] = {"revoke expired", "revoke closed"};

    for (int i = 0; i < 2; i++) {
        begin();
        STEP(ends[i], ST_DONE, revokes[i]);
        confirmed();
        STEP(ends[i], ST_DONE, revokes[i]);
        confirmed();
        SAY("lapsed");
        STEP(ends[i], ST_DONE, "");
    }
}

/* What was asked of the write node is of no interest behind the move. */
static void watch_moves(void)
{
    hold(CHILD_WRITE);
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    CHECK(play.c.own_watched);
    SAY("downgrade");
    SAY("shared-created");
    SAY("exclusive-read");
    CHECK(play.c.own_watched);
    STEP("moved", ST_HOLDING, "delete-exclusive, arm");
    CHECK(!play.c.own_watched);
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    CHECK(play.c.own_watched);
    STEP("timer", ST_HOLDING, "");

    hold(CHILD_WRITE);
    SAY("look");
    SAY("listed 7* left");
    SAY("heed");
    SAY("read 7");
    SAY("downgrade");
    SAY("shared-created");
    SAY("exclusive-read");
    STEP("moved", ST_HOLDING, "delete-exclusive, arm");
    STEP("timer", ST_HOLDING, "read");

    begin();
    STEP("timer", ST_HOLDING, "read"); /* its answer does not disturb what is asked beside it */
    STEP("shared-created", ST_HOLDING, "read-exclusive");
    STEP("exclusive-read", ST_HOLDING, "move");
    SAY("moved");
    STEP("read nonode", ST_HOLDING, "");
    CHECK(!play.c.own_watched);
}

/* The read node's creation, and the write node's end, change the children. */
static void children_change(void)
{
    hold(CHILD_WRITE);
    SAY("look");
    STEP("listed 7* left", ST_HOLDING, "others none");
    SAY("downgrade");
    STEP("children", ST_HOLDING, "arm, list-watch");
    STEP("listed 7* 7* left", ST_HOLDING, "others none");
    SAY("shared-created");
    SAY("exclusive-read");
    STEP("moved", ST_HOLDING, "delete-exclusive");
    STEP("children", ST_HOLDING, "arm, list-watch");
    STEP("listed 7* 8r left", ST_HOLDING, "others none");
    STEP("children", ST_HOLDING, "arm, list-watch");
    STEP("listed 7* 9w left", ST_HOLDING, "others wait");
}

static void nothing_to_do(void)
{
    hold(CHILD_WRITE);
    STEP("shared-created", ST_HOLDING, "");
    STEP("shared-read", ST_HOLDING, "");
    STEP("moved", ST_HOLDING, "");
    STEP("exclusive-read nonode", ST_HOLDING, "");
    SAY("downgrade");
    STEP("downgrade", ST_HOLDING, "");
    STEP("shared-read", ST_HOLDING, "");
    STEP("exclusive-read nonode", ST_HOLDING, ""); /* from before */
    STEP("moved", ST_HOLDING, "");
    STEP("shared-created unknown", ST_HOLDING, "read-shared");
    STEP("shared-created", ST_HOLDING, "");
    moved();
    STEP("downgrade", ST_HOLDING, "");
    play_start_as(CHILD_READ, false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 7*");
    STEP("downgrade", ST_HOLDING, "");
    play_reach(ST_HOLDING);
    STEP("downgrade", ST_HOLDING, "");
    play_start_as(CHILD_WRITE, false);
    SAY("enter");
    STEP("downgrade", ST_CREATING, "");
    hold(CHILD_WRITE);
    SAY("lapsed");
    STEP("downgrade", ST_LAPSED, "");
}

static const struct test_case cases[] = {
    {"all_is_well", all_is_well},
    {"outcome_unknown", outcome_unknown},
    {"cannot_be_had", cannot_be_had},
    {"write_node_was_gone", write_node_was_gone},
    {"released_meanwhile", released_meanwhile},
    {"asked_meanwhile", asked_meanwhile},
    {"lost_meanwhile", lost_meanwhile},
    {"session_ends_meanwhile", session_ends_meanwhile},
    {"watch_moves", watch_moves},
    {"children_change", children_change},
    {"nothing_to_do", nothing_to_do},
    {NULL, NULL},
};

const struct test_suite attempt_downgrade_suite = {.name = "attempt_downgrade", .cases = cases};
