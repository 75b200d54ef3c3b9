/* One acquisition, from the call to the end of what it gave, and what must be true of it. */
#ifndef SIM_ACQUISITION_H
#define SIM_ACQUISITION_H

#include <stdbool.h>
#include <stdint.h>
#include <zkl.h>

struct acquisition;
struct candidate;
struct client;

enum turn {
    TURN_GRANTED,
    TURN_FAILED, /* no grant will come */
    TURN_LOST,   /* told by a callback */
    TURN_ENDED   /* its process was killed */
};

enum { WATCHERS = 2, PERMITS_MAX = 4 };

struct watcher {
    struct acquisition *acquisition;
    bool any, final; /* it was called; for the last time */
    zkl_state last;
};

struct acquisition {
    struct client *process;
    unsigned number;  /* from 1 */
    int path;         /* a line */
    zkl_mutex *mutex; /* NULL: a campaign's */
    int64_t timeout_ms;
    int64_t entered_at;
    zkl_op *op;
    const zkl_grant *grant; /* while it is in our hands */
    zkl_grant *own; /* the same; NULL: lent, or another acquisition's as well, which has it */
    uint64_t token, turn;
    char *node;
    struct watcher watchers[WATCHERS];
    unsigned watching; /* how many of them */
    bool completed;
    bool abandoned; /* its process was killed */
    bool canceled;  /* before it was completed */
    bool closed;    /* its session or mutex was closed meanwhile */
    bool lent;      /* a term of a started election: its grant is not ours */
    bool released;
    bool heeds;         /* admin.c's */
    bool shared;        /* a reader's */
    bool excused;       /* a third party has taken its node away */
    int64_t ends_by;    /* when excused */
    int64_t well_at;    /* granted on the connection made then, while all was well; or 0 */
    int64_t lost_since; /* seen to be LOST, but not told yet; 0: not so */
    int code;           /* what it completed with */
    char *why;          /* and the sentence about it */
    zkl_peer peer;
    int permits; /* of a semaphore */
    bool numbered, names_limit;
    int slots[PERMITS_MAX];
    char *more[PERMITS_MAX];  /* nodes: of several leases all but the first */
    struct acquisition *with; /* of a lock at both paths: that of the other; NULL: it is of one */
    bool led;                 /* by it, which has the operation and the grant */
    void (*then)(struct acquisition *a, enum turn turn);
    void *data; /* of then */
};

/* then, which may be NULL, is called in the callbacks, when something has happened. */
struct acquisition *acquisition_enter(struct client *p, int path, int64_t timeout_ms,
                                      void (*then)(struct acquisition *a, enum turn turn),
                                      void *data);
/* Enters at both paths at once, with one acquisition for each. Returns that of the first path. */
struct acquisition *acquisition_enter_both(struct client *p, int64_t timeout_ms,
                                           void (*then)(struct acquisition *a, enum turn turn),
                                           void *data);
void acquisition_free(void *acquisition);

/* The same by a campaign. */
struct acquisition *acquisition_campaign(struct candidate *c, int64_t timeout_ms,
                                         void (*then)(struct acquisition *a, enum turn turn),
                                         void *data);

/* A term of a started election begins. What is heard of it is heard by its first watcher. */
struct acquisition *acquisition_of_term(struct candidate *c, const zkl_grant *grant);
void acquisition_hear(struct acquisition *a, const zkl_grant *grant, zkl_state state);

void acquisition_watch(struct acquisition *a); /* its grant, once more */
void acquisition_cancel(struct acquisition *a);
void acquisition_release(struct acquisition *a);

/* The node is its own, or was. */
bool acquisition_has_node(const struct acquisition *a, const char *path);

/* The short name. */
char *acquisition_name(const struct acquisition *a);

/* The mutex on that path, or the session, is about to be closed. */
void acquisition_expect_closed(struct client *p, int path);
/* The process is dead. */
void acquisition_abandon(struct client *p);

#endif
