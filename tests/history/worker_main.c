/* zkl-worker: a worker as a program of its own, over the shared library. So the library of another
 * version can be put in its place. */
#include "worker.h"

int main(int argc, char **argv)
{
    return worker_main(argc - 1, argv + 1);
}
