/* The driver of one attempt: feeds its recipe and does what the recipe asks. All with the monitor
 * held. */
#ifndef LIB_CONTENDER_H
#define LIB_CONTENDER_H

#include "lib/base/layout.h"
#include "lib/session/core.h"

struct contender;
struct local_queue;

/* Called exactly once: the grant (owned by the callee) or the error. */
typedef void (*contender_decided)(void *context, zkl_grant *grant, const zkl_error *error);

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

struct contender_spec {
    char *directory; /* GRefString, with chroot */
    char *payload;   /* GRefString */
    zkl_parents parents;
    enum rule rule;
    int rank; /* part of the name: see layout_name() */
    struct permit_limit
        *limit;     /* of a semaphore, an rc_box: .rank permits are asked for; NULL: it is none */
    bool numbered;  /* of a semaphore: for numbered.h */
    int32_t leases; /* the limit of Curator's semaphore: for leased.h; 0: it is none */
    bool try_only;
    bool hints; /* in a long queue it leaves a head hint in the directory's data, and goes by it */
    bool retains;              /* its handle does: its node's name says so */
    bool watch_children;       /* alone when it enters, it hears of a contender that comes */
    bool heeds;                /* it hears that it is asked to give way even if it hears of that */
    contender_news_fn news;    /* NULL: not told */
    struct local_queue *local; /* NULL: none */
};

/* Of how many children on a queue is long: tests put less here. */
extern uint32_t contender_long_queue;

/* Enters the queue. The pointer is good until decided was called. */
struct contender *contender_enter(zkl_session *s, const struct contender_spec *spec,
                                  contender_decided decided, void *context);

/* How many were first when it last looked; -1: it has not yet. Before decided. */
int contender_ahead(const struct contender *c);

/* The full path of its node; NULL: it has none, or none is known. To be freed. */
char *contender_own_node(const struct contender *c);

/* The caller gives up, before decided: it gets code and text. */
void contender_abort(struct contender *c, int code, const char *text);

/* The same, and nobody is told. */
void contender_abandon(struct contender *c);

/* Of a holder: is it alone? The news tell, and the grant's callbacks. */
void contender_look(struct contender *c);

/* Of a holder: it will hear at once that it is asked to give way, also if it was before. */
void contender_heed(struct contender *c);

/* Of a holder: the context of decided hears its news from here on. Set while CONTENDER_ENDED is
 * heard, news hears that once more, when the node has been given up. */
void contender_hear(struct contender *c, contender_news_fn news);

/* Of one that was granted: whether it had to wait, and what is known of others. */
bool contender_has_waited(const struct contender *c);
enum contender_news contender_others(const struct contender *c);

/* Nobody uses what it holds: it is not worth keeping a session for. */
void contender_set_idle(struct contender *c, bool idle);

/* Whoever heard its news does so no longer. */
void contender_forget(struct contender *c);

/* The holder is done. */
void contender_release(struct contender *c);

/* The holder has lost it for another's sake, as if its deadline had passed. */
void contender_lapse(struct contender *c);

/* The holder's node is gone, it is known. */
void contender_vanished(struct contender *c);

#endif
