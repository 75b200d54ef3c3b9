/* Moves that need not be tried in every order with others: partial-order reduction.
 *
 * A move may stand for all that can happen in a state when, whatever the others do first, it can
 * still happen and leads to the same, and when no rule sees the difference between before and
 * behind it. Then each way from that state has the same end, and breaks the same rules, as one that
 * begins with that move. Three kinds are like that:
 *
 *  - a contender enters. Until it does nothing else can happen to it, no fault either, and all it
 *    does is to ask;
 *  - its server does what it asks about a node that is gone, or a watch that is; or reads its own
 *    node, which stands, is of its present session, and cannot go or change unless it asks for that
 *    itself behind the read: for it has no faults left, and other contenders do not touch it;
 *  - it takes an answer or an event, which concerns what it alone knows, and pushes requests to the
 *    end of its own queue, whose head its server takes. It has no faults left, its session and its
 *    connection are in order, and no timer runs, so of what else it does nothing comes in between.
 *    It has no grant before or behind that: a rule looks at grants beside what others hold and
 *    have, and a holder may also give back instead.
 *
 * That nothing is put off for ever needs no care: what can go on for ever is found as such, as ways
 * that differ in their order only are endless together. Where servers lag behind, what a contender
 * does decides how far they do, so that only what it takes stands for the rest. */
#ifndef EXPLORE_REDUCE_H
#define EXPLORE_REDUCE_H

#include "move.h"

/* Hears of each move. False: no further. */
typedef bool reduce_told(const struct state *before, struct move move, const struct state *then,
                         void *data);

/* Does the move and then, as long as there is one, that which stands for all. */
void reduce_do(struct state *st, struct move move, reduce_told *told, void *data);

#endif
