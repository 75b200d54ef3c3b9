/* libzookeeper, played: what store_zk*.c call ends up here (--wrap), over a server that is a table
 * in memory and stands alone. One handle at a time, but for those being closed; a thread of its own
 * calls back, as the library's does.
 *
 * A fault of one of its functions is what that returns; nothing was sent. A fault of CALL_answer is
 * the outcome of the n-th request that was sent: a code of ZooKeeper's, the request having had no
 * effect, or with ANSWER_DONE added to the code: it had. ZCONNECTIONLOSS comes with a lost and a
 * new connection, ZSESSIONEXPIRED with the end of the session. */
#ifndef TORTURE_CLIENT_H
#define TORTURE_CLIENT_H

#include <stdbool.h>

enum { ANSWER_DONE = 100000 };

void client_is_ensemble(void); /* it does not stand alone: the session needs a chain of proofs */
int client_nodes(const char *prefix); /* how many there are whose path begins so */
int client_watches(void);
void client_rival(bool there); /* another session's contender at /a/l, the first so far */
void client_forget(void);      /* with no handle left */

#endif
