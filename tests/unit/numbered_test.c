/* What a contender asks between its admission and the numbers of its permits, and who is told what.
 * The limit is 4. */
#include "runner.h"
#include "semaphore_story.h"

#include <string.h>

TEST_SUITE(numbered);

#define OWN_DATA(numbers) "me\nzkl numbers" numbers
#define OTHERS_DATA(numbers) "other\nzkl numbers" numbers

static struct permit_story st;

static void begin(int permits)
{
    permit_story_begin(&st, 4, true);
    permit_story_acquire(&st, permits, ZKL_FOREVER);
}

static void admit(const char *names)
{
    permit_story_created(&st);
    permit_story_limited(&st, "4");
    permit_story_listed(&st, names);
}

/* Admitted, and the list that tells of others is answered. */
static void enter(int permits, const char *names)
{
    begin(permits);
    admit(names);
    permit_story_told(&st, 0, 0);
    permit_story_listed(&st, names);
}

/* Behind one, which is not read yet. */
static void enter_behind_one(void)
{
    enter(1, "s3 *");
    permit_story_read(&st, "*", "me", 0);
}

static void check_slots(const char *expected)
{
    GString *text = g_string_new(NULL);
    zkl_part part;

    REQUIRE(st.grant != NULL);
    for (size_t i = 0; zkl_grant_part(st.grant, i, &part) == 0; i++) {
        g_string_append_printf(text, " %d", part.slot);
        CHECK_INT(part.token, zkl_grant_token(st.grant));
        CHECK_STR(part.node, zkl_grant_node(st.grant));
    }
    CHECK_STR(text->str, expected);
    g_string_free(text, TRUE);
}

static void write_numbers(const char *data, int version)
{
    permit_story_sets(&st, st.node, data, version);
    permit_story_told(&st, 0, 0);
    ANSWER(STORE_SET, st.node, .rc = STORE_OK);
    permit_story_told(&st, 1, 0);
}

/* The node with which it waits. */
static void check_node(bool known)
{
    char node[256];

    CHECK_INT(zkl_op_node(st.op, node, sizeof node), known ? 0 : ZKL_ENOENT);
    if (known)
        CHECK_STR(node, st.node + strlen("/root"));
}

static bool is_read(const char *name)
{
    char *path = permit_story_node(&st, name);
    const bool asked = fake_is_asked(STORE_GET, path);

    g_free(path);
    return asked;
}

static void fire(const char *name, bool gone)
{
    char *path = permit_story_node(&st, name);

    fake_watch(path, gone);
    g_free(path);
}

/* ---- the numbers ---- */

TEST_CASE(alone)
{
    begin(2);
    CHECK(strstr(fake_request(STORE_CREATE, STORY_PATH).path, "-s2-lease-") != NULL);
    admit("*");
    CHECK(!fake_is_asked(STORE_GET, st.node));
    permit_story_listed(&st, "*");
    CHECK(!fake_is_asked(STORE_SET, st.node));
    permit_story_read(&st, "*", "me", 0);
    write_numbers(OWN_DATA(" 0 1 of 2"), 0);
    check_slots(" 0 1");
    permit_story_release(&st);
    permit_story_end(&st);
}

/* A contender reads those before it that are numbered, the last one first, and no other. */
TEST_CASE(lowest_that_are_free)
{
    enter(1, "s5 s3 n4 * s8");
    CHECK(is_read("s5") && is_read("*"));
    CHECK(!is_read("s3") && !is_read("n4") && !is_read("s8"));
    permit_story_read(&st, "s5", OTHERS_DATA(" 0"), 1);
    CHECK(!is_read("s3"));
    permit_story_read(&st, "*", "me", 3);
    CHECK(is_read("s3"));
    CHECK(!is_read("n4") && !is_read("s5"));
    CHECK(!fake_is_asked(STORE_SET, st.node) || st.grant == NULL);
    permit_story_read(&st, "s3", OTHERS_DATA(" 1"), 1);
    fake_answer(STORE_SET, st.node, (struct store_reply){.rc = STORE_OK}); /* the touch */
    write_numbers(OWN_DATA(" 2 of 3"), 3);
    check_slots(" 2");
    permit_story_end(&st);
}

TEST_CASE(between_those_of_others)
{
    enter(2, "ss3 *");
    permit_story_read(&st, "*", "me", 0);
    permit_story_read(&st, "ss3", OTHERS_DATA(" 0 2"), 1);
    write_numbers(OWN_DATA(" 1 3 of 4"), 0);
    check_slots(" 1 3");
    permit_story_end(&st);
}

/* The one right before it tells that all have lower numbers than that; and as many permits: it
 * reads no other. One may have gone since the list. */
TEST_CASE(above_all_that_are_used)
{
    static const struct {
        const char *names, *data, *written;
    } rows[] = {
        {"s3 s4 s5 *", OTHERS_DATA(" 1 of 3"), OWN_DATA(" 3 of 4")},
        {"ss3 s5 * s8", OTHERS_DATA(" 2 of 3"), OWN_DATA(" 3 of 4")},
        {"s3 n4 s5 *", OTHERS_DATA(" 1 of 2"), OWN_DATA(" 2 of 3")},
        {"s3 s4 s5 *", OTHERS_DATA(" 1 of 2"), OWN_DATA(" 2 of 3")},
        {"s3 s4 s5 *", OTHERS_DATA(" 2 of 3\nzkl tx 1"), OWN_DATA(" 3 of 4")},
    };

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        enter(1, rows[i / 2].names);
        permit_story_read(&st, "*", "me", 0);
        if (i % 2 == 1) {
            permit_story_read(&st, "s5", "other", 0);
            permit_story_read(&st, "s5", "other", 0);
            fire("s5", false);
        }
        permit_story_read(&st, "s5", rows[i / 2].data, 1);
        CHECK(!is_read("s3") && !is_read("ss3") && !is_read("s4"));
        if (rows[i / 2].names[strlen(rows[i / 2].names) - 1] == '8')
            fake_answer(STORE_SET, st.node, (struct store_reply){.rc = STORE_OK}); /* the touch */
        write_numbers(rows[i / 2].written, 0);
        permit_story_end(&st);
    }
}

/* What another tells is not of all that are before the own node. */
TEST_CASE(the_one_before_it_does_not_tell)
{
    for (int gone = 0; gone < 2; gone++) {
        char *path;

        enter(1, "s4 s5 *");
        path = permit_story_node(&st, "s5");
        permit_story_read(&st, "*", "me", 0);
        if (gone)
            ANSWER(STORE_GET, path, .rc = STORE_NONODE);
        else
            permit_story_read(&st, "s5", OTHERS_DATA(" 2"), 1);
        CHECK(!is_read("s5"));
        permit_story_read(&st, "s4", OTHERS_DATA(" 1 of 2"), 1);
        write_numbers(gone ? OWN_DATA(" 0 of 2") : OWN_DATA(" 0 of 3"), 0);
        g_free(path);
        permit_story_end(&st);
    }
}

/* A set that was done, and its answer lost: they are its own, in order. */
TEST_CASE(found_in_its_own_data)
{
    static const char *const data[] = {OWN_DATA(" 1 3"), OWN_DATA(" 3 1"), OWN_DATA(" 1 3 of 4")};

    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        enter(2, "*");
        permit_story_read(&st, "*", data[i], 1);
        permit_story_told(&st, 1, 0);
        CHECK(!fake_is_asked(STORE_SET, st.node));
        check_slots(" 1 3");
        permit_story_end(&st);
    }
}

/* Not as many as its permits: they are of nobody. */
TEST_CASE(too_few_in_its_own_data)
{
    enter(2, "*");
    permit_story_read(&st, "*", OWN_DATA(" 1"), 1);
    write_numbers(OWN_DATA(" 0 1 of 2"), 1);
    permit_story_end(&st);
}

/* ---- waiting for those of others ---- */

static void answer_gone(const char *name)
{
    char *path = permit_story_node(&st, name);

    ANSWER(STORE_GET, path, .rc = STORE_NONODE);
    g_free(path);
}

static void wait_for(const char *who)
{
    char *path = permit_story_node(&st, who);

    CHECK(fake_is_watching(STORE_GET, path));
    CHECK(!fake_is_asked(STORE_SET, st.node));
    g_free(path);
}

/* For the one right before it, and then reads the others. */
TEST_CASE(waits_for_the_last_one)
{
    for (int gone = 0; gone < 2; gone++) {
        enter(1, "s3 s4 s5 *");
        permit_story_read(&st, "*", "me", 0);
        permit_story_read(&st, "s5", "other", 0);
        CHECK(!is_read("s4") && !is_read("s3"));
        wait_for("s5");
        permit_story_read(&st, "s5", "other", 0);
        fire("s5", false); /* somebody wrote something else there */
        CHECK(!is_read("s4"));
        permit_story_read(&st, "s5", "asks", 1);
        wait_for("s5");
        permit_story_read(&st, "s5", "asks", 1);
        fire("s5", gone);
        if (gone)
            answer_gone("s5");
        else
            permit_story_read(&st, "s5", OTHERS_DATA(" 2"), 2);
        CHECK(!is_read("*") && !fake_is_asked(STORE_LIST, STORY_PATH));
        permit_story_read(&st, "s4", OTHERS_DATA(" 1"), 1);
        permit_story_read(&st, "s3", OTHERS_DATA(" 0"), 1);
        write_numbers(gone ? OWN_DATA(" 2 of 3") : OWN_DATA(" 3 of 4"), 0);
        permit_story_end(&st);
    }
}

/* It has them, or is gone, before the watch is there. */
TEST_CASE(has_them_meanwhile)
{
    for (int gone = 0; gone < 2; gone++) {
        char *path;

        enter(1, "s3 *");
        path = permit_story_node(&st, "s3");
        permit_story_read(&st, "*", "me", 0);
        permit_story_read(&st, "s3", "other", 0);
        if (gone)
            ANSWER(STORE_GET, path, .rc = STORE_NONODE);
        else
            permit_story_read(&st, "s3", OTHERS_DATA(" 0"), 1);
        CHECK_INT(fake_count(STORE_UNWATCH, path), !gone);
        fire("s3", false); /* of no interest any more */
        write_numbers(gone ? OWN_DATA(" 0 of 1") : OWN_DATA(" 1 of 2"), 0);
        g_free(path);
        permit_story_end(&st);
    }
}

/* ---- what goes wrong ---- */

/* The set may have been done, and written over since: those behind go by it. So the same numbers
 * are written, though others are free by now. */
TEST_CASE(own_node_was_changed)
{
    for (int lost = 0; lost < 2; lost++) {
        enter_behind_one();
        permit_story_read(&st, "s3", OTHERS_DATA(" 0"), 1);
        permit_story_sets(&st, st.node, OWN_DATA(" 1 of 2"), 0);
        if (lost) {
            ANSWER(STORE_SET, st.node, .rc = STORE_UNKNOWN);
            hand_pass_proved(st.s, 1000);
            fake_answer(STORE_GET, st.node,
                        (struct store_reply){.rc = STORE_OK, .ephemeral_owner = st.s->id});
        }
        ANSWER(STORE_SET, st.node, .rc = STORE_BADVERSION);
        permit_story_told(&st, 0, 0);
        permit_story_listed(&st, "*");
        permit_story_read(&st, "*", "__REVOKE__", 2);
        write_numbers(OWN_DATA(" 1 of 2"), 2);
        check_slots(" 1");
        permit_story_end(&st);
    }
}

static void count_asked(const zkl_grant *grant, zkl_state state, void *calls)
{
    (void)grant, (void)state;
    ++*(int *)calls;
}

/* While it waited, or had no numbers yet. These are written over that, and it is heard all the
 * same; once, whoever has seen it besides. */
TEST_CASE(asked_to_give_way)
{
    for (int late = 0; late < 2; late++) {
        int calls = 0;

        enter(1, "*");
        permit_story_read(&st, "*", late ? "me" : "__REVOKE__", late ? 0 : 1);
        if (late) {
            ANSWER(STORE_SET, st.node, .rc = STORE_BADVERSION);
            permit_story_listed(&st, "*");
            permit_story_read(&st, "*", "__REVOKE__", 1);
        }
        write_numbers(OWN_DATA(" 0 of 1"), 1);
        CHECK_INT(zkl_grant_on_revoke(st.grant, count_asked, &calls), 0);
        zkl_session_dispatch(st.s);
        CHECK_INT(calls, 1);
        permit_story_end(&st);
    }
}

TEST_CASE(not_asked_to_give_way)
{
    int calls = 0;

    enter(1, "*");
    permit_story_read(&st, "*", "__REVOKE__", 0); /* so its own name */
    write_numbers(OWN_DATA(" 0 of 1"), 0);
    CHECK_INT(zkl_grant_on_revoke(st.grant, count_asked, &calls), 0);
    permit_story_read(&st, "*", OWN_DATA(" 0"), 1);
    zkl_session_dispatch(st.s);
    CHECK_INT(calls, 0);
    permit_story_end(&st);
}

static void on_applied(const zkl_error *err, void *calls)
{
    CHECK(err == NULL);
    ++*(int *)calls;
}

static void check_writes(const char *data)
{
    char *written = fake_changed_data(STORY_PATH);

    CHECK_STR(written, data);
    g_free(written);
}

/* Its transactions leave the numbers where they are, below what asks it to give way as well. */
TEST_CASE(numbers_stay_behind_transactions)
{
    int calls = 0;

    enter(2, "*");
    permit_story_read(&st, "*", "me", 0);
    write_numbers(OWN_DATA(" 0 1 of 2"), 0);
    CHECK_INT(zkl_grant_multi_async(st.grant, NULL, 0, 0, ZKL_FOREVER, on_applied, &calls), 0);
    check_writes(OWN_DATA(" 0 1 of 2") "\nzkl tx 1");
    ANSWER(STORE_MULTI, st.node, .rc = STORE_BADVERSION);
    permit_story_read(&st, "*", "__REVOKE__\nzkl numbers 0 1 of 2", 2);
    check_writes("__REVOKE__\nzkl numbers 0 1 of 2\nzkl tx 1");
    ANSWER(STORE_MULTI, st.node, .rc = STORE_OK);
    zkl_session_dispatch(st.s);
    CHECK_INT(calls, 1);
    permit_story_end(&st);
}

static void check_enters_again(void)
{
    permit_story_told(&st, 0, 0);
    hand_pass_proved(st.s, 1);
    CHECK_INT(fake_count(STORE_CREATE, STORY_PATH "/"), 1);
    permit_story_created(&st);
    permit_story_listed(&st, "*");
    permit_story_listed(&st, "*");
    permit_story_read(&st, "*", "me", 0);
    write_numbers(OWN_DATA(" 0 of 1"), 0);
    check_slots(" 0");
    permit_story_release(&st);
    permit_story_end(&st);
}

TEST_CASE(own_node_is_gone)
{
    enter(1, "*");
    ANSWER(STORE_GET, st.node, .rc = STORE_NONODE);
    check_enters_again();
    enter_behind_one();
    permit_story_read(&st, "s3", OTHERS_DATA(" 0"), 1);
    ANSWER(STORE_SET, st.node, .rc = STORE_NONODE);
    check_enters_again();
    begin(1);
    admit("*");
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_NONODE);
    check_enters_again();
    enter(1, "s3 *");
    ANSWER(STORE_GET, st.node, .rc = STORE_NONODE);
    permit_story_read(&st, "s3", OTHERS_DATA(" 0"), 1); /* of no interest any more */
    check_enters_again();
}

/* What is asked last, and not answered. */
enum step { LISTING, OWN, OTHER, WATCHING, WRITING, STEPS };

static void come_to(enum step step)
{
    begin(1);
    admit("s3 *");
    if (step > LISTING)
        permit_story_listed(&st, "s3 *");
    if (step > OWN)
        permit_story_read(&st, "*", "me", 0);
    if (step > OTHER)
        permit_story_read(&st, "s3", step == WRITING ? OTHERS_DATA(" 0") : "other", 0);
}

static void answer_step(enum step step, enum store_rc rc)
{
    static const enum store_kind kinds[] = {[LISTING] = STORE_LIST,
                                            [OWN] = STORE_GET,
                                            [OTHER] = STORE_GET,
                                            [WATCHING] = STORE_GET,
                                            [WRITING] = STORE_SET};
    char *other = permit_story_node(&st, "s3");
    const char *const paths[] = {STORY_PATH, st.node, other, other, st.node};

    ANSWER(kinds[step], paths[step], .rc = rc);
    g_free(other);
}

TEST_CASE(refused)
{
    static const struct {
        enum store_rc rc;
        int code;
    } rows[] = {{STORE_NOAUTH, ZKL_EACCES}, {STORE_BAD, ZKL_EPROTO}};

    for (enum step step = LISTING; step < STEPS; step++) {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            come_to(step);
            answer_step(step, rows[i].rc);
            permit_story_told(&st, 1, rows[i].code);
            CHECK_STR(st.error.path, "/s");
            CHECK(fake_is_asked(STORE_DELETE, st.node));
            permit_story_end(&st);
        }
    }
}

/* There is no room for the watch on the one that it waits for. */
TEST_CASE(too_much_is_watched)
{
    enter_behind_one();
    const size_t before = st.s->watched_bytes;
    st.s->watched_bytes = 512 * 1024;
    permit_story_read(&st, "s3", "other", 0);
    st.s->watched_bytes = before;
    permit_story_told(&st, 1, ZKL_ELIMIT);
    CHECK_STR(st.error.path, "/s");
    CHECK(!is_read("s3"));
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

static bool refuse_lists(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_BAD};
    return request->kind == STORE_LIST;
}

/* In the midst of its admission; its contender's own timers must not outlive it. */
TEST_CASE(refused_at_once)
{
    begin(1);
    permit_story_created(&st);
    permit_story_limited(&st, "4");
    fake_answer_at_once(refuse_lists);
    permit_story_listed(&st, "*");
    fake_answer_at_once(NULL);
    hand_pass_proved(st.s, 1);
    permit_story_told(&st, 1, ZKL_EPROTO);
    CHECK_INT(fake_count(STORE_DELETE, st.node), 1);
    ANSWER(STORE_DELETE, st.node, .rc = STORE_OK);
    permit_story_acquire(&st, 1, ZKL_FOREVER); /* in the same memory, perhaps */
    hand_pass_proved(st.s, 1000);
    CHECK(!fake_is_asked(STORE_GET, st.node));
    permit_story_end(&st);
}

/* What is answered, or fires, behind that is of no interest. */
TEST_CASE(canceled)
{
    for (enum step step = LISTING; step < STEPS; step++) {
        come_to(step);
        if (step == WATCHING)
            answer_step(step, STORE_OK);
        zkl_op_cancel(st.op);
        permit_story_told(&st, 1, ZKL_ECANCELED);
        CHECK_STR(st.error.text, "/s: canceled");
        CHECK(fake_is_asked(STORE_DELETE, st.node));
        if (step == WATCHING)
            fire("s3", true);
        else
            answer_step(step, STORE_OK);
        CHECK(!fake_is_asked(STORE_LIST, STORY_PATH));
        permit_story_told(&st, 1, ZKL_ECANCELED);
        permit_story_end(&st);
    }
}

static int lists;

/* But the list that its numbers need. */
static bool answer_admission(const struct store_request *request, struct store_reply *reply)
{
    static char *name;

    if (request->kind == STORE_CREATE) {
        st.node = g_strdup_printf("%s0000000007", request->path);
        name = strrchr(st.node, '/') + 1;
    }
    lists += request->kind == STORE_LIST;
    *reply = (struct store_reply){.rc = STORE_OK,
                                  .path = st.node,
                                  .czxid = 5,
                                  .mzxid = 9,
                                  .ephemeral_owner = FAKE_SESSION_ID,
                                  .data = "4",
                                  .length = 1,
                                  .names = &name,
                                  .count = 1};
    return lists < 2;
}

/* Before its contender is known to be one. */
TEST_CASE(admitted_at_once)
{
    permit_story_begin(&st, 4, true);
    lists = 0;
    fake_answer_at_once(answer_admission);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    fake_answer_at_once(NULL);
    CHECK(fake_is_asked(STORE_LIST, STORY_PATH));
    zkl_op_cancel(st.op);
    permit_story_told(&st, 1, ZKL_ECANCELED);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

TEST_CASE(freed_before_its_numbers)
{
    begin(1);
    admit("s3 *");
    zkl_semaphore_free(g_steal_pointer(&st.semaphore));
    permit_story_told(&st, 1, ZKL_ECLOSED);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

TEST_CASE(canceled_before_its_admission)
{
    begin(1);
    check_node(false);
    permit_story_created(&st);
    check_node(true);
    zkl_op_cancel(st.op);
    check_node(false);
    permit_story_told(&st, 1, ZKL_ECANCELED);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

/* What it has waited for is of no interest in another session. */
TEST_CASE(session_replaced_while_waiting)
{
    enter(1, "s3 *");
    check_node(false);
    permit_story_read(&st, "*", "me", 0);
    permit_story_read(&st, "s3", "other", 0);
    permit_story_read(&st, "s3", "other", 0);
    permit_story_replace(&st, 8);
    admit("*");
    fire("s3", true);
    permit_story_listed(&st, "*");
    permit_story_read(&st, "*", "me", 0);
    write_numbers(OWN_DATA(" 0 of 1"), 0);
    permit_story_end(&st);
}

/* Its node has gone; it is given up, or the session is closed, before it enters again or when it
 * has. */
TEST_CASE(ended_around_its_next_entry)
{
    static const struct {
        bool cancels, enters;
    } rows[] = {{true, false}, {false, false}, {false, true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        enter(1, "*");
        ANSWER(STORE_GET, st.node, .rc = STORE_NONODE);
        if (rows[i].enters)
            hand_pass_proved(st.s, 1);
        CHECK_INT(fake_count(STORE_CREATE, STORY_PATH "/"), rows[i].enters);
        if (rows[i].cancels) {
            zkl_op_cancel(st.op);
            permit_story_told(&st, 1, ZKL_ECANCELED);
            hand_pass_proved(st.s, 1000);
            CHECK_INT(fake_count(STORE_CREATE, STORY_PATH "/"), 0);
        } else {
            hand_close(g_steal_pointer(&st.s));
            CHECK_INT(st.calls, 1);
            CHECK_INT(st.error.code, ZKL_ECLOSED);
        }
        permit_story_end(&st);
    }
}

TEST_CASE(timed_out)
{
    permit_story_begin(&st, 4, true);
    permit_story_acquire(&st, 1, 1000);
    admit("s3 *");
    permit_story_listed(&st, "s3 *");
    permit_story_read(&st, "*", "me", 0);
    permit_story_read(&st, "s3", "other", 0);
    permit_story_read(&st, "s3", "other", 0);
    hand_pass_proved(st.s, 999);
    permit_story_told(&st, 0, 0);
    hand_pass_proved(st.s, 1);
    permit_story_told(&st, 1, ZKL_ETIMEDOUT);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

/* It waits for no holder, but for numbers, as long as for a server. */
TEST_CASE(try_of_what_is_free)
{
    for (int in_time = 0; in_time < 2; in_time++) {
        permit_story_begin(&st, 4, true);
        permit_story_acquire(&st, 1, 0);
        admit("s3 *");
        permit_story_listed(&st, "s3 *");
        permit_story_read(&st, "*", "me", 0);
        permit_story_read(&st, "s3", "other", 0);
        permit_story_read(&st, "s3", "other", 0);
        hand_pass_proved(st.s, FAKE_TIMEOUT_MS - 1);
        permit_story_told(&st, 0, 0);
        if (in_time) {
            fire("s3", false);
            permit_story_read(&st, "s3", OTHERS_DATA(" 0"), 1);
            write_numbers(OWN_DATA(" 1 of 2"), 0);
        } else {
            hand_pass_proved(st.s, 1);
            permit_story_told(&st, 1, ZKL_EBUSY);
            CHECK(fake_is_asked(STORE_DELETE, st.node));
        }
        permit_story_end(&st);
    }
}

TEST_CASE(not_admitted)
{
    begin(5);
    admit("*");
    permit_story_told(&st, 1, ZKL_ELIMIT);
    permit_story_acquire(&st, 1, 0);
    permit_story_created(&st);
    permit_story_listed(&st, "n2 n3 n4 n5 *");
    permit_story_told(&st, 1, ZKL_EBUSY);
    permit_story_end(&st);
}

/* ---- sessions ---- */

/* The deadline passes while others are waited for: its place is gone with it. */
TEST_CASE(admission_lapses)
{
    enter(1, "*");
    permit_story_read(&st, "*", "me", 0);
    hand_pass(st.s, FAKE_TIMEOUT_MS);
    permit_story_told(&st, 0, 0);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    CHECK(fake_is_asked(STORE_CREATE, STORY_PATH "/"));
    ANSWER(STORE_SET, st.node, .rc = STORE_OK);
    permit_story_told(&st, 0, 0);
    permit_story_end(&st);
}

TEST_CASE(lost)
{
    enter(1, "*");
    permit_story_read(&st, "*", "me", 0);
    write_numbers(OWN_DATA(" 0 of 1"), 0);
    permit_story_replace(&st, 8);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_LOST);
    check_slots(" 0");
    CHECK(!fake_is_asked(STORE_CREATE, STORY_PATH));
    permit_story_end(&st);
}
