/* scenarios [PATTERN…]: the named faults; scenarios worker …: one of their processes. */
#include "tests/support/runner.h"

#include "tests/history/worker.h"

#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    return runner_main(argc, argv);
}
