/* Epochs: one ZooKeeper session after another, and the chain of proofs within each. All with the
 * monitor held. */
#ifndef LIB_EPOCH_H
#define LIB_EPOCH_H

#include "core.h"

/* Opens a store. A refusal of the system is logged and tried again. */
void epoch_begin(zkl_session *s);

/* Closes the present session, which takes its nodes along, and begins a new one. */
void epoch_replace(zkl_session *s);

/* Closes the present session, and begins none. */
void epoch_close(zkl_session *s);

/* Somebody contends: keeps the session proved from now on, or makes one that is. */
void epoch_warm(zkl_session *s);

/* A contender is gone. */
void epoch_retired(zkl_session *s);

/* A node stands that only the end of the session removes: as soon as nothing is held, it ends. */
void epoch_purge(zkl_session *s);

/* A request of this kind was answered definitely on the present connection. */
void epoch_proved(zkl_session *s, enum lease_kind kind, struct instant sent);

#endif
