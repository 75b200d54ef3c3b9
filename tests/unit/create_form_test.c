/* By which operation nodes are created, where a server does not know all of them. */
#include "recipes/create_form.h"

#include "runner.h"

#include <stddef.h>

TEST_SUITE(create_form);

static void check_ops(const struct create_forms *f, enum create_op container, enum create_op other)
{
    CHECK_INT(create_forms_op(f, true), container);
    CHECK_INT(create_forms_op(f, false), other);
}

TEST_CASE(all_at_first)
{
    check_ops(&(struct create_forms){0}, CREATE_CONTAINER, CREATE_STAT);
}

/* Each refusal of what was under way is heard; the form changes once. */
TEST_CASE(without_containers)
{
    struct create_forms f = {0};

    create_op_answered(&f, CREATE_STAT);
    CHECK(create_op_unknown(&f, CREATE_CONTAINER));
    CHECK(!create_op_unknown(&f, CREATE_CONTAINER));
    check_ops(&f, CREATE_STAT, CREATE_STAT);
    CHECK(create_op_unknown(&f, CREATE_STAT));
    check_ops(&f, CREATE_PLAIN, CREATE_PLAIN);
}

TEST_CASE(without_create2)
{
    struct create_forms f = {0};

    CHECK(create_op_unknown(&f, CREATE_STAT));
    check_ops(&f, CREATE_PLAIN, CREATE_PLAIN);
    CHECK(!create_op_unknown(&f, CREATE_CONTAINER));
    CHECK(!create_op_unknown(&f, CREATE_STAT));
    CHECK(!create_op_unknown(&f, CREATE_PLAIN));
    check_ops(&f, CREATE_PLAIN, CREATE_PLAIN);
}

/* Each connection counts once, however many creates were under way. */
TEST_CASE(hung_up_on)
{
    struct create_forms f = {0};

    CHECK(!create_op_lost(&f, CREATE_STAT, 1, true));
    CHECK(!create_op_lost(&f, CREATE_STAT, 1, true));
    CHECK(!create_op_lost(&f, CREATE_STAT, 3, true));
    CHECK(!create_op_lost(&f, CREATE_STAT, 3, true));
    check_ops(&f, CREATE_CONTAINER, CREATE_STAT);
    CHECK(create_op_lost(&f, CREATE_STAT, 5, true));
    check_ops(&f, CREATE_PLAIN, CREATE_PLAIN);
    for (uint32_t connection = 7; connection < 17; connection += 2) {
        CHECK(!create_op_lost(&f, CREATE_STAT, connection, true));
        CHECK(!create_op_lost(&f, CREATE_PLAIN, connection, true));
    }
}

/* A connection that never worked says nothing against the operation, and those that did count. */
TEST_CASE(lost_where_nothing_is_answered)
{
    struct create_forms f = {0};

    for (uint32_t connection = 1; connection < 19; connection += 2)
        CHECK(!create_op_lost(&f, CREATE_STAT, connection, false));
    for (uint32_t connection = 1; connection < CREATE_LOST_MAX; connection++) {
        CHECK(!create_op_lost(&f, CREATE_STAT, 20 + 4 * connection, true));
        CHECK(!create_op_lost(&f, CREATE_STAT, 22 + 4 * connection, false));
    }
    check_ops(&f, CREATE_CONTAINER, CREATE_STAT);
    CHECK(create_op_lost(&f, CREATE_STAT, 50, true));
}

TEST_CASE(hung_up_on_for_containers)
{
    struct create_forms f = {0};

    for (uint32_t connection = 1; connection < CREATE_LOST_MAX; connection++) {
        create_op_answered(&f, CREATE_STAT);
        CHECK(!create_op_lost(&f, CREATE_CONTAINER, connection, true));
    }
    CHECK(create_op_lost(&f, CREATE_CONTAINER, CREATE_LOST_MAX, true));
    check_ops(&f, CREATE_STAT, CREATE_STAT);
}

/* What was answered once is known: a bad network says nothing against it. */
TEST_CASE(lost_though_it_is_known)
{
    struct create_forms f = {0};

    create_op_answered(&f, CREATE_STAT);
    for (uint32_t connection = 1; connection < 10; connection++)
        CHECK(!create_op_lost(&f, CREATE_STAT, connection, true));
    check_ops(&f, CREATE_CONTAINER, CREATE_STAT);
}

TEST_CASE(whose_node_it_is)
{
    CHECK(create_is_own(7, 7));
    CHECK(!create_is_own(8, 7));
    CHECK(!create_is_own(0, 7));
    CHECK(!create_is_own(0, 0)); /* a persistent node, and no session */
}
