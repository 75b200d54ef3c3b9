/* Replies that end anywhere, lengths that lie, lists without end: through libzookeeper, as far as
 * it survives. --full tries every place (minutes); without it, a sample. */
#include "hostile.h"

#include <string.h>

TEST_SUITE(hostile, .init = fault_start, .done = fault_stop);

bool hostile_full;

TEST_CASE(each_byte)
{
    hostile_each_byte();
}

TEST_CASE(each_lie)
{
    hostile_each_lie();
}

TEST_CASE(line_without_end)
{
    hostile_line_without_end();
}

TEST_CASE(rivals_without_end)
{
    hostile_rivals_without_end();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return hostile_worker(argc - 2, argv + 2);
    hostile_full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (hostile_full)
        g_setenv("ZKL_TEST_TIMEOUT", "3600", FALSE);
    argv[hostile_full] = argv[0];
    return runner_main(argc - hostile_full, argv + hostile_full);
}
