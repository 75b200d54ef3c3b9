/* The lines about a time without a connection: one when it begins, more at pauses that grow, and
 * one when it ends, whatever libzookeeper does meanwhile. The caller holds the monitor. */
#ifndef LIB_OUTAGE_H
#define LIB_OUTAGE_H

#include "core.h"

/* What else is said at most once in an outage. */
enum outage_fact {
    OUTAGE_REFUSED = 1, /* the servers' data has gone back */
    OUTAGE_FOREIGN = 2, /* what answers is no ZooKeeper */
    OUTAGE_SYSTEM = 4   /* the system refuses a thread */
};

void outage_begin(zkl_session *s); /* unless there is one */
void outage_end(zkl_session *s);   /* there is a connection */
void outage_stop(zkl_session *s);  /* nothing is waited for any more */

/* Whether this was not said yet in this outage. */
bool outage_is_news(zkl_session *s, enum outage_fact fact);

#endif
