#include "lib/base/acl.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(acl);

static void check_entry(const GArray *list, guint i, const char *scheme, const char *id,
                        int32_t perms)
{
    const struct acl_entry *e = &g_array_index(list, struct acl_entry, i);

    CHECK_STR(e->scheme, scheme);
    CHECK_STR(e->id, id);
    CHECK_INT(e->perms, perms);
}

TEST_CASE(entries)
{
    GArray *list = acl_parse("digest:a:b=:rw,auth::a,ip:10.0.0.0/8:cdrwa");

    REQUIRE(list && list->len == 3);
    check_entry(list, 0, "digest", "a:b=", 1 | 2); /* ids hold colons */
    check_entry(list, 1, "auth", "", 16);
    check_entry(list, 2, "ip", "10.0.0.0/8", 31);
    g_array_unref(list);
}

TEST_CASE(world_by_default)
{
    GArray *list = acl_parse(NULL);

    REQUIRE(list && list->len == 1);
    check_entry(list, 0, "world", "anyone", 31);
    g_array_unref(list);
}

TEST_CASE(refused)
{
    static const char *const bad[] = {
        "",          "world",           "world:anyone", ":anyone:r",           "world:anyone:",
        "world:a:x", "world:anyone:rx", "a:b:r,",       "world:anyone:r,oops", ",a:b:r"};

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        GArray *list = acl_parse(bad[i]);
        if (list)
            runner_fail(__FILE__, __LINE__, "\"%s\" was taken", bad[i]);
        g_clear_pointer(&list, g_array_unref);
    }
}
