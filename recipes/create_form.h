/* Which operation creates a node. Old servers, and other servers that speak ZooKeeper's protocol,
 * know no containers. Some do not know the create that returns the node's stat ("create2") either:
 *
 *     containers and create2 ──> no containers ──> create alone
 *
 * If a server does not know an operation, it has not done it, and says so. Some end the connection
 * instead. The operation counts as unknown, too, if it was never answered, and that has happened
 * several times to connections on which the server had answered something else. What was found out
 * stays, even if later servers know more: every server knows the last form. docs/design/servers.md
 * has the argument. */
#ifndef RECIPES_CREATE_FORM_H
#define RECIPES_CREATE_FORM_H

#include <stdbool.h>
#include <stdint.h>

enum create_op {
    CREATE_PLAIN, /* the answer has the name only */
    CREATE_STAT,  /* "create2" */
    CREATE_CONTAINER,
    CREATE_OPS
};

enum create_form {
    FORM_CONTAINERS,    /* containers and create2 */
    FORM_NO_CONTAINERS, /* persistent nodes in place of containers */
    FORM_PLAIN          /* the same, and the stat is read after the create */
};

/* An operation counts as unknown when this many connections have ended without its answer. */
enum { CREATE_LOST_MAX = 3 };

/* All zero: no create was answered yet. */
struct create_forms {
    enum create_form form;
    struct {
        bool known;          /* it was answered */
        uint8_t lost;        /* how many connections ended without its answer, of those that gave
                                others */
        uint32_t connection; /* the last of these */
    } ops[CREATE_OPS];
};

/* Returns the operation by which a node is to be created at present. */
enum create_op create_forms_op(const struct create_forms *f, bool container);

/* The server knows the operation: it has done it, or not for a reason of its own. */
void create_op_answered(struct create_forms *f, enum create_op op);

/* The server does not know the operation: rules it out. Returns whether the form has changed. */
bool create_op_unknown(struct create_forms *f, enum create_op op);

/* The connection with that number ended before the operation was answered: counts that, and rules
 * the operation out if it was too often. served: another request was answered on it. Returns
 * whether the form has changed. */
bool create_op_lost(struct create_forms *f, enum create_op op, uint32_t connection, bool served);

/* Whether a node, read after a plain create, is the one that was created. It is if the session owns
 * it, since the session has created one node of that name. */
bool create_is_own(int64_t ephemeral_owner, int64_t session);

#endif
