/* All recipes at once: sessions behind proxies, an administrator, and faults. */
#include "chaos.h"
#include "progress.h"
#include "proxy.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SESSIONS = 3, SLOTS = 12, MOST = 4, READERS = 1000 };

enum at {
    PLAIN,
    NUMBERED,
    CURATOR,
    SEMAPHORES,
    RW = SEMAPHORES,
    A,
    B,
    C,
    GATE,
    MEETING,
    NUMBER,
    PATHS
};

static const char *const paths[PATHS] = {"/f/plain",   "/f/numbered", "/f/curator", "/f/rw",
                                         "/f/a",       "/f/b",        "/f/c",       "/f/gate",
                                         "/f/meeting", "/f/number"};

static struct place places[] = {
    [PLAIN] = {.capacity = MOST}, [NUMBERED] = {.capacity = MOST}, [CURATOR] = {.capacity = 3},
    [RW] = {.capacity = READERS}, [A] = {.capacity = 1},           [B] = {.capacity = 1},
    [C] = {.capacity = 1}};

static struct peer {
    struct proxy *proxy;
    zkl_session *session;
    zkl_semaphore *semaphores[SEMAPHORES];
    zkl_rwlock *rwlock;
    zkl_multilock *multilock;
    zkl_mutex *mutexes[2];
    zkl_barrier *gate;
    zkl_double_barrier *meeting;
    zkl_counter *number;
} peers[SESSIONS];

/* What one has asked for. */
static struct slot {
    enum wish { PERMITS, WRITE, READ, SEVERAL, LOCK, PASS, ENTER, LEAVE, WISHES } wish;
    bool busy;
    bool done; /* guarded by the lock, as the grant is until then */
    zkl_op *op;
    zkl_grant *grant;
    enum at first, last; /* the places */
    struct hold holds[3];
} slots[SESSIONS][SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const wishes[WISHES] = {"permits", "write",     "read",     "several paths",
                                           "a lock",  "a barrier", "to enter", "to leave"};

/* ---- completions ---- */

static const int *others_of(enum wish wish)
{
    static const int permits[] = {ZKL_EBUSY, ZKL_ELIMIT, ZKL_ENOENT, ZKL_ELAYOUT, 0};
    static const int locks[] = {ZKL_EBUSY, 0};
    static const int meetings[] = {ZKL_ELOST, 0};

    return wish == PERMITS ? permits : wish >= PASS ? meetings : locks;
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant, (void)data;
    if (state == ZKL_LOST)
        tally_add(&tally.lost);
}

static void on_word(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant, (void)state, (void)data;
}

static void on_granted(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct slot *s = data;

    chaos_expect(err ? err->code : 0, wishes[s->wish], others_of(s->wish));
    tally_add(grant ? &tally.granted : &tally.failed);
    for (enum at at = s->first; grant && at <= s->last; at++) {
        struct hold *h = &s->holds[at - s->first];
        h->grant = grant;
        place_take(&places[at], h);
    }
    if (grant) {
        zkl_grant_on_change(grant, on_change, NULL);
        zkl_grant_on_wanted(grant, on_word, NULL);
        zkl_grant_on_revoke(grant, on_word, NULL);
    }
    pthread_mutex_lock(&lock);
    s->grant = grant;
    s->done = true;
    pthread_mutex_unlock(&lock);
}

static void on_done(const zkl_error *err, void *data)
{
    on_granted(NULL, err, data);
}

static void on_written(const zkl_error *err, void *unused)
{
    static const int others[] = {ZKL_ELOST,    ZKL_EPERM,  ZKL_EUNKNOWN, ZKL_EBUSY,
                                 ZKL_EVERSION, ZKL_ENOENT, ZKL_ELIMIT,   0};

    (void)unused;
    chaos_expect(err ? err->code : 0, "a transaction", others);
}

/* ---- what a slot does ---- */

static int64_t some_time(void)
{
    return chaos(4) == 0 ? 0 : chaos(3) == 0 ? ZKL_FOREVER : chaos(800);
}

/* The same for each of its places. */
static void ask_at(struct slot *s, enum at first, enum at last, unsigned units)
{
    s->first = first;
    s->last = last;
    for (enum at at = first; at <= last; at++)
        s->holds[at - first] = (struct hold){.units = units, .spoilt = place_spoilt(&places[at])};
}

static int ask_for_permits(struct peer *p, struct slot *s)
{
    const enum at which = (enum at)chaos(SEMAPHORES);
    const int permits = 1 + (int)chaos(3);

    ask_at(s, which, which, (unsigned)permits);
    return zkl_semaphore_acquire_async(p->semaphores[which], permits, some_time(), on_granted, s,
                                       &s->op);
}

static int ask_for_lock(struct peer *p, struct slot *s)
{
    const enum at which = A + chaos(2);

    switch (s->wish) {
    case WRITE:
        ask_at(s, RW, RW, READERS);
        return zkl_rwlock_lock_async(p->rwlock, some_time(), on_granted, s, &s->op);
    case READ:
        ask_at(s, RW, RW, 1);
        return zkl_rwlock_lock_shared_async(p->rwlock, some_time(), on_granted, s, &s->op);
    case SEVERAL:
        ask_at(s, A, C, 1);
        return zkl_multilock_lock_async(p->multilock, some_time(), on_granted, s, &s->op);
    default:
        ask_at(s, which, which, 1);
        return zkl_mutex_lock_async(p->mutexes[which - A], some_time(), on_granted, s, &s->op);
    }
}

static int ask_to_meet(struct peer *p, struct slot *s)
{
    const int64_t limit_ms = 1 + chaos(500);

    if (s->wish == PASS)
        return zkl_barrier_wait_async(p->gate, limit_ms, on_done, s);
    return (s->wish == ENTER ? zkl_double_barrier_enter_async
                             : zkl_double_barrier_leave_async)(p->meeting, limit_ms, on_done, s);
}

static void begin(struct peer *p, struct slot *s)
{
    static const int others[] = {ZKL_EBUSY, ZKL_EPERM, 0};
    int code;

    *s = (struct slot){.wish = chaos(3) ? chaos(WISHES) : PERMITS, .busy = true};
    code = s->wish == PERMITS ? ask_for_permits(p, s)
           : s->wish < PASS   ? ask_for_lock(p, s)
                              : ask_to_meet(p, s);
    chaos_expect(code, wishes[s->wish], s->wish >= ENTER ? others : NULL);
    s->busy = code == 0;
    tally_add(&tally.asked);
}

static void end(struct slot *s)
{
    for (enum at at = s->first; s->grant && at <= s->last; at++)
        place_leave(&places[at], &s->holds[at - s->first]);
    if (s->grant && chaos(3) == 0)
        zkl_grant_multi_async(s->grant, NULL, 0, chaos(2) ? ZKL_MULTI_RELEASE : 0, 300, on_written,
                              NULL);
    if (s->grant)
        zkl_grant_release(s->grant);
    zkl_op_free(s->op);
    s->op = NULL;
    s->busy = false;
}

static bool is_done(struct slot *s)
{
    pthread_mutex_lock(&lock);
    const bool done = s->done;
    pthread_mutex_unlock(&lock);
    return done;
}

static void move_on(struct peer *p, struct slot *s)
{
    if (!s->busy)
        begin(p, s);
    else if (is_done(s))
        end(s);
    else if (chaos(3) == 0)
        zkl_op_cancel(s->op);
}

/* ---- faults ---- */

static void disturb_connection(struct proxy *p)
{
    static const int kinds[] = {
        PROXY_OP_CREATE2,          PROXY_OP_SET_DATA,       PROXY_OP_DELETE,
        PROXY_OP_GET_CHILDREN2,    PROXY_OP_GET_DATA,       PROXY_OP_MULTI,
        PROXY_OP_CREATE_CONTAINER, PROXY_OP_REMOVE_WATCHES, PROXY_OP_EXISTS};
    const int kind = kinds[chaos(G_N_ELEMENTS(kinds))];

    switch (chaos(6)) {
    case 0:
        proxy_reset(p);
        break;
    case 1:
        proxy_lose_reply_to(p, kind);
        break;
    case 2:
        proxy_lose_request_to(p, kind);
        break;
    case 3:
        proxy_delay_ms(p, PROXY_BOTH, (int)chaos(30));
        break;
    case 4:
        if (chaos(4) == 0)
            proxy_freeze(p, PROXY_BOTH);
        break;
    default:
        proxy_heal(p);
        break;
    }
}

static void set_some_limit(void)
{
    static const char *const texts[] = {"1", "2", "3", "4", "", "x"};
    const char *text = texts[chaos(chaos(10) == 0 ? 6 : 4)];

    raw_set(admin, paths[chaos(2)], text, (int)strlen(text));
}

static void delete_at(enum at at, const char *node)
{
    struct place *p = at < G_N_ELEMENTS(places) ? &places[at] : NULL;

    if (p)
        place_spoil(p, true);
    raw_delete_tree(admin, node);
    if (p)
        place_spoil(p, false);
}

static void spoil_family(bool begins)
{
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
        place_spoil(&places[i], begins);
}

/* Somebody's node, or all of a directory. */
static void delete_or_revoke(void)
{
    const enum at at = chaos(MEETING + 1);
    char directory[CHAOS_PATH], node[2 * CHAOS_PATH];

    g_snprintf(directory, sizeof directory, "%s%s", paths[at],
               at != CURATOR ? ""
               : chaos(2)    ? "/locks"
                             : "/leases");
    char **names = raw_children(admin, directory);
    if (names && names[0]) {
        g_snprintf(node, sizeof node, "%s/%s", directory, names[chaos(g_strv_length(names))]);
        if (chaos(3) != 0)
            raw_set(admin, node, "__REVOKE__", 10);
        else
            delete_at(at, node);
    }
    g_strfreev(names);
    if (chaos(20) == 0)
        delete_at(at, paths[at]);
}

/* In a session that ends all its nodes go. */
static void expire_peer(void)
{
    const int64_t id = zkl_session_id(peers[chaos(SESSIONS)].session);

    spoil_family(true);
    if (id != 0)
        raw_expire(zk_server_port(server, 0), id);
    spoil_family(false);
}

/* ---- handles ---- */

static void make_semaphore(struct peer *p, enum at which)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.limit = 3;
    o.numbered = which == NUMBERED;
    o.layout = which == CURATOR ? ZKL_SEMAPHORE_CURATOR : 0;
    REQUIRE(zkl_semaphore_new(&p->semaphores[which], p->session, paths[which], &o) == 0);
}

static void make_barriers(struct peer *p)
{
    REQUIRE(zkl_barrier_new(&p->gate, p->session, paths[GATE], NULL) == 0);
    REQUIRE(zkl_double_barrier_new(&p->meeting, p->session, paths[MEETING], 2, NULL) == 0);
}

static void make_peer(struct peer *p)
{
    static const char *const several[] = {"/f/c", "/f/a", "/f/b"};
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = CHAOS_TIMEOUT_MS;
    o.log_level = ZKL_LOG_ERROR;
    REQUIRE((p->proxy = proxy_start(zk_server_port(server, 0))) != NULL);
    REQUIRE(zkl_session_open(&p->session, proxy_connect(p->proxy), &o, NULL) == 0);
    for (enum at at = 0; at < SEMAPHORES; at++)
        make_semaphore(p, at);
    REQUIRE(zkl_rwlock_new(&p->rwlock, p->session, paths[RW], NULL) == 0);
    REQUIRE(zkl_multilock_new(&p->multilock, p->session, several, 3, NULL) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(zkl_mutex_new(&p->mutexes[i], p->session, paths[A + i], NULL) == 0);
    REQUIRE(zkl_counter_new(&p->number, p->session, paths[NUMBER], ZKL_COUNTER_64) == 0);
    make_barriers(p);
}

static void free_peer(struct peer *p)
{
    for (enum at at = 0; at < SEMAPHORES; at++)
        zkl_semaphore_free(p->semaphores[at]);
    zkl_rwlock_free(p->rwlock);
    zkl_multilock_free(p->multilock);
    for (int i = 0; i < 2; i++)
        zkl_mutex_free(p->mutexes[i]);
    zkl_counter_free(p->number);
    zkl_barrier_free(p->gate);
    zkl_double_barrier_free(p->meeting);
}

/* With what is under way. */
static void make_part_anew(struct peer *p)
{
    if (chaos(2)) {
        const enum at which = (enum at)chaos(SEMAPHORES);
        zkl_semaphore_free(p->semaphores[which]);
        make_semaphore(p, which);
    } else {
        zkl_barrier_free(p->gate);
        zkl_double_barrier_free(p->meeting);
        make_barriers(p);
    }
}

/* ---- calls that block ---- */

static void look_at_queue(const struct peer *p)
{
    static const int others[] = {ZKL_ENOENT, ZKL_EBUSY, 0};
    zkl_queue *q = NULL;
    const char *path = paths[chaos(GATE)];
    const int code = chaos(2) ? zkl_queue_read(&q, p->session, path, NULL, 300)
                              : zkl_queue_revoke(&q, p->session, path, NULL, 300);

    chaos_expect(code, "a look", others);
    if (code == 0)
        zkl_queue_free(q);
}

/* A caller that adds is told a number that nobody else is told. The counter's node is never
 * deleted. */
static void count_up(struct peer *p)
{
    static const int others[] = {ZKL_EUNKNOWN, 0};
    static int64_t last;
    int64_t number;
    const int code = zkl_counter_add(p->number, 1, NULL, 50, &number);

    chaos_expect(code, "a sum", others);
    if (code == 0 && number <= last)
        runner_fail(__FILE__, __LINE__, "%d behind %d", (int)number, (int)last);
    if (code == 0)
        last = number;
}

static void ask_for_limit(const struct peer *p)
{
    static const int others[] = {ZKL_ENOENT, ZKL_ELAYOUT, 0};
    zkl_semaphore *m = p->semaphores[chaos(2)];
    int limit;

    chaos_expect(chaos(2) ? zkl_semaphore_set_limit(m, 1 + (int)chaos(MOST), 100)
                          : zkl_semaphore_get_limit(m, 100, &limit),
                 "a limit", others);
}

static void do_to_family(void)
{
    struct peer *p = &peers[chaos(SESSIONS)];
    const unsigned what = chaos(60);

    if (what < 3)
        disturb_connection(p->proxy);
    else if (what < 5)
        set_some_limit();
    else if (what < 6)
        delete_or_revoke();
    else if (what < 7 && chaos(10) == 0)
        expire_peer();
    else if (what < 8 && chaos(2))
        raw_create(admin, paths[GATE], "", 0, 0, NULL);
    else if (what < 8)
        raw_delete(admin, paths[GATE]);
    else if (what < 9 && chaos(6) == 0)
        make_part_anew(p);
    else if (what == 9)
        look_at_queue(p);
    else if (what == 10)
        count_up(p);
    else if (what == 11)
        ask_for_limit(p);
}

/* ---- the end ---- */

static bool all_ended(const void *unused)
{
    bool all = true;

    (void)unused;
    for (int i = 0; i < SESSIONS * SLOTS; i++) {
        struct slot *s = &slots[i / SLOTS][i % SLOTS];
        if (s->busy && is_done(s))
            end(s);
        all = all && !s->busy;
    }
    return all;
}

/* Whatever is under way comes to its end: what it waits for is given. */
static void settle_slots(void)
{
    bool ended;

    for (int i = 0; i < SESSIONS; i++)
        proxy_heal(peers[i].proxy);
    for (enum at at = PLAIN; at <= NUMBERED; at++)
        raw_set(admin, paths[at], "3", 1);
    raw_delete(admin, paths[GATE]);
    ended = AWAIT(all_ended(NULL));
    for (int i = 0; i < SESSIONS * SLOTS && !ended; i++)
        if (slots[i / SLOTS][i % SLOTS].busy)
            printf("  session %d waits still: %s\n", i / SLOTS,
                   wishes[slots[i / SLOTS][i % SLOTS].wish]);
    REQUIRE(ended);
}

void everything_at_once(void)
{
    REQUIRE(raw_create(admin, "/f", "", 0, 0, NULL) == ZOK);
    for (int i = 0; i < SESSIONS; i++)
        make_peer(&peers[i]);
    while (chaos_goes_on()) {
        const unsigned at = chaos(SESSIONS);
        move_on(&peers[at], &slots[at][chaos(SLOTS)]);
        do_to_family();
        if (chaos(4) == 0)
            g_usleep(chaos(3000));
    }
    settle_slots();
    for (int i = 0; i < SESSIONS; i++)
        free_peer(&peers[i]);
    chaos_expect_nothing_left();
    for (int i = 0; i < SESSIONS; i++) {
        zkl_session_close(peers[i].session);
        proxy_stop(peers[i].proxy);
    }
}
