/* What libzookeeper hands over as good although it was not in the answer. */
#include "lib/store/store_zk.h"

#include "runner.h"
#include "suites.h"

static int check_names(int32_t count, char **data)
{
    return store_zk_check_names(ZOK, &(struct String_vector){count, data});
}

static void names(void)
{
    char a[] = "a", b[] = "", *good[] = {a, b}, *bad[] = {a, NULL}, *first[] = {NULL, a};

    CHECK_INT(check_names(2, good), ZOK);
    CHECK_INT(check_names(0, NULL), ZOK);
    CHECK_INT(check_names(0, good), ZOK);
    CHECK_INT(check_names(1, bad), ZOK);
    CHECK_INT(check_names(2, bad), ZMARSHALLINGERROR);
    CHECK_INT(check_names(2, first), ZMARSHALLINGERROR);
    CHECK_INT(check_names(1, NULL), ZMARSHALLINGERROR);
    CHECK_INT(check_names(-1, NULL), ZMARSHALLINGERROR);
    CHECK_INT(check_names(INT32_MIN, good), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_names(ZOK, NULL), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_names(ZNONODE, NULL), ZNONODE);
}

static void data(void)
{
    CHECK_INT(store_zk_check_data(ZOK, "x", 1), ZOK);
    CHECK_INT(store_zk_check_data(ZOK, NULL, 0), ZOK);
    CHECK_INT(store_zk_check_data(ZOK, NULL, -1), ZOK);
    CHECK_INT(store_zk_check_data(ZOK, NULL, -2), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_data(ZOK, "x", INT32_MIN), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_data(ZOK, NULL, 1), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_data(ZNOAUTH, NULL, 0), ZNOAUTH);
}

static void path(void)
{
    CHECK_INT(store_zk_check_path(ZOK, "/a/b-0000000001", "/a/b-"), ZOK);
    CHECK_INT(store_zk_check_path(ZOK, "/a", "/a"), ZOK);
    CHECK_INT(store_zk_check_path(ZOK, NULL, "/a"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "", "/a"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "/", "/a"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "/other-0000000001", "/a/b-"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZOK, "/a/b-1/c", "/a/b-"), ZMARSHALLINGERROR);
    CHECK_INT(store_zk_check_path(ZNODEEXISTS, NULL, "/a"), ZNODEEXISTS);
}

static const struct test_case cases[] = {
    {"names", names},
    {"data", data},
    {"path", path},
    {NULL, NULL},
};

const struct test_suite store_check_suite = {.name = "store_check", .cases = cases};
