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

/* Called exactly once: the tenure (with a reference of the callee's) or the error. */
typedef void (*contender_decided)(void *context, struct tenure *tenure, const zkl_error *error);

/* What is heard beside that; ENDED comes last. */
enum contender_news {
    CONTENDER_WAITS,   /* others are ahead, before decided; once for each time that it finds them */
    CONTENDER_ALONE,   /* nobody waits; a contender that comes is heard of */
    CONTENDER_OTHERS,  /* somebody waits; of more that come nothing is heard */
    CONTENDER_UNKNOWN, /* whether somebody waits could not be found out */
    CONTENDER_PROVED,  /* the deadline was extended */
    CONTENDER_ASKED,   /* to give way: once */
    CONTENDER_ENDED    /* it holds no longer, whoever ended it; the last one */
};
typedef void (*contender_news_fn)(void *context, enum contender_news news);

/* The limit of a semaphore: what a handle and its contenders know of it. */
struct permit_limit {
    int32_t initial; /* for a directory that has none; 0: that is an error */
    int32_t value;   /* as last read */
    uint64_t zxid;   /* when that was written; 0: it was not read yet */
    int64_t session; /* that read it: where the servers' data has gone back, zxids come again */
};

/* The callers of one handle, one of whom at a time has a contender. It is the first member of a
 * struct whose owner lets them in. */
struct contender_queue {
    struct contender *inside; /* NULL: none, or its node is gone or going */
    GQueue waiting;           /* after it */
    /* Called when .inside has left: the owner may let in the next one. contender_enter() may call
     * it before it returns. */
    void (*left)(struct contender_queue *q);
};

struct contender_spec {
    char *directory; /* GRefString, with chroot */
    char *payload;   /* GRefString */
    zkl_parents parents;
    enum rule rule;
    int rank; /* part of the name: see layout_name() */
    struct permit_limit
        *limit;     /* of a semaphore, an rc_box: .rank permits are asked for; NULL: it is none */
    int32_t leases; /* the limit of Curator's semaphore; 0: it is none */
    bool try_only;
    bool hints;             /* it leaves the hints of long queues, and goes by them: head_hint.h */
    bool retains;           /* its handle does: its node's name says so */
    bool watch_children;    /* alone when it enters, it hears of a contender that comes */
    bool heeds;             /* it hears that it is asked to give way even if it hears of that */
    contender_news_fn news; /* NULL: not told */
    struct contender_queue *queue; /* NULL: none */
};

/* How many children make a queue long, and how many contenders of one session enter one path at
 * once. Tests set smaller numbers. */
extern uint32_t contender_long_queue;
extern unsigned contender_abreast;

/* Enters the queue. *ret is set before anything is told. It is good until decided tells a failure,
 * or else until CONTENDER_ENDED. */
void contender_enter(struct contender **ret, zkl_session *s, const struct contender_spec *spec,
                     contender_decided decided, void *context);

/* How many were first when it last looked; -1: it has not yet. Before decided. */
int contender_ahead(const struct contender *c);

/* The full path of its node; NULL: it has none, or none is known. To be freed. */
char *contender_own_node(const struct contender *c);

/* The caller gives up, before decided: it gets code and text. */
void contender_abort(struct contender *c, int code, const char *text);

/* The same, and nobody is told. */
void contender_abandon(struct contender *c);

/* Another one waits for a holder: the grant's callbacks tell. Nothing if it does not hold. */
void contender_want(struct contender *c);

/* Is a holder alone? The news tell, and the grant's callbacks. */
void contender_look(struct contender *c);

/* From now on news() hears what happens to the contender, with the same context as decided(). If
 * news() is set while CONTENDER_ENDED is heard, it hears that once more, when the node has been
 * given up. */
void contender_set_news(struct contender *c, contender_news_fn news);

/* Whether one that was granted had to wait, and what is known of others. */
bool contender_has_waited(const struct contender *c);
enum contender_news contender_others(const struct contender *c);

/* If nobody uses what it holds, no session is kept for it. */
void contender_set_idle(struct contender *c, bool idle);

/* The one that keeps t; NULL: it has let go of it. */
struct contender *contender_of(const struct tenure *t);

/* The news are heard no longer. */
void contender_forget(struct contender *c);

/* The holder is done; or, after a loss, its callbacks are. Then the node is deleted. */
void contender_release(struct contender *c);

/* Another tenure of the same grant was lost. This holder loses its own, as if its deadline had
 * passed. */
void contender_lose(struct contender *c);

/* The holder's node is known to be gone. */
void contender_node_gone(struct contender *c);

/* ---- all of a session ---- */

/* The callers that wait for acquisitions, by handle. They hear of the session's end before its
 * contenders do: one that heard of it first would enter again. */
struct all_callers {
    GQueue list; /* of struct callers */
    GList *next; /* the one told next; NULL: nobody */
};

struct callers {
    struct all_callers *all;
    void (*abort)(void *context, const zkl_error *why); /* ends their calls; .context may go */
    void *context;
    GList link;
};

struct contenders {
    struct drivers drivers; /* of all that have begun and are not done */
    GQueue by_deadline;     /* those of them that go by the session's deadline */
    struct all_callers callers;
    GQueue idle;            /* of the handles that keep a tenure for nobody, the longest first */
    GHashTable *admissions; /* path -> struct admission */
    bool admissions_closed; /* while all hear that the session ended */
};

/* The contenders of the session, which tells them what happens to it from this call on. */
struct contenders *contenders_of(zkl_session *s);

/* Tells each of them once. One may go at any time, even while another is told. */
void callers_add(struct all_callers *all, struct callers *callers,
                 void (*abort)(void *context, const zkl_error *why), void *context);
void callers_remove(struct callers *callers);

/* ---- the inside, for tests ---- */

enum { CONTENDER_ID_SIZE = 37 };

struct contender {
    struct driver driver; /* of a session that outlives it; referred to until it has retired */
    struct attempt machine;
    struct admission *admission;   /* with the directory's path */
    struct contender_queue *queue; /* of its handle; NULL: none, or it has left */
    char *payload;                 /* GRefString */
    char *predecessor; /* full path; an rc_box, and the watch's own where there is one */
    char *old_id;      /* of the entry before; NULL: none */
    struct contender_extras *extras; /* NULL until it is needed; what is there for good then */
    struct tenure *tenure;           /* one reference, while holding */
    contender_decided decided;
    void *context;
    GSequenceIter *place; /* among those outside; NULL: it is not */
    int rank;
    unsigned unsure;  /* the number of creates whose outcome is unknown */
    uint32_t arrival; /* in what order they came, and enter again */
    char id[CONTENDER_ID_SIZE];
    bool container : 1;    /* what is above it is made as one */
    unsigned progress : 2; /* enum contender_progress */
    bool retains : 1;      /* its handle does */
    bool waits : 1;        /* WAITING, as was told */
    bool retired : 1;
    bool orphan : 1;     /* counted in the session's */
    bool leaves : 1;     /* the same */
    bool idle : 1;       /* holds for nobody */
    bool look_again : 1; /* what was found out of others was nothing */
};

static inline zkl_session *contender_session(const struct contender *c)
{
    return c->driver.session;
}

/* Once nobody is let in before all who are to enter again have said so, the oldest of them are. */
void admissions_open(struct contenders *all);

#endif
