/* The part of the driver that talks to the store. Only contender*.c include this. */
#ifndef LIB_CONTENDER_REQUESTS_H
#define LIB_CONTENDER_REQUESTS_H

#include "contender.h"
#include "layout.h"
#include "recipes/contend.h"
#include "request.h"
#include "watch.h"

enum { CONTENDER_ID_SIZE = 37 };

struct contender {
    struct contend machine;
    zkl_session *session; /* which outlives it */
    int refs;             /* the session's list, each request under way, each step */
    bool retired;
    bool release_next; /* nobody had to be told of the loss */
    char *directory;   /* GRefString */
    char *payload;
    zkl_parents parents;
    enum name_style style;
    int priority;
    char id[CONTENDER_ID_SIZE];
    char *old_id;      /* of the session before; NULL: none */
    char *node;        /* full path of the own node */
    char *predecessor; /* full path */
    char *blame;       /* what an error is about, when it is not the directory */
    struct interest own_interest, predecessor_interest;
    struct timer timer;            /* own watch due, or the end of a lapsed node */
    struct request *create, *list; /* under way or parked, behind ACT_CREATE and ACT_LIST */
    unsigned parents_left;
    enum answer parents_answer;
    char *const *names; /* of the snapshot being stepped */
    int names_count;
    zkl_grant *grant;     /* one reference, while holding */
    const zkl_error *why; /* inside contender_abort() */
    contender_decided decided;
    void *owner;
    bool leased;             /* in the session's list of that name */
    GList link, leased_link; /* of the session */
};

/* What would enter the queue but was not sent yet will not be. */
void contender_recall(struct contender *c);

/* Does what the action asks of the store. */
void contender_ask(struct contender *c, const struct action *a);

/* A new epoch, a new id: the old one's nodes are to be removed wherever they are seen. */
void contender_new_id(struct contender *c);

void contender_step(struct contender *c, struct event *ev);

/* A request for c, not sent yet; its path is taken. Its done ends in contender_answer(), or gives
 * the reference up itself. */
struct request *contender_request(struct contender *c, enum store_kind kind, char *path,
                                  void (*done)(struct request *r, const struct store_reply *reply),
                                  uint32_t tag);

/* Steps with the answer, unless its session is over: the recipe hears of that by EV_EPOCH. */
void contender_answer(struct request *r, const struct store_reply *reply, struct event *ev);
enum answer contender_to_answer(enum store_rc rc);

/* ---- contender_directory.c ---- */

void contender_ask_parents(struct contender *c, uint32_t tag);
void contender_reset(struct contender *c, uint32_t tag);
void contender_read_mark(struct contender *c, uint32_t tag);
void contender_mark(struct contender *c, int32_t version);

void contender_unref(struct contender *c);

#endif
