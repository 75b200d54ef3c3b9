/* What a session counts for zkl_session_stats(). All with the monitor held. */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include "core.h"

/* What is counted at one path, as long as the session lives. */
struct stats_path {
    char *path; /* without the chroot */
    uint64_t acquisitions, lost, held, waiting;
    int64_t oldest_ns; /* of its waits, as of the last look; now, if there is none */
};

/* The acquisitions in progress of one handle. */
struct stats_waits {
    GList link; /* in the session's */
    struct stats_path *at;
    int64_t oldest_ns; /* CLOCK_BOOTTIME: when the oldest began; 0: there is none */
};

/* A handle at that full path comes, and goes with its last acquisition. */
void stats_waits_add(zkl_session *s, struct stats_waits *w, const char *path);
void stats_waits_remove(zkl_session *s, struct stats_waits *w);

/* One of them begins at now, CLOCK_BOOTTIME ns, or ends. oldest_ns: what is left then. */
void stats_wait_begin(zkl_session *s, struct stats_waits *w, int64_t now);
void stats_wait_end(zkl_session *s, struct stats_waits *w, int64_t oldest_ns);

/* A grant begins, after a wait of wait_ns. */
void stats_granted(zkl_session *s, struct stats_path *at, int64_t wait_ns);

/* A grant has ended, after hold_ns: by its owner, ZKL_LOSS_NONE, or lost. */
void stats_ended(zkl_session *s, struct stats_path *at, int64_t hold_ns, zkl_loss loss);

/* An acquisition has ended with that code. */
void stats_failed(zkl_session *s, int code);

/* A renewal that was sent then is answered, and the deadline not yet put off. */
void stats_renewed(zkl_session *s, struct instant sent);

#endif
