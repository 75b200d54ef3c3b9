/* Members of double barriers at /d: what they ask for, and what they make of each answer.
 * tests/sim/barriers plays them in a world. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(double_barrier);

/* One member at a time: what the server answers, and how the member's calls end. */

#define PATH "/root/d"
#define READY PATH "/ready"
#define OTHER "0"    /* is before the own node, */
#define LATER "\x7f" /* and behind it */

static struct {
    zkl_session *s;
    zkl_double_barrier *b;
    char *own; /* its node */
    struct outcome {
        int calls, code;
        char text[128];
    } out;
} pair;

static void on_done(const zkl_error *err, void *data)
{
    (void)data;
    pair.out.calls++;
    pair.out.code = err ? err->code : 0;
    g_strlcpy(pair.out.text, err ? err->text : "", sizeof pair.out.text);
}

static void check_ended(int code)
{
    zkl_session_dispatch(pair.s);
    CHECK_INT(pair.out.calls, 1);
    CHECK_INT(pair.out.code, code);
    pair.out = (struct outcome){.calls = 0};
}

static void check_pending(void)
{
    zkl_session_dispatch(pair.s);
    CHECK_INT(pair.out.calls, 0);
}

/* ---- the server's answers ---- */

static void take_own(void)
{
    g_free(pair.own);
    pair.own = g_strdup(fake_request(STORE_CREATE, PATH "/").path);
    REQUIRE(pair.own != NULL);
}

static void enter_pair(int64_t timeout_ms)
{
    CHECK_INT(zkl_double_barrier_enter_async(pair.b, timeout_ms, on_done, NULL), 0);
    take_own();
}

static void begin(int members)
{
    pair.s = hand_session();
    REQUIRE(zkl_double_barrier_new(&pair.b, pair.s, "/d", members, NULL) == 0);
    pair.out = (struct outcome){.calls = 0};
    pair.own = NULL;
}

static void end(void)
{
    zkl_double_barrier_free(pair.b);
    hand_close(pair.s);
    g_free(pair.own);
}

static void answer_made(void)
{
    ANSWER(STORE_CREATE, pair.own, .rc = STORE_OK, .path = pair.own, .czxid = 10);
}

static void answer_looks(void)
{
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4, .data = "dir", .length = 3);
    CHECK(fake_is_watching(STORE_STAT, READY));
    ANSWER(STORE_STAT, READY, .rc = STORE_NONODE);
}

static void answer_listed(const char *names)
{
    char **list = g_strsplit(names, " ", -1);

    for (char **name = list; *name; name++) {
        if (strcmp(*name, "*") == 0) {
            g_free(*name);
            *name = g_strdup(strrchr(pair.own, '/') + 1);
        }
    }
    ANSWER(STORE_LIST, PATH, .rc = STORE_OK, .names = list, .count = (int)g_strv_length(list),
           .pzxid = 11);
    g_strfreev(list);
}

static void answer_stat(const char *name, uint64_t czxid)
{
    char *path = *name == '*' ? g_strdup(pair.own) : g_strconcat(PATH "/", name, NULL);

    ANSWER(STORE_STAT, path, .rc = czxid ? STORE_OK : STORE_NONODE, .czxid = czxid);
    g_free(path);
}

static void check_changes(const char *wanted, const char *data)
{
    char *changes = fake_changes(PATH), *written = fake_changed_data(PATH);

    CHECK_STR(changes, wanted);
    CHECK_STR(written, data);
    g_free(written);
    g_free(changes);
}

static void be_let_in(void)
{
    answer_made();
    answer_looks();
    answer_listed("ready * " OTHER);
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    check_ended(0);
}

static void be_inside(void)
{
    enter_pair(ZKL_FOREVER);
    be_let_in();
}

static void leave_pair(int64_t timeout_ms)
{
    CHECK_INT(zkl_double_barrier_leave_async(pair.b, timeout_ms, on_done, NULL), 0);
}

/* A barrier of two, and its node is made. */
static void begin_made(void)
{
    begin(2);
    enter_pair(ZKL_FOREVER);
    answer_made();
}

TEST_CASE(opens_with_the_last)
{
    begin(2);
    enter_pair(ZKL_FOREVER);
    const struct store_request r = fake_request(STORE_CREATE, pair.own);
    CHECK_INT(r.mode, STORE_EPHEMERAL);
    CHECK(r.length > 0 && r.length == (int)strlen(r.data));
    answer_made();
    answer_looks();
    answer_listed("ready * " OTHER);
    CHECK(!fake_is_asked(STORE_STAT, PATH));
    check_changes("set " PATH " 4; create " READY " -1", "dirzkl round 1 11");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    check_ended(0);
    CHECK(fake_is_asked(STORE_UNWATCH, READY));
    end();
}

/* More than may enter: the first of them do, and it is read who they are. */
TEST_CASE(opens_for_others)
{
    begin_made();
    answer_looks();
    answer_listed("ready * " OTHER " " LATER);
    CHECK(!fake_is_asked(STORE_STAT, READY));
    answer_stat("*", 10);
    answer_stat(LATER, 9);
    CHECK(!fake_is_asked(STORE_MULTI, PATH));
    answer_stat(OTHER, 8);
    check_changes("set " PATH " 4; create " READY " -1", "dirzkl round 1 9");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    check_pending();
    end();
}

/* The directory is missing; the answer was lost, and it is there; or not. */
TEST_CASE(makes_its_node)
{
    begin(1);
    enter_pair(ZKL_FOREVER);
    ANSWER(STORE_CREATE, pair.own, .rc = STORE_NONODE);
    CHECK_INT(fake_request(STORE_CREATE, PATH).mode, STORE_CONTAINER);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    ANSWER(STORE_CREATE, PATH, .rc = STORE_OK);
    ANSWER(STORE_CREATE, pair.own, .rc = STORE_EXISTS);
    ANSWER(STORE_STAT, pair.own, .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, pair.own, .rc = STORE_EXISTS);
    ANSWER(STORE_STAT, pair.own, .rc = STORE_OK, .czxid = 10);
    answer_looks();
    answer_listed("*");
    check_changes("set " PATH " 4; create " READY " -1", "dirzkl round 1 11");
    end();
}

/* Another library's ready counts by the time of its last change, ours by its bound. */
TEST_CASE(is_let_in_by_ready)
{
    static const struct {
        const char *data;
        uint64_t mzxid;
        bool inside;
    } rows[] = {{"zkl round 1 10", 12, true},
                {"zkl round 1 9", 12, false},
                {"", 12, true},
                {"", 9, false},
                {NULL, 12, true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_made();
        ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
        ANSWER(STORE_STAT, READY, .rc = STORE_OK);
        CHECK(!fake_is_watching(STORE_GET, READY));
        ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = rows[i].mzxid, .data = rows[i].data,
               .length = rows[i].data ? (int)strlen(rows[i].data) : -1);
        CHECK_INT(fake_is_asked(STORE_LIST, PATH), !rows[i].inside);
        if (rows[i].inside)
            check_ended(0);
        end();
    }
}

/* Nobody knows whom it lets in, and another library's would let in all. */
TEST_CASE(later_ready_is_refused)
{
    begin_made();
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 12, .data = "zkl round 2 12 3", .length = 16);
    CHECK(!fake_is_asked(STORE_LIST, PATH));
    check_pending();
    ANSWER(STORE_DELETE, pair.own, .rc = STORE_OK);
    zkl_session_dispatch(pair.s);
    CHECK(strstr(pair.out.text, "/d/ready is of a later version") != NULL);
    check_ended(ZKL_ELAYOUT);
    end();
}

/* It was left behind: set anew; ready went while it was read. */
TEST_CASE(replaces_ready)
{
    begin_made();
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 7, .data = "zkl round 1 6", .length = 13);
    answer_listed("* " OTHER);
    answer_stat("*", 10);
    answer_stat(OTHER, 8);
    check_changes("set " PATH " 4; set " READY " -1", "zkl round 1 10");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_BADVERSION);
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 5);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_NONODE);
    CHECK(fake_is_asked(STORE_LIST, PATH));
    end();
}

/* Somebody has deleted all of it: it makes its node again. */
TEST_CASE(directory_is_deleted)
{
    begin_made();
    ANSWER(STORE_GET, PATH, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, READY, .rc = STORE_NONODE);
    ANSWER(STORE_LIST, PATH, .rc = STORE_NONODE);
    check_pending();
    take_own();
    be_let_in();
    end();
}

/* What was read of it before is no more. */
TEST_CASE(forgets_who_is_gone)
{
    begin_made();
    for (int gone = 0; gone < 2; gone++) {
        answer_looks();
        answer_listed("* " OTHER " " LATER);
        answer_stat("*", 10);
        answer_stat(LATER, 0);
        answer_stat(OTHER, gone ? 0 : 8);
        CHECK_INT(fake_is_asked(STORE_MULTI, PATH), !gone);
        if (!gone)
            ANSWER(STORE_MULTI, PATH, .rc = STORE_BADVERSION);
    }
    end();
}

TEST_CASE(waits_for_ready)
{
    begin_made();
    answer_looks();
    answer_listed("*");
    check_pending();
    CHECK(!fake_is_asked(STORE_MULTI, PATH));
    fake_fire(READY, STORE_FIRED_CREATED);
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 5);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 12, .data = "zkl round 1 10", .length = 14);
    check_ended(0);
    end();
}

/* One of the round before is waited for; what it writes into its node is of no interest. */
TEST_CASE(waits_for_the_round_before)
{
    for (int gone = 0; gone < 2; gone++) {
        begin_made();
        ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
        ANSWER(STORE_STAT, READY, .rc = STORE_OK);
        ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 9, .data = "zkl round 1 8", .length = 13);
        answer_listed(LATER " * " OTHER);
        answer_stat(LATER, 9);
        answer_stat("*", 10);
        answer_stat(OTHER, 8);
        CHECK(fake_is_watching(STORE_GET, PATH "/" OTHER));
        ANSWER(STORE_GET, PATH "/" OTHER, .rc = gone ? STORE_NONODE : STORE_OK);
        if (!gone) {
            fake_watch(PATH "/" OTHER, false);
            CHECK(fake_is_watching(STORE_GET, PATH "/" OTHER));
            ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_OK);
            fake_watch(PATH "/" OTHER, true);
        }
        CHECK(fake_is_asked(STORE_GET, PATH));
        check_pending();
        end();
    }
}

/* What is under way when something goes wrong. */
enum stage { NODE, PARENT, OWN, DIRECTORY, STAT, DATA, LIST, MEMBER, OPEN, AWAIT, STAGES };

/* To what the stage is about; the answer is for the others. */
static void answer(enum stage stage, enum stage now, enum store_kind kind, const char *path,
                   struct store_reply reply)
{
    if (now < stage)
        CHECK(fake_answer(kind, path, reply));
}

static void come_to_node(enum stage stage)
{
    begin(stage == OPEN ? 1 : 2);
    enter_pair(ZKL_FOREVER);
    if (stage == PARENT) {
        ANSWER(STORE_CREATE, pair.own, .rc = STORE_NONODE);
        ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    } else if (stage == OWN) {
        ANSWER(STORE_CREATE, pair.own, .rc = STORE_EXISTS);
    } else if (stage != NODE) {
        answer_made();
    }
}

static void come_to(enum stage stage)
{
    const struct store_reply ok = {.rc = STORE_OK};

    come_to_node(stage);
    answer(stage, DIRECTORY, STORE_GET, PATH, ok);
    answer(stage, STAT, STORE_STAT, READY, ok);
    answer(stage, DATA, STORE_GET, READY,
           stage == AWAIT ? (struct store_reply){.mzxid = 9, .data = "zkl round 1 8", .length = 13}
                          : (struct store_reply){.rc = STORE_NONODE});
    if (stage > LIST)
        answer_listed(stage == OPEN ? "*" : "* " OTHER " " LATER);
    if (stage == AWAIT) {
        answer_stat("*", 10);
        answer_stat(OTHER, 8);
        answer_stat(LATER, 9);
    }
}

/* Whatever is refused, its node goes before that is told. */
TEST_CASE(is_refused)
{
    static const enum store_kind kinds[] = {
        [NODE] = STORE_CREATE,   [PARENT] = STORE_CREATE, [OWN] = STORE_STAT,
        [DIRECTORY] = STORE_GET, [STAT] = STORE_STAT,     [DATA] = STORE_GET,
        [LIST] = STORE_LIST,     [MEMBER] = STORE_STAT,   [OPEN] = STORE_MULTI,
        [AWAIT] = STORE_GET};

    for (enum stage stage = NODE; stage < STAGES; stage++) {
        come_to(stage);
        ANSWER(kinds[stage], PATH, .rc = STORE_NOAUTH); /* of a transaction, its first change */
        if (stage > OWN) {
            check_pending();
            ANSWER(STORE_DELETE, pair.own, .rc = STORE_OK);
        }
        zkl_session_dispatch(pair.s);
        const char *missing = kinds[stage] == STORE_CREATE  ? "the permission create (c) is missing"
                              : kinds[stage] == STORE_MULTI ? "the permission write (w) is missing"
                                                            : "the permission read (r) is missing";
        if (!g_str_has_prefix(pair.out.text, "/d: the server refused ") ||
            !g_str_has_suffix(pair.out.text, missing))
            runner_fail(__FILE__, __LINE__, "stage %d: %s", stage, pair.out.text);
        end();
    }
}

/* Others may have counted its node, unless none can have been made. */
TEST_CASE(session_ends_meanwhile)
{
    for (enum stage stage = NODE; stage < STAGES; stage++) {
        come_to(stage);
        fake_next_session();
        if (stage == PARENT)
            check_pending();
        else
            check_ended(ZKL_ELOST);
        CHECK_INT(fake_is_asked(STORE_CREATE, PATH "/"), stage == PARENT);
        CHECK(!fake_is_asked(STORE_DELETE, PATH) && !fake_is_asked(STORE_GET, PATH));
        end();
    }
}

/* Those that it needs no more are removed on the server, too. */
TEST_CASE(drops_its_watches)
{
    for (int freed = 0; freed < 2; freed++) {
        come_to(AWAIT);
        ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_OK);
        if (freed)
            zkl_double_barrier_free(g_steal_pointer(&pair.b));
        else
            fake_fire(READY, STORE_FIRED_CHANGED);
        CHECK(fake_is_asked(STORE_UNWATCH, PATH "/" OTHER));
        CHECK_INT(fake_is_asked(STORE_UNWATCH, READY), freed);
        end();
    }
}

/* ---- leaving ---- */

static void begin_leaving(void)
{
    begin(2);
    be_inside();
    leave_pair(ZKL_FOREVER);
}

/* The last removes ready with its own node; where ready is gone, its node alone. */
TEST_CASE(leaves_as_the_last)
{
    static const enum store_rc rows[] = {STORE_OK, STORE_NONODE, STORE_NOAUTH};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_leaving();
        answer_listed("* ready");
        char *both = g_strdup_printf("delete %s -1; delete " READY " -1", pair.own);
        check_changes(both, "");
        g_free(both);
        ANSWER(STORE_MULTI, PATH, .rc = rows[i]);
        CHECK_INT(fake_is_asked(STORE_DELETE, pair.own), rows[i] != STORE_OK);
        if (rows[i] != STORE_OK) {
            check_pending();
            ANSWER(STORE_DELETE, pair.own, .rc = STORE_NONODE);
        }
        check_ended(0);
        end();
    }
}

/* Its node counts among those of the session as long as it may stand, and not until it is freed. */
TEST_CASE(owns_nothing_outside)
{
    begin(2);
    for (int i = 0; i < 2; i++) {
        be_inside();
        CHECK(pair.s->owned_bytes > 0);
        leave_pair(ZKL_FOREVER);
        answer_listed("* ready");
        CHECK(pair.s->owned_bytes > 0);
        ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
        check_ended(0);
        CHECK_INT(pair.s->owned_bytes, 0);
    }
    end();
}

/* It enters; lost: by the second of two creates. */
static void enter_by(bool lost)
{
    enter_pair(ZKL_FOREVER);
    if (lost) {
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_CREATE, pair.own, .rc = STORE_UNKNOWN);
        fake_reconnect();
    }
    be_let_in();
}

static void enter_again(bool lost)
{
    begin(2);
    hand_stand_alone(pair.s);
    enter_by(lost);
}

/* The first create may be done late: so the second node stands as long. The delete comes alone, or
 * with that of ready; in another session nothing of this one is done. */
TEST_CASE(own_node_may_be_made_late)
{
    enum { LATE_MS = 22000 }; /* 20 s, and the drift */

    for (int i = 0; i < 8; i++) {
        const bool lost = i % 2, last = i / 2 % 2, replaced = i / 4;
        const enum store_kind kind = last ? STORE_MULTI : STORE_DELETE;
        const char *where = last ? PATH : PATH "/";
        enter_again(lost);
        if (replaced) {
            fake_next_session();
            leave_pair(ZKL_FOREVER);
            check_ended(ZKL_ELOST);
            enter_by(false);
        }
        leave_pair(ZKL_FOREVER);
        answer_listed(last ? "*" : OTHER " *");
        if (!last)
            answer_stat(OTHER, 8);
        if (lost && !replaced) {
            hand_pass_proved(pair.s, LATE_MS - 1);
            CHECK(!fake_is_asked(kind, where));
            hand_pass_proved(pair.s, 1);
        }
        ANSWER(kind, where, .rc = STORE_OK);
        hand_pass_proved(pair.s, 1000);
        CHECK_INT(fake_is_asked(STORE_GET, PATH "/" OTHER), !last);
        CHECK(!fake_is_asked(STORE_LIST, PATH)); /* nothing is looked for */
        if (last)
            check_ended(0);
        end();
    }
}

/* Freed, or its time passes: its node stands as long. */
TEST_CASE(node_of_one_that_failed_may_be_made_late)
{
    for (int freed = 0; freed < 2; freed++) {
        enter_again(true);
        leave_pair(300);
        answer_listed(OTHER " *");
        answer_stat(OTHER, 8);
        hand_pass_proved(pair.s, 300 + FAKE_TIMEOUT_MS);
        check_ended(ZKL_ETIMEDOUT);
        CHECK_INT(zkl_double_barrier_enter_async(pair.b, 0, on_done, NULL), ZKL_EBUSY);
        if (freed)
            zkl_double_barrier_free(g_steal_pointer(&pair.b));
        CHECK(!fake_is_asked(STORE_DELETE, pair.own));
        hand_pass_proved(pair.s, 20000);
        ANSWER(STORE_DELETE, pair.own, .rc = STORE_OK);
        end();
    }
}

/* None is there that could be kept: the server refuses the second create, or somebody has deleted
 * the node. It is looked for, and deleted. */
TEST_CASE(node_that_is_made_late_is_looked_for)
{
    for (int refused = 0; refused < 2; refused++) {
        begin(2);
        hand_stand_alone(pair.s);
        if (refused) {
            enter_pair(ZKL_FOREVER);
            fake_event(STORE_EV_DOWN);
            ANSWER(STORE_CREATE, pair.own, .rc = STORE_UNKNOWN);
            fake_reconnect();
            ANSWER(STORE_CREATE, pair.own, .rc = STORE_NOAUTH);
            check_ended(ZKL_EACCES);
        } else {
            enter_by(true);
            leave_pair(ZKL_FOREVER);
            answer_listed("");
            check_ended(0);
        }
        char *name = strrchr(pair.own, '/') + 1;
        hand_pass_proved(pair.s, 1000);
        ANSWER(STORE_LIST, PATH, .rc = STORE_OK, .names = &name, .count = 1);
        CHECK(fake_is_asked(STORE_DELETE, pair.own));
        hand_pass_proved(pair.s, 3000);
        CHECK(fake_is_asked(STORE_LIST, PATH));
        end();
    }
}

/* Somebody has deleted the own node before it entered: it makes another, of the same name if a
 * create of that may still be done. */
TEST_CASE(former_node_may_be_made_late)
{
    for (int lost = 0; lost < 2; lost++) {
        begin(2);
        enter_pair(ZKL_FOREVER);
        if (lost) {
            fake_event(STORE_EV_DOWN);
            ANSWER(STORE_CREATE, pair.own, .rc = STORE_UNKNOWN);
            fake_reconnect();
        }
        answer_made();
        answer_looks();
        answer_listed(OTHER);
        CHECK_INT(strcmp(fake_request(STORE_CREATE, PATH "/").path, pair.own) == 0, lost);
        end();
    }
}

/* Its own node first, unless it is the lowest: that one waits for the highest. */
TEST_CASE(leaves_with_others)
{
    begin_leaving();
    answer_listed(OTHER " * ready");
    answer_stat(OTHER, 8);
    ANSWER(STORE_DELETE, pair.own, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_DELETE, pair.own));
    check_pending();
    ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_OK);
    fake_watch(PATH "/" OTHER, true);
    check_pending();
    answer_listed("");
    check_ended(0);
    be_inside();
    leave_pair(ZKL_FOREVER);
    answer_listed("* " LATER);
    answer_stat(LATER, 9);
    CHECK(!fake_is_asked(STORE_DELETE, pair.own));
    ANSWER(STORE_GET, PATH "/" LATER, .rc = STORE_NONODE);
    answer_listed("*");
    CHECK(fake_is_asked(STORE_MULTI, PATH));
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    check_ended(0);
    end();
}

/* ---- ends ---- */

/* Its node goes first; without an answer it is told one session timeout later. */
TEST_CASE(time_passes)
{
    for (int answered = 0; answered < 2; answered++) {
        begin(2);
        enter_pair(300);
        answer_made();
        answer_looks();
        hand_pass(pair.s, 300);
        check_pending();
        CHECK_INT(zkl_double_barrier_enter_async(pair.b, 0, on_done, NULL), ZKL_EBUSY);
        hand_pass(pair.s, FAKE_TIMEOUT_MS - 1);
        check_pending();
        if (answered)
            ANSWER(STORE_DELETE, pair.own, .rc = STORE_OK);
        else
            hand_pass(pair.s, 1);
        check_ended(ZKL_ETIMEDOUT);
        CHECK_INT(zkl_double_barrier_enter_async(pair.b, 0, on_done, NULL),
                  answered ? 0 : ZKL_EBUSY);
        hand_pass(pair.s, FAKE_TIMEOUT_MS);
        end();
    }
}

static void check_busy(int code, const char *what)
{
    zkl_error why;

    CHECK_INT(code, ZKL_EBUSY);
    zkl_last_error(&why);
    CHECK(strstr(why.text, what) != NULL);
    CHECK_STR(why.path, "/d");
}

/* The error says why. */
TEST_CASE(one_call_at_a_time)
{
    begin(2);
    enter_pair(ZKL_FOREVER);
    check_busy(zkl_double_barrier_enter_async(pair.b, 0, on_done, NULL), "another call");
    check_busy(zkl_double_barrier_leave_async(pair.b, 0, on_done, NULL), "another call");
    end();
    begin(2);
    be_inside();
    check_busy(zkl_double_barrier_enter(pair.b, 0), "is inside");
    end();
}

/* A member that waits or is inside needs the session, which is kept proved. A session that is not
 * proved any more is replaced before a node is made in it. */
TEST_CASE(session_is_in_use)
{
    begin(2);
    hand_stand_alone(pair.s);
    be_inside();
    hand_pass_proved(pair.s, 70 * 1000);
    CHECK(pair.s->proof_timer.at != 0);
    end();
    begin(2);
    hand_pass(pair.s, 70 * 1000);
    CHECK(!pair.s->proof_timer.at);
    CHECK_INT(zkl_double_barrier_enter_async(pair.b, ZKL_FOREVER, on_done, NULL), 0);
    CHECK_INT(pair.s->id, 0);
    CHECK(!fake_is_asked(STORE_CREATE, PATH));
    end();
}

/* At once: the node goes in the background, if anybody answers. */
TEST_CASE(is_freed)
{
    begin_made();
    zkl_double_barrier_free(pair.b);
    zkl_session_dispatch(pair.s);
    CHECK_STR(pair.out.text, "the barrier was freed");
    check_ended(ZKL_ECLOSED);
    CHECK(fake_is_asked(STORE_DELETE, pair.own));
    ANSWER(STORE_DELETE, pair.own, .rc = STORE_OK);
    hand_close(pair.s);
    g_free(pair.own);
    begin(2);
    be_inside();
    zkl_double_barrier_free(pair.b);
    CHECK(fake_is_asked(STORE_DELETE, pair.own));
    hand_close(pair.s);
    g_free(pair.own);
}

TEST_CASE(is_closed)
{
    begin_made();
    session_ref(pair.s);
    hand_close(pair.s);
    CHECK_INT(pair.out.calls, 1);
    CHECK_INT(pair.out.code, ZKL_ECLOSED);
    CHECK_INT(zkl_double_barrier_enter_async(pair.b, 0, on_done, NULL), ZKL_ECLOSED);
    zkl_double_barrier_free(pair.b);
    session_unref(pair.s);
    g_free(pair.own);
    begin(2);
    enter_pair(ZKL_FOREVER);
    fake_event(STORE_EV_AUTH);
    check_ended(ZKL_EAUTH);
    CHECK_INT(zkl_double_barrier_enter_async(pair.b, ZKL_FOREVER, on_done, NULL), 0);
    check_ended(ZKL_EAUTH);
    end();
}

/* What was not sent is asked in the next one; where a node may have been, others may have counted
 * it. */
TEST_CASE(session_ends)
{
    begin(2);
    enter_pair(ZKL_FOREVER);
    fake_next_session();
    check_ended(ZKL_ELOST);
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_double_barrier_enter_async(pair.b, ZKL_FOREVER, on_done, NULL), 0);
    fake_next_session();
    check_pending();
    CHECK_INT(fake_count(STORE_CREATE, PATH "/"), 1);
    take_own();
    ANSWER(STORE_CREATE, pair.own, .rc = STORE_NONODE);
    fake_next_session();
    check_pending();
    CHECK_INT(fake_count(STORE_CREATE, PATH "/"), 1);
    take_own();
    answer_made();
    fake_next_session();
    check_ended(ZKL_ELOST);
    be_inside();
    fake_next_session();
    CHECK(!fake_is_asked(STORE_GET, "/root") && !fake_is_asked(STORE_LIST, "/root"));
    leave_pair(ZKL_FOREVER);
    check_ended(ZKL_ELOST);
    end();
}
