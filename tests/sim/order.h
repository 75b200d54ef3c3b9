/* What must be true of contenders that wait, as the server sees them.
 *
 *  - a contender to which nothing has been missing but a deadline, for a session timeout of one
 *    connection, makes way for those behind it;
 *  - a lock at both paths whose process has nothing under way has no node at the second path while
 *    its node at the first is not at the head;
 *  - no tenure of a mutex that retains is idle while another waits, once the session has proved
 *    itself since: the answer to a write that was sent after the create shows the waiter. */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

struct note;
struct stage;

void order_note(struct stage *stage, const struct note *note);
void order_check(struct stage *stage);

#endif
