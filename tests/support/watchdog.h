/* Ends a test that makes no step (progress.h) for a time, by a clock that stands still while the
 * machine does other work (own_time.h). It is the only limit that a test has. */
#ifndef SUPPORT_WATCHDOG_H
#define SUPPORT_WATCHDOG_H

enum {
    WATCHDOG_HANGS = 124,  /* no step within the limit */
    WATCHDOG_MACHINE = 99, /* the machine is too slow: no verdict about the test */
    WATCHDOG_BROKEN = 98
};

/* Runs a program, with all it starts, to its end, and returns its status; 128 + a signal that ended
 * it. argv ends with NULL.
 *
 * $ZKL_TEST_TIMEOUT is the limit in seconds (default 60). When it has passed, progress_is_late() is
 * true and the file $ZKL_PROGRESS.late is there, until the next step. Where none follows in half as
 * long again, what all processes are doing goes to stderr, and they are ended.
 * $ZKL_TEST_WALL is a limit by the wall's clock (default 2400 s).
 *
 * At the end a line goes to the file $ZKL_LEDGER if that is set: folder, the last argument,
 * seconds, seconds of processors as user and as system, seconds delayed, status. */
int watchdog_run(char **argv);

#endif
