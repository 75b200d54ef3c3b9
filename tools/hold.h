/* The time between grant and release: the command runs, and ends before the lock does. */
#ifndef ZKL_TOOLS_HOLD_H
#define ZKL_TOOLS_HOLD_H

#include "events.h"
#include "tool.h"

/* An eighth of the session timeout. */
#define GRACE_DEFAULT (-1)

struct hold_options {
    const char *path; /* for messages and the command's environment */
    char **argv;
    int64_t grace_ms;       /* from TERM to the deadline */
    int session_timeout_ms; /* as negotiated */
    bool verbose;
};

/* GO_ON, or STATUS_USAGE after a message, if that grace leaves no steady time to work. */
int hold_check_grace(int64_t grace_ms, int session_timeout_ms);

/* Prepares for holding grant; options and events must outlive it. */
struct hold *hold_new(const struct hold_options *options, zkl_grant *grant, struct events *events);

/* Runs the command under the grant and answers the exit status. The grant is released before the
 * return: at the command's end, or after a loss when nothing of its group lives any more. */
int hold_run(struct hold *hold);

/* The signal of a key of the terminal that ended the command, 0 for none. */
int hold_key(const struct hold *hold);

/* Not before the session is closed: the library's last call for the grant may come as late. */
void hold_free(struct hold *hold);

#endif
