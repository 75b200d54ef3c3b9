/* Creates on servers that do not know all of ZooKeeper's operations: recipes/create_form.h decides.
 * A plain create is answered without the stat. That of an ephemeral node is read behind it, and
 * what was asked for behind the create waits until then: it is answered in the order in which it
 * was asked for, as ever. All with the monitor held. */
#ifndef LIB_CREATING_H
#define LIB_CREATING_H

#include "request.h"

/* r, a create, is about to be sent as *what. */
void creating_send(zkl_session *s, struct request *r, struct store_request *what);

/* It could not be sent. */
void creating_unsent(zkl_session *s, struct request *r);

/* It was answered. Returns false if it is to be sent once more, at once, for the stat. Otherwise
 * *reply becomes what its user is told; its path is good until r is freed. */
bool creating_answered(zkl_session *s, struct request *r, struct store_reply *reply);

#endif
