/* Why a grant was lost. The attempt decides that, or the session if it has ended. The values are in
 * the order of zkl_loss. */
#ifndef RECIPES_LOSS_H
#define RECIPES_LOSS_H

enum loss {
    LOSS_NONE,
    LOSS_DEADLINE, /* no proof came in time */
    LOSS_EXPIRED,  /* the servers say that the session has ended */
    LOSS_DELETED,  /* the node is gone, or another session's stands there, and ours goes on */
    LOSS_CLOSED,   /* the user has closed the session */
    LOSS_REPLACED, /* we gave the session up for another one */
    LOSS_REFUSED   /* the server refused the credentials */
};

#endif
