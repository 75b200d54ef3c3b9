/* The inside of a contender, which admission.c, local_queue*.c and locks.c see, too. */
#ifndef LIB_CONTENDER_STATE_H
#define LIB_CONTENDER_STATE_H

#include "contender.h"
#include "lib/base/layout.h"
#include "lib/session/driver.h"
#include "recipes/attempt.h"

struct admission;
struct locks;

enum { CONTENDER_ID_SIZE = 37 };

/* Admitted, again and again where its node went. */
enum progress { OUTSIDE, ENTERING, INSIDE };

struct contender {
    struct driver driver; /* of a session that outlives it */
    struct attempt machine;
    struct admission *admission; /* with the directory's path */
    struct local_queue *local;   /* of its handle; NULL: none, or it has left */
    char *payload;               /* GRefString */
    char *predecessor;           /* full path; an rc_box, and the watch's own where there is one */
    char *old_id;                /* of the session before; NULL: none */
    struct contender_head *head; /* NULL until it is needed; what is there for good then */
    zkl_grant *grant;            /* one reference, while holding */
    contender_decided decided;
    void *context;
    GList link;           /* of the session's list, or before that of the local queue's; its data
                             are NULL while it is in neither */
    GSequenceIter *place; /* among those outside; NULL: it is not */
    int refs;             /* being at it, each request under way, each step */
    int rank;
    unsigned unsure;  /* so many creates may be done yet, or were and are not known */
    uint32_t arrival; /* in what order they came, and enter again */
    char id[CONTENDER_ID_SIZE];
    bool container : 1;    /* what is above it is made as one */
    unsigned progress : 2; /* enum progress */
    bool retains : 1;      /* its handle does */
    bool waits : 1;        /* WAITING, as was told */
    bool retired : 1;
    bool orphan : 1;     /* counted in the session's */
    bool leaves : 1;     /* the same */
    bool idle : 1;       /* holds for nobody */
    bool look_again : 1; /* what was found out of others was nothing */
};

/* What only some have: thousands may wait, and do without. */
struct contender_head {
    contender_news_fn news; /* NULL: nobody hears them */
    char *odd_name;         /* of the own node, when it is not what we would call it; or NULL */
    zkl_error *why;         /* it was aborted for; NULL: it was not */
    char *touched; /* what the own node's data are, of .touched_length; NULL: the payload */
    int touched_length;
    GList deadline_link; /* of the session */
    bool by_deadline;    /* in the session's list of that name */
};

static inline zkl_session *contender_session(const struct contender *c)
{
    return c->driver.session;
}

void contender_unref(struct contender *c);

/* The machine hears an event of its own, or of its session. */
void contender_step(struct contender *c, unsigned kind);

void contender_tell(struct contender *c, enum contender_news news);

/* The own node of the session before is gone, and a new one needs a new id. */
void contender_renew(struct contender *c);

/* NULL: c is of no semaphore. */
struct permit_limit *contender_limit(const struct contender *c);

/* The machine of one of a semaphore, about to enter, is told what its session knows of the limit.
 */
void contender_use_limit(struct contender *c);

/* ---- admission.c ---- */

struct admission {
    char *path; /* GRefString */
    struct locks *all;
    unsigned users;    /* the contenders, and who admits them */
    unsigned entering; /* have not found their place yet */
    uint32_t arrivals;
    bool admitting;
    GSequence *outside; /* of struct contender, the oldest first; NULL: nobody had to wait yet */
};

/* That of path, a GRefString, with one more user. */
struct admission *admission_use(struct locks *all, char *path);
void admission_unuse(struct admission *a);

/* A GRefString. */
static inline char *admission_path(const struct admission *a)
{
    return a->path;
}

static inline struct locks *admission_locks(const struct admission *a)
{
    return a->all;
}

/* c has come. at_once: as admission_enter(). */
void admission_arrive(struct contender *c, bool at_once);

/* c is to enter, for the first time or again: now, or when there is room and it is the oldest. */
void admission_enter(struct contender *c);

/* c was stepped: it may have found its place. */
void admission_passed(struct contender *c);

/* c's attempt is over. */
void admission_leave(struct contender *c);

/* Nobody is let in before all who are to enter again have said so; then the oldest of them are. */
void admissions_close(struct locks *all);
void admissions_open(struct locks *all);

/* As contender_abort(), for all who are outside. */
void admissions_abort(struct locks *all, const zkl_error *why);

#endif
