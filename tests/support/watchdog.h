/* Turns a hang into a failure: aborts the process when an armed name is not disarmed in time. */
#ifndef SUPPORT_WATCHDOG_H
#define SUPPORT_WATCHDOG_H

#include <stdbool.h>

bool watchdog_start(void); /* reads $ZKL_TEST_TIMEOUT (seconds, default 120) */
void watchdog_arm(const char *name);
void watchdog_disarm(void);
void watchdog_stop(void);

#endif
