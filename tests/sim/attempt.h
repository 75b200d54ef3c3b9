/* One acquisition, from the call to the end of what it gave, and what must be true of it. */
#ifndef SIM_ATTEMPT_H
#define SIM_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <zkl.h>

struct attempt;
struct candidate;
struct client;

enum turn {
    TURN_GRANTED,
    TURN_FAILED, /* no grant will come */
    TURN_LOST,   /* told by a callback */
    TURN_ENDED   /* its process was killed */
};

enum { WATCHERS = 2 };

struct watcher {
    struct attempt *attempt;
    bool any, final; /* it was called; for the last time */
    zkl_state last;
};

struct attempt {
    struct client *process;
    unsigned number; /* from 1 */
    int path;        /* a line */
    int64_t timeout_ms;
    int64_t entered_at;
    zkl_op *op;
    zkl_grant *grant; /* while it is in our hands */
    uint64_t token;
    char *node;
    struct watcher watchers[WATCHERS];
    unsigned watching; /* how many of them */
    bool completed;
    bool abandoned; /* its process was killed */
    bool canceled;  /* before it was completed */
    bool closed;    /* its session or mutex was closed meanwhile */
    bool lent;      /* a term of a started election: its grant is not ours */
    bool released;
    bool excused;       /* a third party has taken its node away */
    int64_t ends_by;    /* when excused */
    int64_t lost_since; /* seen to be LOST, but not told yet; 0: not so */
    int code;           /* what it completed with */
    char *why;          /* and the sentence about it */
    zkl_peer peer;
    bool strict;
    void (*then)(struct attempt *a, enum turn turn);
    void *data; /* of then */
};

/* then, which may be NULL, is called in the callbacks, when something has happened. */
struct attempt *attempt_enter(struct client *p, int path, int64_t timeout_ms,
                              void (*then)(struct attempt *a, enum turn turn), void *data);
void attempt_free(void *attempt);

/* The same by a campaign. */
struct attempt *attempt_campaign(struct candidate *c, int64_t timeout_ms,
                                 void (*then)(struct attempt *a, enum turn turn), void *data);

/* A term of a started election begins. What is heard of it is heard by its first watcher. */
struct attempt *attempt_of_term(struct candidate *c, zkl_grant *grant);
void attempt_hear(struct attempt *a, zkl_grant *grant, zkl_state state);

void attempt_watch(struct attempt *a); /* its grant, once more */
void attempt_cancel(struct attempt *a);
void attempt_release(struct attempt *a);

/* The short name. */
char *attempt_name(const struct attempt *a);

/* The mutex on that path, or the session, is about to be closed. */
void attempt_expect_closed(struct client *p, int path);
/* The process is dead. */
void attempt_abandon(struct client *p);

#endif
