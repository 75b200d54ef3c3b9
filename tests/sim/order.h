/* What the server sees of what is waited for.
 *
 *  - a contender that has missed nothing but a deadline for a session timeout of one connection
 *    makes way for those behind it;
 *  - of a lock at both paths whose process has nothing under way: while its node at the first is
 * not at the head, it has none at the second;
 *  - no tenure of a mutex that retains is idle while another waits, once the session has proved
 * itself since: what is answered behind a write that was sent behind the create shows it. */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

struct note;
struct stage;

void order_note(struct stage *stage, const struct note *note);
void order_check(struct stage *stage);

#endif
