#include <stddef.h>

#include "world_suites.h"

int main(int argc, char **argv)
{
    static const struct test_suite *const suites[] = {
        &one_suite, &fault_suite, &clock_suite, &ensemble_suite, &chaos_suite, &zkl_suite, NULL};

    return runner_main(argc, argv, suites);
}
