/* Ensembles of three, for tests that begin with fault_begin() and end with trio_end().
 *
 * Debian's 3.8.0 ensembles stand still for 1 to 20 s now and then. A grant that was lost in one is
 * no failure, but one that is lost each time is. */
#ifndef LIVE_TRIO_H
#define LIVE_TRIO_H

#include "fault.h"

enum { TRIO_NODES = 3, TRIO_TICK_MS = 250 };

/* A suite's init, for which fault_stop() is the done. config_of as in server.h, or NULL. */
int trio_start(const char *const *config_of);

zkl_session *trio_session_at(int node, int timeout_ms); /* returns when it is there */
int trio_follower_beside(int other); /* a node, not the leader and not the other one */
void trio_end(void);                 /* fault_end(), but it does not look for watches */

/* After the leader and a follower were paused. When both followers come back to a leader that has
 * gone on leading, it may take their acknowledgements of what it had proposed for those of
 * NEWLEADER (ZOOKEEPER-4685). Then nothing is committed until another leads: such a leader is
 * restarted. */
void trio_let_commit(void);

#endif
