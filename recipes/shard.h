/* Decides what a host does about one shard. Times are in ms, all by one clock.
 *
 *   OUT --seek--> SEEKING --granted--> HELD --stop--> ENDING --kill--> KILLED
 *                    \-------------stop-------------/
 *   and from each but OUT to OUT, when its worker has ended (shard_ended()).
 *
 * The worker is what works on a shard that is held, or else the attempt to get the lock: a command
 * of zkl shards, or what a program does from ZKL_SHARDS_GRANTED until it releases the grant.
 *
 * The lock keeps two hosts from having one shard; the plan decides who asks for the lock. A host
 * seeks the shards that it owns by a view of the members which has itself in it, and has said so
 * for a while. What it holds it keeps, whatever the view says, until somebody asks: then it gives
 * up what another one owns. Without such a view it begins nothing, and gives up what is asked for
 * only when others must have seen it gone. */
#ifndef RECIPES_SHARD_H
#define RECIPES_SHARD_H

#include <stdbool.h>
#include <stdint.h>

/* How long a view must have been the same before it counts, so that hosts that start together do
 * not pass shards around. */
#define SHARD_SETTLE_MS 500

/* How long a host waits before it looks again whether somebody waits for a shard that it would give
 * up. */
#define SHARD_LOOK_MS 1000

/* A .drain_ms without a limit: KILL never comes. */
#define SHARD_DRAIN_FOREVER (INT64_MAX / 4)

enum shard_state { SHARD_OUT, SHARD_SEEKING, SHARD_HELD, SHARD_ENDING, SHARD_KILLED, SHARD_STATES };

/* What a host does for a shard. REST: nothing. SEEK: begins to acquire the lock. STOP: asks the
 * worker to end. KILL: kills the worker. LOOK: reads the lock's queue; if a reading is under way,
 * once more after that. Each LOOK is answered, by .looked_at and .waits. */
enum shard_act { SHARD_REST, SHARD_SEEK, SHARD_LOOK, SHARD_STOP, SHARD_KILL };

/* What a host remembers of a shard. All is 0 at the beginning. */
struct shard_plan {
    enum shard_state state;
    bool mine;          /* the shard was ours by the last view that was confirmed */
    int64_t since;      /* when .mine changed last */
    int64_t held_at;    /* HELD and after it: when it became HELD; 0: not yet */
    int64_t kill_at;    /* ENDING: when KILL comes; 0 otherwise */
    int64_t asked_at;   /* HELD: when the plan asked for a look; 0: not yet, or the shard is ours */
    int64_t not_before; /* OUT: the next attempt begins no earlier */
    int64_t pause_ms;   /* after the last failure; 0: there was none */
};

/* What a host knows of a shard at a moment. */
struct shard_facts {
    int64_t now;
    int64_t confirmed_since; /* when .confirmed changed last */
    int64_t member_until;    /* the membership's deadline: from then on others may see us gone */
    int64_t looked_at;       /* HELD: when the last LOOK that was answered began; 0: none was */
    int64_t drain_ms;        /* how long a worker may take to end */
    int64_t doubt_ms;        /* how long after a view others must have seen us gone */
    bool confirmed;          /* the view shows us as we have joined */
    bool owned;              /* the shard is ours by that view */
    bool granted;            /* SEEKING: the lock is ours */
    bool wanted;             /* HELD: another contender has come, and may be gone again */
    bool waits;              /* a contender was there at .looked_at */
    bool revoked;            /* somebody has asked for the lock (zkl revoke) */
    bool stop;               /* the host ends */
    bool hurry;              /* the host was asked twice to end */
};

/* Returns what to do now. *ret_due is when to call it again if nothing happens before; INT64_MAX:
 * never. */
enum shard_act shard_step(struct shard_plan *s, const struct shard_facts *f, int64_t *ret_due);

/* Takes the end of the shard's worker. failed: it has ended by itself, not because we ended it. */
void shard_ended(struct shard_plan *s, bool failed, int64_t now);

/* Whether the last attempt has failed, and the next has not begun. */
bool shard_is_paused(const struct shard_plan *s);

/* The invariant: this is true after each step. */
bool shard_invariant(const struct shard_plan *s);

/* Whether a step, or the end of the worker, may lead from one state to another. */
bool shard_may_move(enum shard_state from, enum shard_state to);

#endif
