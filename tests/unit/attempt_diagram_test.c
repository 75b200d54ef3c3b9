/* The states and the moves between them. */
#include "attempt_play.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(attempt_diagram);

TEST_CASE(every_state_is_reached)
{
    for (int s = 0; s < ST_COUNT; s++)
        play_reach((enum attempt_state)s);
}

TEST_CASE(names_differ)
{
    for (int a = 0; a < ST_COUNT; a++)
        for (int b = 0; b < a; b++)
            CHECK(strcmp(attempt_state_name((enum attempt_state)a),
                         attempt_state_name((enum attempt_state)b)) != 0);
}

/* What the diagram must not allow, whatever the code does. */
TEST_CASE(moves_that_would_be_wrong)
{
    for (int s = 0; s < ST_COUNT; s++) {
        CHECK(s == ST_DONE || !attempt_may_move(ST_DONE, (enum attempt_state)s));
        CHECK(s == ST_IDLE || !attempt_may_move((enum attempt_state)s, ST_IDLE));
    }
    static const enum attempt_state unproved[] = {
        ST_IDLE,      ST_CREATING, ST_PARENTS, ST_SETTLING,   ST_ADOPTING,
        ST_RESETTING, ST_LAPSED,   ST_LEAVING, ST_SUCCEEDING, ST_FIRST};
    for (size_t i = 0; i < sizeof(unproved) / sizeof(*unproved); i++)
        CHECK(!attempt_may_move(unproved[i], ST_HOLDING));
    CHECK(!attempt_may_move(ST_LAPSED, ST_CREATING));
    CHECK(!attempt_may_move(ST_HOLDING, ST_WAITING));
    CHECK(attempt_may_move(ST_LISTING, ST_HOLDING));
    CHECK(attempt_may_move(ST_WAITING, ST_HOLDING));
    CHECK(attempt_may_move(ST_PROVING, ST_HOLDING));
    CHECK(attempt_may_move(ST_CLAIMING, ST_HOLDING));
}
