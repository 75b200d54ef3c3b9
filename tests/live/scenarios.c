#include "runner.h"
#include "scenario.h"

#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--scenario-worker") == 0)
        return scenario_worker(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--scenario-load") == 0)
        return scenario_load(argc - 2, argv + 2);
    return runner_main(argc, argv);
}
