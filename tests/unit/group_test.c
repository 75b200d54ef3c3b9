/* What is told of a group; and what a mark says of a process. */
#include "recipes/group.h"
#include "recipes/newest.h"
#include "recipes/process_id.h"
#include "suites.h"

#include <glib.h>
#include <string.h>

static void differences(void)
{
    static const struct {
        struct group_node told, now;
        bool other;
        const char *news;
        uint64_t at;
    } rows[] = {
        {{0, 0}, {0, 0}, false, "", 0},
        {{0, 0}, {5, 5}, false, "joined", 5},
        {{0, 0}, {5, 9}, false, "joined", 5},
        {{5, 5}, {5, 5}, false, "", 0},
        {{5, 5}, {5, 5}, true, "changed", 5}, /* the data have gone back, and on again */
        {{5, 5}, {5, 6}, false, "changed", 6},
        {{5, 6}, {5, 5}, false, "changed", 5}, /* the data have gone back */
        {{5, 6}, {7, 7}, true, "left joined", 7},
        {{7, 7}, {5, 6}, false, "left joined", 5}, /* the same */
        {{5, 6}, {0, 0}, false, "left", 0},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct group_node told = rows[i].told;
        struct group_news news = group_see(&told, rows[i].now, rows[i].other);
        char *text = g_strdup_printf("%s%s%s%s", news.left ? "left" : "",
                                     news.left && news.joined ? " " : "",
                                     news.joined ? "joined" : "", news.changed ? "changed" : "");
        CHECK_STR(text, rows[i].news);
        CHECK_INT(news.at, rows[i].at);
        const struct group_node then = *rows[i].news ? rows[i].now : rows[i].told;
        CHECK(told.czxid == then.czxid && told.mzxid == then.mzxid);
        g_free(text);
    }
}

static void old_lists(void)
{
    struct newest n = {.changed = 0};

    CHECK(newest_list(&n, 5));
    CHECK(newest_list(&n, 5));
    CHECK(newest_list(&n, 7));
    CHECK(!newest_list(&n, 6));
    CHECK(newest_list(&n, 7));
    newest_rewind(&n);
    CHECK(newest_list(&n, 0));
    CHECK(newest_list(&n, 2));
    CHECK(!newest_list(&n, 1));
}

/* Only the same node can be older than it was. */
static void older_members(void)
{
    CHECK(group_is_older((struct group_node){5, 6}, (struct group_node){5, 5}));
    CHECK(!group_is_older((struct group_node){5, 6}, (struct group_node){5, 6}));
    CHECK(!group_is_older((struct group_node){5, 6}, (struct group_node){5, 7}));
    CHECK(!group_is_older((struct group_node){5, 6}, (struct group_node){4, 4}));
    CHECK(!group_is_older((struct group_node){0, 0}, (struct group_node){0, 0}));
}

/* What is older is held back until it has been older for long, on one connection. */
static void held_back(void)
{
    struct newest n = {.changed = 7};

    CHECK(newest_holds_back(&n, 100, 50));
    CHECK(newest_holds_back(&n, 149, 50));
    newest_connected(&n);
    CHECK(newest_holds_back(&n, 150, 50));
    CHECK(newest_holds_back(&n, 199, 50));
    newest_told(&n); /* it was not older any more */
    CHECK(newest_holds_back(&n, 200, 50));
    CHECK(!newest_list(&n, 6));
    CHECK(!newest_holds_back(&n, 250, 50));
    CHECK(newest_list(&n, 6));
    CHECK(!newest_holds_back(&n, 251, 50)); /* nor is what is read behind that list */
    newest_told(&n);
    CHECK(newest_holds_back(&n, 252, 50));
    newest_rewind(&n); /* the session knows */
    CHECK(!newest_holds_back(&n, 253, 50));
}

static const struct process_id self = {"0f3f8a52-1111-2222-3333-444455556666", "host.example",
                                       4026531836, 77, 123456};

static void processes_as_text(void)
{
    static const char *const wrong[] = {
        "",
        "zkl process 2 1 2 3 b h",
        "zkl process 1 1 2 3 b",
        "zkl process 1 1 2 3 b h ",
        "zkl process 1 1 2 3 b h x",
        "zkl process 1 1 0 3 b h",
        "zkl process 1 1 2147483648 3 b h",
        "zkl process 1 18446744073709551616 2 3 b h",
        "zkl process 1 1 -2 3 b h",
        "zkl process 1 1 2 3  h",
        "zkl process 1 1  3 b h",
        "zkl process 1 1 2  b h",
        "zkl process 1x1 2 3 b h",
        "zkl process 1 1 2 3 b\x7f h",
        "zkl process 1 10 2 3 b h\x7f",
        "zkl process 1 1 2 3 0f3f8a52-1111-2222-3333-4444555566667 h",
    };
    struct process_id read, odd = {.host = "a b\n", .pid = 2147483647, .space = UINT64_MAX};
    char text[PROCESS_ID_TEXT];
    size_t length = process_id_write(&self, text);

    CHECK_STR(text, "zkl process 1 4026531836 77 123456 "
                    "0f3f8a52-1111-2222-3333-444455556666 host.example");
    CHECK_INT(length, strlen(text));
    REQUIRE(process_id_read(text, length, &read));
    CHECK_STR(read.boot, self.boot);
    CHECK_STR(read.host, self.host);
    CHECK(read.space == self.space && read.pid == self.pid && read.start == self.start);
    CHECK(!process_id_read(text, length - strlen("host.example"), &read));
    length = process_id_write(&odd, text);
    CHECK_STR(text, "zkl process 1 18446744073709551615 2147483647 0 - a?b?");
    REQUIRE(process_id_read(text, length, &read));
    CHECK_STR(read.boot, "");
    CHECK(read.space == UINT64_MAX && read.pid == 2147483647);
    odd.space = 10;
    odd.host[0] = 0x7f;
    process_id_write(&odd, text);
    CHECK_STR(text, "zkl process 1 10 2147483647 0 - ??b?");
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
        if (!CHECK(!process_id_read(wrong[i], strlen(wrong[i]), &read)))
            runner_fail(__FILE__, __LINE__, "\"%s\"", wrong[i]);
    memset(odd.host, 'h', PROCESS_ID_HOST);
    memset(odd.boot, 'b', PROCESS_ID_BOOT);
    odd.start = UINT64_MAX;
    length = process_id_write(&odd, text);
    CHECK(length < sizeof text && process_id_read(text, length, &read));
    text[length] = 'h';
    CHECK(!process_id_read(text, length + 1, &read));
}

static void who_is_dead(void)
{
    struct process_id other = self;

    CHECK(!process_id_is_dead(&other, &self, true)); /* ourselves */
    CHECK(!process_id_is_dead(&other, &self, false));
    other.start++;
    CHECK(process_id_is_dead(&other, &self, true)); /* we have its process id now */
    other.pid++;
    CHECK(!process_id_is_dead(&other, &self, true));
    CHECK(process_id_is_dead(&other, &self, false));
    other.space++;
    CHECK(!process_id_is_dead(&other, &self, false)); /* another container */
    other.space--;
    other.boot[0] = '1';
    CHECK(!process_id_is_dead(&other, &self, false)); /* another host, or before its reboot */
    struct process_id unknown = {.pid = 5, .space = 1}, we = {.pid = 6, .space = 1};
    CHECK(!process_id_is_dead(&unknown, &we, false));
}

static const struct test_case cases[] = {{"differences", differences},
                                         {"old_lists", old_lists},
                                         {"older_members", older_members},
                                         {"held_back", held_back},
                                         {"processes_as_text", processes_as_text},
                                         {"who_is_dead", who_is_dead},
                                         {NULL, NULL}};

const struct test_suite group_suite = {"group", NULL, NULL, cases};
