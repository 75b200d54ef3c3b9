/* What a session counts of itself, and how that looks to Prometheus. */
#include <string.h>

#include "by_hand.h"
#include "lib/base/log.h"
#include "lib/session/stats.h"
#include "runner.h"

TEST_SUITE(stats);

static zkl_session *s;
static struct acquisition a;

static void start(void)
{
    s = hand_session();
}

static void stop(void)
{
    hand_close(s);
}

static zkl_stats stats(void)
{
    zkl_stats all = ZKL_STATS_INIT;

    CHECK_INT(zkl_session_stats(s, &all), 0);
    CHECK_INT(all.size, sizeof all);
    return all;
}

/* That counter has counted once, the others from first to last have not; 0: none has. */
static void check_alone_counted(size_t counter, size_t first, size_t last)
{
    const zkl_stats now = stats();

    for (size_t at = first; at <= last; at += sizeof(uint64_t))
        CHECK_INT(*(const uint64_t *)(const void *)((const char *)&now + at), at == counter);
}

static void check_loss_counted(size_t counter)
{
    check_alone_counted(counter, offsetof(zkl_stats, lost_deadline),
                        offsetof(zkl_stats, lost_refused));
}

TEST_CASE(bad_sizes)
{
    static const size_t sizes[] = {0, sizeof(zkl_stats) - 1};
    struct {
        zkl_stats all;
        char more[8];
    } larger = {.all = {.size = sizeof larger}, .more = "xxxxxxx"};
    zkl_stats all = ZKL_STATS_INIT;

    start();
    CHECK_INT(zkl_session_stats(NULL, &all), ZKL_EINVAL);
    CHECK_INT(zkl_session_stats(s, NULL), ZKL_EINVAL);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        all = (zkl_stats){.size = sizes[i]};
        CHECK_INT(zkl_session_stats(s, &all), ZKL_EINVAL);
        CHECK_INT(zkl_stats_prometheus(&all, NULL, 0, NULL, 0), ZKL_EINVAL);
    }
    CHECK_INT(zkl_session_stats(s, &larger.all), 0); /* of a later version */
    CHECK_INT(larger.all.size, sizeof(zkl_stats));
    CHECK_STR(larger.more, "xxxxxxx");
    stop();
}

/* What the text of s has of a path, called by those names; the session's waits and grants are the
 * sums. */
static char *path_lines(const zkl_label *labels, size_t count)
{
    char *text = NULL, *of = NULL;
    const int length = zkl_session_prometheus(s, labels, count, NULL, 0);

    REQUIRE(length > 0);
    text = g_malloc((gsize)length + 1);
    CHECK_INT(zkl_session_prometheus(s, labels, count, text, (size_t)length + 1), length);
    char **lines = g_strsplit(text, "\n", -1);
    GString *found = g_string_new(NULL);
    for (char **l = lines; *l; l++)
        if (g_str_has_prefix(*l, "zkl_path_"))
            g_string_append_printf(found, "%s;", *l + strlen("zkl_path_"));
    of = g_string_free(found, FALSE);
    g_strfreev(lines);
    g_free(text);
    return of;
}

static void check_times(const zkl_histogram *h, uint64_t count, int64_t ms)
{
    uint64_t sum = 0;

    for (int i = 0; i < ZKL_HISTOGRAM_BUCKETS; i++)
        sum += h->buckets[i];
    CHECK_INT(sum, count);
    CHECK_INT(h->count, count);
    CHECK_INT(h->sum_ns, ms * CLOCK_MS);
}

/* 300 ms to the grant, 700 ms to its end. */
TEST_CASE(a_lock_is_counted)
{
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    CHECK_INT(stats().waiting, 1);
    hand_pass(s, 300);
    hand_answer_entry(&a, -1);
    CHECK_INT(stats().held, 1);
    CHECK_INT(stats().waiting, 0);
    CHECK_INT(stats().callbacks_queued, 1);
    zkl_session_dispatch(s);
    CHECK_INT(stats().callbacks_queued, 0);
    hand_pass(s, 700);
    CHECK_INT(stats().deadline_left_ms, HAND_DEADLINE_MS - 1000);
    CHECK_INT(stats().session_timeout_ms, zkl_session_timeout_ms(s));
    hand_leave(&a);
    zkl_stats now = stats();
    CHECK_INT(now.acquisitions, 1);
    CHECK_INT(now.held, 0);
    CHECK_INT(now.deadline_left_ms, -1);
    check_times(&now.wait, 1, 300);
    check_times(&now.hold, 1, 700);
    CHECK_INT(now.wait.buckets[9], 1);
    CHECK(zkl_histogram_bound_ns(9) == 500 * CLOCK_MS);
    CHECK(zkl_histogram_bound_ns(8) == 100 * CLOCK_MS);
    check_loss_counted(0);
    char *text = path_lines(NULL, 0);
    CHECK(strstr(text, ";grants_lost_total{path=\"/l\"} 0;grants_held{path=\"/l\"} 0;"));
    g_free(text);
    CHECK(now.requests >= 3 && now.answers >= 2 && now.request_bytes > 0 && now.answer_bytes > 0);
    CHECK_INT(now.connections, 1);
    CHECK_INT(now.sessions, 1);
    stop();
}

/* The label of the caller's with that name is only in the metrics of the whole session. */
TEST_CASE(paths_are_counted)
{
    static const zkl_label labels[] = {{"path", "/all"}, {"job", "x"}};
    static const zkl_label bad = {"le", "x"};
    zkl_mutex *idle;

    start();
    CHECK_INT(zkl_session_prometheus(NULL, NULL, 0, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_session_prometheus(s, &bad, 1, NULL, 0), ZKL_EINVAL);
    char *text = path_lines(NULL, 0);
    CHECK_STR(text, "");
    g_free(text);
    REQUIRE(zkl_mutex_new(&idle, s, "/i\"", NULL) == 0);
    hand_enter(&a, s, ZKL_FOREVER);
    hand_pass(s, 300);
    CHECK_INT(stats().oldest_wait_ms, 300);
    text = path_lines(labels, G_N_ELEMENTS(labels));
    CHECK_STR(text, "acquisitions_total{job=\"x\",path=\"/i\\\"\"} 0;"
                    "acquisitions_total{job=\"x\",path=\"/l\"} 0;"
                    "grants_lost_total{job=\"x\",path=\"/i\\\"\"} 0;"
                    "grants_lost_total{job=\"x\",path=\"/l\"} 0;"
                    "grants_held{job=\"x\",path=\"/i\\\"\"} 0;"
                    "grants_held{job=\"x\",path=\"/l\"} 0;"
                    "acquisitions_waiting{job=\"x\",path=\"/i\\\"\"} 0;"
                    "acquisitions_waiting{job=\"x\",path=\"/l\"} 1;"
                    "oldest_wait_seconds{job=\"x\",path=\"/i\\\"\"} 0.000;"
                    "oldest_wait_seconds{job=\"x\",path=\"/l\"} 0.300;");
    g_free(text);
    hand_answer_entry(&a, -1);
    zkl_session_dispatch(s);
    REQUIRE(a.grant != NULL);
    CHECK_INT(stats().oldest_wait_ms, 0);
    text = path_lines(NULL, 0);
    CHECK(strstr(text, ";acquisitions_total{path=\"/l\"} 1;"));
    CHECK(strstr(text, ";grants_held{path=\"/l\"} 1;"));
    CHECK(strstr(text, ";acquisitions_waiting{path=\"/l\"} 0;"));
    g_free(text);
    fake_event(STORE_EV_EXPIRED);
    text = path_lines(NULL, 0);
    CHECK(strstr(text, ";grants_held{path=\"/l\"} 0;"));
    CHECK(strstr(text, ";grants_lost_total{path=\"/l\"} 1;"));
    g_free(text);
    hand_leave(&a);
    text = path_lines(NULL, 0);
    CHECK(strstr(text, ";grants_lost_total{path=\"/l\"} 1;"));
    g_free(text);
    zkl_mutex_free(idle);
    stop();
}

/* The oldest is the one that began first, whichever ends first. */
TEST_CASE(the_oldest_wait)
{
    static struct acquisition first, second;

    start();
    hand_enter(&first, s, ZKL_FOREVER);
    hand_pass(s, 1000);
    struct stats_waits waits;
    stats_waits_add(s, &waits, "/root/b");
    stats_wait_begin(s, &waits, clock_boot());
    hand_pass(s, 100);
    REQUIRE(zkl_mutex_lock_async(first.mutex, ZKL_FOREVER, hand_acquired, &second, &second.op) ==
            0);
    hand_pass(s, 10);
    CHECK_INT(stats().oldest_wait_ms, 1110);
    zkl_op_cancel(first.op);
    CHECK_INT(stats().oldest_wait_ms, 110);
    char *text = path_lines(NULL, 0);
    CHECK(strstr(text, ";oldest_wait_seconds{path=\"/l\"} 0.010;"));
    CHECK(strstr(text, ";oldest_wait_seconds{path=\"/b\"} 0.110;"));
    g_free(text);
    stats_wait_end(s, &waits, 0);
    stats_waits_remove(s, &waits);
    CHECK_INT(stats().oldest_wait_ms, 10);
    zkl_op_cancel(second.op);
    CHECK_INT(stats().oldest_wait_ms, 0);
    CHECK_INT(stats().waiting, 0);
    zkl_op_free(second.op);
    hand_leave(&first);
    stop();
}

/* Beyond the limit all are one. */
TEST_CASE(paths_beyond_the_limit)
{
    enum { COUNT = ZKL_STATS_PATHS + 3 };
    struct stats_waits all[COUNT], again;

    start();
    for (int i = 0; i < COUNT; i++) {
        char path[32];
        g_snprintf(path, sizeof path, "/root/%d", i);
        stats_waits_add(s, &all[i], path);
        CHECK(i == 0 || (all[i].at == all[i - 1].at) == (i > ZKL_STATS_PATHS));
    }
    CHECK_STR(all[COUNT - 1].at->path, "other");
    stats_waits_add(s, &again, "/root/63");
    CHECK(again.at == all[63].at);
    stats_granted(s, all[COUNT - 1].at, 0);
    char *text = path_lines(NULL, 0);
    CHECK(strstr(text, ";grants_held{path=\"/63\"} 0;grants_held{path=\"other\"} 1;acq"));
    g_free(text);
    stats_ended(s, all[COUNT - 1].at, 0, ZKL_LOSS_NONE);
    stats_waits_remove(s, &again);
    for (int i = 0; i < COUNT; i++)
        stats_waits_remove(s, &all[i]);
    stop();
}

/* A grant for each bucket: waited for the shortest time of it, held for the longest. */
TEST_CASE(a_bound_is_in_its_bucket)
{
    start();
    struct stats_waits waits;
    stats_waits_add(s, &waits, "/root/l");
    for (size_t i = 0; i < ZKL_HISTOGRAM_BUCKETS; i++) {
        stats_granted(s, waits.at, i == 0 ? 0 : zkl_histogram_bound_ns(i - 1) + 1);
        stats_ended(s, waits.at, zkl_histogram_bound_ns(i), ZKL_LOSS_NONE);
        const zkl_stats now = stats();
        CHECK_INT(now.wait.buckets[i], 1);
        CHECK_INT(now.hold.buckets[i], 1);
    }
    CHECK(zkl_histogram_bound_ns(ZKL_HISTOGRAM_BUCKETS - 1) == INT64_MAX);
    stats_waits_remove(s, &waits);
    stop();
}

/* What takes part in a loss: the session's end, time, a deletion, the user, a server. */
static void end_session(void)
{
    fake_event(STORE_EV_EXPIRED);
}

static void let_time_pass(void)
{
    hand_pass(s, HAND_DEADLINE_MS);
}

static void delete_node(void)
{
    zkl_session *session = s;

    hand_pass(session, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_NONODE);
}

static void refuse_credentials(void)
{
    fake_event(STORE_EV_AUTH);
}

static void answer_without_a_session(void)
{
    fake_event_of(STORE_EV_UP, 0, FAKE_TIMEOUT_MS);
}

TEST_CASE(losses_are_told_apart)
{
    static const struct {
        void (*lose)(void);
        size_t counter;
    } ways[] = {{end_session, offsetof(zkl_stats, lost_expired)},
                {let_time_pass, offsetof(zkl_stats, lost_deadline)},
                {delete_node, offsetof(zkl_stats, lost_deleted)},
                {refuse_credentials, offsetof(zkl_stats, lost_refused)},
                {answer_without_a_session, offsetof(zkl_stats, lost_replaced)}};

    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        start();
        hand_hold(&a, s);
        ways[i].lose();
        check_loss_counted(ways[i].counter);
        const zkl_stats now = stats();
        CHECK_INT(now.held, 0);
        CHECK_INT(now.hold.count, 1);
        hand_leave(&a);
        CHECK_INT(stats().hold.count, 1);
        stop();
    }
}

/* One who keeps the session can still ask. */
TEST_CASE(a_close_is_counted)
{
    start();
    hand_hold(&a, s);
    session_ref(s);
    hand_close(s);
    const zkl_stats now = stats();
    check_loss_counted(offsetof(zkl_stats, lost_closed));
    CHECK_INT(now.held, 0);
    CHECK_INT(now.hold.count, 1);
    hand_leave(&a);
    session_unref(s);
}

TEST_CASE(failures_are_told_apart)
{
    start();
    hand_enter(&a, s, 0);
    hand_answer_entry(&a, 1);
    CHECK_INT(stats().failed_busy, 1);
    hand_leave(&a);
    hand_enter(&a, s, 100);
    hand_pass(s, 100);
    CHECK_INT(stats().failed_timeout, 1);
    hand_leave(&a);
    hand_enter(&a, s, ZKL_FOREVER);
    zkl_op_cancel(a.op);
    CHECK_INT(stats().failed_canceled, 1);
    hand_leave(&a);
    stop();
}

TEST_CASE(failures_are_counted_by_code)
{
    static const struct {
        int code;
        size_t counter;
    } codes[] = {{ZKL_EBUSY, offsetof(zkl_stats, failed_busy)},
                 {ZKL_ETIMEDOUT, offsetof(zkl_stats, failed_timeout)},
                 {ZKL_ECANCELED, offsetof(zkl_stats, failed_canceled)},
                 {ZKL_ECLOSED, offsetof(zkl_stats, failed_closed)},
                 {ZKL_EUNREACHABLE, offsetof(zkl_stats, failed_unreachable)},
                 {ZKL_EHOST, offsetof(zkl_stats, failed_unreachable)},
                 {ZKL_EACCES, offsetof(zkl_stats, failed_denied)},
                 {ZKL_EAUTH, offsetof(zkl_stats, failed_denied)},
                 {ZKL_EINVAL, offsetof(zkl_stats, failed_other)}};

    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        start();
        stats_failed(s, codes[i].code);
        check_alone_counted(codes[i].counter, offsetof(zkl_stats, failed_busy),
                            offsetof(zkl_stats, failed_other));
        stop();
    }
}

/* Its work is done for now, which is what its caller wants. */
TEST_CASE(once_that_is_done_has_not_failed)
{
    start();
    stats_failed(s, ZKL_EEXIST);
    check_alone_counted(0, offsetof(zkl_stats, failed_busy), offsetof(zkl_stats, failed_other));
    stop();
}

/* Turns of a handle that retains: one each, without a request. */
TEST_CASE(turns_are_counted)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;

    start();
    fake_answer_at_once(fake_alone);
    o.retain_ms = 1000;
    REQUIRE(zkl_mutex_new(&m, s, "/l", &o) == 0);
    for (int i = 1; i <= 3; i++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        CHECK_INT(stats().held, 1);
        hand_pass(s, 10);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        const zkl_stats now = stats();
        CHECK_INT(now.acquisitions, i);
        CHECK_INT(now.held, 0);
        check_times(&now.hold, (uint64_t)i, 10 * i);
    }
    zkl_mutex_free(m);
    fake_answer_at_once(NULL);
    stop();
}

static void ignore_election(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                            const zkl_error *err, void *data)
{
    (void)e, (void)event, (void)grant, (void)err, (void)data;
}

/* Each campaign of it: the first is refused, the second wins 300 ms after it began. */
TEST_CASE(elections_are_counted)
{
    zkl_election *e;

    start();
    REQUIRE(zkl_election_new(&e, s, "/e", "me", NULL) == 0);
    REQUIRE(zkl_election_start(e, ignore_election, NULL) == 0);
    CHECK_INT(stats().waiting, 1);
    ANSWER(STORE_CREATE, "/root/e", .rc = STORE_NOAUTH);
    ANSWER(STORE_LIST, "/root/e", .rc = STORE_NOAUTH);
    CHECK_INT(stats().waiting, 0);
    CHECK_INT(stats().failed_denied, 1);
    hand_pass(s, 1000);
    CHECK_INT(stats().waiting, 1);
    hand_pass(s, 300);
    CHECK_INT(stats().oldest_wait_ms, 300);
    char *node = fake_created_name("/root/e", 7), *child = strrchr(node, '/') + 1;
    ANSWER(STORE_CREATE, "/root/e", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, "/root/e", .rc = STORE_OK, .names = &child, .count = 1);
    const zkl_stats now = stats();
    CHECK_INT(now.waiting, 0);
    CHECK_INT(now.oldest_wait_ms, 0);
    CHECK_INT(now.held, 1);
    CHECK_INT(now.acquisitions, 1);
    CHECK_INT(now.failed_denied, 1);
    char *text = path_lines(NULL, 0);
    CHECK(strstr(text, ";grants_held{path=\"/e\"} 1;"));
    g_free(text);
    check_times(&now.wait, 1, 300);
    g_free(node);
    zkl_election_free(e);
    stop();
}

TEST_CASE(renewals_are_timed)
{
    start();
    hand_stand_alone(s);
    const uint64_t before = stats().renewal.count;
    hand_hold(&a, s);
    CHECK_INT(stats().deadline_left_least_ms, -1);
    hand_pass_proved(s, 20000);
    const zkl_stats now = stats();
    CHECK(now.renewal.count > before + 5);
    CHECK(now.deadline_left_least_ms > 0 && now.deadline_left_least_ms < HAND_DEADLINE_MS);
    hand_leave(&a);
    stop();
}

/* Each renewal takes 10 ms. The last one comes when nothing is held any more. */
TEST_CASE(the_least_time_left_is_kept)
{
    static const struct {
        int64_t left_ms, least_ms;
    } renewals[] = {{5000, 5000}, {7000, 5000}, {3000, 3000}, {0, 0}, {4000, 0}};
    const int64_t count = G_N_ELEMENTS(renewals) + 1;

    start();
    hand_hold(&a, s);
    const zkl_histogram before = stats().renewal;
    const struct instant now = clock_now(), sent = {now.boot - 10 * CLOCK_MS, now.raw};
    for (size_t i = 0; i < G_N_ELEMENTS(renewals); i++) {
        s->proofs.deadline = instant_add(now, renewals[i].left_ms * CLOCK_MS);
        stats_renewed(s, sent, clock_now());
        CHECK_INT(stats().deadline_left_least_ms, renewals[i].least_ms);
    }
    hand_leave(&a);
    stats_renewed(s, sent, clock_now());
    const zkl_stats after = stats();
    CHECK_INT(after.deadline_left_least_ms, 0);
    CHECK_INT(after.renewal.count - before.count, count);
    CHECK_INT(after.renewal.sum_ns - before.sum_ns, count * 10 * CLOCK_MS);
    stop();
}

TEST_CASE(connections_are_counted)
{
    start();
    fake_event(STORE_EV_DOWN);
    CHECK_INT(stats().connected, 0);
    log_attempt(s->log);
    CHECK_INT(stats().attempts_failed, 1);
    hand_enter(&a, s, ZKL_FOREVER);
    CHECK_INT(stats().requests_queued, 2); /* to create the node, and to list */
    hand_leave(&a);
    fake_event(STORE_EV_UP);
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, 8, FAKE_TIMEOUT_MS);
    const zkl_stats now = stats();
    CHECK_INT(now.connections, 3);
    CHECK_INT(now.disconnections, 1);
    CHECK_INT(now.sessions, 2);
    CHECK_INT(now.connected, 1);
    stop();
}

/* ---- the text ---- */

TEST_CASE(bad_labels)
{
    static const zkl_label bad[] = {{"", "x"},   {"1a", "x"}, {"a-b", "x"}, {"__a", "x"},
                                    {NULL, "x"}, {"a", NULL}, {"le", "x"},  {"reason", "x"},
                                    {"ä", "x"},  {"a b", "x"}};
    static const zkl_label twice[] = {{"b", "1"}, {"a", "2"}, {"b", "3"}, {"b", "4"}};
    const zkl_stats none = ZKL_STATS_INIT;
    char buf[1];

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        CHECK_INT(zkl_stats_prometheus(&none, &bad[i], 1, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_stats_prometheus(&none, twice, 3, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_stats_prometheus(&none, &twice[1], 3, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_stats_prometheus(&none, &twice[2], 2, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_stats_prometheus(&none, NULL, 1, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_stats_prometheus(&none, NULL, 0, NULL, 1), ZKL_EINVAL);
    CHECK_INT(zkl_stats_prometheus(NULL, NULL, 0, buf, 1), ZKL_EINVAL);
}

static char *rendered(const zkl_stats *all, const zkl_label *labels, size_t count)
{
    const int length = zkl_stats_prometheus(all, labels, count, NULL, 0);

    REQUIRE(length > 0);
    char *text = g_malloc((gsize)length + 1), cut[10];
    CHECK_INT(zkl_stats_prometheus(all, labels, count, text, (size_t)length + 1), length);
    CHECK_INT(strlen(text), length);
    CHECK_INT(zkl_stats_prometheus(all, labels, count, cut, sizeof cut), length);
    CHECK_STR(cut, "# HELP zk");
    CHECK_INT(zkl_stats_prometheus(all, labels, count, cut, 1), length);
    CHECK_STR(cut, "");
    return text;
}

TEST_CASE(text_is_prometheus)
{
    static const char *const lines[] = {
        "# HELP zkl_acquisitions_total Acquisitions that ended with a grant.\n"
        "# TYPE zkl_acquisitions_total counter\n"
        "zkl_acquisitions_total{p=\"/a\\\\b\\\"c\\nd\xef\xbf\xbd\",_1=\"\"} 5\n",
        "# TYPE zkl_wait_seconds histogram\n"
        "zkl_wait_seconds_bucket{p=\"/a\\\\b\\\"c\\nd\xef\xbf\xbd\",_1=\"\",le=\"1e-06\"} 2\n",
        ",le=\"3600\"} 2\n",
        ",le=\"+Inf\"} 3\n"
        "zkl_wait_seconds_sum{p=\"/a\\\\b\\\"c\\nd\xef\xbf\xbd\",_1=\"\"} 7200.000000001\n"
        "zkl_wait_seconds_count{p=\"/a\\\\b\\\"c\\nd\xef\xbf\xbd\",_1=\"\"} 3\n"
        "# HELP zkl_hold_seconds ",
        "zkl_grants_lost_total{p=\"/a\\\\b\\\"c\\nd\xef\xbf\xbd\",_1=\"\",reason=\"deadline\"} 7\n"
        "zkl_grants_lost_total{p=",
        "_1=\"\"} 7200.050\n",
    };
    const zkl_label labels[] = {{"p", "/a\\b\"c\nd\xff"}, {"_1", ""}};
    zkl_stats all = ZKL_STATS_INIT;

    all.acquisitions = 5;
    all.lost_deadline = 7;
    all.wait = (zkl_histogram){3, UINT64_C(7200000000001), {2, [ZKL_HISTOGRAM_BUCKETS - 1] = 1}};
    all.deadline_left_ms = 7200050;
    all.deadline_left_least_ms = -1;
    char *text = rendered(&all, labels, G_N_ELEMENTS(labels));
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
        CHECK(strstr(text, lines[i]));
    CHECK(!strstr(text, "zkl_deadline_left_least_seconds"));
    g_free(text);
    all.deadline_left_least_ms = 0;
    text = rendered(&all, NULL, 0);
    CHECK(strstr(text, "\nzkl_acquisitions_total 5\n"));
    CHECK(strstr(text, "\nzkl_wait_seconds_bucket{le=\"+Inf\"} 3\n"));
    CHECK(strstr(text, "\nzkl_deadline_left_least_seconds 0.000\n"));
    g_free(text);
}
