/* The time between grant and release: the command runs, and ends before the lock does. */
#ifndef ZKL_TOOLS_HOLD_H
#define ZKL_TOOLS_HOLD_H

#include "events.h"
#include "tool.h"

struct hold_options {
    const char *path; /* for messages and the command's environment */
    char **argv;
    double grace_s;         /* from TERM to the deadline; NAN: an eighth of the session timeout */
    int session_timeout_ms; /* as negotiated */
    bool verbose;
};

/* GO_ON, or STATUS_USAGE after a message, if that grace leaves no steady time to work. */
int hold_check_grace(double grace_s, int session_timeout_ms);

/* Prepares for holding grant; options and events must outlive it. */
struct hold *hold_new(const struct hold_options *options, zkl_grant *grant, struct events *events);

/* Runs the command under the grant and answers the exit status. The grant is released before the
 * return: at the command's end, or after a loss when nothing of its group lives any more. */
int hold_run(struct hold *hold);

/* Not before the session is closed: the library's last call for the grant may come as late. */
void hold_free(struct hold *hold);

#endif
