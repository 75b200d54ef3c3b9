/* What an observer of an election reads, and what it is told: tokens rise, and nothing twice. A
 * children watch (recipes/children.h) tells which node is first; then
 *
 *   the first in line:  LISTING ──listed──> READING ──read──> SEEN      │ both SEEN and KNOWN: told
 *   what it proclaims:  UNKNOWN ─────────────ASKED ───read──> KNOWN     │
 *
 * When the first one is gone, or a query begins for another reason, it is LISTING again; when its
 * node changes, READING. The election's own data, where leaders proclaim, are watched across terms:
 * they are UNKNOWN when they change, and on another connection.
 *
 * What is older than what was read before is held back (children.h): a list, or the election's
 * data. On another connection a first in line that was made before the leader told is held back,
 * too, and counts as nobody until then. But if its number is used up, it is not held back: numbers
 * end at 2^31 - 1, which a parent hands out again and again. */
#ifndef RECIPES_OBSERVE_H
#define RECIPES_OBSERVE_H

#include "children.h"

enum observe_tell { OBSERVE_NOTHING, OBSERVE_LEADER, OBSERVE_NOBODY };

/* All zero: nothing was told yet. */
struct observe {
    bool told;    /* something was told */
    bool leads;   /* the last thing told was a leader */
    uint64_t top; /* the highest token told */
};

/* Takes the first in line, by its token (0: nobody is), and whether its proclaimed data are
 * other than told. If a resource fenced by the tokens told so far would refuse it, it counts as
 * nobody. */
enum observe_tell observe_see(struct observe *o, uint64_t token, bool news);

/* ---- what is read ---- */

/* Nodes after those of children.h: the first in line, and the election's own data. The data have a
 * watch beside that on the children, and a slot, since they are read across queries. */
enum { OBSERVING_FIRST = CHILDREN_NODES, OBSERVING_DATA };
enum { OBSERVING_SLOT_DATA = CHILDREN_SLOTS };

enum observing_tell {
    OBSERVING_TELL_NOBODY = CHILDREN_TELL_OWN,
    OBSERVING_TELL_SILENT,    /* a leader that has proclaimed nothing */
    OBSERVING_TELL_PROCLAIMED /* a leader, with what it proclaimed */
};

enum observing_node { OBSERVING_LISTING, OBSERVING_READING, OBSERVING_SEEN, OBSERVING_NODES };
enum observing_data { OBSERVING_UNKNOWN, OBSERVING_ASKED, OBSERVING_KNOWN, OBSERVING_DATAS };

/* What the driver knows when it delivers an event. */
struct observing_moment {
    struct children_moment children;
    int64_t patience; /* for how many ns older data are held back */
    bool some;        /* the newest list has a first in line */
    bool used_up;     /* its number is used up */
    bool other_node;  /* the first in line has another name than the last leader told */
    bool told_any;    /* something proclaimed was told with the last leader */
    bool same;        /* what is proclaimed, as read last, equals what was told with that leader */
};

/* All 0 at the beginning. */
struct observing {
    struct children children;
    struct observe told;
    enum observing_node node;
    enum observing_data data;
    bool data_missing;   /* KNOWN: there was no directory to watch */
    uint64_t token;      /* SEEN: of the first in line */
    uint64_t data_token; /* KNOWN: the token of the leader that proclaimed; 0: none has */
    struct newest newest;
    uint64_t data_zxid; /* the mzxid of the newest data */
    bool used_up;       /* the number of the first in line is used up */
    bool told_used_up;  /* the number of the last leader told was used up */
    bool met;           /* the leader told last was the first on this connection */
};

/* Takes an event. MACHINE_ACT_NAME among the actions: OBSERVING_FIRST is the first in line of the
 * newest list from now on. */
void observing_step(struct observing *o, const struct machine_event *ev,
                    const struct observing_moment *moment, struct machine_actions *out);

/* Called when the servers' data have gone back: what was read and told so far is no measure any
 * more. */
void observing_rewind(struct observing *o);

/* Asserted after each step. */
bool observing_invariant(const struct observing *o);
bool observing_may_move(enum observing_node from, enum observing_node to);
bool observing_may_learn(enum observing_data from, enum observing_data to);

/* Parses the election's own data: "<token>\n" and what the leader of that token proclaimed, which
 * begins at *ret_at. Returns false if they are something else. */
bool observe_data(const char *data, size_t length, uint64_t *ret_token, size_t *ret_at);

#endif
