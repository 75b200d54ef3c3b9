/* The library in the place of the model's driver: for each contender that is ours, one of lib/lock/
 * on a session of its own, over a store that answers what the model's server has answered, when it
 * has. Clocks, timers, callbacks and admission stand still until a move needs them. */
#ifndef EXPLORE_LIBRARY_H
#define EXPLORE_LIBRARY_H

#include "lib/contender/contender.h"
#include "model.h"

#define LIBRARY_DIRECTORY "/l"

struct store {
    struct store_sink sink;
    store_done done;
    GPtrArray *under_way; /* of struct request */
};

struct actor {
    zkl_session *session;        /* NULL: the contender is not one of ours */
    struct contender *contender; /* NULL: it has not entered yet */
    zkl_grant *grant;
    int decisions;
    struct store *store; /* NULL: closed */
    struct instant now;
};

/* Sessions, connected; nobody has entered. */
void library_open(void);
void library_close(void);

const struct actor *library_actor(int i);

/* Does what the model did from before to after. Returns what the library does not come to; "":
 * nothing. */
const char *library_do(const struct state *before, struct move move, const struct state *after);

/* What the contender calls its node before it has a number; to be freed. */
char *library_new_node(const struct actor *a);

/* The path of the model's node, and the id of a session of a contender. */
const char *library_path(uint8_t node);
int64_t library_session_id(int client, int session);

/* ---- library_asks.c ---- */

/* What is asked for and not answered, a line each in the order of asking: by the library, and by
 * the model. */
void library_asks(const struct actor *a, GString *text);
void library_expects(const struct client *c, GString *text);

/* The request that this is the answer to is answered so. False: it is not under way. */
bool library_answer(struct actor *a, const struct state *st, const struct reply *reply);

/* Also the rest of them. */
void library_answer_all(struct store *store, enum store_rc rc);

#endif
