/* Creates that do not simply succeed: unknown outcomes, no directory, numbers used up. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_settle);

TEST_CASE(unknown_and_not_done)
{
    play_start(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created unknown", ST_SETTLING,
         "barrier"); /* a list alone may come from a lagging server */
    STEP("passed", ST_SETTLING, "list");
    STEP("listed 5", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
}

TEST_CASE(unknown_and_done)
{
    play_start(false);
    SAY("enter");
    STEP("created unknown", ST_SETTLING, "barrier");
    STEP("passed", ST_SETTLING, "list");
    STEP("listed 5 7*", ST_ADOPTING, "adopt 7, read");
    STEP("read 7", ST_LISTING, "list"); /* its session and its czxid are known only now */
    CHECK_INT(play.c.token, 1007);
    CHECK_INT(play.c.number, 7);
    STEP("listed 5 7*", ST_WAITING, "watch 5");
}

TEST_CASE(unknown_and_done_twice)
{
    play_start(false);
    SAY("enter");
    SAY("created unknown");
    SAY("passed");
    STEP("listed 9* 7* 5", ST_ADOPTING, "adopt 7, delete-all-but 7, read");
    STEP("read 7", ST_LISTING, "list");
    STEP("listed 9* 7*", ST_HOLDING, "delete-all-but 7, grant"); /* the delete is under way */
}

TEST_CASE(unknown_and_done_in_another_session)
{
    play_start(false);
    SAY("enter");
    SAY("created unknown");
    SAY("passed");
    STEP("listed 7*", ST_ADOPTING, "adopt 7, read");
    STEP("read 7 others", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(adopted_node_is_gone_when_read)
{
    play_reach(ST_ADOPTING);
    STEP("read nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(the_list_behind_an_unknown_create_is_not_used)
{
    play_start(false);
    SAY("enter");
    struct play_event list;
    CHECK(play_event(&list, "listed 7*"));
    STEP("created unknown", ST_SETTLING, "barrier");
    play_give(&list, __FILE__, __LINE__); /* sent before the barrier: it may lack our node */
    CHECK_STR(play_actions(), "");
    CHECK_INT(play.c.state, ST_SETTLING);
    STEP("passed", ST_SETTLING, "list");
    play_give(&list, __FILE__, __LINE__);
    CHECK_STR(play_actions(), "");
    CHECK_INT(play.c.state, ST_SETTLING);
}

TEST_CASE(adopted_node_left_its_watch_behind)
{
    play_reach(ST_ADOPTING);
    STEP("read 7", ST_LISTING, "list");
    STEP("listed nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 8", ST_LISTING, "");
    STEP("listed 8*", ST_HOLDING, "grant, arm"); /* the watch was of the other node */
}

TEST_CASE(settling_meets_no_directory)
{
    play_reach(ST_SETTLING);
    STEP("passed", ST_SETTLING, "list");
    STEP("listed nonode", ST_CREATING, "create, list"); /* nothing of ours can be in it */
}

TEST_CASE(spares_beside_a_known_create)
{
    play_start(false);
    SAY("enter");
    SAY("created 9");
    STEP("listed 7~ 9*", ST_WAITING, "delete-all-but 9, read, watch 7");
}

TEST_CASE(no_directory)
{
    play_start(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created nonode", ST_PARENTS, "parents");
    STEP("listed nonode", ST_PARENTS, ""); /* of the list behind that create */
    STEP("parents", ST_CREATING, "create, list");
    STEP("created 0", ST_LISTING, "");
    STEP("listed 0*", ST_HOLDING, "grant, arm");
}

TEST_CASE(directory_cannot_be_made)
{
    play_reach(ST_PARENTS);
    STEP("parents refused", ST_DONE, "fail refused");
    play_reach(ST_PARENTS);
    STEP("parents nochildren", ST_DONE, "fail nochildren");
    play_reach(ST_PARENTS);
    STEP("parents bad", ST_DONE, "fail protocol");
}

/* A directory that vanishes each time it is made must not keep us for ever. */
TEST_CASE(directory_vanishes_again_and_again)
{
    play_start(false);
    SAY("enter");
    int rounds = 0;
    while (play.c.state == ST_CREATING && rounds < 1000) {
        SAY("created nonode");
        if (play.c.state == ST_PARENTS)
            SAY("parents");
        rounds++;
    }
    CHECK(rounds >= 3 && rounds < 1000);
    CHECK_INT(play.c.state, ST_DONE);
    CHECK_INT(play.fails, 1);
}

/* Patience is counted per session. */
TEST_CASE(directory_vanishes_in_several_sessions)
{
    play_start(false);
    SAY("enter");
    for (int round = 1; round <= 300; round++) {
        SAY(round % 30 ? "created nonode" : "replaced");
        SAY(play.c.state == ST_PARENTS ? "parents" : "enter");
    }
    CHECK_INT(play.c.state, ST_CREATING);
}

TEST_CASE(create_refused)
{
    static const struct {
        const char *answer, *actions;
    } rows[] = {
        {"created refused", "fail refused"},
        {"created nochildren", "fail nochildren"},
        {"created bad", "fail protocol"},
        {"created limit", "fail limit"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_start(false);
        SAY("enter");
        STEP(rows[i].answer, ST_DONE, rows[i].actions);
        STEP("listed 5", ST_DONE, ""); /* the list that was sent behind it */
    }
}

TEST_CASE(list_refused)
{
    play_reach(ST_LISTING);
    STEP("listed refused", ST_DONE, "fail refused, delete");
    play_reach(ST_LISTING);
    STEP("listed nonode", ST_REENTERING, "delete, admit"); /* our node went with it */
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(read_refused)
{
    play_reach(ST_PROVING);
    STEP("read refused", ST_DONE, "fail refused, delete");
    play_reach(ST_ADOPTING);
    STEP("read refused", ST_DONE, "fail refused, delete");
}

TEST_CASE(numbers_used_up)
{
    static const char *const answers[] = {"created 2147483647", "created -2147483648",
                                          "created -1"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        play_start(false);
        SAY("enter");
        STEP(answers[i], ST_RESETTING, "delete, read-directory");
        STEP("listed 5", ST_RESETTING, "");
        STEP("directory", ST_RESETTING, "reset");
        STEP("reset notempty", ST_DONE, "fail overflow"); /* others still use it */
        play_start(false);
        SAY("enter");
        STEP(answers[i], ST_RESETTING, "delete, read-directory");
        STEP("directory", ST_RESETTING, "reset");
        STEP("reset", ST_REENTERING, "admit");
        STEP("enter", ST_CREATING, "create, list");
        STEP("created nonode", ST_PARENTS, "parents");
        STEP("parents", ST_CREATING, "create, list");
        STEP("created 0", ST_LISTING, "");
    }
}

TEST_CASE(the_last_usable_number)
{
    play_start(false);
    SAY("enter");
    STEP("created 2147483646", ST_LISTING, "");
    STEP("listed 2147483646*", ST_HOLDING, "grant, arm");
}

/* At the limit the server hands out the same name again, and it may be taken. */
TEST_CASE(name_is_taken_at_the_limit)
{
    play_start(false);
    SAY("enter");
    STEP("created exists", ST_RESETTING, "read-directory");
    SAY("directory");
    STEP("reset nonode", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
    play_start(false);
    SAY("enter");
    SAY("created exists");
    SAY("directory");
    STEP("reset refused", ST_DONE, "fail overflow");
}

TEST_CASE(numbers_used_up_again_and_again)
{
    play_start(false);
    SAY("enter");
    int rounds = 0;
    for (; play.c.state != ST_DONE && rounds < 1000; rounds++)
        SAY(play.c.state == ST_CREATING   ? "created 2147483647"
            : play_awaits(PLAY_DIRECTORY) ? "directory"
            : play_awaits(PLAY_RESET)     ? "reset"
                                          : "enter");
    CHECK(rounds < 1000);
    CHECK_INT(play.fails, 1);
}

TEST_CASE(adopted_node_has_a_used_up_number)
{
    play_start(false);
    SAY("enter");
    SAY("created unknown");
    SAY("passed");
    STEP("listed 2147483647*", ST_RESETTING, "adopt 2147483647, delete, read-directory");
}

TEST_CASE(waits_for_others_at_the_limit)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 7* 2147483647", ST_WAITING, "read, watch 2147483647");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}
