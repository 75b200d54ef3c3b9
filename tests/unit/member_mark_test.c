/* Marks: the own one, and that of another which has the name. */
#include "lib/member/member.h"
#include "member_story.h"
#include "suites.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- its mark ---- */

static void makes_its_mark(void)
{
    struct process_id who, self;
    struct member_outcome o;

    mstory_begin(NULL);
    process_self(&self);
    mstory_created();
    mstory_read();
    const struct store_request mark = fake_request(STORE_CREATE, STORY_MARK);
    REQUIRE(mark.path != NULL);
    CHECK_STR(mark.path, STORY_MARK);
    CHECK_INT(mark.mode, STORE_EPHEMERAL);
    REQUIRE(process_id_read(mark.data, (size_t)mark.length, &who));
    CHECK(who.pid == self.pid && who.start == self.start);
    ANSWER(STORE_CREATE, STORY_MARK, .rc = STORE_NONODE);
    CHECK(!fake_is_asked(STORE_CREATE, STORY_MARK));
    CHECK_INT(fake_request(STORE_CREATE, STORY_MARKS).mode, STORE_CONTAINER);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    ANSWER(STORE_CREATE, STORY_MARKS, .rc = STORE_OK);
    mstory_update("two", &o);
    CHECK(!fake_is_asked(STORE_MULTI, STORY_NODE));
    ANSWER(STORE_CREATE, STORY_MARK, .rc = STORE_OK);
    mstory_sets(true, "two", 0);
    mstory_end();
}

/* It is sent once. If it may stand it is a fence. */
static void may_have_no_mark(void)
{
    static const struct {
        enum store_rc mark, directory, again; /* STORE_GONE: not asked for */
        bool fenced;
    } rows[] = {
        {STORE_OK, STORE_GONE, STORE_GONE, true},
        {STORE_UNKNOWN, STORE_GONE, STORE_GONE, true},
        {STORE_EXISTS, STORE_GONE, STORE_GONE, false},
        {STORE_NOAUTH, STORE_GONE, STORE_GONE, false},
        {STORE_NONODE, STORE_NOAUTH, STORE_GONE, false},
        {STORE_NONODE, STORE_OK, STORE_NONODE, false},
        {STORE_NONODE, STORE_OK, STORE_UNKNOWN, true},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct member_outcome o;
        mstory_begin(NULL);
        mstory_created();
        mstory_read();
        mstory_update("two", &o);
        ANSWER(STORE_CREATE, STORY_MARK, .rc = rows[i].mark);
        if (rows[i].directory != STORE_GONE) {
            ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
            ANSWER(STORE_CREATE, STORY_MARKS, .rc = rows[i].directory);
        }
        if (rows[i].again != STORE_GONE)
            ANSWER(STORE_CREATE, STORY_MARK, .rc = rows[i].again);
        CHECK(!fake_is_asked(STORE_CREATE, STORY_MARK));
        mstory_sets(rows[i].fenced, "two", 0);
        CHECK_INT(mstory_logged("nobody can see that member's process die"),
                  rows[i].mark == STORE_NOAUTH);
        mstory_end();
    }
}

/* Nobody would delete it then; also when there is another node by then. */
static void needs_no_mark_any_more(void)
{
    for (int made = 0; made < 2; made++) {
        mstory_begin(NULL);
        mstory_created();
        mstory_read();
        ANSWER(STORE_CREATE, STORY_MARK, .rc = STORE_NONODE);
        fake_watch(STORY_NODE, true);
        if (made)
            ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 6);
        ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
        ANSWER(STORE_CREATE, STORY_MARKS, .rc = STORE_OK);
        CHECK(!fake_is_asked(STORE_CREATE, STORY_MARK));
        CHECK_INT(fake_is_asked(STORE_CREATE, STORY_MARKS "/a-0000000000000006"), made);
        mstory_end();
    }
}

/* ---- that of another ---- */

/* The process of a mark in the words that are read; dead: of one that lived a moment ago. */
static char *mark_of(bool dead)
{
    struct process_id who;
    char text[PROCESS_ID_TEXT];

    process_self(&who);
    if (dead) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
        who.pid = (uint64_t)child;
    }
    return g_strndup(text, process_id_write(&who, text));
}

static void waits_for_another(void)
{
    enum mark { NONE, REFUSED, ANOTHERS, ODD, EMPTY, LIVING, DEAD };
    static const struct {
        enum mark mark;
        enum { WAITS, NAMES, CLAIMS } then;
    } rows[] = {{NONE, WAITS},  {REFUSED, WAITS}, {ANOTHERS, WAITS}, {ODD, WAITS},
                {EMPTY, WAITS}, {LIVING, NAMES},  {DEAD, CLAIMS}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = rows[i].mark == ODD ? g_strdup("odd") : mark_of(rows[i].mark != LIVING);
        struct store_reply reply = {.rc = rows[i].mark == NONE      ? STORE_NONODE
                                          : rows[i].mark == REFUSED ? STORE_NOAUTH
                                                                    : STORE_OK,
                                    .ephemeral_owner =
                                        rows[i].mark == ANOTHERS ? STORY_OTHER + 1 : STORY_OTHER,
                                    .data = rows[i].mark == EMPTY ? NULL : text,
                                    .length = rows[i].mark == EMPTY ? -1 : (int)strlen(text)};
        mstory_begin(NULL);
        mstory_taken(STORY_OTHER);
        CHECK(!fake_is_watching(STORE_GET, STORY_OTHER_MARK));
        CHECK(fake_answer(STORE_GET, STORY_OTHER_MARK, reply));
        char *changes = fake_changes(STORY_NODE);
        CHECK_INT(changes != NULL, rows[i].then == CLAIMS);
        if (changes)
            CHECK_STR(changes, "delete " STORY_OTHER_MARK " -1; delete " STORY_NODE " -1");
        g_free(changes);
        struct process_id self;
        process_self(&self);
        char *words = g_strdup_printf("busy 3 of 9, %s pid %d", self.host, (int)getpid());
        mstory_told(rows[i].then == WAITS ? "busy 3 of 9" : rows[i].then == NAMES ? words : "");
        g_free(words);
        mstory_end();
        g_free(text);
    }
}

/* It may die while it is waited for. */
static void looks_again(void)
{
    mstory_begin(NULL);
    mstory_taken(STORY_OTHER);
    ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = STORE_NONODE);
    mstory_told("busy 3 of 9");
    hand_pass(mstory.s, 999);
    CHECK(!fake_is_asked(STORE_GET, STORY_OTHER_MARK));
    hand_pass(mstory.s, 1);
    ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = STORE_NONODE);
    mstory_told("");
    fake_watch(STORY_NODE, true);
    CHECK(!mstory.m->timer.at);
    CHECK(!fake_is_asked(STORE_GET, STORY_OTHER_MARK));
    mstory_joined();
    mstory_told("joined 5");
    mstory_end();
}

/* Of another node nothing is known that was said of the one before. */
static void knows_nothing_of_the_next(void)
{
    char *text = mark_of(false);

    mstory_begin(NULL);
    mstory_taken(STORY_OTHER);
    ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = STORE_OK, .ephemeral_owner = STORY_OTHER,
           .data = text, .length = (int)strlen(text));
    fake_watch(STORY_NODE, false);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 4, .ephemeral_owner = 0);
    ANSWER(STORE_GET, STORY_MARKS "/a-0000000000000004", .rc = STORE_NONODE);
    zkl_session_dispatch(mstory.s);
    CHECK(g_str_has_suffix(mstory.told->str, "; busy 4 of 0"));
    g_string_truncate(mstory.told, 0);
    mstory_end();
    g_free(text);
}

/* Once: whatever the answer is, it begins anew. */
static void claims_a_dead_one(void)
{
    static const struct {
        enum store_rc rc;
        int failed;
    } rows[] = {{STORE_OK, 0}, {STORE_NONODE, 0}, {STORE_NONODE, 1}, {STORE_NOAUTH, 0}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = mark_of(true);
        mstory_begin(NULL);
        mstory_taken(STORY_OTHER);
        ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = STORE_OK, .ephemeral_owner = STORY_OTHER,
               .data = text, .length = (int)strlen(text));
        ANSWER(STORE_MULTI, STORY_NODE, .rc = rows[i].rc, .failed = rows[i].failed);
        mstory_joined();
        mstory_told("joined 5");
        mstory_end();
        g_free(text);
    }
}

/* A former session of this very one has it: its process, which is this one, lives, and the node is
 * deleted all the same, if there is its mark. One whose session was long ago is waited for. */
static void of_a_former_session(void)
{
    static const struct {
        int sessions, connections;
        bool marked, claims;
    } rows[] = {{1, 0, true, true},
                {1, 64, true, true},
                {63, 0, true, true},
                {64, 0, true, false},
                {1, 0, false, false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = mark_of(false);
        mstory_begin(NULL);
        mstory_joined();
        for (int n = 1; n <= rows[i].sessions; n++)
            mstory_replace(FAKE_SESSION_ID + 100 + n);
        for (int n = 0; n < rows[i].connections; n++) {
            fake_event(STORE_EV_DOWN);
            fake_event_of(STORE_EV_UP, mstory.s->id, FAKE_TIMEOUT_MS);
        }
        zkl_session_dispatch(mstory.s);
        g_string_truncate(mstory.told, 0);
        mstory_taken(FAKE_SESSION_ID);
        ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = rows[i].marked ? STORE_OK : STORE_NONODE,
               .ephemeral_owner = FAKE_SESSION_ID, .data = text, .length = (int)strlen(text));
        CHECK_INT(fake_is_asked(STORE_MULTI, STORY_NODE), rows[i].claims);
        mstory_end();
        g_free(text);
    }
}

/* Its watch goes with who leaves. */
static void leaves_while_it_waits(void)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_taken(STORY_OTHER);
    ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = STORE_NONODE);
    mstory_told("busy 3 of 9");
    mstory_leave(ZKL_FOREVER, &o);
    mstory_ended(&o, 0, NULL);
    mstory_told("left");
    CHECK(fake_is_asked(STORE_UNWATCH, STORY_NODE));
    CHECK(!mstory.m->timer.at);
    mstory_end();
}

static const struct test_case cases[] = {
    {"makes_its_mark", makes_its_mark},
    {"may_have_no_mark", may_have_no_mark},
    {"needs_no_mark_any_more", needs_no_mark_any_more},
    {"waits_for_another", waits_for_another},
    {"looks_again", looks_again},
    {"knows_nothing_of_the_next", knows_nothing_of_the_next},
    {"claims_a_dead_one", claims_a_dead_one},
    {"of_a_former_session", of_a_former_session},
    {"leaves_while_it_waits", leaves_while_it_waits},
    {NULL, NULL},
};

const struct test_suite member_mark_suite = {.name = "member_mark", .cases = cases};
