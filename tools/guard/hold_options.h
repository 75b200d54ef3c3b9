/* The options that say how a command is run under a lock, and how it is ended. Tool and guard use
 * them. */
#ifndef ZKL_TOOLS_HOLD_OPTIONS_H
#define ZKL_TOOLS_HOLD_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Stands for an eighth of the session timeout. */
#define GRACE_DEFAULT (-1)

/* The ways to treat the command while the lock is in doubt (ZKL_SUSPECT). */
enum on_suspect { ON_SUSPECT_IGNORE, ON_SUSPECT_STOP, ON_SUSPECT_TERM };

struct hold_options {
    const struct settings *settings;
    const char *path;      /* for messages and the command's environment */
    char **others;         /* paths that are locked with it; NULL: none */
    const char *candidate; /* the candidate's id in an election; NULL: there is no election */
    char **argv;
    char **on_lost;     /* the command that is run after ours had to be ended; NULL: none */
    int64_t on_lost_ms; /* how long .on_lost may run */
    enum on_suspect on_suspect;
    bool term_on_outgrown; /* a tree that takes too long to end is ended while there is time */
    bool term_on_revoke;   /* a request to give way ends the command, as TERM at us does */
    /* From TERM to KILL for what is left, when a signal has ended the command. */
    int64_t kill_after_ms;
    int commands;           /* how many share the deadline; 0: this one alone */
    bool ends_rest;         /* what is left is ended even when the command has ended by itself */
    gboolean wait_children; /* the lock is kept until what is left then has ended by itself */
    gboolean leave_daemons; /* what has a session of its own is not ended */
    struct cgroup *cgroup;  /* for the command; NULL: it stays in ours */
    int status_fd;          /* or STATUS_FD_NONE */
    /* Known only once there is a session: */
    int64_t grace_ms;       /* from TERM to the deadline */
    int session_timeout_ms; /* as negotiated */
};

#endif
