/* Children beside our contenders, put there by hand: those of other libraries' layouts and of no
 * layout. And the styles that our own nodes have. */
#ifndef SIM_FOREIGN_NODE_H
#define SIM_FOREIGN_NODE_H

#include "nodes.h"
#include "roles.h"

enum foreign_form {
    FOREIGN_LOCK,
    FOREIGN_APACHE,
    FOREIGN_APACHE_NEGATIVE, /* of a session whose id is so */
    FOREIGN_READER,
    FOREIGN_KAZOO_READER,
    FOREIGN_WRITER,
    FOREIGN_LEASE,
    FOREIGN_NONE, /* no contender */
    FOREIGN_FORMS
};

/* Puts one there; its path, or NULL: that cannot be. */
const char *foreign_node_place(struct stage *stage, int line, enum foreign_form form,
                               int32_t number);

void foreign_nodes_draw(struct roles *roles);
void foreign_nodes_calm(struct roles *roles); /* all of them go */

/* Whether the candidates that begin now are in kazoo's style. */
bool foreign_nodes_kazoo(struct roles *roles);

void foreign_nodes_note(struct stage *stage, const struct note *note);
void foreign_node_free(void *foreign_node);

/* An acquisition that began at since was refused. Returns whether the text of the refusal names a
 * child of that line's path that is reason enough. */
bool foreign_nodes_explain(const struct stage *stage, int line, zkl_peer peer, const char *text,
                           int64_t since);

/* Returns a node that stood there before the own node, and for which the contender may not wait:
 * then a grant is wrong. NULL: there is none. */
const char *foreign_nodes_forbid(const struct stage *stage, const struct acquisition *a,
                                 const struct contender_node *own);

#endif
