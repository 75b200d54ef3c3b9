/* Session incarnations: one ZooKeeper session after another. During an outage, which is a time
 * without a connection, a line is written when it begins, more at pauses that grow, and one when it
 * ends, whatever libzookeeper does in between. A session is hot, cool or cold by what its users
 * need of it (enum proof_need). For some time after somebody has entered or left it is warm: then
 * it is hot, even if nobody needs a deadline. The caller holds the monitor. */
#ifndef LIB_INCARNATION_H
#define LIB_INCARNATION_H

#include "core.h"

/* Opens a store. A refusal of the system is logged and tried again. */
void incarnation_begin(zkl_session *s);

/* Closes the present session, whose nodes end with it, and begins a new one. why: what the holders
 * of grants are told. */
void incarnation_replace(zkl_session *s, enum loss why);

/* Closes the present session, and begins none. */
void incarnation_close(zkl_session *s);

/* Closes it one session timeout from now: until then those who have lost something may stop, and a
 * callback that hangs keeps the nodes no longer. */
void incarnation_close_in_time(zkl_session *s);

/* Called before a contender or a member enters, which does not yet count as busy: makes the session
 * warm. If it is cold, it may be replaced by one that is proved by its creation. */
void incarnation_warm(zkl_session *s);

/* Called when a participant needs a deadline from now on: makes the session hot, unless it is. */
void incarnation_heat(zkl_session *s);

/* Called when a contender is gone: from now on the session stays warm for .warm_ns. */
void incarnation_retired(zkl_session *s);

/* Ends the session as soon as nothing is held, if a node stands that only its end removes. */
void incarnation_purge(zkl_session *s);

/* Wants the session's end, as soon as nobody needs it: it has a node that cannot be deleted, or a
 * request may yet be done that its end prevents. wanted: the caller has wanted that before, and has
 * not taken it back. */
void incarnation_want_end(zkl_session *s, bool wanted);

/* Takes that back; wanted: the caller has wanted it. */
void incarnation_want_end_no_more(zkl_session *s, bool wanted);

/* Whether nobody uses the incarnation who would keep it from being ended for that reason. */
bool incarnation_may_end(const zkl_session *s, enum end_reason why);

/* Takes one from count, a part of s->users: it is over. */
void incarnation_user_left(zkl_session *s, unsigned *count);

#endif
