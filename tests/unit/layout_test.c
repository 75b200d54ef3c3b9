/* How ours are called, and what is said of those that are called otherwise. */
#include "lib/base/layout.h"

#include "runner.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recipes/name.h"

TEST_SUITE(layout);

#define UUID "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
#define HEX "1b4e28ba2fa141d2883f0016d3cca427"

static void expect_id(enum child_kind kind, bool retains, const char *pattern)
{
    char *id = layout_new_id(kind, retains), *other = layout_new_id(kind, retains);

    if (!CHECK(g_regex_match_simple(pattern, id, 0, 0)))
        runner_fail(__FILE__, __LINE__, "%s", id);
    CHECK(strcmp(id, other) != 0);
    g_free(id);
    g_free(other);
}

TEST_CASE(ids)
{
    expect_id(CHILD_LOCK, false,
              "^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$");
    expect_id(CHILD_KAZOO, false, "^[0-9a-f]{12}8[0-9a-f]{3}[89ab][0-9a-f]{15}$");
    expect_id(CHILD_LOCK, true, "^[0-9a-f]{8}-[0-9a-f]{4}-8e7a-[89ab][0-9a-f]{3}-[0-9a-f]{12}$");
    expect_id(CHILD_KAZOO, true, "^[0-9a-f]{12}8e7a[89ab][0-9a-f]{15}$");
}

static guint16 drawn;

static void draw_one_word(void *bytes, size_t size)
{
    memset(bytes, 0, size);
    ((guint16 *)bytes)[3] = drawn;
}

/* Digits change only where they would be a mark. */
TEST_CASE(none_is_marked_by_chance)
{
    static const struct {
        guint16 drawn;
        const char *id;
    } rows[] = {{0x5e7a, "00000000-0000-807a-8000-000000000000"},
                {0x5e7b, "00000000-0000-807b-8000-000000000000"},
                {0x5e8a, "00000000-0000-8e8a-8000-000000000000"}};
    void (*before)(void *bytes, size_t size) = layout_random;

    layout_random = draw_one_word;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        drawn = rows[i].drawn;
        char *id = layout_new_id(CHILD_LOCK, false);
        CHECK_STR(id, rows[i].id);
        g_free(id);
    }
    layout_random = before;
}

/* Gets an id that a child has made, through a pipe. */
static char *id_of_child(void)
{
    char id[64] = "";
    int ends[2], status;

    CHECK_INT(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char *mine = layout_new_id(CHILD_LOCK, false);
        _exit(write(ends[1], mine, strlen(mine)) < 0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK(read(ends[0], id, sizeof id - 1) > 0);
    close(ends[0]);
    close(ends[1]);
    return g_strdup(id);
}

/* Workers of one parent, which has drawn some itself, share no ids. */
TEST_CASE(ids_of_forked_processes_differ)
{
    char *before = layout_new_id(CHILD_LOCK, false);
    char *first = id_of_child(), *second = id_of_child(), *ours = layout_new_id(CHILD_LOCK, false);

    CHECK(strcmp(first, second) != 0);
    CHECK(strcmp(first, ours) != 0);
    g_free(before);
    g_free(first);
    g_free(second);
    g_free(ours);
}

static void expect_name(enum child_kind kind, int priority, const char *due)
{
    char *name = layout_name(kind, "ID", priority);

    CHECK_STR(name, due);
    g_free(name);
}

TEST_CASE(names)
{
    expect_name(CHILD_LOCK, 0, "_c_ID-lock-");
    expect_name(CHILD_LATCH, 0, "_c_ID-latch-");
    expect_name(CHILD_LATCH, 7, "_c_ID-p007-latch-");
    expect_name(CHILD_LEASE, 1, "_c_ID-lease-");
    expect_name(CHILD_LEASE, -1, "_c_ID-s1-lease-");
    expect_name(CHILD_LEASE, -12, "_c_ID-s12-lease-");
    expect_name(CHILD_LEASE, 2, "_c_ID-n2-lease-");
    expect_name(CHILD_LEASE, INT32_MAX, "_c_ID-n2147483647-lease-");
    expect_name(CHILD_KAZOO, 0, "ID__lock__");
}

/* Made, named by the server, and known again: kind, id and maker. */
TEST_CASE(names_are_known_again)
{
    static const enum child_kind kinds[] = {CHILD_LOCK, CHILD_LATCH, CHILD_KAZOO, CHILD_KAZOO};

    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const bool retains = i % 2;
        char *id = layout_new_id(kinds[i], retains);
        char *other = layout_new_id(kinds[i], retains);
        char *begin = layout_name(kinds[i], id, 0);
        char *name = g_strconcat(begin, "0000000042", NULL);
        struct child child;
        name_parse(name, strlen(name), &child);
        CHECK_INT(child.kind, kinds[i]);
        CHECK_INT(child.number, 42);
        CHECK_INT(child.retains, retains);
        CHECK(name_has_id(name, strlen(name), id, strlen(id)));
        CHECK(!name_has_id(name, strlen(name), other, strlen(other)));
        CHECK_INT(name_maker(name, strlen(name)), MAKER_ZKL);
        g_free(name);
        g_free(begin);
        g_free(id);
        g_free(other);
    }
}

TEST_CASE(sentences)
{
#define OURS ": use one of that kind, or another path"
    static const char later[] = "_c_12345678-1234-8b12-8123-123456789abc-lamp-0000000001";
    const char *const rows[][3] = {
        /* the child, what it is, and what to do */
        {"junk", "not a contender of any known layout", ""},
        {"lock-0000000001", "of a lock or of a selector's election", OURS},
        {"latch-0000000001", "of a latch's election", OURS},
        {"x-5-0000000001", "of a lock of Apache's WriteLock or zoo_lock.c", OURS},
        {"ex0000000001", "of a lock of zk-ruby", ": use another path"},
        {"sh0000000001", "of a lock of zk-ruby", ": use another path"},
        {"__READ__0000000001", "of a read-write lock", OURS},
        {"__WRIT__0000000001", "of a read-write lock", OURS},
        {"lease-0000000001", "of a semaphore", OURS},
        {later, "of a later version of zkl", ""},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *is = layout_incompatible(rows[i][0]), *refusal = layout_refusal(rows[i][0]);
        char *due = g_strdup_printf("\"%s\" is %s", rows[i][0], rows[i][1]);
        CHECK_STR(is, due);
        CHECK(g_str_has_prefix(refusal, due));
        CHECK_STR(refusal + strlen(due), rows[i][2]);
        g_free(is);
        g_free(refusal);
        g_free(due);
    }
#undef OURS
}
