#include "lib/base/path.h"
#include "runner.h"

#include <glib.h>
#include <string.h>
#include <zkl/error.h>

TEST_SUITE(path);

static void check_refused(const char *path, const char *why)
{
    const char *wrong = path_check(path);

    CHECK(wrong && strstr(wrong, why));
}

TEST_CASE(good_paths)
{
    CHECK(path_check("/a") == NULL);
    CHECK(path_check("/a/b.c/..d/...") == NULL);
    CHECK(path_check("/a/\xc3\xa9\xe2\x82\xac") == NULL);
}

TEST_CASE(bad_paths)
{
    char *longer = g_strnfill(PATH_LENGTH_MAX + 1, 'a');

    longer[0] = '/';
    check_refused(NULL, "NULL");
    check_refused("", "empty");
    check_refused("a", "begin with a slash");
    check_refused("/", "root");
    check_refused("//a", "//");
    check_refused("/a//b", "//");
    check_refused("/a/", "end with a slash");
    check_refused("/a/./b", ". or ..");
    check_refused("/a/..", ". or ..");
    check_refused(longer, "longer");
    longer[PATH_LENGTH_MAX] = '\0';
    CHECK(path_check(longer) == NULL);
    g_free(longer);
}

/* Below a chroot it is a name like any other. */
TEST_CASE(of_the_servers)
{
    CHECK_INT(path_error("", "/zookeeper"), ZKL_EINVAL);
    CHECK_INT(path_error("", "/zookeeper/a"), ZKL_EINVAL);
    CHECK_INT(path_error("", "/zookeepers"), 0);
    CHECK_INT(path_error("", "/a/zookeeper"), 0);
    CHECK_INT(path_error("/a", "/zookeeper"), 0);
}

TEST_CASE(bad_characters)
{
    check_refused("/\xff", "UTF-8");
    check_refused("/a\x01", "character");
    check_refused("/a\x1f", "character");
    check_refused("/a\x7f", "character");
    check_refused("/\xc2\x9f", "character");         /* U+009F */
    check_refused("/\xee\x80\x80", "character");     /* U+E000, private use */
    check_refused("/\xef\xa3\xbf", "character");     /* U+F8FF */
    check_refused("/\xef\xbf\xb0", "character");     /* U+FFF0 */
    check_refused("/\xef\xbf\xbd", "character");     /* U+FFFD */
    check_refused("/\xf0\x90\x80\x80", "character"); /* U+10000, two surrogates */
    CHECK(path_check("/ ") == NULL);
    CHECK(path_check("/\xc2\xa0") == NULL);     /* U+00A0 */
    CHECK(path_check("/\xed\x9f\xbf") == NULL); /* U+D7FF, before the surrogates */
    CHECK(path_check("/\xef\xa4\x80") == NULL); /* U+F900 */
    CHECK(path_check("/\xef\xbf\xaf") == NULL); /* U+FFEF */
}

TEST_CASE(within)
{
    CHECK(path_is_within("/a", "/a"));
    CHECK(path_is_within("/a/b", "/a"));
    CHECK(path_is_within("/a", "/"));
    CHECK(path_is_within("/", "/"));
    CHECK(!path_is_within("/ab", "/a"));
    CHECK(!path_is_within("/a", "/a/b"));
    CHECK(!path_is_within("/", "/a"));
}

static void check_split(const char *connect, const char *hosts, const char *chroot)
{
    char *got_hosts = NULL, *got_chroot = NULL;

    CHECK_STR(path_split_connect(connect, &got_hosts, &got_chroot), NULL);
    CHECK_STR(got_hosts, hosts);
    CHECK_STR(got_chroot, chroot);
    g_free(got_hosts);
    g_free(got_chroot);
}

TEST_CASE(connect_strings)
{
    check_split("a", "a:2181", "");
    check_split("a:1,b:65535", "a:1,b:65535", "");
    check_split(" a , b:7 ", "a:2181,b:7", "");
    check_split("[::1]", "::1:2181", "");
    check_split("[::1]:77,b", "::1:77,b:2181", "");
    check_split("a/", "a:2181", "");
    check_split("a:1/x/y", "a:1", "/x/y");
    check_split("a:1,b:2/x:1/y:2", "a:1,b:2", "/x:1/y:2");
}

TEST_CASE(bad_connect_strings)
{
    static const struct {
        const char *connect, *why;
    } bad[] = {
        {NULL, "empty"},
        {"", "empty"},
        {"/a", "no host"},
        {",a", "host name"},
        {"a,", "host name"},
        {":1", "host name"},
        {"a b", "character"},
        {"a:", "port"},
        {"a:0", "port"},
        {"a:65536", "port"},
        {"a:x", "port"},
        {"a:1:2", "port"},
        {"::1", "brackets"},
        {"a,fe80::1:2181", "brackets"},
        {"1:2:3:4:5:6:7:8:9", "brackets"},
        {"fe80::1%lo:2181", "brackets"},
        {"[::1", "bracket"},
        {"[::1]x", "bracket"},
        {"[]", "host name"},
        {"a/b//c", "//"},
        {"a:1/app,b:1/app", "chroot is written once"},
        {"a/app,b/app", "chroot is written once"},
        {"a:1/app,b:1", "chroot is written once"},
        {"a,b/app,", "chroot is written once"},
        {"a/,b", "chroot is written once"},
        {"a/b/", "end with"},
        {"\xc3\xa9", "character"},
        {"a/zookeeper", "servers' own"},
        {"a/zookeeper/quota", "servers' own"},
    };
    char *hosts, *chroot;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        const char *wrong = path_split_connect(bad[i].connect, &hosts, &chroot);
        if (!wrong || !strstr(wrong, bad[i].why))
            runner_fail(__FILE__, __LINE__, "\"%s\": %s", bad[i].connect, wrong);
    }
}

TEST_CASE(above)
{
    static const char *const of[] = {"/a", "/a/bc", "/a/bc/d", "/a/bc/d"};

    CHECK_INT(path_count_above("/a"), 0);
    CHECK_INT(path_count_above("/a/bc/d"), 2);
    for (uint32_t i = 0; i < G_N_ELEMENTS(of); i++) {
        char *path = path_above("/a/bc/d", i);
        CHECK_STR(path, of[i]);
        g_free(path);
    }
}

/* As they were given, with their ports. */
TEST_CASE(shown_hosts)
{
    static const char *const same[] = {"a:1", "[::1]:77,b:2181", "b:1,[fe80::1%lo]:2,[::]:3"};

    for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
        char *hosts, *chroot, *shown;
        REQUIRE(path_split_connect(same[i], &hosts, &chroot) == NULL);
        shown = path_show_hosts(hosts);
        CHECK_STR(shown, same[i]);
        g_free(hosts);
        g_free(chroot);
        g_free(shown);
    }
}
