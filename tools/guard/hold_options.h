/* How a command is run under a lock, and ended: for tool and guard. */
#ifndef ZKL_TOOLS_HOLD_OPTIONS_H
#define ZKL_TOOLS_HOLD_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* An eighth of the session timeout. */
#define GRACE_DEFAULT (-1)

/* What becomes of the command while the lock is in doubt: SUSPECT. */
enum on_suspect { ON_SUSPECT_IGNORE, ON_SUSPECT_STOP, ON_SUSPECT_TERM };

struct hold_options {
    const struct settings *settings;
    const char *path;      /* for messages and the command's environment */
    char **others;         /* paths that are locked with it; NULL: none */
    const char *candidate; /* whose id it is in an election; NULL in none */
    char **argv;
    char **on_lost;     /* to be run after a command had to be ended; NULL for nothing */
    int64_t on_lost_ms; /* how long that may take */
    enum on_suspect on_suspect;
    bool term_on_outgrown;  /* a tree that takes too long to end is ended while there is time */
    bool term_on_revoke;    /* who is asked to give way ends the command, as TERM at us does */
    int64_t kill_after_ms;  /* for what is left when the command has been ended by a signal */
    int commands;           /* as many share the deadline; 0: this one alone */
    bool ends_rest;         /* what is left is ended even when the command has ended by itself */
    gboolean wait_children; /* what is left then is waited for, with the lock, and not ended */
    gboolean leave_daemons; /* what has a session of its own is not ended */
    struct cgroup *cgroup;  /* for the command; NULL: it stays in ours */
    int status_fd;
    /* Known only once there is a session: */
    int64_t grace_ms;       /* from TERM to the deadline */
    int session_timeout_ms; /* as negotiated */
};

#endif
