/* scenarios [PATTERN…]: the named faults; scenarios worker …: one of their processes. */
#include "scenarios.h"

#include "worker.h"

#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct test_suite *const suites[] = {
        &scenario_cut_suite,
        &scenario_stall_suite,
        &scenario_server_suite,
        NULL,
    };

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    return runner_main(argc, argv, suites);
}
