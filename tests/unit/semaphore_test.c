/* The driver of a semaphore: what is asked of the server on the way to permits, and to their
 * numbers. */
#include "by_hand.h"
#include "parts.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(semaphore);

#define OTHER "_c_other-s1-lease-0000000003"

static struct {
    zkl_session *s;
    zkl_semaphore *m;
    zkl_op *op;
    zkl_grant *grant;
    int code;
    char *node;
} st;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)data;
    st.code = error ? error->code : 0;
    st.grant = grant;
}

static void answer_list(bool other)
{
    char *names[] = {strrchr(st.node, '/') + 1, (char *)(uintptr_t)OTHER};

    ANSWER(STORE_LIST, "/root/s", .rc = STORE_OK, .names = names, .count = 1 + other, .mzxid = 2);
}

static void answer_data(const char *node, const char *data, int version)
{
    ANSWER(STORE_GET, node, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .version = version, .mzxid = 2);
}

static void begin(void)
{
    st.s = hand_session();
    hand_stand_alone(st.s);
}

static void acquire(const zkl_semaphore_options *o, int permits, int64_t timeout_ms)
{
    st.grant = NULL;
    st.code = 1;
    REQUIRE(zkl_semaphore_new(&st.m, st.s, "/s", o) == 0);
    REQUIRE(zkl_semaphore_acquire_async(st.m, permits, timeout_ms, on_acquired, NULL, &st.op) == 0);
    st.node = fake_created_name("/root/s", 7);
    REQUIRE(st.node != NULL);
}

/* Its list shows another's permit. */
static void enter(const char *limit)
{
    ANSWER(STORE_CREATE, "/root/s", .rc = STORE_OK, .path = st.node, .czxid = 100,
           .ephemeral_owner = st.s->id);
    answer_data("/root/s", limit, 1);
    answer_list(true);
}

/* Admitted: the list of whom to read is asked for. */
static void admit_numbered(int64_t timeout_ms)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.numbered = 1;
    begin();
    acquire(&o, 1, timeout_ms);
    enter("3");
}

static void end(void)
{
    zkl_grant_release(st.grant);
    zkl_op_free(st.op);
    zkl_semaphore_free(st.m);
    g_free(st.node);
    hand_close(st.s);
}

static void check_written(const char *numbers)
{
    const struct store_request set = fake_request(STORE_SET, st.node);

    REQUIRE(set.path != NULL);
    CHECK(g_str_has_suffix(set.data, numbers));
}

/* The set was done, its answer lost, and its data written over: who came behind has read the
 * numbers, so that they stay, though a lower one is free by now. */
TEST_CASE(numbers_that_may_be_known_stay)
{
    zkl_part part = {0};

    admit_numbered(ZKL_FOREVER);
    answer_list(true);
    answer_data(st.node, "who", 0);
    answer_data("/root/s/" OTHER, "who\nzkl numbers 0", 1);
    check_written("\nzkl numbers 1 of 2");
    ANSWER(STORE_SET, st.node, .rc = STORE_UNKNOWN);
    hand_pass(st.s, 1000);
    ANSWER(STORE_GET, st.node, .rc = STORE_OK, .ephemeral_owner = st.s->id); /* for its watch */
    ANSWER(STORE_SET, st.node, .rc = STORE_BADVERSION);
    answer_list(false);
    answer_data(st.node, "__REVOKE__", 2);
    check_written("\nzkl numbers 1 of 2");
    ANSWER(STORE_SET, st.node, .rc = STORE_OK);
    zkl_session_dispatch(st.s);
    REQUIRE(st.grant != NULL);
    CHECK_INT(parts_of(st.grant, &part, 1), 1);
    CHECK_INT(part.slot, 1);
    end();
}

static void on_cancel(void)
{
    zkl_op_cancel(st.op);
}

static void on_free(void)
{
    zkl_semaphore_free(st.m);
    st.m = NULL;
}

static void on_refusal(void)
{
    ANSWER(STORE_LIST, "/root/s", .rc = STORE_NOAUTH);
}

static void on_odd_answer(void)
{
    ANSWER(STORE_LIST, "/root/s", .rc = STORE_BAD);
}

/* Whatever ends it on the way to its numbers, the node goes. */
TEST_CASE(given_up_before_its_numbers)
{
    static const struct {
        void (*give_up)(void);
        int code;
    } rows[] = {{on_cancel, ZKL_ECANCELED},
                {on_free, ZKL_ECLOSED},
                {on_refusal, ZKL_EACCES},
                {on_odd_answer, ZKL_EPROTO}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        admit_numbered(ZKL_FOREVER);
        CHECK(fake_is_asked(STORE_LIST, "/root/s"));
        rows[i].give_up();
        zkl_session_dispatch(st.s);
        CHECK_INT(st.code, rows[i].code);
        CHECK(st.grant == NULL && fake_is_asked(STORE_DELETE, st.node));
        end();
    }
}

/* Where the numbers are used up the directory is made anew: with the limit that it had last. */
TEST_CASE(directory_made_anew)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.limit = 3;
    begin();
    acquire(&o, 1, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/s", .rc = STORE_OK, .czxid = 100, .ephemeral_owner = st.s->id,
           .path = "/root/s/_c_x-lease-2147483647");
    answer_data("/root/s", "3", 0);
    answer_data("/root/s", "5", 1);
    ANSWER(STORE_DELETE, "/root/s/", .rc = STORE_OK);
    ANSWER(STORE_DELETE, "/root/s", .rc = STORE_OK);
    ANSWER(STORE_CREATE, "/root/s/", .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    CHECK_STR(fake_request(STORE_CREATE, "/root/s").data, "5");
    end();
}

static void on_queue(void *data)
{
    (void)data;
}

/* The first in line watches limit and children. Where there is no room for the first watch it
 * fails, and leaves no other behind. */
TEST_CASE(too_much_is_watched)
{
    zkl_watch *watch;

    begin();
    REQUIRE(zkl_queue_watch(&watch, st.s, "/s", on_queue, NULL) == 0);
    ANSWER(STORE_SYNC, "/root/s", .rc = STORE_OK);
    ANSWER(STORE_LIST, "/root/s", .rc = STORE_OK);
    acquire(NULL, 2, ZKL_FOREVER);
    st.s->watched_bytes = 512 * 1024;
    enter("2");
    zkl_session_dispatch(st.s);
    CHECK_INT(st.code, ZKL_ELIMIT);
    st.s->watched_bytes = 0;
    ANSWER(STORE_LIST, "/root/s", .rc = STORE_OK);
    CHECK_INT(g_hash_table_size(st.s->watches), 1); /* of the queue */
    zkl_watch_free(watch);
    end();
}
