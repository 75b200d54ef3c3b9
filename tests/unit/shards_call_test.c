/* zkl_shards_start() over a store that answers as one server would: two shards, the member "a" that
 * is tried, and perhaps another one, "b". */
#include "by_hand.h"
#include "lib/session/participant.h"
#include "recipes/shard.h"
#include "recipes/shards.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

TEST_SUITE(shards_call);

enum { SHARDS = 2, TOKEN = 5 };

#define RIVAL "_c_00000000-0000-8000-8000-000000000000-lock-0000000099"

static struct story {
    zkl_session *s;
    zkl_shards *shards;
    GString *told;
    zkl_grant *grants[SHARDS]; /* not released */
    bool releases;             /* each grant, as soon as it is asked for */
    bool frees;                /* inside the first event */
    /* the server's: */
    bool b_is_there, taken, refuses;
    bool has_member; /* the node of "a" */
    int64_t pzxid;
    struct {
        char own[160]; /* the node of ours; "": none */
        bool rival;
        int created;
    } locks[SHARDS];
} st;

/* ---- the server ---- */

static void answer_member(const struct store_request *request, struct store_reply *reply)
{
    static char *names[] = {"a", "b"};

    if (request->kind == STORE_LIST) {
        reply->names = names;
        reply->count = st.b_is_there ? 2 : 1;
        reply->pzxid = (uint64_t)st.pzxid;
    } else if (request->kind == STORE_CREATE && st.taken) {
        reply->rc = STORE_EXISTS;
    } else {
        if (request->kind == STORE_CREATE || request->kind == STORE_DELETE)
            st.has_member = request->kind == STORE_CREATE;
        reply->data = "zkl-shards 2 1";
        reply->length = (int)strlen(reply->data);
        reply->ephemeral_owner = st.taken ? 9 : st.s->id;
        reply->czxid = g_str_has_suffix(request->path, "/b") ? TOKEN + 1 : TOKEN;
    }
}

static void answer_lock(int k, const struct store_request *request, struct store_reply *reply)
{
    static char *names[2];
    int count = 0;

    if (request->kind == STORE_CREATE && request->mode == STORE_EPHEMERAL_SEQUENTIAL) {
        reply->rc = st.refuses ? STORE_NOAUTH : STORE_OK;
        if (st.refuses)
            return;
        st.locks[k].created++;
        g_snprintf(st.locks[k].own, sizeof st.locks[k].own, "%s%010d", request->path,
                   st.locks[k].created);
        reply->path = st.locks[k].own;
        reply->czxid = (uint64_t)(100 + st.locks[k].created);
    } else if (request->kind == STORE_LIST) {
        if (st.locks[k].own[0])
            names[count++] = strrchr(st.locks[k].own, '/') + 1;
        if (st.locks[k].rival)
            names[count++] = RIVAL;
        reply->names = names;
        reply->count = count;
    } else if (request->kind == STORE_DELETE) {
        st.locks[k].own[0] = '\0';
    }
}

static bool answer(const struct store_request *request, struct store_reply *reply)
{
    int k;

    *reply = (struct store_reply){
        .rc = STORE_OK, .path = request->path, .czxid = TOKEN, .ephemeral_owner = st.s->id};
    if (g_str_has_prefix(request->path, "/root/w/members"))
        answer_member(request, reply);
    else if (sscanf(request->path, "/root/w/shards/%d", &k) == 1)
        answer_lock(k, request, reply);
    return g_str_has_prefix(request->path, "/root/w");
}

/* "b" joins, or leaves. */
static void have_b(bool is_there)
{
    st.b_is_there = is_there;
    st.pzxid++;
    fake_fire("/root/w/members", STORE_FIRED_CHILDREN);
}

static void have_rival(int k, bool is_there)
{
    char *path = g_strdup_printf("/root/w/shards/%d", k);

    st.locks[k].rival = is_there;
    fake_fire(path, STORE_FIRED_CHILDREN);
    g_free(path);
}

/* Which of the two "b" is to have. */
static int shard_of_b(void)
{
    struct shards_host hosts[] = {{.id = "a", .weight = 1, .count = SHARDS},
                                  {.id = "b", .weight = 1, .count = SHARDS}};
    struct shards_shard plan[SHARDS];

    shards_plan(hosts, 2, plan);
    CHECK(plan[0].owner != plan[1].owner);
    return plan[0].owner == 1 ? 0 : 1;
}

/* ---- the program ---- */

static void give_up(size_t k)
{
    zkl_grant_release(g_steal_pointer(&st.grants[k]));
}

static void on_event(zkl_shards *all, zkl_shards_event event, const zkl_shards_news *news,
                     void *data)
{
    static const char *const words[] = {"", "granted", "asked", "lost", "failed", "stopped"};

    CHECK(data == &st);
    CHECK((event == ZKL_SHARDS_GRANTED) == (news->grant != NULL));
    if (st.told->len > 0)
        g_string_append(st.told, "; ");
    g_string_append(st.told, words[event]);
    if (event <= ZKL_SHARDS_LOST)
        g_string_append_printf(st.told, " %d", (int)news->shard);
    else
        CHECK_INT(news->shard, 0);
    if (news->err)
        g_string_append_printf(st.told, " %d", news->err->code);
    if (event == ZKL_SHARDS_GRANTED)
        st.grants[news->shard] = news->grant;
    if (event == ZKL_SHARDS_ASKED && st.releases)
        give_up(news->shard);
    if (st.frees) {
        st.frees = false;
        st.shards = NULL;
        zkl_shards_free(all);
    }
}

static void start(void)
{
    REQUIRE(zkl_shards_start(&st.shards, st.s, "/w", SHARDS, "a", on_event, &st, NULL) == 0);
}

static void begin_with_session(void)
{
    st = (struct story){.told = g_string_new(NULL), .pzxid = 10};
    st.s = hand_session();
    hand_stand_alone(st.s);
    fake_answer_at_once(answer);
}

static void begin(void)
{
    begin_with_session();
    start();
}

static void pass(int64_t ms)
{
    zkl_session_dispatch(st.s);
    hand_pass_proved(st.s, ms);
    zkl_session_dispatch(st.s);
}

/* What the program was told since the last time. */
static void check_told(const char *words, const char *file, int line)
{
    pass(0);
    runner_check_str(st.told->str, words, "what was told", file, line);
    g_string_truncate(st.told, 0);
}
#define TOLD(words) check_told(words, __FILE__, __LINE__)

static void begin_with_all(void)
{
    begin();
    pass(SHARD_SETTLE_MS + 100);
    TOLD("granted 0; granted 1");
}

static void end(void)
{
    zkl_shards_free(st.shards);
    for (size_t k = 0; k < SHARDS; k++)
        give_up(k);
    fake_answer_at_once(NULL);
    hand_close(st.s);
    g_string_free(st.told, TRUE);
}

/* ---- having shards ---- */

TEST_CASE(granted_when_the_view_has_settled)
{
    begin();
    pass(SHARD_SETTLE_MS - 50);
    TOLD("");
    pass(100);
    TOLD("granted 0; granted 1");
    for (int k = 0; k < SHARDS; k++) {
        CHECK_INT(zkl_grant_state(st.grants[k]), ZKL_HELD);
        CHECK_INT(zkl_grant_token(st.grants[k]), 101);
        CHECK(g_str_has_prefix(zkl_grant_node(st.grants[k]), k ? "/w/shards/1/" : "/w/shards/0/"));
    }
    end();
}

TEST_CASE(only_its_own)
{
    begin_with_session();
    st.b_is_there = true;
    start();
    pass(10000);
    TOLD(shard_of_b() == 0 ? "granted 1" : "granted 0");
    end();
}

/* Others must not think for long that it is there when it is not. */
TEST_CASE(kept_proved_without_a_shard)
{
    begin();
    CHECK(!participants_need_deadline(st.s));
    pass(100);
    CHECK(participants_need_deadline(st.s));
    TOLD("");
    end();
}

/* The view has another node of that id, of a session before. */
TEST_CASE(not_while_the_view_is_of_before)
{
    begin_with_session();
    st.taken = true;
    start();
    TOLD("failed -4");
    pass(10000);
    TOLD("");
    end();
}

/* ---- moving ---- */

TEST_CASE(moves_when_another_waits)
{
    const int k = shard_of_b();
    const char *asked = k == 0 ? "asked 0" : "asked 1";

    begin_with_all();
    have_b(true);
    pass(5000);
    TOLD(""); /* nobody waits for it */
    have_rival(k, true);
    TOLD(asked);
    pass(60000);
    TOLD(""); /* as long as the program likes; and told once */
    CHECK(st.locks[k].own[0] != '\0');
    give_up((size_t)k);
    pass(0);
    CHECK_STR(st.locks[k].own, "");
    pass(60000);
    TOLD(""); /* it is another's */
    have_rival(k, false);
    have_b(false);
    pass(SHARD_SETTLE_MS + 1000);
    TOLD(k == 0 ? "granted 0" : "granted 1");
    end();
}

TEST_CASE(stays_where_it_belongs)
{
    begin_with_all();
    have_rival(0, true);
    pass(60000);
    TOLD("");
    end();
}

/* It has come, and has gone when the shard is another's. */
TEST_CASE(not_given_up_for_nobody)
{
    const int k = shard_of_b();

    begin_with_all();
    have_rival(k, true);
    pass(100);
    st.locks[k].rival = false; /* which nobody hears */
    have_b(true);
    pass(5000);
    TOLD("");
    have_rival(k, true);
    pass(SHARD_LOOK_MS);
    TOLD(k == 0 ? "asked 0" : "asked 1");
    end();
}

/* It asks for a shard that turns out to be another's. */
TEST_CASE(no_longer_sought)
{
    const int k = shard_of_b();

    begin_with_session();
    st.locks[k].rival = true; /* which was first */
    st.locks[k].created = 1000;
    start();
    pass(SHARD_SETTLE_MS + 100);
    TOLD(k == 0 ? "granted 1" : "granted 0");
    CHECK(st.locks[k].own[0] != '\0');
    have_b(true);
    pass(1000);
    CHECK_STR(st.locks[k].own, "");
    TOLD("");
    end();
}

/* Whether somebody waits is not known of a lock that was waited for. */
TEST_CASE(asked_after_a_wait)
{
    const int k = shard_of_b();
    char *rival = g_strdup_printf("/root/w/shards/%d/" RIVAL, k);

    begin_with_session();
    st.locks[k].rival = true;
    st.locks[k].created = 1000;
    start();
    pass(SHARD_SETTLE_MS + 100);
    TOLD(k == 0 ? "granted 1" : "granted 0");
    st.locks[k].rival = false;
    fake_fire(rival, STORE_FIRED_GONE);
    TOLD(k == 0 ? "granted 0" : "granted 1");
    have_b(true);
    have_rival(k, true);
    pass(1000);
    TOLD(k == 0 ? "asked 0" : "asked 1");
    g_free(rival);
    end();
}

TEST_CASE(asked_by_name)
{
    begin_with_all();
    hand_pass_proved(st.s, 100); /* its own node is watched */
    fake_answer_at_once(NULL);
    fake_fire(st.locks[0].own, STORE_FIRED_CHANGED);
    ANSWER(STORE_GET, st.locks[0].own, .rc = STORE_OK, .version = 1,
           .ephemeral_owner = FAKE_SESSION_ID, .data = "__REVOKE__", .length = 10);
    fake_answer_at_once(answer);
    TOLD("asked 0");
    give_up(0);
    pass(100);
    TOLD("granted 0"); /* behind who has asked */
    end();
}

/* ---- giving up ---- */

TEST_CASE(given_up_unasked)
{
    begin_with_all();
    give_up(0);
    pass(900);
    TOLD("");
    pass(200);
    TOLD("granted 0");
    give_up(0);
    pass(1900);
    TOLD("");
    pass(200);
    TOLD("granted 0");
    end();
}

/* The program has given it up before it heard that it is to. */
TEST_CASE(given_up_before_it_was_asked)
{
    const int k = shard_of_b();

    begin_with_all();
    have_b(true);
    pass(1000);
    have_rival(k, true);
    give_up((size_t)k);
    TOLD("");
    CHECK_STR(st.locks[k].own, "");
    end();
}

/* ---- losing ---- */

TEST_CASE(one_is_lost)
{
    begin_with_all();
    hand_pass_proved(st.s, 100);
    fake_fire(st.locks[1].own, STORE_FIRED_GONE);
    st.locks[1].own[0] = '\0';
    TOLD("lost 1");
    CHECK_INT(zkl_grant_loss(st.grants[1]), ZKL_LOSS_DELETED);
    pass(60000);
    TOLD(""); /* the program may still work on it */
    CHECK_INT(zkl_grant_state(st.grants[0]), ZKL_HELD);
    give_up(1);
    pass(0);
    TOLD("granted 1"); /* at once: it was not the program's fault */
    CHECK_INT(zkl_grant_token(st.grants[1]), 102);
    end();
}

/* Nobody is asked to give up what is lost, and the last event comes after its release. */
TEST_CASE(one_is_lost_and_all_freed)
{
    begin_with_all();
    hand_pass_proved(st.s, 100);
    fake_fire(st.locks[1].own, STORE_FIRED_GONE);
    TOLD("lost 1");
    zkl_shards_free(g_steal_pointer(&st.shards));
    TOLD("asked 0");
    give_up(0);
    TOLD("");
    give_up(1);
    TOLD("stopped");
    end();
}

/* The session is over: all is lost, and comes again in the next one. */
TEST_CASE(all_are_lost)
{
    begin_with_all();
    fake_next_session();
    TOLD("lost 0; lost 1");
    for (size_t k = 0; k < SHARDS; k++)
        give_up(k);
    hand_stand_alone(st.s);
    pass(SHARD_SETTLE_MS + 1000);
    TOLD("granted 0; granted 1");
    end();
}

/* The program sees by the clock that it has lost, and is told nothing. */
TEST_CASE(lost_and_released)
{
    begin_with_all();
    hand_jump(20000, 20000);
    CHECK_INT(zkl_grant_state(st.grants[0]), ZKL_LOST);
    give_up(0);
    TOLD("lost 1");
    give_up(1);
    end();
}

/* ---- trouble ---- */

TEST_CASE(refused)
{
    begin_with_session();
    st.refuses = true;
    start();
    pass(SHARD_SETTLE_MS + 100);
    TOLD("failed -13; failed -13"); /* one for each */
    pass(5000);
    TOLD(""); /* told once */
    st.refuses = false;
    pass(30000);
    TOLD("granted 0; granted 1");
    end();
}

TEST_CASE(options)
{
    char *long_data = g_strnfill(65001, 'x');
    const struct {
        size_t count;
        const char *id;
        zkl_shards_options options;
    } rows[] = {
        {0, "a", ZKL_SHARDS_OPTIONS_INIT},
        {65537, "a", ZKL_SHARDS_OPTIONS_INIT},
        {2, NULL, ZKL_SHARDS_OPTIONS_INIT},
        {2, "", ZKL_SHARDS_OPTIONS_INIT},
        {2, "a/b", ZKL_SHARDS_OPTIONS_INIT},
        {2, "a", {.size = sizeof(zkl_shards_options) - 1}},
        {2, "a", {.size = sizeof(zkl_shards_options), .weight = -1}},
        {2, "a", {.size = sizeof(zkl_shards_options), .weight = 1001}},
        {2, "a", {.size = sizeof(zkl_shards_options), .parents = (zkl_parents)2}},
        {2, "a", {.size = sizeof(zkl_shards_options), .data = "\xff"}},
        {2, "a", {.size = sizeof(zkl_shards_options), .data = long_data}},
    };

    begin_with_session();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (!CHECK_INT(zkl_shards_start(&st.shards, st.s, "/w", rows[i].count, rows[i].id, on_event,
                                        &st, &rows[i].options),
                       ZKL_EINVAL))
            runner_fail(__FILE__, __LINE__, "row %d", (int)i);
    CHECK_INT(zkl_shards_start(&st.shards, st.s, "/w", 2, "a", NULL, &st, NULL), ZKL_EINVAL);
    start();
    zkl_shards *second;
    CHECK_INT(zkl_shards_start(&second, st.s, "/w", 2, "a", on_event, &st, NULL), ZKL_EBUSY);
    TOLD("");
    g_free(long_data);
    end();
}

TEST_CASE(says_what_it_takes)
{
    zkl_shards_options options = ZKL_SHARDS_OPTIONS_INIT;

    begin_with_session();
    fake_answer_at_once(NULL);
    options.data = "10.0.0.1:80";
    options.weight = 3;
    REQUIRE(zkl_shards_start(&st.shards, st.s, "/w", SHARDS, "a", on_event, &st, &options) == 0);
    CHECK_STR(fake_request(STORE_CREATE, "/root/w/members/a").data, "10.0.0.1:80\nzkl-shards 2 3");
    end();
}

/* In a callback of another session the view may be under way. So the handle lasts until the
 * callback thread comes by; and so does the watch, which is the other reference. */
static void fail_to_start(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    zkl_shards *all;
    const gint refs = g_atomic_int_get(&s->refs);

    (void)id, (void)data;
    if (event != ZKL_SESSION_CONNECTED)
        return;
    CHECK_INT(zkl_shards_start(&all, s, "/w", 2, "a/b", on_event, &st, NULL), ZKL_EINVAL);
    CHECK_INT(g_atomic_int_get(&s->refs), refs + 2);
}

TEST_CASE(fails_in_a_callback)
{
    begin_with_session();
    const gint refs = g_atomic_int_get(&st.s->refs);
    CHECK_INT(zkl_session_on_change(st.s, fail_to_start, NULL), 0);
    zkl_session_dispatch(st.s);
    zkl_session_dispatch(st.s); /* what was queued meanwhile */
    CHECK_INT(g_atomic_int_get(&st.s->refs), refs);
    TOLD("");
    end();
}

/* ---- the end ---- */

TEST_CASE(freed_with_shards)
{
    begin_with_all();
    CHECK(st.has_member);
    zkl_shards_free(g_steal_pointer(&st.shards));
    TOLD("asked 0; asked 1");
    CHECK(!st.has_member); /* so that others ask */
    give_up(0);
    pass(60000);
    TOLD("");
    give_up(1);
    TOLD("stopped");
    CHECK_STR(st.locks[0].own, "");
    CHECK_STR(st.locks[1].own, "");
    end();
}

TEST_CASE(freed_without_shards)
{
    begin();
    zkl_shards_free(g_steal_pointer(&st.shards));
    TOLD("stopped");
    end();
    begin_with_session();
    st.refuses = true;
    start();
    pass(SHARD_SETTLE_MS + 100);
    zkl_shards_free(g_steal_pointer(&st.shards)); /* while it pauses */
    TOLD("failed -13; failed -13; stopped");
    pass(60000);
    TOLD("");
    end();
}

TEST_CASE(freed_while_it_seeks)
{
    begin();
    pass(SHARD_SETTLE_MS - 100);
    fake_answer_at_once(NULL);
    pass(200);
    CHECK(fake_is_asked(STORE_CREATE, "/root/w/shards/0"));
    zkl_shards_free(g_steal_pointer(&st.shards));
    TOLD("stopped");
    fake_answer_all(answer);
    pass(1000);
    CHECK_INT(st.locks[0].created, 1);
    TOLD("");
    CHECK_STR(st.locks[0].own, "");
    end();
}

TEST_CASE(freed_in_a_callback)
{
    begin();
    st.frees = st.releases = true;
    pass(SHARD_SETTLE_MS + 100);
    TOLD("granted 0; granted 1; asked 0; asked 1; stopped");
    end();
}

/* Each of them comes before the last event, and the grants are good until they are released. */
TEST_CASE(closed_with_shards)
{
    begin_with_all();
    fake_answer_at_once(NULL);
    hand_close(st.s);
    CHECK_STR(st.told->str, "lost 0; lost 1; stopped -8");
    CHECK_INT(zkl_grant_loss(st.grants[0]), ZKL_LOSS_CLOSED);
    give_up(0);
    zkl_shards_free(st.shards);
    give_up(1);
    g_string_free(st.told, TRUE);
}

/* Its attempts fail, too, which has no event of its own. */
TEST_CASE(closed_while_it_seeks)
{
    begin_with_session();
    st.locks[0].rival = st.locks[1].rival = true;
    st.locks[0].created = st.locks[1].created = 1000;
    start();
    pass(SHARD_SETTLE_MS + 100);
    TOLD("");
    fake_answer_at_once(NULL);
    hand_close(st.s);
    CHECK_STR(st.told->str, "stopped -8");
    zkl_shards_free(st.shards);
    g_string_free(st.told, TRUE);
}

TEST_CASE(refused_credentials)
{
    begin_with_all();
    fake_event(STORE_EV_AUTH);
    TOLD("lost 0; lost 1; stopped -14");
    end();
    begin_with_session();
    fake_event(STORE_EV_AUTH);
    start();
    TOLD("stopped -14");
    end();
}
