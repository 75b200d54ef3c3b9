/* What must be true of semaphores, beside what is true of all:
 *
 *  - a contender that is granted permits found room at some instant: those of all that stood before
 *    and its own were no more than the limit;
 *  - those who believe that they hold have no more permits in all than the limit was at some
 *    instant since the last of them stood in line; so nobody else gets any while a limit that was
 *    lowered is below what is held;
 *  - a grant has as many permits as were asked for, and as many numbers if they were asked for, in
 *    order and below such a limit; no two that believe that they hold have the same number;
 *  - only a contender that asks for more than the limit is refused for that;
 *  - when all is well, each contender that finds room is granted, though others hold on.
 *
 * In Curator's layout a contender that is granted a permit found no more leases, with its own, than
 * the limit at some instant, whatever the order: so no more are held. The limit stays. Only an
 * owner whose node was the first in line for the lock makes a lease. When all is well, nobody
 * waits, for the lock or with it, while there are fewer leases than the limit. */
#ifndef SIM_PERMITS_H
#define SIM_PERMITS_H

#include "nodes.h"

void permits_init(struct oracle *o);
void permits_clear(struct oracle *o);

/* What its name says. */
void permits_note_name(struct contender_node *n);

/* Behind nodes_note(). */
void permits_note(struct stage *stage, const struct note *note);

void permits_check_grant(struct stage *stage, struct acquisition *a,
                         const struct contender_node *n);
/* All that are in oracle.believing, which is empty then. */
void permits_check_believing(struct stage *stage);

/* Everybody who finds room was granted; and who was not, though all is well. */
bool permits_are_used(const struct stage *stage);
void permits_at_rest(struct stage *stage);

/* ---- which limit the semaphores of a path had, and when ---- */

/* The limit now; 0: there is none. */
int32_t limit_log_now(const struct oracle *o, int line);

/* All agree on it, in Curator's layout. */
void limit_log_agree(struct stage *stage, int line, int32_t limit);

/* Whether the limit was such, since it was asked, that it fails as it did. */
bool limit_log_explains(const struct stage *stage, const struct acquisition *a);

#endif
