/* hostile [--full]: a server, or somebody in the way, that sends what no ZooKeeper would. Replies
 * that end anywhere, lengths that lie, lists without end: through libzookeeper, as far as it
 * survives. --full tries every place and every lie (minutes); without it, a sample. */
#include "fault.h"
#include "fourletter.h"
#include "process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(hostile, .init = fault_start, .done = fault_stop);

/* --full */
static bool hostile_full;

/* What the lies are told to is a process of its own, as they may end it. */
enum hostile_task {
    HOSTILE_LOCK, /* takes the lock once, reads its line, writes under it, and lets it go */
    HOSTILE_LOOK  /* reads the line */
};
enum { WORKER_WORKED, WORKER_FAILED, WORKER_HELD_NOTHING, WORKER_MISUSED };

struct hostile_run {
    enum hostile_task task;
    int timeout_ms; /* of its session */
    bool plain;     /* the servers know neither containers nor create2 */
    proxy_mangle_fn mangle;
    void *data; /* for mangle */
    /* How it ended: */
    int result;       /* one of the above, or a signal's number, negative */
    uint64_t creates; /* in the old form */
    char *said;
    char *line;        /* what HOSTILE_LOOK is to say where nobody lies */
    int64_t memory;    /* at most, in bytes */
    int64_t processor; /* in microseconds */
};

/* What a worker says of a line: how many there are, and the token of the first. */
#define HOSTILE_LINE "%zu %" G_GUINT64_FORMAT "\n"

/* ---- the process that is lied to ---- */

enum { CALL_MS = 15000 };

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data;
}

static int fail(const char *what)
{
    zkl_error e;

    zkl_last_error(&e);
    printf("%s: %s\n", what, e.text);
    return WORKER_FAILED;
}

/* The server itself is asked, past who lies. */
static bool has_node(const char *direct, const zkl_grant *g, int64_t session)
{
    struct raw *r = raw_open(direct);
    struct Stat stat = {0};
    int rc;

    if (!r)
        return true; /* nobody knows */
    do
        rc = raw_exists(r, zkl_grant_node(g), &stat);
    while (rc != ZOK && rc != ZNONODE);
    raw_close(r);
    return rc == ZOK && stat.ephemeralOwner == session;
}

static int use(zkl_session *s, const zkl_grant *g, const char *path)
{
    const zkl_change change = {
        .kind = ZKL_CHANGE_SET, .path = path, .version = -1, .data = "", .size = 0};
    zkl_queue *q = NULL;
    int result = WORKER_WORKED;

    if (zkl_queue_read(&q, s, path, NULL, CALL_MS) != 0)
        result = fail("queue");
    zkl_queue_free(q);
    if (zkl_grant_multi(g, &change, 1, 0, CALL_MS) != 0)
        result = fail("write");
    return result;
}

static int hold(zkl_session *s, zkl_mutex *m, const char *direct, const char *path)
{
    const zkl_grant *g = NULL;

    if (zkl_mutex_lock(m, CALL_MS, &g) != 0)
        return fail("lock");
    const zkl_state before = zkl_grant_state(g);
    const bool there = has_node(direct, g, zkl_session_id(s));
    if (before == ZKL_HELD && zkl_grant_state(g) == ZKL_HELD && !there)
        return WORKER_HELD_NOTHING;
    const int result = use(s, g, path);
    return zkl_mutex_unlock(m) == 0 ? result : fail("unlock");
}

static int look(zkl_session *s, const char *path)
{
    zkl_queue_options o = ZKL_QUEUE_OPTIONS_INIT;
    zkl_queue *q = NULL;

    o.max_nodes = 1;
    if (zkl_queue_read(&q, s, path, &o, CALL_MS) != 0)
        return fail("queue");
    if (zkl_queue_get(q, 0))
        printf(HOSTILE_LINE, zkl_queue_count(q), zkl_queue_get(q, 0)->token);
    zkl_queue_free(q);
    return WORKER_WORKED;
}

static int hostile_worker(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m;
    int result;

    if (argc != 5 || setrlimit(RLIMIT_CORE, &no_core) != 0)
        return WORKER_MISUSED;
    o.session_timeout_ms = atoi(argv[4]);
    o.log = log_nothing;
    if (zkl_session_open(&s, argv[0], &o, NULL) != 0 || zkl_mutex_new(&m, s, argv[2], NULL) != 0)
        return WORKER_MISUSED;
    if (zkl_session_wait(s, CALL_MS) != 0)
        result = fail("session");
    else if (atoi(argv[3]) == HOSTILE_LOOK)
        result = look(s, argv[2]);
    else
        result = hold(s, m, argv[1], argv[2]);
    zkl_session_close(s);
    zkl_mutex_free(m);
    return result;
}

/* ---- it runs behind a rival ---- */

static pid_t start(const struct hostile_run *run, const char *log)
{
    char self[4096] = "", task[12], timeout[12];

    REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    g_snprintf(task, sizeof task, "%d", run->task);
    g_snprintf(timeout, sizeof timeout, "%d", run->timeout_ms);
    const char *const argv[] = {self,
                                "--worker",
                                proxy_connect(fault.proxy),
                                zk_server_connect(fault.server),
                                fault.path,
                                task,
                                timeout,
                                NULL};
    const struct process_options o = {.argv = argv, .log = log, .input = -1};
    const pid_t pid = process_spawn(&o);
    REQUIRE(pid > 0);
    return pid;
}

static int64_t microseconds(const struct timeval *t)
{
    return t->tv_sec * G_USEC_PER_SEC + t->tv_usec;
}

static void end(struct hostile_run *run, pid_t pid)
{
    struct rusage used;
    int status = 0;

    EVENTUALLY(process_gone(pid)); /* it does not hang */
    kill(pid, SIGKILL);
    REQUIRE(wait4(pid, &status, 0, &used) == pid);
    run->result = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    run->memory = used.ru_maxrss * INT64_C(1024);
    run->processor = microseconds(&used.ru_utime) + microseconds(&used.ru_stime);
}

static void hostile_run_clear(struct hostile_run *run)
{
    g_free(run->said);
    g_free(run->line);
}

/* Watches, too: otherwise the rival may be gone before it looks. */
static bool waits(zkl_session *rival)
{
    struct fourletter_watches w;

    return fault_children() == 2 && fourletter_wchs(fault.port, &w) &&
           w.watches > fourletter_watches_of(fault.port, zkl_session_id(rival));
}

static void hostile_run(struct hostile_run *run)
{
    struct acquisition rival;
    char *log;

    fault_begin();
    const int fd = g_file_open_tmp("zkl-hostile-XXXXXX", &log, NULL);
    REQUIRE(fd >= 0);
    close(fd);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *direct = fault_mutex(s);
    acquisition_queue(&rival, direct, 1);
    run->line = g_strdup_printf(HOSTILE_LINE, (size_t)1, zkl_grant_token(rival.grant));
    proxy_mangle(fault.proxy, run->mangle, run->data);
    if (run->plain) {
        proxy_refuse(fault.proxy, PROXY_OP_CREATE_CONTAINER);
        proxy_refuse(fault.proxy, PROXY_OP_CREATE2);
    }
    const pid_t pid = start(run, log);
    EVENTUALLY(waits(s) || process_gone(pid));
    acquisition_end(&rival);
    end(run, pid);
    run->creates = proxy_requests(fault.proxy, PROXY_OP_CREATE);
    CHECK(run->result != WORKER_HELD_NOTHING && run->result != WORKER_MISUSED);
    g_file_get_contents(log, &run->said, NULL, NULL);
    unlink(log);
    g_free(log);
    fault_at_rest();
    acquisition_queue(&rival, direct, 1);
    acquisition_end(&rival);
    fault_end();
}

/* ---- replies end at each byte ---- */

enum { MESSAGES_MAX = 64, SAMPLES = 12 };

/* What the man in the middle has seen, and where he cuts; in the proxy's thread. */
struct cutter {
    int message;
    guint at;
    int seen;
    bool cut;
    guint length[MESSAGES_MAX]; /* of those seen, where none is cut */
    int op[MESSAGES_MAX];
};

static bool cut(GByteArray *message, int op, void *data)
{
    struct cutter *c = data;
    const int number = c->seen++;

    if (number < MESSAGES_MAX) {
        c->length[number] = message->len;
        c->op[number] = op;
    }
    if (number != c->message || c->cut)
        return true;
    c->cut = true;
    g_byte_array_set_size(message, MIN(c->at, message->len));
    return false;
}

static void check_held(const struct acquisition *mine, zkl_session *s)
{
    struct Stat stat;

    EVENTUALLY(zkl_grant_state(mine->grant) == ZKL_HELD);
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(mine->grant), &stat), ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(s));
    CHECK_INT(fault_children(), 1);
}

/* Waits behind a rival, holds and releases; then another takes the lock. */
static void live_through_cut(struct cutter *c)
{
    struct acquisition rival, mine;

    fault_begin();
    zkl_mutex *direct = fault_mutex(fault_direct(FAULT_LONG_MS));
    acquisition_queue(&rival, direct, 1);
    proxy_mangle(fault.proxy, cut, c);
    zkl_session *s = fault_session(proxy_connect(fault.proxy), FAULT_LONG_MS);
    acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
    const char *ahead = zkl_grant_node(rival.grant);
    EVENTUALLY(fault_children() == 2 &&
               fourletter_has_watch(fault.port, zkl_session_id(s), ahead) == 1);
    CHECK_INT(atomic_load(&mine.done), 0);
    acquisition_end(&rival);
    REQUIRE(acquisition_granted(&mine));
    check_held(&mine, s);
    acquisition_end(&mine);
    fault_at_rest();
    fault_close(s);
    acquisition_queue(&rival, direct, 1);
    acquisition_end(&rival);
    fault_end();
}

TEST_CASE(each_byte)
{
    struct cutter whole = {.message = -1};
    guint total = 0, tried = 0, cuts = 0;

    live_through_cut(&whole);
    REQUIRE(whole.seen > 0 && whole.seen <= MESSAGES_MAX);
    for (int i = 0; i < whole.seen; i++)
        total += whole.length[i] + 1;
    const guint step = hostile_full ? 1 : MAX(1, total / SAMPLES);
    guint place = 0;
    for (int i = 0; i < whole.seen; i++) {
        for (guint at = 0; at <= whole.length[i]; at++, place++) {
            if (place % step != 0)
                continue;
            struct cutter c = {.message = i, .at = at};
            live_through_cut(&c);
            tried++;
            cuts += c.cut;
        }
    }
    printf("hostile: %u of %u places in %d messages, %u cut\n", tried, total, whole.seen, cuts);
    CHECK(cuts * 4 >= tried * 3); /* the last messages do not always come */
}

/* ---- lengths, numbers and kinds that are not true ---- */

enum { LENGTH = 0, XID = 4, ZXID = 8, ERROR = 16, BODY = 20, ITEM = BODY + 4 };

/* In the first event. */
enum { EVENT_TYPE = BODY, EVENT_PATH = BODY + 8 };

/* In the answer to the handshake. */
enum { PROTOCOL = 4, TIMEOUT = 8, SESSION = 12, PASSWORD = 20 };

enum fate {
    WORKS, /* it survives, and the lock is held and released */
    SEES,  /* it survives, and who looks at the line sees what is there */
    LASTS, /* it survives, perhaps with an error: it is refused, never woken, or late */
    ENDS   /* libzookeeper may end the process: it reads what it never wrote, or asserts */
};

enum how {
    SAY,     /* a value at a place */
    BLANK,   /* as SAY, and as much behind it */
    SHORTEN, /* the value is how much of the message is left, and its length says so */
    AGAIN    /* the message comes twice */
};

enum { VALUES_MAX = 8 };

struct lie {
    int op; /* in the first reply to such a request; SEES: behind a list */
    enum how how;
    guint at;
    enum fate fate;
    bool sampled; /* the first value, also without --full */
    int count;
    int32_t values[VALUES_MAX];
};

#define EACH(...)                                                                                  \
    sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t),                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct lie lies[] = {
    {PROXY_OP_HANDSHAKE, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1, 16)},
    {PROXY_OP_HANDSHAKE, SAY, PROTOCOL, WORKS, false, EACH(-1, 7)},
    {PROXY_OP_HANDSHAKE, SAY, TIMEOUT, WORKS, true, EACH(-1, 0, 1, INT32_MIN, INT32_MAX)},
    {PROXY_OP_HANDSHAKE, SAY, SESSION, LASTS, false, EACH(-1, 0)},
    {PROXY_OP_HANDSHAKE, BLANK, SESSION, WORKS, true, EACH(0)},
    {PROXY_OP_HANDSHAKE, SAY, PASSWORD, WORKS, false, EACH(-1, 0, INT32_MAX)},
    {PROXY_OP_HANDSHAKE, AGAIN, 0, ENDS, false, EACH(0)},

    {PROXY_OP_CREATE2, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_CREATE2, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_CREATE2, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_CREATE2, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_CREATE2, SAY, ZXID, WORKS, false, EACH(-1, INT32_MAX)},
    {PROXY_OP_CREATE2, SAY, ERROR, WORKS, false, EACH(-4, -101, -112, -115, -118)},
    {PROXY_OP_CREATE2, SAY, ERROR, LASTS, false, EACH(1, -999, INT32_MIN)},
    {PROXY_OP_CREATE2, SAY, BODY, WORKS, true, EACH(0, 7, 1)},
    {PROXY_OP_CREATE2, SAY, BODY, ENDS, false, EACH(-1, -2, INT32_MIN, 1000, 1 << 20, INT32_MAX)},
    {PROXY_OP_CREATE2, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 100)},

    {PROXY_OP_CREATE, SAY, BODY, WORKS, true, EACH(-1, INT32_MIN, 0, 7, 1000, INT32_MAX)},
    {PROXY_OP_CREATE, SHORTEN, 0, WORKS, false, EACH(20, 23, 24, 40)},

    {PROXY_OP_GET_CHILDREN2, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_GET_CHILDREN2, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_GET_CHILDREN2, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_GET_CHILDREN2, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_GET_CHILDREN2, SAY, ZXID, WORKS, false, EACH(-1, INT32_MAX)},
    {PROXY_OP_GET_CHILDREN2, SAY, ERROR, WORKS, false, EACH(-4, -101, -112, -115, -118)},
    {PROXY_OP_GET_CHILDREN2, SAY, ERROR, LASTS, false, EACH(1, -999, INT32_MIN)},
    {PROXY_OP_GET_CHILDREN2, SAY, BODY, WORKS, true, EACH(-1, -2, INT32_MIN, 0, 1)},
    {PROXY_OP_GET_CHILDREN2, SAY, BODY, WORKS, true, EACH(7, 1000, 1 << 20)},
    {PROXY_OP_GET_CHILDREN2, SAY, BODY, ENDS, false, EACH(INT32_MAX)},
    {PROXY_OP_GET_CHILDREN2, SAY, ITEM, WORKS, true, EACH(-1, INT32_MIN, 0, 1, 1000, INT32_MAX)},
    {PROXY_OP_GET_CHILDREN2, SHORTEN, 0, WORKS, true, EACH(40, 24, 28)},
    {PROXY_OP_GET_CHILDREN2, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 23, 100)},

    {PROXY_OP_GET_DATA, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_GET_DATA, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_GET_DATA, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_GET_DATA, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_GET_DATA, SAY, ZXID, WORKS, false, EACH(-1, INT32_MAX)},
    {PROXY_OP_GET_DATA, SAY, ERROR, WORKS, false, EACH(-4, -101, -112, -115, -118)},
    {PROXY_OP_GET_DATA, SAY, ERROR, LASTS, false, EACH(1, -999, INT32_MIN)},
    {PROXY_OP_GET_DATA, SAY, BODY, WORKS, false, EACH(-2, -1, INT32_MIN, 0, 1, 7)},
    {PROXY_OP_GET_DATA, SAY, BODY, SEES, true, EACH(-2, INT32_MIN)},
    {PROXY_OP_GET_DATA, SAY, BODY, ENDS, false, EACH(1000, 1 << 20, INT32_MAX)},
    {PROXY_OP_GET_DATA, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 40)},

    {PROXY_OP_EVENT, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_EVENT, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_EVENT, SAY, XID, LASTS, false, EACH(-2, -8)},
    {PROXY_OP_EVENT, SAY, XID, ENDS, false, EACH(0, -4, INT32_MAX)},
    {PROXY_OP_EVENT, SAY, EVENT_TYPE, WORKS, false, EACH(1, 3)},
    {PROXY_OP_EVENT, SAY, EVENT_TYPE, LASTS, false, EACH(77, 4, 0, -1, -2, INT32_MIN)},
    {PROXY_OP_EVENT, SAY, EVENT_PATH, LASTS, false, EACH(0, 1)},
    {PROXY_OP_EVENT, SAY, EVENT_PATH, ENDS, false, EACH(-1, INT32_MIN, 1000, INT32_MAX)},
    {PROXY_OP_EVENT, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 40)},
    {PROXY_OP_EVENT, AGAIN, 0, WORKS, false, EACH(0)},

    {PROXY_OP_MULTI, SAY, LENGTH, LASTS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_MULTI, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_MULTI, SAY, XID, LASTS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_MULTI, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_MULTI, SAY, ERROR, LASTS, false, EACH(1, -4, -101, -112, -999, INT32_MIN)},
    {PROXY_OP_MULTI, SAY, BODY, LASTS, false, EACH(0, 14, 77, INT32_MIN)},
    {PROXY_OP_MULTI, SAY, BODY, ENDS, false, EACH(-1)},
    {PROXY_OP_MULTI, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 40)},

    {PROXY_OP_DELETE, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_DELETE, SAY, LENGTH, ENDS, false, EACH(1, 15)},
    {PROXY_OP_DELETE, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_DELETE, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_DELETE, SAY, ERROR, LASTS, false, EACH(1, -4, -101, -112, -999, INT32_MIN)},
    {PROXY_OP_DELETE, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16)},
    {PROXY_OP_DELETE, AGAIN, 0, ENDS, true, EACH(0)},
};

struct liar {
    const struct lie *lie;
    int32_t value;
    bool listed, told;
};

static void put(GByteArray *message, guint at, int32_t value)
{
    const uint32_t wire = GUINT32_TO_BE((uint32_t)value);

    if (at + sizeof wire <= message->len)
        memcpy(message->data + at, &wire, sizeof wire);
}

static bool tell(GByteArray *message, int op, void *data)
{
    struct liar *liar = data;
    const struct lie *lie = liar->lie;

    liar->listed |= op == PROXY_OP_GET_CHILDREN2;
    if (liar->told || op != lie->op || (lie->fate == SEES && !liar->listed))
        return true;
    liar->told = true;
    if (lie->how == SAY || lie->how == BLANK)
        put(message, lie->at, liar->value);
    if (lie->how == BLANK)
        put(message, lie->at + 4, liar->value);
    if (lie->how == SHORTEN) {
        g_byte_array_set_size(message, MIN((guint)liar->value, message->len));
        put(message, LENGTH, (int32_t)message->len - 4);
    }
    if (lie->how == AGAIN) {
        const guint length = message->len;
        g_byte_array_set_size(message, 2 * length);
        memcpy(message->data + length, message->data, length);
    }
    return true;
}

static void show(const struct liar *liar, const struct hostile_run *run)
{
    static const char *const hows[] = {"say", "blank", "shorten to", "again"};
    static const char *const fates[] = {"works", "sees", "lasts", "ends"};
    const struct lie *lie = liar->lie;

    printf("hostile: reply %d at %u %s %d (%s): %d, %" G_GINT64_FORMAT " ms of processor: %s\n",
           lie->op, lie->at, hows[lie->how], liar->value, fates[lie->fate], run->result,
           run->processor / 1000, g_strdelimit(run->said, "\n", ' '));
    fflush(stdout);
}

static void live_through_lie(const struct lie *lie, int32_t value)
{
    struct liar liar = {.lie = lie, .value = value};
    struct hostile_run run = {.task = lie->fate == SEES ? HOSTILE_LOOK : HOSTILE_LOCK,
                              .timeout_ms = lie->fate == ENDS ? FAULT_SHORT_MS : FAULT_LONG_MS,
                              .plain = lie->op == PROXY_OP_CREATE,
                              .mangle = tell,
                              .data = &liar};

    hostile_run(&run);
    CHECK(liar.told);
    if (lie->fate == WORKS || lie->fate == SEES)
        CHECK_INT(run.result, WORKER_WORKED);
    else if (lie->fate == LASTS)
        CHECK(run.result == WORKER_WORKED || run.result == WORKER_FAILED);
    if (run.plain)
        CHECK_INT(run.creates, 1); /* its node is found, not made again */
    if (lie->fate == SEES)
        CHECK(g_str_has_suffix(run.said, run.line)); /* behind what a sanitizer says */
    show(&liar, &run);
    hostile_run_clear(&run);
}

TEST_CASE(each_lie)
{
    for (guint i = 0; i < G_N_ELEMENTS(lies); i++) {
        const int count = hostile_full ? lies[i].count : lies[i].sampled;
        for (int k = 0; k < count; k++)
            live_through_lie(&lies[i], lies[i].values[k]);
    }
}

/* ---- more names than anybody has ---- */

enum {
    COUNT = 20,  /* where it is in a list */
    NAME = 63,   /* bytes of each */
    STAT = 68,   /* at the end of a list */
    FIRST = 100, /* number of the first that is made up: behind all that are there */
    FEW = 1000,
    MANY = 100 * 1000 * 1000 / NAME,
    TIMEOUT_MS = 15000
};

struct inventor {
    int names; /* to be made up */
    bool done;
};

static void append_be32(GByteArray *to, uint32_t value)
{
    const uint32_t wire = GUINT32_TO_BE(value);

    g_byte_array_append(to, (const uint8_t *)&wire, sizeof wire);
}

static void put_be32(GByteArray *to, guint at, uint32_t value)
{
    const uint32_t wire = GUINT32_TO_BE(value);

    memcpy(to->data + at, &wire, sizeof wire);
}

static void append_name(GByteArray *to, int number)
{
    char name[NAME + 1];

    g_snprintf(name, sizeof name, "_c_%08x-58c8-4b51-b04e-1d4d0a3b0c8e-ever-so-lock-%010d", number,
               number);
    append_be32(to, (uint32_t)strlen(name));
    g_byte_array_append(to, (const uint8_t *)name, (guint)strlen(name));
}

/* Behind those that are there, as many more. */
static bool invent(GByteArray *message, int op, void *data)
{
    struct inventor *i = data;
    uint8_t stat[STAT];
    uint32_t count;

    if (i->done || op != PROXY_OP_GET_CHILDREN2 || message->len < COUNT + sizeof count + STAT)
        return true;
    i->done = true;
    memcpy(&count, message->data + COUNT, sizeof count);
    put_be32(message, COUNT, GUINT32_FROM_BE(count) + (uint32_t)i->names);
    memcpy(stat, message->data + message->len - STAT, STAT);
    g_byte_array_set_size(message, message->len - STAT);
    for (int n = 0; n < i->names; n++)
        append_name(message, FIRST + n);
    g_byte_array_append(message, stat, STAT);
    put_be32(message, 0, message->len - 4);
    return true;
}

static struct hostile_run list_to(enum hostile_task task, int names)
{
    struct inventor i = {.names = names};
    struct hostile_run run = {.task = task, .timeout_ms = TIMEOUT_MS, .mangle = invent, .data = &i};

    hostile_run(&run);
    CHECK(i.done);
    CHECK_INT(run.result, WORKER_WORKED);
    printf("hostile: %d names: %" G_GINT64_FORMAT " MB, %" G_GINT64_FORMAT " ms of processor\n",
           names, run.memory / 1000000, run.processor / 1000);
    return run;
}

TEST_CASE(line_without_end)
{
    const int names = hostile_full ? MANY : FEW;
    struct hostile_run run = list_to(HOSTILE_LOOK, names);

    CHECK_INT(atoi(run.said), names + 1);
    hostile_run_clear(&run);
}

TEST_CASE(rivals_without_end)
{
    struct hostile_run run = list_to(HOSTILE_LOCK, hostile_full ? MANY : FEW);

    hostile_run_clear(&run);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return hostile_worker(argc - 2, argv + 2);
    hostile_full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (hostile_full)
        g_setenv("ZKL_TEST_TIMEOUT", "3600", FALSE);
    argv[hostile_full] = argv[0];
    return runner_main(argc - hostile_full, argv + hostile_full);
}
