#include "meeting.h"

#include <string.h>

struct meeting meeting;

void meeting_done(const zkl_error *err, void *data)
{
    (void)data;
    meeting.out.calls++;
    meeting.out.code = err ? err->code : 0;
    g_strlcpy(meeting.out.text, err ? err->text : "", sizeof meeting.out.text);
}

void meeting_ended(int code)
{
    zkl_session_dispatch(meeting.s);
    CHECK_INT(meeting.out.calls, 1);
    CHECK_INT(meeting.out.code, code);
    meeting.out = (struct meeting_outcome){.calls = 0};
}

void meeting_pending(void)
{
    zkl_session_dispatch(meeting.s);
    CHECK_INT(meeting.out.calls, 0);
}

/* ---- the server's answers ---- */

void meeting_take_own(void)
{
    g_free(meeting.own);
    meeting.own = g_strdup(fake_request(STORE_CREATE, PATH "/").path);
    REQUIRE(meeting.own != NULL);
}

void meeting_enter(int64_t timeout_ms)
{
    CHECK_INT(zkl_double_barrier_enter_async(meeting.b, timeout_ms, meeting_done, NULL), 0);
    meeting_take_own();
}

void meeting_begin(int members)
{
    meeting.s = hand_session();
    REQUIRE(zkl_double_barrier_new(&meeting.b, meeting.s, "/d", members, NULL) == 0);
    meeting.out = (struct meeting_outcome){.calls = 0};
    meeting.own = NULL;
}

void meeting_end(void)
{
    zkl_double_barrier_free(meeting.b);
    hand_close(meeting.s);
    g_free(meeting.own);
}

void meeting_made(void)
{
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_OK, .path = meeting.own, .czxid = 10);
}

void meeting_looked(void)
{
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4, .data = "dir", .length = 3);
    CHECK(fake_is_watching(STORE_STAT, READY));
    ANSWER(STORE_STAT, READY, .rc = STORE_NONODE);
}

void meeting_listed(const char *names)
{
    char **list = g_strsplit(names, " ", -1);

    for (char **name = list; *name; name++) {
        if (strcmp(*name, "*") == 0) {
            g_free(*name);
            *name = g_strdup(strrchr(meeting.own, '/') + 1);
        }
    }
    ANSWER(STORE_LIST, PATH, .rc = STORE_OK, .names = list, .count = (int)g_strv_length(list),
           .pzxid = 11);
    g_strfreev(list);
}

void meeting_stat_of(const char *name, uint64_t czxid)
{
    char *path = *name == '*' ? g_strdup(meeting.own) : g_strconcat(PATH "/", name, NULL);

    ANSWER(STORE_STAT, path, .rc = czxid ? STORE_OK : STORE_NONODE, .czxid = czxid);
    g_free(path);
}

void meeting_changes(const char *wanted, const char *data)
{
    char *changes = fake_changes(PATH), *written = fake_changed_data(PATH);

    CHECK_STR(changes, wanted);
    CHECK_STR(written, data);
    g_free(written);
    g_free(changes);
}

void meeting_let_in(void)
{
    meeting_made();
    meeting_looked();
    meeting_listed("ready * " OTHER);
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    meeting_ended(0);
}

void meeting_inside(void)
{
    meeting_enter(ZKL_FOREVER);
    meeting_let_in();
}

void meeting_leave(int64_t timeout_ms)
{
    CHECK_INT(zkl_double_barrier_leave_async(meeting.b, timeout_ms, meeting_done, NULL), 0);
}

void meeting_next_session(void)
{
    fake_next_session();
}
