/* The callers of one mutex handle, in turn. Where nothing is retained each has a contender of its
 * own, one after the other (docs/design/local-queue.md). Where the handle retains they share one,
 * and recipes/retain.h decides (docs/design/retained.md). All with the monitor held. */
#ifndef LIB_TURNS_H
#define LIB_TURNS_H

#include "lib/contender/contender.h"
#include "recipes/retain.h"

struct turns;
struct turn_waiter;

/* How many idle tenures a session may have, and how many local waiters go before a rival. Tests set
 * smaller numbers. */
enum { TURNS_MOST = 1000, TURNS_LOCAL = 16 };
extern guint turns_most;
extern uint32_t turns_local;

struct turn_caller {
    char *payload;  /* GRefString: of the node, if it enters for this caller */
    uint64_t owner; /* equal numbers: the same owner */
    bool is_new;    /* an owner that no other caller is; owner says nothing */
    bool tries;     /* does not wait for others */
};

/* spec describes the contenders, but for payload, tries, retains, news and queue. Its directory is
 * kept. */
struct turns *turns_new(zkl_session *s, const struct contender_spec *spec,
                        const struct retain *config);
void turns_unref(struct turns *t);

/* What a caller does who is first where nothing is retained: it enters with that spec. */
typedef void (*turn_enter)(void *context, const struct contender_spec *spec);

/* A caller comes. *ret is set before anything is told. If the handle retains, decided is called
 * once, perhaps before this returns: with a turn, which is a grant of the callee's, or with an
 * error. If it does not, either enter is called once, or decided with an error. *ret is good until
 * then. */
void turns_wait(struct turn_waiter **ret, struct turns *t, const struct turn_caller *caller,
                turn_enter enter, grant_decided decided, void *context);

/* A turn for the caller if it can have one now, and nobody else is first; NULL. */
zkl_grant *turns_take(struct turns *t, uint64_t owner);

/* Before decided: the caller gives up, and gets code and text. */
void turns_give_up(struct turn_waiter *w, int code, const char *text);

/* An idle tenure ends now. */
void turns_yield(struct turns *t);

/* Nobody waits, nor will anybody come any more. */
void turns_close(struct turns *t);

/* What it keeps, for tests; NULL: nothing. */
struct tenure *turns_tenure(const struct turns *t);

#endif
