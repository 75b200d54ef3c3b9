/* Several paths, one lock, all or nothing: one value is one acquisition and the grant that comes of
 * it. An attempt of its own (attempt.h) contends at each path.
 *
 *   IDLE ──begin──> ACQUIRING ──all are held──> HOLDING ──release, or one is lost──> DONE
 *                    │ ^  │                                                          ^
 *                    └─┘  └──────────────── failed, aborted ─────────────────────────┘
 *
 *   of each path:  OUT ──> ENTERING ──others are ahead──> WAITING ──granted──> HELD
 *                   ^         └─────────────── granted ────────────────────────^ │
 *                   └──────────────── left, or its grant was lost ───────────────┘
 *
 * All locks keep the same order of paths, bytewise. As long as no path is WAITING, all that are OUT
 * are entered at once (by a try, one after the other). As soon as a path is WAITING, the later
 * paths are left, whatever they have come to; the earlier ones stay. If the grant of a path is lost
 * before all are held, the later paths are left too, and are entered again after it.
 * docs/design/multi-locks.md argues that nobody waits in a circle. */
#ifndef RECIPES_MULTI_LOCK_H
#define RECIPES_MULTI_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { MULTI_LOCK_PATHS = 64 };

enum multi_lock_state {
    MULTI_LOCK_IDLE,
    MULTI_LOCK_ACQUIRING,
    MULTI_LOCK_HOLDING, /* all are held, and the caller has the grant */
    MULTI_LOCK_DONE,
    MULTI_LOCK_STATES
};

enum multi_lock_place {
    MULTI_LOCK_OUT,      /* neither queued nor held */
    MULTI_LOCK_ENTERING, /* an attempt is under way; whether others are ahead is not known yet */
    MULTI_LOCK_WAITING,  /* others are ahead */
    MULTI_LOCK_HELD,
    MULTI_LOCK_PLACES
};

/* What is known of one path. */
struct multi_lock_path {
    enum multi_lock_place place;
    uint32_t entry; /* the number of its attempt */
};

enum multi_lock_event_kind {
    MULTI_LOCK_EV_BEGIN,
    /* of the attempt .entry at .path: */
    MULTI_LOCK_EV_WAITS, /* others are ahead of it */
    MULTI_LOCK_EV_GRANTED,
    MULTI_LOCK_EV_FAILED, /* it has failed for good; a try fails if others are ahead, too */
    MULTI_LOCK_EV_LOST,   /* its grant is lost, and its node ends by itself */
    /* of the caller: */
    MULTI_LOCK_EV_ABORT,
    MULTI_LOCK_EV_RELEASE
};

struct multi_lock_event {
    enum multi_lock_event_kind kind;
    uint32_t path, entry;
};

enum multi_lock_action_kind {
    MULTI_LOCK_ACT_ENTER, /* begin the attempt .entry at .path */
    MULTI_LOCK_ACT_LEAVE, /* give up the attempt at .path, or give back what it was granted */
    MULTI_LOCK_ACT_GRANT,
    MULTI_LOCK_ACT_LOSE, /* the caller loses its grant; the driver gives back what is still held
                            when that was told */
    MULTI_LOCK_ACT_FAIL  /* the caller gets the error of the event */
};

struct multi_lock_action {
    enum multi_lock_action_kind kind;
    uint32_t path, entry;
};

/* Each path is left and entered at most once in a step. */
struct multi_lock_actions {
    uint32_t count;
    struct multi_lock_action list[2 * MULTI_LOCK_PATHS + 1];
};

struct multi_lock {
    enum multi_lock_state state;
    uint32_t count;   /* of paths, 1 to MULTI_LOCK_PATHS; set at the beginning */
    bool one_by_one;  /* a path is entered when all before it are held; set at the beginning */
    uint32_t entries; /* how many attempts were begun: the number of the last one */
};

/* Sets all members but those that are set at the beginning. paths are the caller's, .count of
 * them. */
void multi_lock_init(struct multi_lock *m, struct multi_lock_path *paths);

/* Takes one event, and appends what is to be done to *out (emptied first), in that order. If the
 * event is of an attempt that was left, nothing changes. */
void multi_lock_step(struct multi_lock *m, struct multi_lock_path *paths,
                     const struct multi_lock_event *ev, struct multi_lock_actions *out);

/* Returns the first path that is not held yet, or .count: what an acquisition waits for. */
uint32_t multi_lock_front(const struct multi_lock *m, const struct multi_lock_path *paths);

/* Whether m is consistent; asserted after each step. The order matters most: no path after one that
 * is waited for is queued or held. */
bool multi_lock_invariant(const struct multi_lock *m, const struct multi_lock_path *paths);

/* Whether the move is one of the diagrams above. */
bool multi_lock_may_move(enum multi_lock_state from, enum multi_lock_state to);
bool multi_lock_may_go(enum multi_lock_place from, enum multi_lock_place to);

const char *multi_lock_state_name(enum multi_lock_state state);

#endif
