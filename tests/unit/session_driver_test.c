/* The driver under a machine that does what the test says, over a store that answers what the test
 * says. */
#include "by_hand.h"
#include "lib/session/driver.h"
#include "lib/session/incarnation.h"
#include "lib/session/watch.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(session_driver);

#define REACTION(...)                                                                              \
    (const struct machine_actions)                                                                 \
    {                                                                                              \
        .list = {__VA_ARGS__}, .count = G_N_ELEMENTS(((struct machine_action[]){__VA_ARGS__}))     \
    }
#define ASK(v, ...)                                                                                \
    {                                                                                              \
        .kind = MACHINE_ACT_REQUEST, .verb = STORE_##v, ##__VA_ARGS__                              \
    }
#define DO(name, ...)                                                                              \
    {                                                                                              \
        .kind = MACHINE_ACT_##name, ##__VA_ARGS__                                                  \
    }

enum { REACTIONS = 8, PLAY_FIRE = 1000, PLAY_PATHLESS = 7, PLAY_DEEP = 9 };

static struct played {
    struct driver driver;
    int held, steps, version;
    int64_t late_until; /* with the newest event */
    GString *heard;
    int talks;                                   /* behind so many steps */
    bool watched;                                /* by the newest answer */
    char answer[6];                              /* good until something else happens */
    struct machine_actions reactions[REACTIONS]; /* to the first event, the second… */
} played;

static void play_step(struct driver *d, const struct machine_event *ev, struct machine_actions *out)
{
    static const char *const kinds[] = {"begin", "answer", "fired", "timer", "stop", "session"};
    struct played *p = (struct played *)d;

    g_string_append_printf(p->heard, "%s%s", p->heard->len ? "; " : "", kinds[ev->kind]);
    if (ev->kind == MACHINE_EV_ANSWER)
        g_string_append_printf(p->heard, " %d of verb %d, node %d", (int)ev->rc, (int)ev->verb,
                               (int)ev->node);
    p->version = ev->version;
    p->late_until = ev->late_until;
    if (ev->failed > 0)
        g_string_append_printf(p->heard, ", change %d", ev->failed);
    if (ev->rc == STORE_UNKNOWN && ev->unsent)
        g_string_append(p->heard, ", unsent");
    if (ev->kind == MACHINE_EV_ANSWER)
        p->watched = ev->watched;
    if (ev->data)
        g_string_append_printf(p->heard, ", %.*s", (int)ev->length, (const char *)ev->data);
    else if (ev->length > 0)
        g_string_append_printf(p->heard, ", %zu bytes", ev->length);
    if (ev->count > 0)
        g_string_append_printf(p->heard, ", %zu children", ev->count);
    for (size_t i = 0; ev->verb == STORE_LIST && i < ev->count; i++)
        g_string_append_printf(p->heard, " %s", driver_heard_name(d, i));
    if (ev->kind == MACHINE_EV_FIRED)
        g_string_append_printf(p->heard, " node %d%s", (int)ev->node, ev->gone ? ", gone" : "");
    if (ev->kind == MACHINE_EV_STOP || ev->kind == MACHINE_EV_SESSION)
        g_string_append(p->heard, ev->unsent ? ", unsent" : ", sent");
    if (p->steps < REACTIONS)
        *out = p->reactions[p->steps++];
}

static char *play_path(struct driver *d, unsigned node)
{
    (void)d;
    if (node == PLAY_PATHLESS)
        return NULL;
    return g_strdup_printf(node == PLAY_DEEP ? "/p/q/%u" : "/p/%u", node);
}

static char *play_data(struct driver *d, unsigned node, int *ret_length)
{
    (void)d;
    *ret_length = 1;
    return g_strdup_printf("%u", node);
}

static const struct store_change *play_rest(struct driver *d, int *ret_count)
{
    static const struct store_change rest[] = {{.kind = STORE_CREATE, .path = "/x", .length = -1},
                                               {.kind = STORE_DELETE, .path = "/y", .version = 2}};

    (void)d;
    *ret_count = G_N_ELEMENTS(rest);
    return rest;
}

static void play_on_verdict(struct driver *d, const struct machine_action *a)
{
    strcpy(played.answer, "?");
    if (a->verdict == PLAY_FIRE) {
        watch_fired(d->session, "/p/1", STORE_FIRED_CHANGED);
        return;
    }
    g_string_append_printf(((struct played *)d)->heard, "; told %d", a->verdict);
}

/* What it causes is told behind it. */
static void play_after(struct driver *d)
{
    struct played *p = (struct played *)d;

    if (p->talks == 0)
        return;
    p->talks--;
    driver_hear(d, MACHINE_EV_STOP);
    g_string_append(p->heard, "; after");
}

static void play_ref_owner(struct driver *d)
{
    CHECK_INT(((struct played *)d)->held++, 0);
}

static void play_unref_owner(struct driver *d)
{
    CHECK_INT(--((struct played *)d)->held, 0);
}

static void play_name(struct driver *d, unsigned node)
{
    (void)d;
    CHECK_INT(node, 1);
}

static const struct driver_ops ops = {.step = play_step,
                                      .path = play_path,
                                      .name = play_name,
                                      .data = play_data,
                                      .rest = play_rest,
                                      .on_verdict = play_on_verdict,
                                      .after = play_after,
                                      .ref_owner = play_ref_owner,
                                      .free = play_unref_owner};

static void hear(enum machine_event_kind kind)
{
    session_lock(played.driver.session);
    driver_hear(&played.driver, kind);
    session_unlock(played.driver.session);
}

static bool is_armed(void)
{
    return played.driver.timer && played.driver.timer->at;
}

/* The reactions are set. */
static void begin_in(zkl_session *s)
{
    played.heard = g_string_new(NULL);
    driver_init(&played.driver, &ops, s, STORE_PERSISTENT);
    hear(MACHINE_EV_BEGIN);
}

static zkl_session *begin(void)
{
    zkl_session *s = fake_session();

    begin_in(s);
    return s;
}

/* What it asks first is answered at once. */
static zkl_session *begin_answered(fake_answerer *answer)
{
    fake_answer_at_once(answer);
    zkl_session *s = begin();
    fake_answer_at_once(NULL);
    return s;
}

static void end_in(zkl_session *s, void (*close)(zkl_session *s), const char *heard)
{
    played.steps = REACTIONS - 1;
    played.reactions[played.steps] = REACTION(DO(END));
    CHECK_STR(played.heard->str, heard);
    hear(MACHINE_EV_STOP);
    close(s);
    CHECK_INT(played.held, 0);
    driver_clear(&played.driver);
    g_string_free(played.heard, TRUE);
    played = (struct played){.held = 0};
}

static void end(zkl_session *s, const char *heard)
{
    end_in(s, zkl_session_close, heard);
}

TEST_CASE(another_question)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1), ASK(STAT, .node = 2, .joins = true));
    played.reactions[2] = REACTION(ASK(GET, .node = 3));
    zkl_session *s = begin();

    ANSWER(STORE_STAT, "/p/2", .rc = STORE_OK);
    hear(MACHINE_EV_TIMER);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    ANSWER(STORE_GET, "/p/3", .rc = STORE_NONODE);
    end(s, "begin; answer 0 of verb 7, node 2; timer; answer 1 of verb 2, node 3");
}

/* But for those without a path. */
TEST_CASE(several)
{
    played.reactions[0] = REACTION(ASK(GET, .node = PLAY_PATHLESS - 1, .more = 2));
    zkl_session *s = begin();

    CHECK_INT(played.driver.refs, 2);
    CHECK_INT(played.held, 1);
    ANSWER(STORE_GET, "/p/8", .rc = STORE_OK);
    ANSWER(STORE_GET, "/p/6", .rc = STORE_OK);
    end(s, "begin; answer 0 of verb 2, node 8; answer 0 of verb 2, node 6");
}

/* One slot's answers do not become stale by what is asked in another. */
TEST_CASE(two_slots)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1), ASK(GET, .node = 2, .slot = 1));
    zkl_session *s = begin();

    ANSWER(STORE_GET, "/p/2", .rc = STORE_OK);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    end(s, "begin; answer 0 of verb 2, node 2; answer 0 of verb 2, node 1");
}

/* What was asked in the slot is stale, and nothing is asked instead. */
TEST_CASE(forgotten)
{
    played.reactions[0] =
        REACTION(ASK(GET, .node = 1), ASK(GET, .node = 2, .slot = 1), DO(FORGET, .slot = 1));
    zkl_session *s = begin();

    ANSWER(STORE_GET, "/p/2", .rc = STORE_OK);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    end(s, "begin; answer 0 of verb 2, node 1");
}

TEST_CASE(children_are_counted)
{
    char *names[] = {"a", "b"};
    played.reactions[0] = REACTION(ASK(LIST, .node = 1), ASK(GET, .node = 1, .joins = true));
    zkl_session *s = begin();

    ANSWER(STORE_LIST, "/p/1", .rc = STORE_OK, .names = names, .count = 2, .children = 3);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK, .children = 4);
    end(s, "begin; answer 0 of verb 3, node 1, 2 children a b; answer 0 of verb 2, node 1, 4 "
           "children");
}

static int listed_length;

static bool answer_list(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_OK, .data_length = listed_length};
    return request->kind == STORE_LIST;
}

/* A list tells the length of the listed node's data, without the data; none has less than none. */
TEST_CASE(data_are_measured)
{
    for (listed_length = -1; listed_length < 10; listed_length += 10) {
        played.reactions[0] = REACTION(ASK(LIST, .node = 1));
        zkl_session *s = begin_answered(answer_list);
        end(s, listed_length > 0 ? "begin; answer 0 of verb 3, node 1, 9 bytes"
                                 : "begin; answer 0 of verb 3, node 1");
    }
}

static bool answer_get(const struct store_request *request, struct store_reply *reply)
{
    strcpy(played.answer, "seven");
    *reply = (struct store_reply){.rc = STORE_OK, .data = played.answer, .length = 5};
    return request->kind == STORE_GET;
}

/* What is answered while it is being asked is told behind the step. */
TEST_CASE(answered_at_once)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1), DO(TELL, .verdict = 5));
    played.reactions[1] = REACTION(ASK(GET, .node = 2), DO(TELL, .verdict = 6));
    zkl_session *s = begin_answered(answer_get);
    end(s, "begin; told 5; answer 0 of verb 2, node 1, seven; told 6; "
           "answer 0 of verb 2, node 2, seven");
}

static bool answer_names(const struct store_request *request, struct store_reply *reply)
{
    static char *names[] = {played.answer};

    strcpy(played.answer, "child");
    *reply = (struct store_reply){.rc = STORE_OK, .names = names, .count = 1};
    return request->kind == STORE_LIST;
}

/* The names are those of this answer, however late it is told. */
TEST_CASE(listed_at_once)
{
    played.reactions[0] = REACTION(ASK(LIST, .node = 1), DO(TELL, .verdict = 5));
    zkl_session *s = begin_answered(answer_names);
    end(s, "begin; told 5; answer 0 of verb 3, node 1, 1 children child");
}

/* And it may be stale by then. */
TEST_CASE(stale_at_once)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1), ASK(STAT, .node = 2));
    zkl_session *s = begin_answered(answer_get);
    ANSWER(STORE_STAT, "/p/2", .rc = STORE_OK);
    end(s, "begin; answer 0 of verb 7, node 2");
}

TEST_CASE(parents)
{
    played.reactions[0] = REACTION(ASK(CREATE, .node = 1));
    zkl_session *s = begin();

    ANSWER(STORE_CREATE, "/p/1", .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, "/p", .rc = STORE_OK);
    struct store_request asked = fake_request(STORE_CREATE, "/p/1");
    CHECK(asked.path && asked.length == 1 && asked.data[0] == '1');
    ANSWER(STORE_CREATE, "/p/1", .rc = STORE_EXISTS);
    end(s, "begin; answer 2 of verb 0, node 1");
}

/* The first create may still be done, though it was told to have no parent. */
TEST_CASE(parents_of_one_that_was_lost)
{
    played.reactions[0] = REACTION(ASK(CREATE, .node = 1));
    zkl_session *s = begin();

    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, "/p/1", .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_CREATE, "/p/1", .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, "/p", .rc = STORE_OK);
    ANSWER(STORE_CREATE, "/p/1", .rc = STORE_EXISTS);
    CHECK(played.late_until != 0);
    end(s, "begin; answer 2 of verb 0, node 1");
}

/* From the answer on, for 20 s and for a session timeout, and a tenth of that. */
TEST_CASE(done_late)
{
    static const int timeouts_ms[] = {FAKE_TIMEOUT_MS, 30000};

    for (size_t i = 0; i < G_N_ELEMENTS(timeouts_ms); i++) {
        played.reactions[0] = REACTION(ASK(DELETE, .node = 1), ASK(GET, .node = 2, .joins = true));
        zkl_session *s = begin();
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_DELETE, "/p/1", .rc = STORE_UNKNOWN);
        ANSWER(STORE_GET, "/p/2", .rc = STORE_UNKNOWN);
        fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, timeouts_ms[i]);
        const int64_t late_ns = MAX(timeouts_ms[i], 20000) / 10 * 11 * CLOCK_MS,
                      before = clock_boot();
        ANSWER(STORE_DELETE, "/p/1", .rc = STORE_NONODE);
        CHECK(played.late_until >= before + late_ns);
        CHECK(played.late_until <= clock_boot() + late_ns);
        ANSWER(STORE_GET, "/p/2", .rc = STORE_NONODE);
        CHECK(played.late_until == 0);
        end(s, "begin; answer 1 of verb 1, node 1; answer 1 of verb 2, node 2");
    }
}

static void end_session(zkl_session *s, char how, int64_t next)
{
    if (how == '.') {
        hand_jump(22000, 22000);
        return;
    }
    session_lock(s);
    if (how != 'f')
        incarnation_replace(s, how == 'e' ? LOSS_EXPIRED : LOSS_REPLACED);
    session_unlock(s);
    if (how == 'f') {
        fake_event_of(STORE_EV_UP, 0, 0);
        hand_pass(s, 1000);
    }
    hear(MACHINE_EV_SESSION);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, next, FAKE_TIMEOUT_MS);
}

/* A session that a server has ended does nothing more. The servers may hear later, or never, of an
 * end that was ours. */
TEST_CASE(done_late_in_the_next_session)
{
    static const struct {
        const char *ends; /* expired, replaced, replaced since what answers is foreign; 22 s pass */
        bool late;
    } rows[] = {{"e", false}, {"r", true}, {"ef", true}, {"re", true}, {"r.", false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct machine_actions asks =
            REACTION(ASK(DELETE, .node = 1), ASK(GET, .node = 2, .joins = true));
        GString *heard = g_string_new("begin");
        zkl_session *s = hand_session();
        played.reactions[0] = asks;
        begin_in(s);
        for (int n = 0; rows[i].ends[n]; n++) {
            played.reactions[played.steps] = asks;
            end_session(s, rows[i].ends[n], FAKE_SESSION_ID + 1 + n);
            if (rows[i].ends[n] != '.')
                g_string_append(heard, "; session, sent");
        }
        played.reactions[played.steps] = (struct machine_actions){.count = 0};
        ANSWER(STORE_DELETE, "/p/1", .rc = STORE_NONODE);
        CHECK_INT(played.late_until != 0, rows[i].late);
        ANSWER(STORE_GET, "/p/2", .rc = STORE_NONODE);
        CHECK(played.late_until == 0);
        g_string_append(heard, "; answer 1 of verb 1, node 1; answer 1 of verb 2, node 2");
        end_in(s, hand_close, heard->str);
        g_string_free(heard, TRUE);
    }
}

/* It was answered the first time. */
TEST_CASE(not_done_late)
{
    played.reactions[0] =
        REACTION(ASK(SET, .node = 1), ASK(SET, .node = 2, .once = true, .joins = true));
    zkl_session *s = begin();

    ANSWER(STORE_SET, "/p/1", .rc = STORE_OK);
    CHECK(played.late_until == 0);
    ANSWER(STORE_SET, "/p/2", .rc = STORE_OK);
    CHECK(played.late_until == 0);
    end(s, "begin; answer 0 of verb 5, node 1; answer 0 of verb 5, node 2");
}

/* The last one's answer counts, and only with it is the create asked again or told; but if it could
 * not be made for want of a parent, the reason is that of the first. */
TEST_CASE(several_parents)
{
    static const struct {
        enum store_rc first, last;
        const char *heard; /* NULL: the create is asked again */
    } rows[] = {
        {STORE_OK, STORE_OK, NULL},
        {STORE_EXISTS, STORE_EXISTS, NULL},
        {STORE_NOAUTH, STORE_EXISTS, NULL}, /* somebody else made it */
        {STORE_OK, STORE_NOAUTH, "begin; answer 4 of verb 0, node 9"},
        {STORE_NOAUTH, STORE_NONODE, "begin; answer 4 of verb 0, node 9"},
        {STORE_OK, STORE_GONE, "begin"},
        {STORE_NOAUTH, STORE_GONE, "begin"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        played.reactions[0] = REACTION(ASK(CREATE, .node = PLAY_DEEP));
        zkl_session *s = begin();
        ANSWER(STORE_CREATE, "/p/q/9", .rc = STORE_NONODE);
        CHECK_INT(fake_count(STORE_CREATE, "/p"), 2);
        ANSWER(STORE_CREATE, "/p", .rc = rows[i].first);
        CHECK(!fake_is_asked(STORE_CREATE, "/p/q/9"));
        CHECK_STR(played.heard->str, "begin");
        ANSWER(STORE_CREATE, "/p/q", .rc = rows[i].last);
        CHECK_INT(fake_is_asked(STORE_CREATE, "/p/q/9"), !rows[i].heard);
        if (!rows[i].heard)
            ANSWER(STORE_CREATE, "/p/q/9", .rc = STORE_EXISTS);
        end(s, rows[i].heard ? rows[i].heard : "begin; answer 2 of verb 0, node 9");
    }
}

TEST_CASE(parents_of_the_past)
{
    played.reactions[0] = REACTION(ASK(CREATE, .node = 1));
    played.reactions[1] = REACTION(ASK(STAT, .node = 2));
    zkl_session *s = begin();

    ANSWER(STORE_CREATE, "/p/1", .rc = STORE_NONODE);
    hear(MACHINE_EV_TIMER);
    ANSWER(STORE_CREATE, "/p", .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_CREATE, "/p/1"));
    end(s, "begin; timer");
}

/* Each answer of the session's end is for the driver alone. */
TEST_CASE(session_ends)
{
    played.reactions[0] = REACTION(ASK(SET, .node = 1, .once = true), ASK(GET, .joins = true));
    played.reactions[1] = REACTION(ASK(SET, .node = 1, .once = true));
    zkl_session *s = begin();

    fake_next_session();
    hear(MACHINE_EV_SESSION);
    end(s, "begin; session, sent");
}

/* What has happened between the end of one session and the news of the next changes nothing of it;
 * but another question does. */
TEST_CASE(session_ends_slowly)
{
    for (int asks = 0; asks < 2; asks++) {
        played.reactions[0] = REACTION(ASK(SET, .node = 1, .once = true));
        if (asks)
            played.reactions[1] = REACTION(ASK(SET, .node = 1, .once = true));
        zkl_session *s = begin();
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_SET, "/p/1", .rc = STORE_GONE);
        hear(MACHINE_EV_TIMER);
        hear(MACHINE_EV_SESSION);
        end(s, asks ? "begin; timer; session, unsent" : "begin; timer; session, sent");
    }
}

/* What was not sent is recalled, and nobody hears of it. */
TEST_CASE(stopped_before_it_is_asked)
{
    played.reactions[1] = REACTION(ASK(GET, .node = 1), ASK(GET, .node = 2, .joins = true));
    played.reactions[2] = REACTION(DO(END), DO(TELL, .verdict = 3));
    zkl_session *s = begin();

    fake_event(STORE_EV_DOWN);
    hear(MACHINE_EV_TIMER);
    hear(MACHINE_EV_STOP);
    CHECK_INT(played.held, 0);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_GET, "/p"));
    end(s, "begin; timer; stop, unsent; told 3");
}

TEST_CASE(stopped_after_it_was_asked)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1));
    played.reactions[1] = REACTION(DO(END), DO(TELL, .verdict = 3));
    zkl_session *s = begin();

    hear(MACHINE_EV_STOP);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    end(s, "begin; stop, sent; told 3");
}

/* The requests of one node are recalled, and the machine hears of it. */
TEST_CASE(recalled)
{
    played.reactions[1] = REACTION(ASK(GET, .node = 1), ASK(GET, .node = 2, .joins = true));
    played.reactions[2] = REACTION(DO(RECALL, .node = 1), DO(TELL, .verdict = 3));
    zkl_session *s = begin();

    fake_event(STORE_EV_DOWN);
    hear(MACHINE_EV_TIMER);
    hear(MACHINE_EV_TIMER);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_GET, "/p/1"));
    ANSWER(STORE_GET, "/p/2", .rc = STORE_OK);
    end(s, "begin; timer; timer; told 3; answer 7 of verb 2, node 1; answer 0 of verb 2, node 2");
}

/* The oldest first, whichever of them were answered meanwhile. */
TEST_CASE(recalled_in_order)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1), ASK(STAT, .node = 1, .joins = true),
                                   ASK(SYNC, .node = 1, .joins = true));
    played.reactions[3] =
        REACTION(ASK(SET, .node = 1, .joins = true), ASK(LIST, .node = 1, .joins = true),
                 ASK(STAT, .node = 1, .joins = true));
    played.reactions[6] = REACTION(DO(RECALL, .node = 1));
    zkl_session *s = begin();

    ANSWER(STORE_STAT, "/p/1", .rc = STORE_OK);
    ANSWER(STORE_SYNC, "/p/1", .rc = STORE_OK);
    hear(MACHINE_EV_TIMER);
    ANSWER(STORE_LIST, "/p/1", .rc = STORE_OK);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_STAT, "/p/1", .rc = STORE_UNKNOWN);
    ANSWER(STORE_SET, "/p/1", .rc = STORE_UNKNOWN);
    hear(MACHINE_EV_TIMER);
    end(s, "begin; answer 0 of verb 7, node 1; answer 0 of verb 4, node 1; timer; "
           "answer 0 of verb 3, node 1; answer 0 of verb 2, node 1; timer; "
           "answer 7 of verb 5, node 1; answer 7 of verb 7, node 1");
}

/* Thousands have a driver and wait. */
TEST_CASE(is_small)
{
    CHECK(sizeof(struct driver) <= 96);
}

static void end_the_last(struct driver *d, void *list)
{
    const struct played *last = g_queue_peek_tail(list);

    ((struct played *)d)->steps++;
    CHECK_INT(last->held, 1);
    driver_leave(g_queue_peek_tail(list), list);
}

/* The first of three ends the third, and the second itself. */
TEST_CASE(all_that_hear)
{
    static struct played all[3];
    GQueue list = G_QUEUE_INIT;

    for (int i = 0; i < 3; i++) {
        driver_init(&all[i].driver, &ops, NULL, STORE_PERSISTENT);
        driver_join(&all[i].driver, &list);
    }
    drivers_for_all(&list, end_the_last, &list);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(all[i].steps, i < 2);
        CHECK_INT(all[i].held, 0);
    }
    CHECK_INT(list.length, 1);
}

TEST_CASE(sent_once)
{
    played.reactions[0] = REACTION(ASK(SET, .node = 1, .once = true),
                                   ASK(SET, .node = 2, .version = 7, .joins = true));
    zkl_session *s = begin();

    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, "/p/1", .rc = STORE_UNKNOWN);
    ANSWER(STORE_SET, "/p/2", .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_SET, "/p/1"));
    CHECK_INT(fake_request(STORE_SET, "/p/2").version, 7);
    ANSWER(STORE_SET, "/p/2", .rc = STORE_BADVERSION);
    end(s, "begin; answer 9 of verb 5, node 1; answer 3 of verb 5, node 2");
}

/* The server hangs up on it each time; an answer begins anew. What is held back ends with the
 * pause, or with the session. */
TEST_CASE(lost_in_a_row)
{
    for (int ends = 0; ends < 2; ends++) {
        zkl_session *s = hand_session();
        begin_in(s);
        for (int round = 0; round < 9; round++) {
            played.steps = 0;
            played.reactions[0] = REACTION(ASK(SET, .node = 1, .once = true));
            hear(MACHINE_EV_TIMER);
            if (round == 3) {
                ANSWER(STORE_SET, "/p/1", .rc = STORE_BADVERSION);
                continue;
            }
            fake_event(STORE_EV_DOWN);
            g_string_truncate(played.heard, 0);
            ANSWER(STORE_SET, "/p/1", .rc = STORE_UNKNOWN);
            CHECK_STR(played.heard->str, round < 8 ? "answer 9 of verb 5, node 1" : "");
            fake_event(STORE_EV_UP);
        }
        hand_pass(s, 99);
        CHECK_STR(played.heard->str, "");
        if (ends)
            fake_next_session();
        else
            hand_pass(s, 1);
        end_in(s, hand_close, ends ? "" : "answer 9 of verb 5, node 1");
    }
}

/* On that connection or not at all. */
TEST_CASE(on_another_connection)
{
    played.reactions[1] = REACTION(ASK(SET, .node = 1, .once = true, .connection = UINT32_MAX));
    zkl_session *s = begin();

    hear(MACHINE_EV_TIMER);
    CHECK(!fake_is_asked(STORE_SET, "/p/1"));
    CHECK(played.late_until == 0);
    end(s, "begin; timer; answer 9 of verb 5, node 1, unsent");
}

/* What the store does not take is not sent; but it may have been sent before. */
TEST_CASE(not_taken)
{
    for (int again = 0; again < 2; again++) {
        played.reactions[again ? 0 : 1] = REACTION(ASK(SET, .node = 1));
        played.reactions[2] = REACTION(DO(END));
        zkl_session *s = begin();
        fake_event(STORE_EV_DOWN);
        if (again)
            ANSWER(STORE_SET, "/p/1", .rc = STORE_UNKNOWN);
        fake_busy(true);
        fake_event(STORE_EV_UP);
        hear(MACHINE_EV_TIMER);
        hear(MACHINE_EV_STOP);
        fake_busy(false);
        end(s, again ? "begin; timer; stop, sent" : "begin; timer; stop, unsent");
    }
}

TEST_CASE(changes)
{
    static const char *const asked[] = {"set /p/1 7", "set /p/1 7; create /x 0; delete /y 2"};

    for (int rest = 0; rest < 2; rest++) {
        played.reactions[0] =
            REACTION(ASK(MULTI, .node = 1, .count = 1, .rest = rest,
                         .parts = {{.verb = STORE_SET, .node = 1, .version = 7}}));
        zkl_session *s = begin();
        char *changes = fake_changes("/p/1");
        CHECK_STR(changes, asked[rest]);
        g_free(changes);
        ANSWER(STORE_MULTI, "/p/1", .rc = STORE_NOTEMPTY, .failed = rest);
        end(s, rest ? "begin; answer 6 of verb 8, node 1, change 1"
                    : "begin; answer 6 of verb 8, node 1");
    }
}

static bool note_length(const struct store_request *request, struct store_reply *reply)
{
    if (request->kind == STORE_MULTI)
        *reply = (struct store_reply){.rc = STORE_OK, .version = request->changes[0].length};
    return request->kind == STORE_MULTI;
}

/* What writes nothing has no data, and not data of no length. */
TEST_CASE(changes_without_data)
{
    played.reactions[0] =
        REACTION(ASK(MULTI, .node = 1, .count = 1, .parts = {{.verb = STORE_DELETE, .node = 1}}));
    zkl_session *s = begin_answered(note_length);
    CHECK_INT(played.version, -1);
    end(s, "begin; answer 0 of verb 8, node 1");
}

TEST_CASE(watches)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true),
                                   ASK(STAT, .node = 2, .watch = true, .joins = true),
                                   ASK(GET, .node = 3, .watch = true, .joins = true));
    played.reactions[3] = REACTION(DO(UNWATCH, .node = 1));
    played.reactions[5] = REACTION(DO(END));
    zkl_session *s = begin();

    fake_watch("/p/2", false); /* of the past: the answer is newer */
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    ANSWER(STORE_STAT, "/p/2", .rc = STORE_NONODE);
    ANSWER(STORE_GET, "/p/3", .rc = STORE_OK);
    fake_watch("/p/1", true);
    fake_watch("/p/2", false);
    hear(MACHINE_EV_TIMER);
    fake_watch("/p/3", true);
    end(s, "begin; answer 0 of verb 2, node 1; answer 1 of verb 7, node 2; "
           "answer 0 of verb 2, node 3; fired node 2; timer");
}

/* Whether a request has left its watch is told with the answer. */
TEST_CASE(watch_is_told)
{
    static const struct {
        bool asks, drops, told;
        enum store_rc rc;
    } rows[] = {{true, false, true, STORE_OK},
                {true, false, false, STORE_NONODE},
                {true, true, false, STORE_OK},
                {false, false, false, STORE_OK}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true));
        played.reactions[1] = REACTION(ASK(GET, .node = 1, .watch = rows[i].asks));
        played.reactions[2] = REACTION(DO(UNWATCH, .node = rows[i].drops ? 1 : 2));
        zkl_session *s = begin();
        ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
        CHECK(played.watched);
        hear(MACHINE_EV_TIMER);
        ANSWER(STORE_GET, "/p/1", .rc = rows[i].rc);
        CHECK_INT(played.watched, rows[i].told);
        end(s, rows[i].rc == STORE_OK
                   ? "begin; answer 0 of verb 2, node 1; timer; answer 0 of verb 2, node 1"
                   : "begin; answer 0 of verb 2, node 1; timer; answer 1 of verb 2, node 1");
    }
}

/* The step in which the answer came has dropped the watch; one that has fired since is told. */
TEST_CASE(watch_is_told_late)
{
    for (int drops = 0; drops < 2; drops++) {
        played.reactions[0] =
            REACTION(ASK(GET, .node = 1, .watch = true), DO(UNWATCH, .node = drops ? 1 : 2));
        played.reactions[1] = REACTION(DO(TELL, .verdict = 5));
        zkl_session *s = begin_answered(answer_get);
        CHECK_INT(played.watched, !drops);
        end(s, "begin; answer 0 of verb 2, node 1, seven; told 5");
    }
    played.reactions[0] =
        REACTION(ASK(GET, .node = 1, .watch = true), DO(TELL, .verdict = PLAY_FIRE));
    zkl_session *s = begin_answered(answer_get);
    CHECK(played.watched);
    end(s, "begin; answer 0 of verb 2, node 1, seven; fired node 1");
}

static bool answer_nonode(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NONODE};
    return request->kind == STORE_GET;
}

/* The watch that stands by then is another request's. */
TEST_CASE(watch_is_told_of_its_own_request)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true),
                                   ASK(STAT, .node = 1, .watch = true, .joins = true));
    zkl_session *s = begin_answered(answer_nonode);
    CHECK(!played.watched);
    ANSWER(STORE_STAT, "/p/1", .rc = STORE_NONODE);
    CHECK(played.watched);
    end(s, "begin; answer 1 of verb 2, node 1; answer 1 of verb 7, node 1");
}

/* A watch that has fired in the step that asks again is not told: the answer tells. */
TEST_CASE(fires_before_it_is_asked_again)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true));
    played.reactions[2] =
        REACTION(DO(TELL, .verdict = PLAY_FIRE), ASK(GET, .node = 1, .watch = true));
    zkl_session *s = begin();

    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    hear(MACHINE_EV_TIMER);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    fake_watch("/p/1", true);
    end(s, "begin; answer 0 of verb 2, node 1; timer; answer 0 of verb 2, node 1; "
           "fired node 1, gone");
}

/* A watch that fires in a step is told behind it, unless the step drops it. */
TEST_CASE(fires_in_a_step)
{
    for (int drops = 0; drops < 2; drops++) {
        played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true));
        played.reactions[2] = REACTION(DO(TELL, .verdict = PLAY_FIRE),
                                       DO(UNWATCH, .node = drops ? 1 : 2), DO(TELL, .verdict = 5));
        zkl_session *s = begin();
        ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
        hear(MACHINE_EV_TIMER);
        end(s, drops ? "begin; answer 0 of verb 2, node 1; timer; told 5"
                     : "begin; answer 0 of verb 2, node 1; timer; told 5; fired node 1");
    }
}

/* One watch for a node, however often it is asked for. */
TEST_CASE(watched_again)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true));
    played.reactions[2] = REACTION(ASK(GET, .node = 1, .watch = true));
    zkl_session *s = begin();
    const struct driver_watch *first = played.driver.watches;

    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    hear(MACHINE_EV_TIMER);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    fake_watch("/p/1", false);
    CHECK(first && played.driver.watches == first);
    end(s, "begin; answer 0 of verb 2, node 1; timer; answer 0 of verb 2, node 1; fired node 1");
}

/* But for those without a path; the watches on them end with them. */
TEST_CASE(deletes_several)
{
    played.reactions[0] = REACTION(ASK(GET, .node = PLAY_PATHLESS - 1, .more = 2, .watch = true));
    played.reactions[3] = REACTION(DO(DELETE, .node = PLAY_PATHLESS - 1, .more = 2));
    zkl_session *s = begin();

    ANSWER(STORE_GET, "/p/6", .rc = STORE_OK);
    ANSWER(STORE_GET, "/p/8", .rc = STORE_OK);
    hear(MACHINE_EV_TIMER);
    CHECK(!fake_is_asked(STORE_UNWATCH, "/p"));
    CHECK_INT(fake_count(STORE_DELETE, "/p"), 2);
    fake_watch("/p/6", true);
    fake_watch("/p/8", true);
    ANSWER(STORE_DELETE, "/p/6", .rc = STORE_OK);
    ANSWER(STORE_DELETE, "/p/8", .rc = STORE_OK);
    end(s, "begin; answer 0 of verb 2, node 6; answer 0 of verb 2, node 8; timer");
}

/* Behind the actions of each step. */
TEST_CASE(after)
{
    played.talks = 2;
    played.reactions[0] = REACTION(ASK(GET, .node = 1), DO(TELL, .verdict = 5));
    played.reactions[1] = REACTION(DO(TELL, .verdict = 6));
    zkl_session *s = begin_answered(answer_get);
    end(s, "begin; told 5; after; answer 0 of verb 2, node 1, seven; told 6; after; "
           "stop, unsent; stop, unsent");
}

TEST_CASE(path_of_a_watch)
{
    played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true));
    zkl_session *s = begin();

    CHECK_STR(driver_watch_path(&played.driver, 1), "/p/1");
    CHECK(!driver_watch_path(&played.driver, 2));
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    CHECK_STR(driver_watch_path(&played.driver, 1), "/p/1");
    fake_watch("/p/1", false);
    CHECK(!driver_watch_path(&played.driver, 1));
    end(s, "begin; answer 0 of verb 2, node 1; fired node 1");
}

/* The server need not remove a watch on a node that is being deleted. */
TEST_CASE(ends_with_its_node)
{
    for (int deleting = 0; deleting < 2; deleting++) {
        played.reactions[0] = REACTION(ASK(GET, .node = 1, .watch = true));
        played.reactions[2] = REACTION(DO(END, .deleting = deleting));
        zkl_session *s = begin();
        ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
        hear(MACHINE_EV_TIMER);
        CHECK_INT(fake_is_asked(STORE_UNWATCH, "/p/1"), !deleting);
        fake_watch("/p/1", true);
        end(s, "begin; answer 0 of verb 2, node 1; timer");
    }
}

/* ---- notes ---- */

static void fill_window(zkl_session *s, bool full)
{
    enum { MUCH = 1 << 20 };

    session_lock(s);
    if (full)
        s->under_way += MUCH;
    else
        s->under_way -= MUCH;
    session_unlock(s);
}

/* Sent before what waits for room; nothing is kept for its answer. */
TEST_CASE(note)
{
    played.reactions[1] =
        REACTION(ASK(GET, .node = 1), DO(NOTE, .node = 3, .version = 4), DO(FORGET, .slot = 0));
    zkl_session *s = begin();

    fill_window(s, true);
    hear(MACHINE_EV_TIMER);
    CHECK(!fake_is_asked(STORE_GET, "/p/1"));
    CHECK_INT(played.held, 1);
    const struct store_request asked = fake_request(STORE_SET, "/p/3");
    CHECK(asked.path && asked.length == 1 && asked.data[0] == '3' && asked.version == 4);
    fill_window(s, false);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, "/p/3", .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_SET, "/p/3"));
    end(s, "begin; timer");
}

TEST_CASE(note_without_a_connection)
{
    played.reactions[1] = REACTION(DO(NOTE, .node = 3));
    zkl_session *s = begin();

    fake_event(STORE_EV_DOWN);
    hear(MACHINE_EV_TIMER);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_SET, "/p/3"));
    end(s, "begin; timer");
}

/* The path is left in peace for a minute; that others came first is no refusal. */
TEST_CASE(note_refused)
{
    static const struct {
        enum store_rc rc;
        bool again;
    } rows[] = {{STORE_OK, true},      {STORE_BADVERSION, true}, {STORE_NONODE, true},
                {STORE_UNKNOWN, true}, {STORE_NOAUTH, false},    {STORE_BAD, false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_session *s = hand_session();
        for (int n = 0; n < 4; n++)
            played.reactions[n] = REACTION(DO(NOTE, .node = 3), DO(NOTE, .node = 4));
        begin_in(s);
        ANSWER(STORE_SET, "/p/3", .rc = rows[i].rc);
        hear(MACHINE_EV_TIMER);
        CHECK_INT(fake_count(STORE_SET, "/p/3"), rows[i].again);
        CHECK_INT(fake_count(STORE_SET, "/p/4"), 2);
        hand_jump(59999, 59999);
        hear(MACHINE_EV_TIMER);
        CHECK_INT(fake_count(STORE_SET, "/p/3"), rows[i].again * 2);
        hand_jump(1, 1);
        hear(MACHINE_EV_TIMER);
        CHECK_INT(fake_count(STORE_SET, "/p/3"), rows[i].again * 2 + 1);
        end_in(s, hand_close, "begin; timer; timer; timer");
    }
}

/* All refusals are forgotten when they are very many. */
TEST_CASE(notes_refused)
{
    const int64_t until = INT64_MAX;

    played.reactions[0] = REACTION(DO(NOTE, .node = 3));
    zkl_session *s = begin();

    session_lock(s);
    for (int i = 0; i < 1000; i++)
        g_hash_table_replace(s->unnoted, g_strdup_printf("/q/%d", i),
                             g_memdup2(&until, sizeof until));
    session_unlock(s);
    ANSWER(STORE_SET, "/p/3", .rc = STORE_NOAUTH);
    session_lock(s);
    CHECK_INT(g_hash_table_size(s->unnoted), 1);
    session_unlock(s);
    end(s, "begin");
}

/* ---- what is refused for want of room ---- */

static void set_watched(zkl_session *s, size_t bytes)
{
    session_lock(s);
    s->watched_bytes = bytes;
    session_unlock(s);
}

/* What was not asked is gone when the end recalls what is under way. */
TEST_CASE(too_many_watches_at_the_end)
{
    played.reactions[1] = REACTION(ASK(GET, .node = 1, .watch = true), DO(END));
    zkl_session *s = begin();

    set_watched(s, 1 << 30);
    hear(MACHINE_EV_TIMER);
    CHECK_INT(played.held, 0);
    set_watched(s, 0);
    end(s, "begin; timer");
}

TEST_CASE(too_many_watches)
{
    played.reactions[1] = REACTION(ASK(GET, .node = 1, .watch = true), DO(TELL, .verdict = 5));
    zkl_session *s = begin();

    set_watched(s, 1 << 30);
    hear(MACHINE_EV_TIMER);
    CHECK(!fake_is_asked(STORE_GET, "/p"));
    set_watched(s, 0);
    end(s, "begin; timer; told 5; answer 11 of verb 2, node 1");
}

/* It is asked without one, whatever others watch since. */
TEST_CASE(too_many_optional_watches)
{
    played.reactions[1] = REACTION(ASK(GET, .node = 1, .watch = true, .optional = true));
    played.reactions[2] =
        REACTION(ASK(GET, .node = 1, .watch = true, .optional = true, .joins = true));
    zkl_session *s = begin();

    set_watched(s, 1 << 30);
    hear(MACHINE_EV_TIMER);
    CHECK(!fake_is_watching(STORE_GET, "/p/1"));
    set_watched(s, 0);
    hear(MACHINE_EV_TIMER);
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    CHECK(!played.watched);
    CHECK(fake_is_watching(STORE_GET, "/p/1"));
    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    CHECK(played.watched);
    end(s, "begin; timer; timer; answer 0 of verb 2, node 1; answer 0 of verb 2, node 1");
}

static bool has_heard(const char *what)
{
    bool heard;

    session_lock(played.driver.session);
    heard = strstr(played.heard->str, what) != NULL;
    session_unlock(played.driver.session);
    return heard;
}

TEST_CASE(timer)
{
    played.reactions[0] = REACTION(DO(ARM, .at = INT64_MAX));
    played.reactions[1] = REACTION(DO(DISARM));
    played.reactions[2] = REACTION(DO(ARM, .at = 1));
    zkl_session *s = begin();

    CHECK(is_armed());
    hear(MACHINE_EV_STOP);
    CHECK(!is_armed());
    hear(MACHINE_EV_STOP);
    while (!has_heard("timer"))
        g_usleep(1000);
    end(s, "begin; stop, unsent; stop, unsent; timer");
}

/* Each action is done, and nothing else. */
TEST_CASE(one_by_one)
{
    played.reactions[0] =
        REACTION(ASK(GET, .node = 1, .watch = true), ASK(STAT, .node = 2, .joins = true));
    played.reactions[2] = REACTION(DO(NAME, .node = 1), DO(DISARM));
    played.reactions[4] = REACTION(DO(ARM, .at = INT64_MAX), DO(DELETE, .node = 3));
    played.reactions[5] = REACTION(DO(END));
    zkl_session *s = begin();

    ANSWER(STORE_GET, "/p/1", .rc = STORE_OK);
    hear(MACHINE_EV_TIMER);
    fake_watch("/p/1", true); /* it has another name, and its watch is as before */
    hear(MACHINE_EV_TIMER);
    CHECK_INT(fake_count(STORE_DELETE, "/p/3"), 1);
    CHECK(is_armed());
    hear(MACHINE_EV_TIMER);
    CHECK(!is_armed());
    ANSWER(STORE_DELETE, "/p/3", .rc = STORE_OK);
    ANSWER(STORE_STAT, "/p/2", .rc = STORE_OK);
    end(s, "begin; answer 0 of verb 2, node 1; timer; fired node 1, gone; timer; timer");
}

/* The directory of a node that may be made late is listed later. */
TEST_CASE(looks_for_late)
{
    played.reactions[0] = REACTION(DO(LATE, .node = 3));
    zkl_session *s = begin();

    CHECK(!is_armed());
    fake_await(STORE_LIST, "/p");
    CHECK_STR(fake_request(STORE_LIST, "/p").path, "/p");
    ANSWER(STORE_LIST, "/p", .rc = STORE_OK);
    end(s, "begin");
}

/* For searches. */
TEST_CASE(numbers_of_questions)
{
    static const struct machine_action asks = {.kind = MACHINE_ACT_REQUEST},
                                       beside = {.kind = MACHINE_ACT_REQUEST, .slot = 1};
    struct exchange x = {.lost = false};
    struct exchange_request r[4];

    r[0] = exchange_ask(&x, &asks);
    r[1] = exchange_ask(&x, &asks);
    r[2] = exchange_ask(&x, &beside);
    for (int i = 0; i < 3; i++)
        r[i] = exchange_plain_request(&x, r[i]);
    exchange_plain(&x);
    CHECK(exchange_is_stale(&x, r[0]) && !exchange_is_stale(&x, r[1]));
    CHECK_INT(r[0].question, 0);
    CHECK_INT(r[1].question, 1);
    CHECK_INT(x.question[0], 1);
    CHECK_INT(x.question[1], 1);
    CHECK(!exchange_is_stale(&x, r[2]) && !x.lost);
    exchange_end(&x);
    CHECK(exchange_is_stale(&x, r[1]) && exchange_is_stale(&x, r[2]) && !x.lost);
    CHECK(machine_is_by_quorum(STORE_NOTEMPTY) && machine_is_by_quorum(STORE_NONODE));
    CHECK(!machine_is_by_quorum(STORE_BAD) && !machine_is_by_quorum(STORE_NOAUTH));
}
