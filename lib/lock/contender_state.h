/* The inside of the driver: the state of one attempt, and what contender*.c and admission.c do for
 * each other. */
#ifndef LIB_CONTENDER_STATE_H
#define LIB_CONTENDER_STATE_H

#include "contender.h"
#include "lib/base/layout.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "recipes/attempt.h"

struct admission;
struct locks;

enum { CONTENDER_ID_SIZE = 37 };

/* Admitted, again and again where its node went. */
enum progress { OUTSIDE, ENTERING, INSIDE };

struct contender {
    struct attempt machine;
    zkl_session *session;        /* which outlives it */
    struct admission *admission; /* with the directory's path */
    struct local_queue *local;   /* of its handle; NULL: none, or it has left */
    char *payload;               /* GRefString */
    char *odd_name;              /* of the own node, when it is not what we would call it */
    char *predecessor;           /* full path; an rc_box, the watch's own */
    char *old_id;                /* of the session before; NULL: none */
    struct subscription predecessor_subscription;
    struct head_state *head;          /* NULL until it is needed; what is there for good then */
    struct request *create, *list;    /* under way or parked, behind ACT_CREATE and ACT_LIST */
    const struct store_reply *listed; /* the snapshot being stepped */
    zkl_grant *grant;                 /* one reference, while holding */
    const zkl_error *why;             /* inside contender_abort() */
    contender_decided decided;
    void *context;
    GList link;           /* of the session's list, or before that of the local queue's; its data
                             are NULL while it is in neither */
    GSequenceIter *place; /* among those outside; NULL: it is not */
    int refs;             /* being at it, each request under way, each step */
    int rank;
    int32_t number;  /* of the own node */
    unsigned unsure; /* so many creates may be done yet, or were and are not known */
    unsigned parents_left;
    unsigned blame; /* how much of the directory's path an error is about; 0: all */
    enum answer parents_answer;
    zkl_parents parents;
    enum progress progress;
    char id[CONTENDER_ID_SIZE];
    bool retains; /* its handle does */
    bool retired;
    bool release_next; /* nobody had to be told of the loss */
    bool orphan;       /* counted in the session's */
    bool leaves;       /* the same */
    bool idle;         /* holds for nobody */
    bool look_again;   /* what was found out of others was nothing */
    uint32_t arrival;  /* in what order they came, and enter again */
};

/* What only the first two in line have: thousands may wait behind them. */
struct head_state {
    struct subscription own_subscription, children_subscription, limit_subscription;
    contender_news_fn news; /* NULL: nobody hears them */
    struct timer timer;     /* own watch due, or the end of a lapsed node */
    GList deadline_link;    /* of the session */
    bool by_deadline;       /* in the session's list of that name */
};

/* ---- contender_step.c ---- */

void contender_step(struct contender *c, struct event *ev);
void contender_step_kind(struct contender *c, enum event_kind kind); /* which says it all */

struct head_state *contender_head(struct contender *c);

/* ---- contender_requests.c ---- */

/* Does what the action asks for the own node or the predecessor. */
void contender_ask_node(struct contender *c, const struct action *a);

/* What would enter the queue but was not sent yet will not be. */
void contender_recall(struct contender *c);

/* Steps with the answer, unless its session is over: the recipe hears of that by EV_REPLACED. */
void contender_answer(struct request *r, const struct store_reply *reply, struct event *ev);

/* Makes r leave a watch that fires subscription; or the recipe hears that too much is watched, in
 * an event of that kind. */
bool contender_leave_watch(struct contender *c, struct request *r,
                           struct subscription *subscription, enum event_kind kind);

/* ---- contender_tell.c ---- */

/* Its verdict: a grant, or what the action says. */
void contender_tell_granted(struct contender *c);
void contender_tell_failed(struct contender *c, const struct action *a);

void contender_tell(struct contender *c, enum contender_news news);
void contender_tell_others(struct contender *c, enum attempt_others others);
void contender_tell_asked(struct contender *c);

/* ---- contender_lists.c ---- */

/* Where too much is watched already, the list leaves no watch. */
void contender_ask_list(struct contender *c, const struct action *a);

/* Nodes of this attempt in the snapshot. spare: but the own one. */
void contender_delete_listed(struct contender *c, bool spare);

/* ---- contender_node.c: all strings are the caller's ---- */

/* A new incarnation, a new id: the old one's nodes are to be removed wherever they are seen. */
void contender_new_id(struct contender *c);

char *contender_child_path(const struct contender *c, const char *name);

/* The path to create: the own node's but for the number. */
char *contender_new_node(const struct contender *c);

/* The own node is called that. Who knows our id can give it to a node with an odd name. */
void contender_set_node(struct contender *c, const char *name, int32_t number);

/* Its name and full path, while it is of the present id. */
char *contender_name(const struct contender *c);
char *contender_node(const struct contender *c);

/* ---- contender_refs.c ---- */

/* Only admission.c and contender_refs.c look inside. */
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

/* A new contender, all zero; of a semaphore where there is a limit, which gets one more reference.
 */
struct contender *contender_new(struct permit_limit *limit);

/* NULL: c is of no semaphore. */
struct permit_limit *contender_limit(const struct contender *c);
void contender_unref(struct contender *c);

/* A request for c, not sent yet; its path is taken. Its done ends in contender_answer(), or gives
 * the reference up itself. */
struct request *contender_request(struct contender *c, enum store_kind kind, char *path,
                                  void (*done)(struct request *r, const struct store_reply *reply),
                                  uint32_t tag);

enum answer contender_to_answer(enum store_rc rc);

/* ---- admission.c ---- */

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

/* ---- contender_directory.c ---- */

/* Does what has to do with the directory. */
void contender_ask_directory(struct contender *c, const struct action *a);

/* ---- contender_limit.c: of a semaphore ---- */

/* The machine of one of a semaphore, about to enter, is told what its session knows of the limit.
 */
void contender_use_limit(struct contender *c);

/* Sets the own node's data to what they are, until it is done or the node is gone. */
void contender_touch(struct contender *c);

/* The digits to make the directory with; NULL: of no semaphore, or none is known. Free it. */
char *contender_limit_text(const struct contender *c);

#endif
