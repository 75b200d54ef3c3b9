/* Transactions: all or nothing. */
#include "conform.h"

TEST_SUITE(multi, .init = conform_init);

#define CHECK_ONLY STORE_GET

static struct client *c;

static struct store_change change(enum store_kind kind, const char *name, int version)
{
    return (struct store_change){
        .kind = kind, .path = at(name), .data = "m", .length = 1, .version = version};
}

static void check_refused(const struct store_change *changes, int count, enum store_rc rc,
                          int failed)
{
    const struct answer *a = ask(c, req_multi(changes, count));

    CHECK_INT(a->rc, rc);
    CHECK_INT(a->failed, failed);
}

static int version_of(const char *name)
{
    const struct answer *a = ask(c, req(STORE_GET, at(name)));

    CHECK_INT(a->rc, STORE_OK);
    return a->version;
}

static void new_with_p(void)
{
    c = client_new();
    does(c, "create p");
}

CASE(all)
{
    new_with_p();
    does(c, "create gone");
    const struct store_change changes[] = {
        change(STORE_SET, "p", 0),       change(STORE_CREATE, "new", -1),
        change(STORE_DELETE, "gone", 0), change(CHECK_ONLY, "p", 1),
        change(CHECK_ONLY, "new", -1),
    };
    RC(c, req_multi(changes, G_N_ELEMENTS(changes)), STORE_OK);
    CHECK_INT(version_of("p"), 1);
    const struct answer *a = ask(c, req(STORE_GET, at("new")));
    CHECK_INT(a->rc, STORE_OK);
    CHECK_STR(a->data, "m");
    CHECK_INT(a->ephemeral_owner, 0);
    CHECK_INT(a->version, 0);
    does(c, "read gone: no node");
}

/* Whatever of it is refused, and for whatever reason. */
CASE(none)
{
    static const struct {
        enum store_kind kind;
        const char *name;
        int version;
        enum store_rc rc;
    } refused[] = {
        {STORE_SET, "p", 7, STORE_BADVERSION},         {STORE_SET, "no", -1, STORE_NONODE},
        {STORE_CREATE, "p", -1, STORE_EXISTS},         {STORE_CREATE, "no/below", -1, STORE_NONODE},
        {STORE_DELETE, "no", -1, STORE_NONODE},        {STORE_DELETE, "full", -1, STORE_NOTEMPTY},
        {STORE_DELETE, "full/x", 9, STORE_BADVERSION}, {CHECK_ONLY, "no", -1, STORE_NONODE},
        {CHECK_ONLY, "full", 1, STORE_BADVERSION},
    };
    new_with_p();
    does(c, "create full, create full/x");
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        for (int at_place = 0; at_place < 3; at_place++) {
            struct store_change changes[3] = {change(STORE_SET, "full", 0),
                                              change(STORE_CREATE, "new", -1),
                                              change(STORE_DELETE, "full/x", -1)};
            if (refused[i].kind == STORE_DELETE)
                changes[2] = change(CHECK_ONLY, "p", 0);
            if (refused[i].kind == CHECK_ONLY)
                changes[0] = change(STORE_SET, "p", 0);
            changes[at_place] = change(refused[i].kind, refused[i].name, refused[i].version);
            check_refused(changes, 3, refused[i].rc, at_place);
        }
    CHECK_INT(version_of("p"), 0);
    CHECK_INT(version_of("full"), 0);
    CHECK_INT(version_of("full/x"), 0);
    does(c, "read new: no node");
}

/* The first that cannot be done is named, and no later one. */
CASE(first_failure)
{
    new_with_p();
    const struct store_change changes[] = {
        change(CHECK_ONLY, "p", 0),
        change(STORE_CREATE, "p", -1),
        change(STORE_SET, "no", -1),
    };
    check_refused(changes, 3, STORE_EXISTS, 1);
}

/* Each change sees those before it. */
CASE(one_after_the_other)
{
    new_with_p();
    const struct store_change changes[] = {
        change(STORE_CREATE, "dir", -1), change(STORE_CREATE, "dir/x", -1),
        change(STORE_SET, "dir/x", 0),   change(STORE_SET, "dir/x", 1),
        change(CHECK_ONLY, "dir/x", 2),  change(STORE_DELETE, "p", -1),
        change(STORE_CREATE, "p", -1),   change(STORE_DELETE, "dir/x", 2),
        change(STORE_DELETE, "dir", -1),
    };
    RC(c, req_multi(changes, G_N_ELEMENTS(changes)), STORE_OK);
    does(c, "read dir: no node");
    const struct store_change again[] = {
        change(STORE_SET, "p", 0),
        change(STORE_SET, "p", 0),
    };
    check_refused(again, 2, STORE_BADVERSION, 1);
    CHECK_INT(version_of("p"), 0);
}

CASE(below_ephemeral)
{
    new_with_p();
    does(c, "enter n-");
    const struct store_change changes[] = {
        change(STORE_SET, "p", -1),
        change(STORE_CREATE, "n-0000000001/x", -1),
    };
    check_refused(changes, 2, STORE_NOCHILDREN, 1);
    CHECK_INT(version_of("p"), 0);
}

CASE(watches)
{
    new_with_p();
    struct client *other = client_new();
    does(other, "create q, watch p, watch q");
    struct store_change changes[] = {
        change(STORE_SET, "p", -1),
        change(STORE_DELETE, "q", -1),
        change(STORE_SET, "p", 7),
    };
    check_refused(changes, 3, STORE_BADVERSION, 2);
    does(other, "sync p");
    CHECK_INT(heard(other, at("p")), 0);
    CHECK_INT(heard(other, at("q")), 0);
    changes[2].version = 1;
    RC(c, req_multi(changes, 3), STORE_OK);
    UNTIL(heard_gone(other, at("q")) == 1);
    CHECK_INT(heard(other, at("p")), 1);
    does(other, "sync p");
    CHECK_INT(heard(other, at("p")), 1);
}

/* A check fires none. */
CASE(check_only)
{
    new_with_p();
    does(c, "watch p");
    const struct store_change changes[] = {change(CHECK_ONLY, "p", 0)};
    RC(c, req_multi(changes, 1), STORE_OK);
    does(c, "sync p");
    CHECK_INT(heard(c, at("p")), 0);
    CHECK_INT(version_of("p"), 0);
}

/* Its creates are numbered as any others: what was refused left no trace. */
CASE(numbers)
{
    new_with_p();
    struct store_change changes[] = {
        change(STORE_CREATE, "x", -1),
        change(CHECK_ONLY, "p", 7),
    };
    check_refused(changes, 2, STORE_BADVERSION, 1);
    CHECK_STR(ask(c, req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL))->path, at("n-0000000001"));
    changes[1].version = 0;
    RC(c, req_multi(changes, 2), STORE_OK);
    CHECK_STR(ask(c, req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL))->path, at("n-0000000003"));
}

/* Its changes are one write: they share a zxid, and the next one's is larger. */
CASE(one_czxid)
{
    new_with_p();
    const struct store_change changes[] = {
        change(STORE_CREATE, "x", -1),
        change(STORE_CREATE, "y", -1),
    };
    RC(c, req_multi(changes, 2), STORE_OK);
    uint64_t x = ask(c, req(STORE_GET, at("x")))->czxid, y = ask(c, req(STORE_GET, at("y")))->czxid;
    CHECK_INT(x, y);
    CHECK(ask(c, req_create(at("z"), STORE_PERSISTENT))->czxid > y);
}
