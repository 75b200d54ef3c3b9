/* A contender: it runs an attempt (recipes/attempt.h) over the session's driver, and owns its
 * node's name. It calls decided() exactly once, and then tells what becomes of its tenure. The
 * caller holds the monitor. */
#ifndef LIB_CONTENDER_H
#define LIB_CONTENDER_H

#include "lib/base/layout.h"
#include "lib/grant/grant.h"
#include "lib/session/driver.h"
#include "lib/session/participant.h"
#include "recipes/attempt.h"

struct admission;
struct contender;

/* Called exactly once, with the tenure or with the error. The callee gets a reference to the
 * tenure. */
typedef void (*contender_decided)(void *context, struct tenure *tenure, const zkl_error *error);

/* What news() is told beside the decision. ENDED comes last. */
enum contender_news {
    CONTENDER_WAITS,   /* before the decision: it begins to wait, as others are ahead */
    CONTENDER_ALONE,   /* nobody waits; if a contender comes, OTHERS is told */
    CONTENDER_OTHERS,  /* somebody waits; contenders that come later are not told */
    CONTENDER_UNKNOWN, /* whether somebody waits could not be found out */
    CONTENDER_PROVED,  /* a proof has extended the deadline */
    CONTENDER_ASKED,   /* it is asked to give way; told once */
    CONTENDER_ENDED    /* it holds no longer, whoever has ended that */
};
typedef void (*contender_news_fn)(void *context, enum contender_news news);

/* The limit of a semaphore: what a handle and its contenders know of it. */
struct permit_limit {
    int32_t initial; /* for a directory that has none; 0: that is an error */
    int32_t value;   /* as last read */
    uint64_t zxid;   /* when that was written; 0: it was not read yet */
    int64_t session; /* the session that has read .value: if the servers' data have gone back, zxids
                        repeat */
};

/* The callers of one handle: one of them at a time has a contender. The queue is the first member
 * of a struct whose owner lets them in. */
struct contender_queue {
    struct contender *current; /* NULL: none, or its node is gone or going */
    GQueue waiting;            /* callers that have no contender yet */
    /* Called when .current has left: the owner may let in the next caller. contender_enter() may
     * call this before it returns. */
    void (*left)(struct contender_queue *q);
};

struct contender_spec {
    char *directory; /* GRefString, with chroot */
    char *payload;   /* GRefString */
    zkl_parents parents;
    enum rule rule;
    int rank; /* part of the name: see layout_name() */
    /* of a semaphore, of which .rank permits are asked for; an rc_box; NULL: it is no semaphore */
    struct permit_limit *limit;
    int32_t leases; /* the limit of Curator's semaphore; 0: it is no such semaphore */
    bool try_only;
    bool hints;          /* it writes and reads the hints of long queues: head_hint.h */
    bool retains;        /* its handle retains, and its node's name says so */
    bool watch_children; /* if it is alone when it enters, it is told of a contender that comes */
    bool watch_own; /* it watches its node even if it watches the children: so it learns at once
                       that it is asked to give way */
    contender_news_fn news;        /* may be NULL */
    struct contender_queue *queue; /* NULL: none */
};

/* From how many children on a queue is long, and how many contenders of one session may enter one
 * path at once. Tests set smaller numbers. */
extern uint32_t contender_long_queue;
extern unsigned contender_entering_max;

/* Makes a contender, which enters the queue. *ret is set before decided() or news() is called. It
 * is good until decided() gets an error, or else until CONTENDER_ENDED. */
void contender_enter(struct contender **ret, zkl_session *s, const struct contender_spec *spec,
                     contender_decided decided, void *context);

/* Returns how many contenders were ahead in the last list; -1: there was none yet. It is called
 * before the decision. */
int contender_ahead(const struct contender *c);

/* Returns the full path of its node, to be freed; NULL: no node is known. */
char *contender_own_node(const struct contender *c);

/* Ends a contender that is not decided yet. decided() gets code and text. */
void contender_abort(struct contender *c, int code, const char *text);

/* Ends a contender that is not decided yet. Neither decided() nor news() is called. */
void contender_abandon(struct contender *c);

/* Tells the grant's callbacks that another one waits for it. Does nothing if c does not hold. */
void contender_want(struct contender *c);

/* Asks the servers whether others wait for what c holds. news() and the grant's callbacks get the
 * answer. */
void contender_ask_others(struct contender *c);

/* From now on news() is told what happens to the contender, with the context of decided(). If it is
 * set during CONTENDER_ENDED, news() is told that once more, when the node is deleted. */
void contender_set_news(struct contender *c, contender_news_fn news);

/* For a contender that was granted: whether it had to wait, and what is known of others. */
bool contender_has_waited(const struct contender *c);
enum contender_news contender_others(const struct contender *c);

/* idle: nobody uses what it holds. The session is not kept alive for such a holder. */
void contender_set_idle(struct contender *c, bool idle);

/* Returns the contender that holds t; NULL: its hold has ended. */
struct contender *contender_of(const struct tenure *t);

/* Stops the calls of news(). */
void contender_forget(struct contender *c);

/* Deletes the node: the holder is done, or, after a loss, its callbacks have returned. */
void contender_release(struct contender *c);

/* Ends the hold as if its deadline had passed, since the same grant has lost another tenure. */
void contender_lose(struct contender *c);

/* Tells a contender that its node is known to be gone. */
void contender_node_gone(struct contender *c);

/* ---- all of a session ---- */

/* The callers that wait for acquisitions, by handle. They learn of the session's end before its
 * contenders do. If a contender learned of it first, its handle would let the next caller enter. */
struct all_callers {
    GQueue list; /* of struct callers */
    GList *next; /* the one that is told next; NULL: none */
};

struct callers {
    struct all_callers *all;
    void (*abort)(void *context, const zkl_error *why); /* ends their calls; it may free .context */
    void *context;
    GList link;
};

struct contenders {
    struct drivers drivers; /* of all contenders that were admitted and are not done */
    GQueue by_deadline;     /* those that are told the session's deadline */
    struct all_callers callers;
    GQueue idle; /* the handles that hold a tenure which nobody uses, the longest idle first */
    GHashTable *admissions; /* path -> struct admission */
    bool admissions_closed; /* while the contenders are told that the session has ended */
};

/* Returns the contenders of the session. From the first call on they are told what happens to it.
 */
struct contenders *contenders_of(zkl_session *s);

/* Adds the callers of a handle, and removes them. They may be removed at any time, even while
 * others are told. */
void callers_add(struct all_callers *all, struct callers *callers,
                 void (*abort)(void *context, const zkl_error *why), void *context);
void callers_remove(struct callers *callers);

/* ---- the members, for tests ---- */

enum { CONTENDER_ID_SIZE = 37 };

struct contender {
    /* its session outlives it; the contender has a reference until it has retired */
    struct driver driver;
    struct attempt machine;
    struct admission *admission;     /* with the directory's path */
    struct contender_queue *queue;   /* of its handle; NULL: none, or it has left */
    char *payload;                   /* GRefString */
    char *predecessor;               /* full path; an rc_box, which its watch shares */
    char *old_id;                    /* the id of the node before; NULL: none */
    struct contender_extras *extras; /* NULL until they are needed */
    struct tenure *tenure;           /* one reference, while holding */
    contender_decided decided;
    void *context;
    GSequenceIter *place; /* in .admission->unadmitted; NULL: it is not there */
    int rank;
    unsigned unsure;  /* how many creates have an unknown outcome */
    uint32_t arrival; /* the order in which contenders came, and in which they enter again */
    char id[CONTENDER_ID_SIZE];
    bool container : 1;    /* missing parents are made as containers */
    unsigned progress : 2; /* enum contender_progress */
    bool retains : 1;      /* its handle retains */
    bool waits : 1;        /* CONTENDER_WAITS was told, and it still waits */
    bool retired : 1;
    bool orphan : 1;     /* the session counts it (incarnation_want_end()) */
    bool leaves : 1;     /* the session counts it (orphan_leaves()) */
    bool idle : 1;       /* nobody uses what it holds */
    bool look_again : 1; /* the last look at others found nothing out */
};

static inline zkl_session *contender_session(const struct contender *c)
{
    return c->driver.session;
}

/* Admits contenders again, the oldest first, once all that enter again after a loss have asked to.
 */
void admissions_open(struct contenders *all);

#endif
