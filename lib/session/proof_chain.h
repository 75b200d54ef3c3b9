/* The chain of proofs within a session incarnation, and the timer of its deadline. The caller holds
 * the monitor. */
#ifndef LIB_PROOF_CHAIN_H
#define LIB_PROOF_CHAIN_H

#include "core.h"

/* A watch has fired: if the ensemble has changed, that is read. */
void proof_chain_watch_fired(zkl_session *s, const char *path);

/* A request of this kind was answered definitely on the present connection. */
void proof_chain_proved(zkl_session *s, enum proof_kind kind, struct instant sent);

/* There is a connection, which moves the deadline. Before anything else is sent on it. */
void proof_chain_connected(zkl_session *s);

/* Sends what is wanted now for what its users need; goes on until they need nothing. */
void proof_chain_run(zkl_session *s);

#endif
