/* An observer of an election, and what it was told. It hears only of leaders that were first in
 * line, in their order, and of none twice. It hears that nobody leads only if nobody did. It hears
 * nothing of a leader but what that one proclaimed, and nothing after the watch has ended. */
#ifndef SIM_ONLOOKER_H
#define SIM_ONLOOKER_H

#include <glib.h>
#include <stdbool.h>
#include <zkl.h>

struct client;
struct host;
struct stage;

struct onlooker {
    struct client *process;
    unsigned number; /* from 1 */
    int line;
    zkl_election *election;
    zkl_watch *observer;
    bool ended, abandoned;
    bool any;       /* it was told something */
    uint64_t token; /* the last thing told */
    char *said;     /* and what that leader had proclaimed; NULL: nothing */
    uint64_t top;   /* the highest token told */
    bool restored;  /* tokens have begun anew since */
    bool rewound;   /* its session has found older data since it was told something */
    guint at;       /* of the oracle's heads: the newest that was told */
    GArray *told;   /* of guint: all of them */
};

struct onlooker *onlooker_new(struct client *p, int line);
void onlooker_free(void *onlooker);

/* handle: by freeing its election, not itself. */
void onlooker_end(struct onlooker *o, bool handle);

bool onlooker_is_there(const struct onlooker *o);
/* Whether the last thing told is so still. */
bool onlooker_knows(const struct onlooker *o);

/* Whether that host has one that looks at the line. */
bool onlookers_look_at(const struct stage *stage, const struct host *host, int line);

void onlookers_restored(const struct stage *stage);
/* The library may tell the present leader again. */
void onlookers_rewound(const struct client *p);

#endif
