/* Runs a machine of recipes/: does what the machine asks for, and gives it the answers
 * (docs/design/driver.md). A driver is a member of a larger struct, see DRIVER_OWNER(). The caller
 * holds the monitor. */
#ifndef LIB_DRIVER_H
#define LIB_DRIVER_H

#include "call.h"
#include "participant.h"
#include "recipes/machine.h"

struct driver;
struct driver_asked;
struct driver_stepping;
struct driver_watch;

struct driver_ops {
    void (*step)(struct driver *d, const struct machine_event *ev, struct machine_actions *out);
    /* The full path of a node; to be freed. NULL: of .more nodes, this one is not asked for. */
    char *(*path)(struct driver *d, unsigned node);
    /* Gives a node a new name. NULL: none needs one. */
    void (*name)(struct driver *d, unsigned node);
    /* What a CREATE or SET of the node writes, to be freed; NULL: nothing. */
    char *(*data)(struct driver *d, unsigned node, int *ret_length);
    /* What a MULTI with .rest changes besides, good until its answer is told. NULL: none has. */
    const struct store_change *(*rest)(struct driver *d, int *ret_count);
    void (*on_verdict)(struct driver *d, const struct machine_action *a); /* of MACHINE_ACT_TELL */
    /* A step and its actions are through; what this causes is heard after it. NULL: nothing. */
    void (*after)(struct driver *d);
    /* The first reference to the driver takes one to what the driver belongs to, and .free gives
     * that up. NULL: the driver alone counts. */
    void (*hold)(struct driver *d);
    void (*free)(struct driver *d); /* nothing refers to it any more */
};

/* Thousands wait, each with one: so it has no more than what waits needs. */
struct driver {
    const struct driver_ops *ops;
    zkl_session *session;
    struct exchange exchange;
    struct driver_asked *asked; /* under way, the oldest; NULL: nothing is */
    struct driver_watch *watches;
    struct timer *timer;              /* NULL: none was armed yet */
    struct driver_stepping *stepping; /* NULL: it is in no step */
    GList link;                       /* its .data are NULL while the driver is in no list */
    uint32_t refs;                    /* of users, each request under way, and a step */
    uint32_t owned_bytes : 21;        /* of the path of its ephemeral node; 0: it made none */
    uint32_t parents : 2;             /* enum store_mode: how they are made */
    uint32_t late : 1; /* some of it, until session->late_until: of sessions before */
    uint32_t lost : 8; /* answers in a row to what is sent once */
};

/* The struct of that type whose member driver d is. */
#define DRIVER_OWNER(d, type) ((type *)(void *)((char *)(d)-offsetof(type, driver)))

/* Fills in what is all zero, with one reference; or with none yet, if ops have a .hold. */
void driver_init(struct driver *d, const struct driver_ops *ops, zkl_session *s,
                 enum store_mode parents);

void driver_ref(struct driver *d);
void driver_unref(struct driver *d); /* the session has another reference */

/* For .free: frees what the driver itself has. */
void driver_clear(struct driver *d);

/* An event of that kind, which is no answer, watch or timer; or one that has more than its kind.
 * .unsent is filled in. */
void driver_hear(struct driver *d, unsigned kind);
void driver_hear_event(struct driver *d, struct machine_event ev);

/* The one of the .names which the event of the present step has. */
const char *driver_heard_name(const struct driver *d, size_t i);

/* watch_path() of the watch on node, while it stands; or NULL. */
char *driver_watch_path(struct driver *d, unsigned node);

/* ---- all that hear of a session ---- */

/* A participant, or the first member of one. */
struct drivers {
    struct participant participant;
    GQueue list; /* of struct driver */
};

struct drivers *drivers_of(zkl_session *s, const struct participant_ops *ops);

/* The driver joins the list as its last one, and leaves it. */
void driver_join(struct driver *d, GQueue *list);
void driver_leave(struct driver *d, GQueue *list);

/* Calls fn for each. That may end others: each is held until its turn, and left out if it has left
 * before. */
void drivers_for_all(const GQueue *list, void (*fn)(struct driver *d, void *data), void *data);

/* All hear an event of that kind. */
void drivers_hear(const GQueue *list, unsigned kind);

/* For a struct participant_ops: */
bool drivers_are_busy(const struct participant *p); /* there is one */
void drivers_on_replaced(struct participant *p);    /* MACHINE_EV_SESSION */
void drivers_on_over(struct participant *p);        /* MACHINE_EV_OVER */

/* ---- that of a call ---- */

/* A call that a machine answers. The machine begins with the call, hears of its end by
 * MACHINE_EV_STOP, and goes on in another session. It is the first member of a larger struct. */
struct driven {
    struct call call;
    struct driver driver;
};

struct driven *driven_of(struct driver *d);

/* A call that needs no more than these: */
extern const struct call_ops driven_call_ops;

/* For a struct call_ops: */
void driven_begin(struct call *c);
void driven_stop(struct call *c, const zkl_error *why); /* why is the call's error from now on */
void driven_replaced(struct call *c);
void driven_free(struct call *c);

/* For a struct driver_ops: */
char *driven_path(struct driver *d, unsigned node); /* of the call: the only node */
void driven_hold(struct driver *d);
void driven_let_go(struct driver *d);

#endif
