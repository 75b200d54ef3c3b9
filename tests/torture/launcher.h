/* Processes that have done nothing yet, each of which forks one play after the other: to start the
 * program anew for each takes a sanitizer's build many times as long. */
#ifndef TORTURE_LAUNCHER_H
#define TORTURE_LAUNCHER_H

#include "fault.h"

enum { LAUNCHERS = 12 };

/* First of all in main(): what it forks must have no threads and nothing prepared. */
void launchers_start(void);

struct result {
    int status; /* as of waitpid() */
    char *text; /* stdout and stderr; the caller's */
};

/* Plays it in a new process of that launcher; one thread at a time for each. */
struct result launcher_play(int launcher, const char *name, enum call call, unsigned nth,
                            int error);

#endif
