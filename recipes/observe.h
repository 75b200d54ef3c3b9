/* What an observer of an election reads, and what it is told: tokens rise, and nothing twice. Who
 * is first comes from a children watch (recipes/children.h); then
 *
 *   the first in line:  LISTING ──listed──> READING ──read──> SEEN      │ both SEEN and KNOWN: told
 *   what it proclaims:  UNKNOWN ─────────────ASKED ───read──> KNOWN     │
 *
 * When the first one is gone, or a query begins for another reason, it is LISTING again; when its
 * node changes, READING. The election's own data, where leaders proclaim, are watched across terms:
 * they are UNKNOWN when they change, and on another connection.
 *
 * What is older than what was read before is held back (newest.h): a list, or the election's data.
 * So is, on another connection, a first in line that was made before the leader told, unless a
 * number that is used up put it there: it counts as nobody until then. */
#ifndef RECIPES_OBSERVE_H
#define RECIPES_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "newest.h"

enum observe_tell { OBSERVE_NOTHING, OBSERVE_LEADER, OBSERVE_NOBODY };

/* All zero: nothing was told yet. */
struct observe {
    bool told;    /* something was */
    bool leads;   /* the last thing told was a leader */
    uint64_t top; /* the highest token told */
};

/* Takes the first in line (0: nobody is) and whether its proclaimed data is other than told. One
 * that a resource fenced by the tokens told so far would refuse counts as nobody. */
enum observe_tell observe_see(struct observe *o, uint64_t token, bool news);

/* ---- what is read ---- */

enum observing_node { OBSERVING_LISTING, OBSERVING_READING, OBSERVING_SEEN, OBSERVING_NODES };
enum observing_data { OBSERVING_UNKNOWN, OBSERVING_ASKED, OBSERVING_KNOWN, OBSERVING_DATAS };

enum observing_event_kind {
    OBSERVING_EV_BEGIN,      /* a query begins */
    OBSERVING_EV_UP,         /* another connection */
    OBSERVING_EV_LISTED,     /* .some, .watched */
    OBSERVING_EV_MISSING,    /* there is no such path, which is watched */
    OBSERVING_EV_NODE,       /* an answer to READ_NODE: .answer, .tag, .token */
    OBSERVING_EV_DATA,       /* the same to READ_DATA */
    OBSERVING_EV_NODE_FIRED, /* a watch: .gone */
    OBSERVING_EV_DATA_FIRED,
    OBSERVING_EV_STOP
};

enum observing_answer { OBSERVING_READ, OBSERVING_NO_NODE, OBSERVING_REFUSED };

struct observing_event {
    enum observing_event_kind kind;
    /* as it is now: */
    uint32_t query;    /* answers to what was asked in an earlier one are stale */
    bool data_watched; /* the election's data are, or will be with the next answer */
    bool told_any;     /* something proclaimed was told with the last leader */
    bool same;         /* it equals what is known now, or comes with this event */
    bool other_node;   /* the first in line has another name than the last leader told */
    int64_t now;       /* ns */
    int64_t patience;  /* for how long what is older is held back; ns */
    /* by kind: */
    bool some;     /* there is a first in line */
    bool watched;  /* the list has left a watch */
    bool used_up;  /* the number of the first in line is */
    uint64_t zxid; /* LISTED: of the last change of the children; DATA: of the data */
    bool gone;
    enum observing_answer answer;
    uint32_t tag;
    uint64_t token; /* of the node; of the leader that proclaimed, 0: none */
};

enum observing_action_kind {
    OBSERVING_ACT_READ_NODE,  /* of the first in line, with a watch; .tag is the present query */
    OBSERVING_ACT_READ_DATA,  /* with a watch: .tag */
    OBSERVING_ACT_TAKE_FIRST, /* from the list; the watch on the children goes */
    OBSERVING_ACT_TAKE_NODE,  /* from the answer */
    OBSERVING_ACT_TAKE_DATA,  /* from the answer */
    OBSERVING_ACT_AGAIN,      /* list once more: .watch */
    OBSERVING_ACT_REREAD,     /* what the query has asked for is stale */
    OBSERVING_ACT_FIRED,      /* query again, without a sync */
    OBSERVING_ACT_REFUSED,    /* back off */
    OBSERVING_ACT_OLDER,      /* the same: what was read is older than what was read before */
    OBSERVING_ACT_FOUND,      /* the query is over */
    OBSERVING_ACT_TELL,       /* .tell is a leader or nobody; .data: with what it proclaimed */
    OBSERVING_ACT_DROP_NODE,  /* its watch goes */
    OBSERVING_ACT_DROP_DATA
};

struct observing_action {
    enum observing_action_kind kind;
    enum observe_tell tell;
    bool data, watch;
    uint32_t tag;
};

enum { OBSERVING_ACTIONS = 3 };

struct observing_actions {
    uint32_t count;
    struct observing_action list[OBSERVING_ACTIONS];
};

/* All 0 at the beginning. */
struct observing {
    struct observe told;
    enum observing_node node;
    enum observing_data data;
    uint64_t token;      /* SEEN */
    uint64_t data_token; /* KNOWN: who proclaimed, 0: nobody */
    uint32_t data_tag;   /* answers to earlier reads of the data are stale */
    struct newest newest;
    uint64_t data_zxid; /* of the newest data */
    bool used_up;       /* the number of the first in line is */
    bool told_used_up;  /* that of the last leader told was */
    bool met;           /* it was the first on this connection */
};

void observing_step(struct observing *o, const struct observing_event *ev,
                    struct observing_actions *out);

/* The servers' data have gone back: what was read and told so far is no measure any more. */
void observing_rewind(struct observing *o);

/* Asserted after each step. */
bool observing_invariant(const struct observing *o);
bool observing_may_move(enum observing_node from, enum observing_node to);
bool observing_may_learn(enum observing_data from, enum observing_data to);

/* Takes the election's own data apart: "<token>\n" and what the leader of that token proclaimed,
 * which begins at *ret_at. False: it is something else. */
bool observe_data(const char *data, size_t length, uint64_t *ret_token, size_t *ret_at);

#endif
