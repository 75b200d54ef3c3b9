/* One membership that a process has asked for: what it says of itself, what it is told, and how its
 * calls end. */
#ifndef SIM_JOINER_H
#define SIM_JOINER_H

#include <zkl.h>

#include "group.h"
#include "membership.h"

struct joiner {
    struct client *process;
    unsigned number; /* from 1 */
    int path;
    char *id;
    zkl_member *member; /* NULL: freed */
    bool leaving;       /* it has been asked to leave, or freed */
    bool closed;        /* or its session was closed */
    bool ended;         /* it was told that it has left */
    bool abandoned;     /* its process is dead */
    /* as it was told: */
    bool joined, in, suspect, busy, failed;
    uint64_t token;
    zkl_grant *grant;   /* of the last JOINED; NULL: none */
    bool lost;          /* that was seen lost */
    unsigned asked;     /* the newest data: a number; 1 from the beginning */
    unsigned stored;    /* the newest that the servers have committed */
    GPtrArray *calls;   /* of struct joiner_call */
    struct alarm *wake; /* of whoever plays it: to act soon, when it has heard something */
};

struct joiner *joiner_new(struct client *p, int path, const char *id, struct alarm *wake);
void joiner_free(void *joiner);

/* Calls, of which the ends are checked. */
void joiner_update(struct joiner *j, int64_t timeout_ms);
void joiner_wait(struct joiner *j, int64_t timeout_ms);
void joiner_leave(struct joiner *j, int64_t timeout_ms);
void joiner_give_up(struct joiner *j); /* frees the handle */

bool joiner_wants_in(const struct joiner *j);
/* It says so, and its node stands. */
bool joiner_is_in(const struct joiner *j);
bool joiner_is_waiting(const struct joiner *j); /* for a call */
/* Its own node at the leader, or NULL. */
const struct member_node *joiner_node(const struct joiner *j);
/* One of its process with that token, or NULL. */
const struct member_node *joiner_made(const struct joiner *j, uint64_t token);

/* ---- for joiner_told.c ---- */

void joiner_take_grant(struct joiner *j); /* inside the call of JOINED */

/* ---- for group.c ---- */

/* The newest data of that node is committed. */
void joiner_stored(struct group *g, const struct member_node *n);
void joiners_check(struct group *g);
void joiners_close(struct client *p);
void joiners_closed(struct client *p);
void joiners_abandon(struct client *p);

/* ---- joiner_told.c ---- */

void joiner_hears(zkl_member *m, zkl_member_event event, const zkl_member_news *news, void *data);

/* ---- joiner_call.c ---- */

enum joiner_wish { JOINER_WAITS, JOINER_UPDATES, JOINER_LEAVES };

struct joiner_call {
    struct joiner *joiner;
    enum joiner_wish wish;
    unsigned data; /* UPDATES: its number */
    int64_t timeout_ms, begun_at;
    bool was_in; /* at some time since */
    bool ended;
};

void joiner_call(struct joiner *j, enum joiner_wish wish, int64_t timeout_ms);
void joiner_calls_see(struct joiner *j); /* it is in */
void joiner_wrong(const struct joiner *j, const char *what);

#endif
