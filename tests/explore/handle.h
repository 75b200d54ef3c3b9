/* The world around the handle of a started election as a flat value, for exhaustive search: its
 * user, who stops, yields and starts again at any time, callbacks that come late, attempts, lists
 * and watches as lib/election/election.c has them, and one rival. */
#ifndef EXPLORE_HANDLE_H
#define EXPLORE_HANDLE_H

#include "breadth.h"
#include "recipes/candidacy.h"
#include "recipes/machine.h"

enum { HANDLE_CANDIDACIES = 2, HANDLE_LISTS = 3, HANDLE_MESSAGES = 8 };

enum handle_broken {
    HANDLE_WHOLE,
    HANDLE_ATTEMPTS, /* two attempts, or an attempt beside a grant */
    HANDLE_INVALID,  /* leads without a grant that is owned, or twice by one */
    HANDLE_LEAK,     /* a grant that nobody gives back, or that is used when it is gone */
    HANDLE_ORDER,    /* told what cannot come then */
    HANDLE_FAILURE,  /* a failed attempt is not told once */
    HANDLE_PAUSE,    /* backs off for too short or too long */
    HANDLE_ASKED,    /* to step down without a reason, or not, with one */
    HANDLE_FINALLY,  /* goes on when nothing can come of it */
    HANDLE_STUCK,
    HANDLE_BROKEN_COUNT
};

enum handle_move {
    /* sooner or later; .at: of which candidacy */
    HANDLE_TIMER,
    HANDLE_WIN,
    HANDLE_LISTED,
    HANDLE_FIRE,
    HANDLE_NOTICE, /* that a grant was lost */
    HANDLE_OBEY,   /* the user yields, as it is asked to */
    HANDLE_DELIVER,
    HANDLE_CONNECT,
    /* perhaps never */
    HANDLE_YIELD,
    HANDLE_RESIGN,
    HANDLE_START, /* again */
    HANDLE_RIVAL, /* comes; so does the next, of higher priority */
    HANDLE_HIGHER,
    HANDLE_LEAVES,
    /* faults: one of the budget each */
    HANDLE_FAIL,      /* the attempt: a rival of an incompatible layout, say */
    HANDLE_UNLISTED,  /* the list is refused */
    HANDLE_UNWATCHED, /* the next list is one watch too many */
    HANDLE_LAPSE,     /* the grant, by its deadline */
    HANDLE_DELETE,    /* an administrator, the node */
    HANDLE_EXPIRE,    /* the session is replaced */
    HANDLE_BREAK,     /* the connection */
    HANDLE_REFUSE,    /* the credentials */
    HANDLE_CLOSE,     /* the session */
    HANDLE_MOVES
};

enum handle_grant { GRANT_NONE, GRANT_OWNED, GRANT_LOST, GRANT_RELEASED };
enum handle_watch { WATCH_NONE, WATCH_ASKED, WATCH_SET, WATCH_FIRING };
enum handle_told { TOLD_NOTHING, TOLD_LEADING, TOLD_ASKED, TOLD_STOPPED };
enum handle_message {
    MESSAGE_LEADING = 1,
    MESSAGE_ASKED,
    MESSAGE_FAILED,
    MESSAGE_STOPPED,
    MESSAGE_LOST,
    MESSAGE_RELEASED
};

struct handle_candidacy {
    struct candidacy machine;
    struct exchange exchange;
    bool attempt;               /* one is under way */
    bool led;                   /* so the grant's end is told */
    bool unnoticed;             /* the end of the grant has not been pushed to the callbacks yet */
    bool over;                  /* to be told behind the end of the term */
    uint8_t grant, watch, told; /* enum handle_… */
    bool seen_higher;           /* in the last list of this term */
    uint8_t lists;
    struct exchange_request list[HANDLE_LISTS];
    bool armed;
    bool aborted, unwatched; /* in this step: it hears of that behind it */
};

struct handle_state {
    struct handle_candidacy c[HANDLE_CANDIDACIES];
    uint8_t begun; /* so many candidacies */
    bool present;  /* the handle has the last of them */
    uint8_t messages;
    struct {
        uint8_t of, what;
    } message[HANDLE_MESSAGES];
    bool rival, higher, ahead;
    bool up, closing, refused, unwatched;
    uint8_t arrivals, starts, faults; /* left */
    uint8_t broken;                   /* enum handle_broken */
};

struct handle_config {
    struct candidacy machine;
    int arrivals, starts, faults;
};

extern struct handle_config handle_config;

void handle_init(void *state);
int handle_moves(const void *state, struct breadth_step *steps);
void handle_do(void *state, struct breadth_step step);

/* Nothing but faults can happen. */
int handle_check_end(const void *state); /* enum handle_broken */

/* ---- for handle_moves.c ---- */

void handle_fail(struct handle_state *st, enum handle_broken broken);
void handle_step(struct handle_state *st, uint8_t at, struct machine_event ev,
                 struct candidacy_moment moment);
void handle_push(struct handle_state *st, uint8_t at, enum handle_message what);

/* The line has changed: watches of it fire. */
void handle_changed(struct handle_state *st);

extern const char *const handle_broken_texts[HANDLE_BROKEN_COUNT];
const char *handle_move_text(enum handle_move kind);

#endif
