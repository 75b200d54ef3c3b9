/* What is told of a group. */
#include "recipes/children.h"
#include "recipes/group.h"
#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(group);

TEST_CASE(differences)
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

TEST_CASE(old_lists)
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
TEST_CASE(older_members)
{
    CHECK(group_is_older((struct group_node){5, 6}, (struct group_node){5, 5}));
    CHECK(!group_is_older((struct group_node){5, 6}, (struct group_node){5, 6}));
    CHECK(!group_is_older((struct group_node){5, 6}, (struct group_node){5, 7}));
    CHECK(!group_is_older((struct group_node){5, 6}, (struct group_node){4, 4}));
    CHECK(!group_is_older((struct group_node){0, 0}, (struct group_node){0, 0}));
}

/* What is older is held back until it has been older for long, on one connection. */
TEST_CASE(held_back)
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

/* Or for twice as long on several, each lost too soon; where there was none does not count. */
TEST_CASE(held_back_on_many_connections)
{
    struct newest n = {.changed = 7};

    CHECK(newest_holds_back(&n, 100, 50));
    CHECK(newest_holds_back(&n, 140, 50));
    newest_connected(&n);
    CHECK(newest_holds_back(&n, 1000, 50));
    CHECK(newest_holds_back(&n, 1040, 50));
    newest_connected(&n);
    CHECK(newest_holds_back(&n, 2000, 50));
    CHECK(newest_holds_back(&n, 2019, 50));
    CHECK(!newest_holds_back(&n, 2020, 50));
}
