#include "by_hand.h"

#include <string.h>

enum { OWN_NUMBER = 7, RUNS_MAX = 100000 };

/* Far apart, as after days of suspension: no code may take one for the other. */
static const struct instant beginning = {5000000 * CLOCK_MS, 1000000 * CLOCK_MS};

static struct instant now;
static pthread_mutex_t now_lock = PTHREAD_MUTEX_INITIALIZER; /* a thread may end meanwhile */
static struct instant (*real_clock)(void);

static struct instant read_now(void)
{
    pthread_mutex_lock(&now_lock);
    const struct instant read = now;
    pthread_mutex_unlock(&now_lock);
    return read;
}

static void set_now(struct instant at)
{
    pthread_mutex_lock(&now_lock);
    now = at;
    pthread_mutex_unlock(&now_lock);
}

/* The next test's clock goes, even if this one was ended half-way. */
void hand_end(void)
{
    clock_now = real_clock;
    timers_by_hand = false;
}

void hand_begin(void)
{
    set_now(beginning);
    real_clock = clock_now;
    clock_now = read_now;
    timers_by_hand = true;
    runner_at_end(hand_end);
}

zkl_session *hand_session_with(const zkl_session_options *options)
{
    zkl_session_options o = options ? *options : (zkl_session_options)ZKL_SESSION_OPTIONS_INIT;

    o.dispatch = 1;
    hand_begin();
    zkl_session *s = fake_open_session("fake:1/root", &o);
    timers_by_hand = false;
    return s;
}

static zkl_session *open_up(const zkl_session_options *options)
{
    zkl_session *s = hand_session_with(options);

    s->entered = true; /* somebody has, just now */
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    return s;
}

zkl_session *hand_session(void)
{
    return open_up(NULL);
}

static void count_warning(const zkl_log_record *record, void *data)
{
    *(int *)data += record->level == ZKL_LOG_WARN;
}

zkl_session *hand_session_counting(int *warnings)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.log = count_warning;
    o.log_data = warnings;
    return open_up(&o);
}

char hand_logged[1024];

static void keep_line(const zkl_log_record *record, void *unused)
{
    (void)unused;
    g_strlcat(hand_logged, record->text, sizeof hand_logged);
    g_strlcat(hand_logged, "; ", sizeof hand_logged);
}

zkl_session *hand_session_logging(zkl_log_level level)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    hand_logged[0] = '\0';
    o.log = keep_line;
    o.log_level = level;
    return open_up(&o);
}

void hand_close(zkl_session *s)
{
    zkl_session_close(s);
    hand_end();
}

void hand_jump(int64_t boot_ms, int64_t raw_ms)
{
    set_now((struct instant){now.boot + boot_ms * CLOCK_MS, now.raw + raw_ms * CLOCK_MS});
}

void hand_pass(zkl_session *s, int64_t ms)
{
    struct instant end = instant_add(now, ms * CLOCK_MS);

    session_lock(s);
    for (int runs = 0; timers_next(s->timers) <= end.boot; runs++) {
        int64_t due = timers_next(s->timers);
        if (due > now.boot)
            set_now(instant_add(now, due - now.boot));
        timers_run(s->timers);
        if (runs == RUNS_MAX) {
            runner_fail(__FILE__, __LINE__, "timers come due without end");
            break;
        }
    }
    set_now(end);
    session_unlock(s);
}

void hand_stand_alone(zkl_session *s)
{
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK);
    CHECK(s->proofs.alone);
    hand_pass_proved(s, 0);
}

void hand_pass_proved(zkl_session *s, int64_t ms)
{
    enum { STEP_MS = 500 };

    for (; ms > STEP_MS; ms -= STEP_MS) {
        hand_pass(s, STEP_MS);
        fake_answer(STORE_SET, "/zookeeper/zkl-none", (struct store_reply){.rc = STORE_NONODE});
    }
    hand_pass(s, ms);
    fake_answer(STORE_SET, "/zookeeper/zkl-none", (struct store_reply){.rc = STORE_NONODE});
}

void hand_is_waiter(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

/* The thread has had the monitor, which notes its cancel state, and does not have it now. */
void hand_await_waiter(zkl_session *s)
{
    for (bool waits = false; !waits;) {
        g_usleep(1000);
        pthread_mutex_lock(&s->monitor);
        waits = s->cancel_state == PTHREAD_CANCEL_DISABLE;
        pthread_mutex_unlock(&s->monitor);
    }
}

void hand_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct acquisition *a = data;

    a->calls++;
    a->grant = grant;
    if (error)
        a->error = *error;
}

void hand_enter(struct acquisition *a, zkl_session *s, int64_t timeout_ms)
{
    *a = (struct acquisition){.calls = 0};
    REQUIRE(zkl_mutex_new(&a->mutex, s, "/l", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(a->mutex, timeout_ms, hand_acquired, a, &a->op) == 0);
    a->node = fake_created_name("/root/l", OWN_NUMBER);
}

void hand_answer_entry(struct acquisition *a, int before)
{
    char other[32];
    char *names[] = {strrchr(a->node, '/') + 1, other};

    g_snprintf(other, sizeof other, "_c_other-lock-%010d", before);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = a->node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = before < 0 ? 1 : 2);
}

void hand_hold(struct acquisition *a, zkl_session *s)
{
    hand_enter(a, s, ZKL_FOREVER);
    REQUIRE(a->node != NULL);
    hand_answer_entry(a, -1);
    zkl_session_dispatch(s);
    REQUIRE(a->grant != NULL);
}

void hand_leave(struct acquisition *a)
{
    zkl_grant_release(a->grant);
    zkl_op_free(a->op);
    zkl_mutex_free(a->mutex);
    g_free(a->node);
}

static void hand_keeper(struct contender *unused)
{
    (void)unused;
}

struct tenure *hand_tenure(zkl_session *s, const char *full_node, uint64_t token)
{
    static char keeper; /* an address that is never looked at */
    static const struct tenure_ops ops = {
        .release = hand_keeper,
        .node_gone = hand_keeper,
        .find_out = {[TENURE_WANTED] = hand_keeper, [TENURE_ASKED] = hand_keeper}};

    return tenure_new(s, &ops, (struct contender *)(void *)&keeper, full_node, "who", token);
}

void hand_end_tenure(struct tenure *t)
{
    grant_detach(t);
    tenure_unref(t);
}
