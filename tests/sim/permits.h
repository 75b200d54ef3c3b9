/* What must be true of semaphores, as far as it is not true of all:
 *
 *  - whoever is granted permits found room at some instant: those of all that stood before and its
 *    own were no more than the limit;
 *  - those who believe that they hold have no more permits in all than the limit was at some
 *    instant since the last of them stood in line; so nobody else gets any while a limit that was
 *    lowered is below what is held;
 *  - a grant has as many permits as were asked for, and as many numbers where they were asked for,
 *    in order and below such a limit; of those who believe that they hold none has another's;
 *  - only who asks for more than the limit is refused for that;
 *  - when all is well, whoever finds room is granted, though others hold on.
 *
 * In Curator's layout the limit stays, and whoever is granted a permit found no more leases than
 * that at some instant, with its own: so no more are held, whatever the order. When all is well,
 * nobody waits, for the lock or with it, while there are fewer. */
#ifndef SIM_PERMITS_H
#define SIM_PERMITS_H

#include "nodes.h"

void permits_init(struct oracle *o);
void permits_clear(struct oracle *o);

/* The limit now; and all are to agree on one, in Curator's layout. */
int32_t permits_limit(const struct oracle *o, int line);
void permits_agree(struct stage *stage, int line, int32_t limit);

/* What its name says. */
void permits_note_name(struct contender_node *n);

/* Behind nodes_note(). */
void permits_note(struct stage *stage, const struct note *note);

void permits_check_grant(struct stage *stage, struct acquisition *a,
                         const struct contender_node *n);
/* All that are in oracle.believing, which is empty then. */
void permits_check_believing(struct stage *stage);

/* Whether the limit was such, since it was asked, that it fails as it did. */
bool permits_explain(const struct stage *stage, const struct acquisition *a);

/* Everybody who finds room was granted; and who was not, though all is well. */
bool permits_are_used(const struct stage *stage);
void permits_at_rest(struct stage *stage);

#endif
