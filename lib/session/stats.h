/* What a session counts for zkl_session_stats(). The caller holds the monitor. */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include "core.h"

/* What a session counts at one path, as long as it lives. */
struct stats_path {
    char *path; /* without the chroot */
    uint64_t acquisitions, lost, held, waiting;
    int64_t oldest_ns; /* CLOCK_BOOTTIME: when the oldest wait here began, or now; set by
                          stats_find_oldest() */
};

/* The acquisitions in progress of one handle. */
struct stats_waits {
    GList link; /* in the session's .waits */
    struct stats_path *at;
    int64_t oldest_ns; /* CLOCK_BOOTTIME: when the oldest began; 0: there is none */
};

/* Adds the waits of a handle at that full path, and removes them when its last acquisition has
 * ended. */
void stats_waits_add(zkl_session *s, struct stats_waits *w, const char *path);
void stats_waits_remove(zkl_session *s, struct stats_waits *w);

/* Counts that an acquisition of the handle begins, or ends. now: CLOCK_BOOTTIME, ns. oldest_ns:
 * when the oldest of those that are left began. */
void stats_wait_begin(zkl_session *s, struct stats_waits *w, int64_t now);
void stats_wait_end(zkl_session *s, struct stats_waits *w, int64_t oldest_ns);

/* Counts a grant that begins after a wait of wait_ns. */
void stats_granted(zkl_session *s, struct stats_path *at, int64_t wait_ns);

/* Counts a grant that has ended after hold_ns. loss: why it was lost; ZKL_LOSS_NONE: its owner gave
 * it back. */
void stats_ended(zkl_session *s, struct stats_path *at, int64_t hold_ns, zkl_loss loss);

/* Counts an acquisition that has failed with that code. */
void stats_failed(zkl_session *s, int code);

/* Counts a renewal that was sent at sent and answered at now. It is called before the deadline is
 * moved. */
void stats_renewed(zkl_session *s, struct instant sent, struct instant now);

#endif
