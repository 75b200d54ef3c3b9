#include "watchdog.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: watchdog COMMAND [ARGUMENT...]\n", stderr);
        return WATCHDOG_BROKEN;
    }
    return watchdog_run(argv + 1);
}
