/* Exchanges of events and actions: rows of what a machine hears, and what it must do then. */
#ifndef UNIT_EXCHANGE_H
#define UNIT_EXCHANGE_H

#include "runner.h"

#include <glib.h>

/* What it did at step k, from 0, of the row that is called what. Frees acts. */
static inline void exchange_check(char *acts, const char *wanted, const char *what, int k)
{
    if (!CHECK_STR(acts, wanted))
        runner_fail(__FILE__, __LINE__, "%s, step %d", what, k + 1);
    g_free(acts);
}

#endif
