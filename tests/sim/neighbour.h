/* What stands beside contenders and is none of ours: children of other libraries' and of no layout,
 * put there by hand. And the styles that ours themselves have. All that is drawn comes from a
 * stream of its own, so that a schedule without them is what it would be if there were none. */
#ifndef SIM_NEIGHBOUR_H
#define SIM_NEIGHBOUR_H

#include "cast.h"
#include "nodes.h"

enum neighbour_form {
    NEIGHBOUR_LOCK,
    NEIGHBOUR_APACHE,
    NEIGHBOUR_APACHE_NEGATIVE, /* of a session whose id is so */
    NEIGHBOUR_READER,
    NEIGHBOUR_KAZOO_READER,
    NEIGHBOUR_WRITER,
    NEIGHBOUR_LEASE,
    NEIGHBOUR_FOREIGN, /* no contender */
    NEIGHBOURS
};

/* Puts one there; its path, or NULL: that cannot be. */
const char *neighbour_place(struct stage *stage, int line, enum neighbour_form form,
                            int32_t number);

void neighbours_draw(struct cast *cast, uint64_t seed);
void neighbours_start(struct cast *cast);
void neighbours_calm(struct cast *cast); /* all of them go */

/* Whether the candidates that begin now are in kazoo's style. */
bool neighbours_kazoo(struct cast *cast);

void neighbours_note(struct stage *stage, const struct note *note);
void neighbour_free(void *neighbour);

/* Whether the refusal names a child of that line's path that is reason enough for who entered at
 * since. */
bool neighbours_explain(const struct stage *stage, int line, zkl_peer peer, bool strict,
                        const char *text, int64_t since);

/* One that stood there before the own node, and for which it may not wait: a grant is wrong. NULL:
 * there is none. */
const char *neighbours_forbid(const struct stage *stage, const struct acquisition *a,
                              const struct contender_node *own);

#endif
