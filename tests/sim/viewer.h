/* An observer of a group, and its story. */
#ifndef SIM_VIEWER_H
#define SIM_VIEWER_H

#include <zkl.h>

#include "group.h"

struct viewer {
    struct client *process;
    unsigned number; /* from 1 */
    int path;
    zkl_watch *watch;
    bool ended, abandoned;
    bool any;           /* it was told who is there, once */
    GHashTable *told;   /* name -> struct told: who is there, as it was told */
    GHashTable *last;   /* name -> the last token that it was told */
    int64_t well_since; /* it has had a connection */
    bool others;        /* since ALL somebody joined or changed */
    bool news;          /* or left */
    uint64_t batch;     /* the last token that joined since ALL */
};

/* One member as it was told. */
struct told {
    const struct member_node *node;
    guint at; /* in its data */
};

struct viewer *viewer_new(struct client *p, int path);
void viewer_free(void *viewer);
void viewer_end(struct viewer *v);
bool viewer_is_there(const struct viewer *v);

/* NULL: what it was told is so; else what is not. */
const char *viewer_errs(const struct viewer *v);
/* Whether it must have been told by now what it was not. */
void viewer_check(struct viewer *v);

void viewer_wrong(const struct viewer *v, const char *name, const char *what);

/* ---- viewer_told.c ---- */

void viewer_hears(zkl_members_event event, const zkl_member_info *m, const zkl_members *all,
                  void *data);

/* ---- for group.c ---- */

void viewers_shaken(struct group *g, const struct host *host); /* its connection comes or goes */
void viewers_closed(struct client *p);
void viewers_abandon(struct client *p);

#endif
