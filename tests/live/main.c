#include "live.h"

#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--counter-worker") == 0)
        return counter_worker(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--thread-worker") == 0)
        return thread_worker(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--xid-worker") == 0)
        return xid_worker(argc - 2, argv + 2);
    int status = runner_main(argc, argv);
    live_shutdown();
    return status;
}
