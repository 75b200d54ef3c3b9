/* The members of one session: what each answer costs all of them, and who has an id in turn. */
#include "by_hand.h"
#include "lib/member/members.h"
#include "membership.h"
#include "runner.h"

TEST_SUITE(member_session);

#define GROUP "/root/g"

enum { STEP_MS = 50 };

static zkl_member *join(zkl_session *s, const char *id)
{
    zkl_member *m = NULL;

    REQUIRE(zkl_member_join(&m, s, "/g", id, NULL, 0, NULL) == 0);
    return m;
}

static void create(const char *node, uint64_t czxid)
{
    ANSWER(STORE_CREATE, node, .rc = STORE_OK, .czxid = czxid);
}

/* The server answers the create of another member, which was sent just now. */
static zkl_member *prove(zkl_session *s, const char *id, uint64_t czxid)
{
    char *node = g_strconcat(GROUP "/", id, NULL);
    zkl_member *m = join(s, id);

    create(node, czxid);
    g_free(node);
    return m;
}

/* An answered write that was sent while no other request was under way is a proof. With few
 * members, each proof moves every member's deadline at once. With many, the deadline that a member
 * shows may be early by part of the session timeout. */
static void play_proofs(bool many)
{
    zkl_session *s = hand_session();
    zkl_member *members[4];

    members_many = many ? 2 : MEMBERS_MANY;
    hand_stand_alone(s);
    members[0] = prove(s, "a", 5);
    const int64_t most = membership_of(members[0]).remaining_ms;
    CHECK(most > 0);
    hand_pass(s, STEP_MS);
    members[1] = prove(s, "b", 6);
    CHECK_INT(membership_of(members[1]).remaining_ms, most);
    CHECK_INT(membership_of(members[0]).remaining_ms, many ? most - STEP_MS : most);
    hand_pass(s, FAKE_TIMEOUT_MS / 64);
    members[2] = prove(s, "c", 7);
    CHECK_INT(membership_of(members[0]).remaining_ms, most);
    CHECK_INT(membership_of(members[1]).remaining_ms, most);
    hand_pass(s, STEP_MS);
    members[3] = prove(s, "d", 8);
    CHECK_INT(membership_of(members[0]).remaining_ms, many ? most - STEP_MS : most);
    /* A member that is in doubt hears at once that it is in doubt no more. */
    fake_event(STORE_EV_DOWN);
    CHECK_INT(membership_state(members[0]), ZKL_SUSPECT);
    hand_pass(s, STEP_MS);
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(membership_state(members[i]), ZKL_HELD);
        zkl_member_free(members[i]);
    }
    hand_close(s);
    members_many = MEMBERS_MANY;
}

TEST_CASE(each_proof_moves_the_deadlines_of_few)
{
    play_proofs(false);
}

TEST_CASE(deadlines_of_many_may_be_early)
{
    play_proofs(true);
}

/* A deadline that was shown too early ends the grant all the same, and the member is held anew. */
TEST_CASE(early_deadline_is_kept)
{
    zkl_session *s = hand_session();
    zkl_grant *first, *second;
    zkl_member *all[4];

    members_many = 2;
    hand_stand_alone(s);
    zkl_member *m = all[0] = prove(s, "a", 5);
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
    all[1] = prove(s, "b", 6);
    hand_pass(s, STEP_MS);
    all[2] = prove(s, "c", 7);
    REQUIRE(zkl_member_grant(m, &first) == 0);
    const int64_t left = zkl_grant_remaining_ms(first);
    REQUIRE(left < membership_of(all[2]).remaining_ms);
    hand_jump(left, left);
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    all[3] = prove(s, "d", 8); /* the first notices */
    CHECK_INT(membership_of(m).code, ZKL_ELOST);
    CHECK_INT(zkl_member_wait(m, 0), 0);
    REQUIRE(zkl_member_grant(m, &second) == 0);
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    CHECK_INT(zkl_grant_state(second), ZKL_HELD);
    CHECK(zkl_grant_turn(second) > zkl_grant_turn(first));
    zkl_grant_release(first);
    zkl_grant_release(second);
    for (int i = 0; i < 4; i++)
        zkl_member_free(all[i]);
    hand_close(s);
    members_many = MEMBERS_MANY;
}

/* A member that joins afterwards has nothing to do with the doubt. */
TEST_CASE(doubt_is_over_for_all)
{
    zkl_session *s = hand_session();

    members_many = 0;
    hand_stand_alone(s);
    zkl_member *m = join(s, "a");
    hand_pass_proved(s, 0);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, STEP_MS);
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    create(GROUP "/a", 5);
    CHECK_INT(membership_state(m), ZKL_HELD);
    zkl_member_free(m);
    hand_close(s);
    members_many = MEMBERS_MANY;
}

/* One behind the other, and who has left while it waited is passed by. */
TEST_CASE(members_of_one_id_take_turns)
{
    zkl_session *s = hand_session();
    zkl_member *first = join(s, "a"), *next = NULL;

    CHECK_INT(zkl_member_join(&next, s, "/g", "a", NULL, 0, NULL), ZKL_EBUSY);
    create(GROUP "/a", 5);
    zkl_member_free(first);
    zkl_member_free(join(s, "a"));
    zkl_member *last = join(s, "a");
    zkl_member *other = join(s, "b");
    CHECK_INT(zkl_member_join(&next, s, "/g", "a", NULL, 0, NULL), ZKL_EBUSY);
    CHECK(!fake_is_asked(STORE_CREATE, GROUP "/a"));
    create(GROUP "/b", 6);
    REQUIRE(fake_is_asked(STORE_DELETE, GROUP "/a"));
    CHECK(!fake_is_asked(STORE_CREATE, GROUP "/a"));
    ANSWER(STORE_DELETE, GROUP "/a", .rc = STORE_OK);
    create(GROUP "/a", 8);
    CHECK_INT(membership_token(last), 8);
    zkl_member_free(last);
    zkl_member_free(other);
    hand_close(s);
}
