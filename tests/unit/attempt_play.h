/* Speaks with one contender in words, so that a test reads as the exchange it specifies:
 *
 *     play_start(false);
 *     STEP("enter", ST_CREATING, "create list");
 *     STEP("created 7", ST_LISTING, "");
 *     STEP("listed 5 7*", ST_WAITING, "read, watch 5");
 *
 * Children: 7 another's, 7+ another's that retains, 7* ours, 7~ of our id of an earlier session,
 * 7? foreign, 7! a contender of another layout, 7r a reader, 7w a writer. An answer is OK
 * when no other is named, and carries the tag of the newest request of its kind; before an event,
 * "watched ours" is a predecessor of the present session. "stale" makes that tag an older one,
 * "nodeadline" says that no deadline is ahead, and "again" that the event is the first on another
 * connection. Of the directory tell "unread", "foreign", "other" and "named" what its data are,
 * "v3" its version, and the number behind "hint" how many children it has. "left": the list has
 * left a watch. "asked": the own node's data ask to give way.
 *
 * Of a semaphore the children are leases, 5x3 one of three permits. "limited 2 z9" is the answer to
 * a read of the limit, written at zxid 9; a list without such a word is of the limit that is known.
 * "watched 5" is a predecessor that was made at zxid 1005, and "v1" its version. */
#ifndef UNIT_ATTEMPT_PLAY_H
#define UNIT_ATTEMPT_PLAY_H

#include "attempt.h"

enum {
    PLAY_CHILDREN = 8,
    PLAY_SESSION = 0x5e55,
    PLAY_ERROR = ATTEMPT_ABORTED + 3,
    PLAY_TIMEOUT_MS = 4000
};

struct play {
    struct attempt c;
    struct actions out;
    uint32_t tags[EV_END + 1]; /* of the newest request that an event of this kind answers */
    struct child children[PLAY_CHILDREN];
    size_t count;
    uint32_t connection;
    unsigned grants, fails, revokes;
};

extern struct play play;

void play_start(bool try_only); /* a lock */
void play_start_as(enum rule rule, bool try_only);
void play_start_permits(uint32_t permits, bool try_only); /* of a semaphore, whose limit is 2 */
void play_start_lease(bool try_only);               /* of Curator's semaphore, whose limit is 2 */
void play_start_in_long_queue(uint32_t long_queue); /* so many are a long queue */

/* Makes an event of the words; false when they are not understood. */
bool play_event(struct event *ev, const char *words);

/* Gives the event, and checks what holds at every step: the invariant, the diagram, that the
 * caller is told once. */
void play_give(const struct event *ev, const char *file, int line);

/* The same with words, for what leads up to the step that matters. */
#define SAY(words) play_say((words), __FILE__, __LINE__)
void play_say(const char *words, const char *file, int line);

/* Says words and checks the state afterwards and the actions, in their order. */
#define STEP(words, state, actions) play_step((words), (state), (actions), __FILE__, __LINE__)
void play_step(const char *words, enum attempt_state state, const char *actions, const char *file,
               int line);

/* The actions of the last step in words; valid until the next call. */
const char *play_actions(void);

/* Starts anew and goes to the state by the shortest way; number 7 is ours, 5 is before it. */
void play_reach(enum attempt_state state);

#endif
