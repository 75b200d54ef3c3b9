/* The driver of recipes/retain.h: the contenders of one mutex handle that retains, and who waits
 * for turns here. All with the monitor held. docs/design/retained.md has the argument. */
#ifndef LIB_RETAINED_H
#define LIB_RETAINED_H

#include "lib/contender/contender.h"
#include "recipes/retain.h"

struct retained;
struct turn_waiter;

/* How many idle tenures a session has, and how many local waiters go before a rival: tests put less
 * here. */
enum { RETAINED_MOST = 1000, RETAINED_LOCAL_TURNS = 16 };
extern guint retained_most;
extern uint32_t retained_local_turns;

struct turn_caller {
    char *payload;  /* GRefString: of the node, if it enters for this caller */
    uint64_t owner; /* equal numbers: the same owner */
    bool is_new;    /* an owner that no other caller is; owner says nothing */
    bool tries;     /* does not wait for others */
};

/* For the contenders that spec describes, but for payload, tries, retains and news; its directory
 * is kept. */
struct retained *retained_new(zkl_session *s, const struct contender_spec *spec,
                              const struct retain *config);
void retained_unref(struct retained *r);

/* A caller comes. A turn, which is a grant of the callee's, or an error is told once by decided,
 * perhaps before this returns. *ret is set before that, and good until then. */
void retained_wait(struct turn_waiter **ret, struct retained *r, const struct turn_caller *caller,
                   grant_decided decided, void *context);

/* A turn for the caller if it can have one now, and nobody else is first; NULL. */
zkl_grant *retained_take(struct retained *r, uint64_t owner);

/* Before decided: the caller gives up, and gets code and text. */
void retained_give_up(struct turn_waiter *w, int code, const char *text);

/* An idle tenure ends now. */
void retained_yield(struct retained *r);

/* Nobody waits, nor will anybody come any more. */
void retained_close(struct retained *r);

/* What it keeps, for tests; NULL: nothing. */
struct tenure *retained_tenure(const struct retained *r);

#endif
