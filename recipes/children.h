/* Children of a path, listed again whenever they may have changed; and, at the end of this file,
 * whether what was read is no older than before.
 *
 *   connection                      listed            found             the watch fires
 *   AWAY ──> SYNCING ──> LISTING ────────> READING ──────> SETTLED ──────────────> LISTING
 *                         ^   └─no such path─> FINDING ─┐     └─too soon─> RESTING ─┘ timer
 *                         └─────────there is──────┘ └─there is none: READING
 *
 * A refusal leads to BACKED_OFF, and its timer to SYNCING. A new connection leads to SYNCING from
 * every state. Without a connection it is AWAY, and OVER when it is to stop.
 *
 * This machine is a part of a larger one, which reads what there is. A machine that only tells that
 * something may have changed needs no more than children_report(). */
#ifndef RECIPES_CHILDREN_H
#define RECIPES_CHILDREN_H

#include "machine.h"

enum children_state {
    CHILDREN_AWAY,    /* nothing is asked: a connection begins it */
    CHILDREN_SYNCING, /* the server catches up with its leader */
    CHILDREN_LISTING,
    CHILDREN_FINDING, /* there was no such path: is there one now? */
    CHILDREN_READING, /* the larger machine reads what there is */
    CHILDREN_SETTLED, /* the larger machine has read it; a watch stands */
    CHILDREN_RESTING, /* the watch has fired: the timer lists them again, not too soon */
    CHILDREN_BACKED_OFF,
    CHILDREN_OVER,
    CHILDREN_STATES
};

/* The larger machine has its own nodes from CHILDREN_NODES on, and its own slots. What it asks for
 * in CHILDREN_SLOT is stale with the next query. */
enum { CHILDREN_DIRECTORY, CHILDREN_NODES };
enum { CHILDREN_SLOT, CHILDREN_SLOTS };

/* What the user is told. Each reason is told once, but BARRED with each query. The larger machine
 * has its own reasons from CHILDREN_TELL_OWN on. */
enum children_tell {
    CHILDREN_TELL_NOTHING,
    CHILDREN_TELL_DENIED, /* no permission */
    CHILDREN_TELL_ODD,    /* an answer that its request cannot have */
    CHILDREN_TELL_LIMIT,  /* too much is watched */
    CHILDREN_TELL_OLDER,  /* what is there is older than what was read before */
    CHILDREN_TELL_BARRED, /* the credentials are refused: nothing will be found any more */
    CHILDREN_TELL_OWN
};

/* What a step tells the larger machine. */
enum children_news {
    CHILDREN_NOTHING,
    CHILDREN_BEGUN,  /* a query has begun */
    CHILDREN_LISTED, /* this event has the list */
    CHILDREN_MISSING /* there is no such path, and a watch tells when there is */
};

/* What the driver knows when it delivers an event. */
struct children_moment {
    int64_t now; /* ns */
    bool up;     /* there is a connection */
    bool barred; /* the credentials are refused, for good */
};

/* All 0 but for what is set at the beginning. */
struct children {
    /* set at the beginning: */
    bool watch;            /* the first list leaves a watch; else it takes another one */
    int64_t gap, gap_each; /* ns from a query to the next one at least, and more for each child */
    /* since then: */
    enum children_state state;
    bool watched;        /* LISTING: the list is to leave a watch; READING: it has left one */
    int64_t not_before;  /* when the next query may begin; ns */
    int64_t back_off_ms; /* after the last failure; 0: there was none since */
    enum children_tell refusal; /* the reason that was told after that failure */
};

/* Takes an event. MACHINE_EV_BEGIN: there is a connection, or another one; or there will be
 * none. */
enum children_news children_step(struct children *c, const struct machine_event *ev,
                                 const struct children_moment *moment, struct machine_actions *out);

/* Takes an event, for a machine that only tells CHILDREN_TELL_OWN each time when the children are
 * listed. */
void children_report(struct children *c, const struct machine_event *ev,
                     const struct children_moment *moment, struct machine_actions *out);

/* ---- for the larger machine ---- */

/* Lists the children once more. */
void children_list(struct children *c, struct machine_actions *out, bool watch);

/* Begins a query anew, without a sync, since the server shows that the children may have changed;
 * but not too soon. */
enum children_news children_changed(struct children *c, const struct children_moment *moment,
                                    struct machine_actions *out);

/* Goes back to READING, for what changed after it was read. If a timer is to begin a query, it
 * still does. */
void children_reread(struct children *c);

/* Ends the query, which has found count children. */
void children_found(struct children *c, const struct children_moment *moment, size_t count);

/* Begin a query again, later: what was read was refused, or is older than what was read before. */
void children_refused(struct children *c, const struct children_moment *moment,
                      struct machine_actions *out, enum store_rc rc);
void children_older(struct children *c, const struct children_moment *moment,
                    struct machine_actions *out);

/* Asserted after each step. */
bool children_invariant(const struct children *c);
bool children_may_move(enum children_state from, enum children_state to);
const char *children_state_name(enum children_state state);

/* ---- what was read, and is no older than before ----
 *
 * A read should never show older data than an earlier read: within a session the servers see to it,
 * and in the next one the sync before its first list does. Two things make data older all the same:
 * a server lags, or the servers' data have gone back, which nobody may have noticed. So the reader
 * holds older data back, and reads again. When data have been older for one session timeout on one
 * connection, or for two in all, nothing newer will come. Then they count. */

/* All 0 at the beginning. */
struct newest {
    uint64_t changed; /* the pzxid of the newest list: when the children changed last */
    bool older;       /* what was read is older than what was told */
    int64_t since;    /* since when, on this connection; ns */
    int64_t last;     /* when it was seen to be so last; ns */
    int64_t held;     /* for how long on the connections before; ns */
    bool rewound;     /* what is older counts */
};

/* Takes a list of that pzxid. Returns whether it is no older than the newest list, and so the
 * newest now. */
bool newest_list(struct newest *n, uint64_t pzxid);

/* Counts a read, of a list or something else, that has older data than were told. Returns whether
 * they are held back; if not, all is rewound. patience: for how many ns on one connection. */
bool newest_holds_back(struct newest *n, int64_t now, int64_t patience);

/* Called on another connection, whose server need not be the one that had older data. */
void newest_connected(struct newest *n);

/* Called when all was read and told, and nothing was older. */
void newest_told(struct newest *n);

/* Called when the servers' data have gone back: what was seen so far is no measure any more. */
void newest_rewind(struct newest *n);

#endif
