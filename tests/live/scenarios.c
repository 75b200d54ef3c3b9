#include "scenario.h"
#include "suites.h"

#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct test_suite *const suites[] = {
        &scenario_pause_suite,        &scenario_clock_suite,
        &scenario_admin_suite,        &scenario_wire_suite,
        &scenario_end_suite,          &scenario_race_suite,
        &scenario_load_suite,         &scenario_disk_suite,
        &scenario_names_suite,        &scenario_trio_suite,
        &scenario_trio_session_suite, &scenario_lists_suite,
        &scenario_follow_suite,       NULL,
    };
    if (argc > 1 && strcmp(argv[1], "--scenario-worker") == 0)
        return scenario_worker(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--scenario-load") == 0)
        return scenario_load(argc - 2, argv + 2);
    return runner_main(argc, argv, suites);
}
