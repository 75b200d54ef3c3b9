/* Speaks with one contender in words, so that a test reads as the exchange it specifies:
 *
 *     play_start(false);
 *     STEP("enter", ST_CREATING, "create list");
 *     STEP("created 7", ST_LISTING, "");
 *     STEP("listed 5 7*", ST_WAITING, "read, watch 5");
 *
 * Children: 7 another's, 7+ another's that retains, 7* ours, 7~ of our id of an earlier entry,
 * 7? foreign, 7! a contender of another layout, 7r a reader, 7w a writer. An answer is OK
 * when no other is named, and is to the newest request of its kind; the driver's exchange says
 * whether the machine hears it. "stale" makes it the answer to an older question, "nodeadline" says
 * that no deadline is ahead, "again" that the event is the first on another connection, and "down"
 * that there is no connection.
 * "watched ours" is a predecessor of the present session. "unread", "foreign", "other" and "named"
 * say what the directory's data are, "v3" its version, and the number behind "hint" how many
 * children it has. "left": the list has left a watch. "asked": the own node's data ask to give way.
 *
 * The directory's request reads "parents", and so does its answer; where .parents are above it,
 * theirs is "above 2" before it, and "above 1 refused" is the answer to the second. A directory
 * that may go is read first: "directory" says that it was made as a container, is empty and unused;
 * "persistent", "used", "unlimited" and a number of children, that it is not.
 *
 * The children of a semaphore are leases: 5x3 is one of three permits. "limited 2 z9" is the answer
 * to a read of the limit, written at zxid 9; "limited empty v4" is the answer where there are no
 * data. A list without such a word is of the limit that is known. "watched 5" is a predecessor that
 * was made at zxid 1005, and "v1" its version. */
#ifndef UNIT_ATTEMPT_PLAY_H
#define UNIT_ATTEMPT_PLAY_H

#include "attempt.h"
#include "recipes/machine.h"

/* What may happen: a row of the table of words. */
enum play_row {
    /* answers: */
    PLAY_CREATED,
    PLAY_ABOVE,
    PLAY_PARENTS,
    PLAY_PASSED,
    PLAY_LISTED,
    PLAY_LOOKED, /* a list behind a look */
    PLAY_HINT,
    PLAY_READ,
    PLAY_WATCHED,
    PLAY_LIMITED,
    PLAY_LIMITED_LOOK,
    PLAY_WRITTEN, /* the limit */
    PLAY_WRITTEN_LOOK,
    PLAY_DIRECTORY, /* read, to be deleted */
    PLAY_RESET,
    PLAY_TOUCHED,
    PLAY_REREAD, /* the own node, to be touched again */
    PLAY_ENTER,
    PLAY_PRED,
    PLAY_OWN,
    PLAY_LIMIT_CHANGED,
    PLAY_CHILDREN_FIRED,
    PLAY_TIMER,
    PLAY_EXTENDED,
    PLAY_DEADLINE_PASSED,
    PLAY_LOOK,
    PLAY_HEED,
    PLAY_RELEASE,
    PLAY_NODE_GONE,
    PLAY_DOUBT,
    PLAY_ABORT,
    PLAY_REPLACED,
    PLAY_END,
    PLAY_ROWS,
    PLAY_ANSWERS = PLAY_ENTER /* so many of them are */
};

enum { PLAY_CHILDREN = 8, PLAY_TIMEOUT_MS = 4000 };

/* What has happened, and what is so with it. */
struct play_event {
    enum play_row row;
    struct exchange_request to; /* of an answer */
    struct machine_event ev;
    struct attempt_moment m;
};

/* The newest request of a row. */
struct play_request {
    struct exchange_request number;
    unsigned under_way; /* so many answers are to come; a create of parents has several */
    bool watch;         /* it is to leave a watch */
};

struct play {
    struct attempt c;
    struct machine_actions out;
    struct exchange exchange;
    struct play_request asked[PLAY_ANSWERS];
    struct child children[PLAY_CHILDREN];
    size_t count;
    int64_t now;
    uint32_t connection;
    uint32_t parents; /* so many are above the directory */
    unsigned grants, fails, losses;
};

extern struct play play;

void play_start(bool try_only); /* a lock */
void play_start_as(enum rule rule, bool try_only);
void play_start_permits(uint32_t permits, bool try_only); /* of a semaphore, whose limit is 2 */
void play_start_lease(bool try_only);               /* of Curator's semaphore, whose limit is 2 */
void play_start_in_long_queue(uint32_t long_queue); /* so many are a long queue */

/* Returns an event of that row with only what always belongs to it. An answer is to the newest
 * request. */
struct play_event play_event_of(enum play_row row);

/* Makes an event of the words; false when they are not understood. */
bool play_event(struct play_event *h, const char *words);

/* Whether an answer of that row is to come; and that the machine will hear. */
bool play_is_under_way(enum play_row row);
bool play_awaits(enum play_row row);

/* The rows that are awaited, in words; valid until the next call. */
const char *play_awaited(void);

/* Gives the event, and checks what holds at every step: the invariant, the diagram, that the caller
 * is told once, what each request says. Returns false if it was an answer that the machine does not
 * hear. */
bool play_give(const struct play_event *h, const char *file, int line);

/* The same with words, for what leads up to the step that matters. */
#define SAY(words) play_say((words), __FILE__, __LINE__)
void play_say(const char *words, const char *file, int line);

/* Says words and checks the state afterwards and the actions, in their order. */
#define STEP(words, state, actions) play_step((words), (state), (actions), __FILE__, __LINE__)
void play_step(const char *words, enum attempt_state state, const char *actions, const char *file,
               int line);

/* The actions of the last step in words, without FORGET and END; valid until the next call. To
 * follow and watch a predecessor counts as one of them. */
const char *play_actions(void);

/* In how many ms the action of the last step is to bring a timer. */
int64_t play_armed_ms(uint32_t action);

/* Starts anew and goes to the state by the shortest way; number 7 is ours, 5 is before it. */
void play_reach(enum attempt_state state);

/* ---- what a contender promises at every step, whatever comes in whatever order ---- */

/* What is likely to come next, so that a walk gets far; choice is any number. */
enum play_row promises_likely(uint32_t choice);

/* An answer that a server may give to a request of that row. */
bool promises_may_answer(enum play_row row, enum store_rc rc);

/* Gives the event to play's contender; NULL, or the promise that it broke. */
const char *promises_give(const struct play_event *h);

/* From every state, giving up and what must follow leads to the end, with one answer. Returns NULL,
 * or what was broken on the way. */
const char *promises_end(void);

#endif
