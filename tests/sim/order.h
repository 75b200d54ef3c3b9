/* What the server sees of a lock at both paths whose process has nothing under way: while its node
 * at the first is not at the head, it has none at the second. */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

struct stage;

void order_check(struct stage *stage);

#endif
