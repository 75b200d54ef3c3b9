/* The oracle: what must be true, whatever happens. The world's notes tell it which contenders stand
 * at the leader. The grants themselves, read by their holders' own clocks, tell it who believes
 * what.
 *
 *  - at most one valid grant on a path, whatever the layouts, readers and permits (permits.h)
 *    apart; none whose node is gone, unless a third party took it;
 *  - the pairs of token and turn rise; each contender that is granted has the lowest number that
 *    stands;
 *  - a read of a node never leads to a grant if a third party had taken that node, and a proof of
 *    the session was sent after that and before the grant;
 *  - the callers of a mutex are granted in the order of their calls, and unless it retains have no
 *    more than one node;
 *  - ZKL_ELAYOUT names a child for which that contender would not have waited;
 *  - a grant that is HELD, on a connection to which nothing has been done since it was made, is not
 *    lost by its deadline while that stays so;
 *  - a contender to which nothing has been missing but a deadline, for a session timeout of one
 *    connection, makes way for those behind it;
 *  - a lock at both paths whose process has nothing under way has no node at the second path while
 *    its node at the first is not at the head;
 *  - no tenure of a mutex that retains is idle while another waits, once the session has proved
 *    itself since: the answer to a write that was sent after the create shows the waiter;
 *  - the end of a node wakes one waiter at most;
 *  - each acquisition completes once, with an error that fits it, never after a cancel that won;
 *  - the end of a grant is told once, last, and in time; without a connection it is SUSPECT. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <glib.h>

#include "acquisition.h"
#include "world/world.h"

struct contender_node;
struct stage;

enum { LINES_MAX = 8 };

/* The first in a line, from then on until the next; token 0: nobody. */
struct head {
    uint64_t token;
    int64_t at;
    const struct contender_node *node; /* its; NULL: nobody's */
};

struct oracle {
    GHashTable *nodes;    /* path -> struct contender_node: all there ever were, but for */
    GPtrArray *earlier;   /* those whose names came again, with their directory */
    GPtrArray *standing;  /* of them */
    GPtrArray *fallen;    /* of them, in the present step */
    GPtrArray *taken;     /* of them, by a third party, and not known to their session yet */
    GPtrArray *holding;   /* of struct acquisition: with a grant in their hands */
    GPtrArray *believing; /* of them, in the present look: of a semaphore, and valid */
    GHashTable *down;     /* sessions that know that they are disconnected */
    GHashTable *shaken;   /* sessions that may have watches too many */
    GPtrArray *watching;  /* of nodes.c's */
    GHashTable *doubtful; /* creates without an answer: path as sent */
    /* of each path, by its first line: */
    uint64_t last_token[LINES_MAX], last_turn[LINES_MAX];
    uint64_t last_alone[LINES_MAX];  /* token, of one that shares with nobody */
    unsigned last_number[LINES_MAX]; /* of the acquisition */
    GArray *heads[LINES_MAX];        /* of each line, of struct head: who was first, in turn */
    GArray *limits[LINES_MAX];       /* of permits.c's: of each path, in turn */
    bool always;                     /* look at each step, not only when something changed hands */
    bool look;
    bool refusing, refusing_writes, numbers_end; /* errors that are to be expected */
};

void oracle_init(struct oracle *o);
void oracle_clear(struct oracle *o);

void oracle_note(struct stage *stage, const struct note *note);

/* When a callback has told something, before anybody acts upon it. */
void oracle_completed(struct stage *stage, struct acquisition *a);
void oracle_changed(struct stage *stage, const struct watcher *w, const zkl_grant *grant,
                    zkl_state state);
void oracle_released(struct stage *stage, struct acquisition *a);

/* After each step. */
void oracle_check(struct stage *stage);

/* When all faults have ceased and all processes are at rest: nothing may be left. */
bool oracle_is_clean(const struct stage *stage);
void oracle_at_rest(struct stage *stage);
/* When all sessions are closed. */
void oracle_at_end(struct stage *stage);

/* The first in that line, at the leader. */
const struct head *oracle_head(const struct stage *stage, int line);

/* The session of one that had gone and was restored; 0: there is none. */
int64_t oracle_restored(const struct stage *stage);

/* The path of a random contender that stands, or NULL. */
const char *oracle_some_node(struct stage *stage);

#endif
