/* What the data of a contender's node are: payload, numbers, a transaction's line, the word. */
#include "payload.h"

#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(payload);

/* A space begins each number, and the data end with the last one, or with the ceiling. */
TEST_CASE(numbers)
{
    static const struct {
        const char *data;
        size_t count, payload;
        int32_t last, ceiling;
    } rows[] = {
        {"who\nzkl numbers 3", 1, 3, 3, 0},
        {"who\nzkl numbers 3 2147483647", 2, 3, INT32_MAX, 0},
        {"\nzkl numbers 0", 1, 0, 0, 0},
        {"a 1\nzkl numbers 2\nzkl numbers 4 7", 2, 17, 7, 0},
        {"", 0, 0, 0, 0},
        {"who", 0, 3, 0, 0},
        {" 3", 0, 2, 0, 0},
        {"3", 0, 1, 0, 0},
        {"who 3 4", 0, 7, 0, 0},
        {"zkl numbers 3", 0, 13, 0, 0},
        {"\nzkl numbers", 0, 12, 0, 0},
        {"\nzkl numbers 9 19", 2, 0, 19, 0},
        {"\nzkl numbers-3", 0, 14, 0, 0},
        {"\nzkl numbers 3 ", 0, 15, 0, 0},
        {"\nzkl numbers  3", 0, 15, 0, 0},
        {"\nzkl numbers 2147483648", 0, 23, 0, 0},
        {"\nzkl numbers 00000000003", 0, 24, 0, 0},
        {"\nzkl numbers -3", 0, 15, 0, 0},
        {"\nzkl Numbers 3", 0, 14, 0, 0},
        {"who\nzkl numbers 3 of 5", 1, 3, 3, 5},
        {"\nzkl numbers 3 4 of 2147483647", 2, 0, 4, INT32_MAX},
        {"\nzkl numbers 3 of 2147483648", 0, 28, 0, 0},
        {"\nzkl numbers 3 of 0", 0, 19, 0, 0},
        {"\nzkl numbers 3 of 5 6", 0, 21, 0, 0},
        {"\nzkl numbers 3 of", 0, 17, 0, 0},
        {"\nzkl numbers 3  of 5", 0, 20, 0, 0},
        {"\nzkl numbers of 5", 0, 17, 0, 0},
        {"of 5", 0, 4, 0, 0},
        {" of 5", 0, 5, 0, 0},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct payload p = payload_read(rows[i].data, strlen(rows[i].data));
        int32_t numbers[3] = {0};
        bool ok = CHECK_INT(p.numbers, rows[i].count);
        ok &= CHECK_INT(p.length, rows[i].payload);
        ok &= CHECK_INT(p.ceiling, rows[i].ceiling);
        ok &= CHECK_INT(p.numbers_end, strlen(rows[i].data));
        payload_numbers(rows[i].data, &p, numbers);
        ok &= CHECK_INT(numbers[0], rows[i].last);
        if (!ok)
            runner_fail(__FILE__, __LINE__, "of \"%s\"", rows[i].data);
    }
}

TEST_CASE(lines_of_transactions)
{
    static const struct {
        const char *data;
        size_t length;
        unsigned number;
    } rows[] = {
        {"", 0, 0},
        {"9", 1, 0},
        {"who", 3, 0},
        {"who\nzkl tx 1", 3, 1},
        {"\nzkl tx 90", 0, 90},
        {"who\nzkl tx 4294967295", 3, UINT32_MAX},
        {"who\nzkl tx 4294967296", 21, 0},
        {"who\nzkl tx 18446744073709551617", 31, 0},
        {"who\nzkl tx ", 11, 0},
        {"who\nzkl tx 0", 12, 0},
        {"who\nzkl tx :", 12, 0},
        {"who\nzkl tx 01", 13, 0},
        {"who\nzkl tx 1\n", 13, 0},
        {"who\nzkl tx 1/", 13, 0},
        {"who\nzkl tx 1:", 13, 0},
        {"who\nzkl ty 1", 12, 0},
        {"who zkl tx 1", 12, 0},
        {"zkl tx 1", 8, 0},
        {"who\nzkl tx 1\nzkl tx 2", 12, 2},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct payload p = payload_read(rows[i].data, strlen(rows[i].data));
        CHECK_INT(p.length, rows[i].length);
        CHECK_INT(p.numbers_end, rows[i].length);
        CHECK_INT(p.transaction, rows[i].number);
    }
    static const char before[] = "who\nzkl tx 12"; /* what is before the data is none of them */
    const struct payload p = payload_read(before + strlen(before) - 1, 1);
    CHECK_INT(p.length, 1);
    CHECK_INT(p.transaction, 0);
}

/* The word alone, which somebody has set, or what a transaction has made of that. */
TEST_CASE(asks_to_give_way)
{
    static const struct {
        const char *data;
        int version;
        bool asks;
    } rows[] = {
        {"__REVOKE__", 1, true},
        {"__REVOKE__", -1, true},
        {"__REVOKE__", 0, false},
        {"__REVOKE__\nzkl tx 7", 2, true},
        {"__REVOKE__\nzkl tx 0", 2, false},
        {"__REVOKE__\nzkl numbers 3 5", 1, true},
        {"__REVOKE__\nzkl numbers 3 of 4\nzkl tx 7", 2, true},
        {"__REVOKE__\nzkl tx 7\nzkl numbers 3", 2, false},
        {"who\nzkl numbers 3", 2, false},
        {"__REVOKE__\n", 2, false},
        {"__REVOKE__ ", 2, false},
        {" __REVOKE__", 2, false},
        {"__REVOKE_", 2, false},
        {"__revoke__", 2, false},
        {"who\n__REVOKE__", 2, false},
        {"", 2, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (!CHECK_INT(payload_asks(rows[i].data, strlen(rows[i].data), rows[i].version),
                       rows[i].asks))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    CHECK(!payload_asks(NULL, 0, 1));
}

/* All lines at once, each in its place. */
TEST_CASE(all_lines)
{
    static const char data[] = "who\nzkl numbers 3 5 of 7\nzkl tx 12";
    const struct payload p = payload_read(data, strlen(data));

    CHECK_INT(p.length, strlen("who"));
    CHECK_INT(p.numbers_end, strlen("who\nzkl numbers 3 5 of 7"));
    CHECK_INT(p.numbers, 2);
    CHECK_INT(p.ceiling, 7);
    CHECK_INT(p.transaction, 12);
}

/* Another library's data are its own, and lines come with a set. */
TEST_CASE(of_a_child)
{
    static const char data[] = "who\nzkl numbers 3";
    static const char ours[] = "_c_1b4e28ba-2fa1-81d2-883f-0016d3cca427-lock-0000000001",
                      theirs[] = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000001";

    CHECK_INT(payload_of_child(ours, data, strlen(data), 1), strlen("who"));
    CHECK_INT(payload_of_child(ours, data, strlen(data), 0), strlen(data));
    CHECK_INT(payload_of_child(theirs, data, strlen(data), 1), strlen(data));
    CHECK_INT(payload_of_child(ours, NULL, 0, 1), 0);
}
