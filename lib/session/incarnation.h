/* Session incarnations: one ZooKeeper session after another, and the lines about a time without a
 * connection: one when it begins, more at pauses that grow, and one when it ends, whatever
 * libzookeeper does in between. All with the monitor held. */
#ifndef LIB_INCARNATION_H
#define LIB_INCARNATION_H

#include "core.h"

/* Opens a store. A refusal of the system is logged and tried again. */
void incarnation_begin(zkl_session *s);

/* Closes the present session, which takes its nodes along, and begins a new one. why: what is
 * still held is lost for that. */
void incarnation_replace(zkl_session *s, enum loss why);

/* Closes the present session, and begins none. */
void incarnation_close(zkl_session *s);

/* Somebody is about to enter, and is no participant's yet: proves the session from now on, or makes
 * one that is proved. */
void incarnation_warm(zkl_session *s);

/* Somebody needs a deadline from now on. */
void incarnation_heat(zkl_session *s);

/* A contender is gone. */
void incarnation_retired(zkl_session *s);

/* A node stands that only the end of the session removes: as soon as nothing is held, it ends. */
void incarnation_purge(zkl_session *s);

/* Something stands or may yet be done that ends with the session: so that ends as soon as nobody
 * needs it. wanted: the caller has said so before, and not taken it back. */
void incarnation_want_end(zkl_session *s, bool wanted);
void incarnation_want_end_no_more(zkl_session *s, bool wanted);

/* Whether the incarnation may be ended for that: nobody uses it. */
bool incarnation_may_end(const zkl_session *s, enum end_reason why);

/* What one of s->users was counted for is over. */
void incarnation_user_left(zkl_session *s, unsigned *count);

#endif
