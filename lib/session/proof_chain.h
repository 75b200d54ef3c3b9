/* The chain of proofs of a session incarnation: requests, one after another, whose answers show
 * until when no server ends the session (recipes/proofs.h decides). That instant is the deadline,
 * which has a timer. The caller holds the monitor. */
#ifndef LIB_PROOF_CHAIN_H
#define LIB_PROOF_CHAIN_H

#include "core.h"

/* Called when a watch has fired on path. If path is the ensemble's configuration, it is read
 * again. */
void proof_chain_watch_fired(zkl_session *s, const char *path);

/* Takes a proof: a request of this kind, sent then, was answered definitely on the present
 * connection. */
void proof_chain_answered(zkl_session *s, enum proof_kind kind, struct instant sent);

/* Called when there is a connection, before anything else is sent on it: tells that the deadline
 * has moved, and asks what server this is. */
void proof_chain_connected(zkl_session *s);

/* Sends what the users of the session need for proofs now, and arms a timer to do so again, until
 * they need nothing. */
void proof_chain_run(zkl_session *s);

#endif
