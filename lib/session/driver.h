/* A driver runs a machine of recipes/: it does what the machine asks for, and gives it the answers
 * (docs/design/driver.md). It is a member of a larger struct, see DRIVER_OWNER(). The caller holds
 * the monitor, but for driver_init(): nobody else has the driver yet. */
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
    /* Returns the full path of a node, to be freed; NULL: of the nodes of .more, this one gets no
     * request. */
    char *(*path)(struct driver *d, unsigned node);
    /* Gives a node a new name. May be NULL. */
    void (*name)(struct driver *d, unsigned node);
    /* Returns what a CREATE or SET of the node writes, to be freed; NULL: nothing. May be NULL. */
    char *(*data)(struct driver *d, unsigned node, int *ret_length);
    /* Returns the other changes of a MULTI with .rest, which last until its answer is told. May be
     * NULL. */
    const struct store_change *(*rest)(struct driver *d, int *ret_count);
    void (*on_verdict)(struct driver *d, const struct machine_action *a); /* for MACHINE_ACT_TELL */
    /* Called after each step and its actions. Events that it causes are heard later. May be NULL.
     */
    void (*after)(struct driver *d);
    /* Takes a reference to the driver's owner, with the first reference to the driver; .free gives
     * it up. NULL: only the driver counts references. */
    void (*ref_owner)(struct driver *d);
    void (*free)(struct driver *d); /* called when the last reference is gone */
};

/* A driver. Thousands wait, and each has one: so it has no more than what waits needs. */
struct driver {
    const struct driver_ops *ops;
    zkl_session *session;
    struct exchange exchange;
    struct driver_asked *asked; /* the oldest request under way; NULL: none is */
    struct driver_watch *watches;
    struct timer *timer;              /* NULL: none was armed yet */
    struct driver_stepping *stepping; /* NULL: it is in no step */
    GList link;                       /* .data is NULL while the driver is in no list */
    uint32_t refs;                    /* users, each request under way and a step have one each */
    uint32_t owned_bytes : 21;        /* bytes of the path of its ephemeral node; 0: it made none */
    uint32_t parents : 2;             /* enum store_mode: how missing parents are made */
    /* a request of an earlier session may still be done, until session->late_until */
    uint32_t late : 1;
    uint32_t lost : 8; /* how many answers in a row to requests that are sent once were lost */
};

/* Returns the struct of that type whose member .driver is d. */
#define DRIVER_OWNER(d, type) ((type *)(void *)((char *)(d)-offsetof(type, driver)))

/* Fills in a driver that is all zero. It has one reference; or none yet, if ops have a .ref_owner.
 * parents is not used if no CREATE of the machine lets the driver make parents. */
void driver_init(struct driver *d, const struct driver_ops *ops, zkl_session *s,
                 enum store_mode parents);

void driver_ref(struct driver *d);
void driver_unref(struct driver *d); /* the caller has another reference to the session */

/* Stops counting an ephemeral node, since the machine has none any more. */
void driver_disown(struct driver *d);

/* Frees what the driver itself has, and disowns. For .free. */
void driver_clear(struct driver *d);

/* Gives the machine an event that is no answer, watch or timer: one of that kind, or one that has
 * more than its kind. .unsent is filled in. In a step, the event waits for the end of that step. */
void driver_hear(struct driver *d, unsigned kind);
void driver_hear_event(struct driver *d, struct machine_event ev);

/* Returns name i of the event that the machine hears in this step. */
const char *driver_heard_name(const struct driver *d, size_t i);

/* Returns watch_path() of the watch on node; NULL: no watch stands. */
char *driver_watch_path(struct driver *d, unsigned node);

/* ---- all that hear of a session ---- */

/* A list of drivers whose machines hear of the session. It is a participant, or the first member of
 * one. */
struct drivers {
    struct participant participant;
    GQueue list; /* of struct driver */
};

struct drivers *drivers_of(zkl_session *s, const struct participant_ops *ops);

/* The driver joins the list as its last one, and leaves it. */
void driver_join(struct driver *d, GQueue *list);
void driver_leave(struct driver *d, GQueue *list);

/* Calls fn for each driver of the list. A call may end other drivers: each keeps a reference until
 * it was called, and one that has left the list is not called. */
void drivers_for_all(const GQueue *list, void (*fn)(struct driver *d, void *data), void *data);

/* Gives each machine of the list an event of that kind. */
void drivers_hear(const GQueue *list, unsigned kind);

/* For a struct participant_ops: */
bool drivers_are_busy(const struct participant *p); /* whether the list has a driver */
void drivers_on_replaced(struct participant *p);    /* MACHINE_EV_SESSION */
void drivers_on_over(struct participant *p);        /* MACHINE_EV_OVER */

/* ---- the driver of a call ---- */

/* A call whose outcome a machine finds. The machine begins with the call, hears of its end by
 * MACHINE_EV_STOP, and goes on in another session. The struct is the first member of a larger one.
 */
struct driven {
    struct call call;
    struct driver driver;
};

struct driven *driven_of(struct driver *d);

/* For a call that needs no functions of its own: */
extern const struct call_ops driven_call_ops;

/* For a struct call_ops: */
void driven_begin(struct call *c);
void driven_stop(struct call *c, const zkl_error *why); /* why becomes the call's error */
void driven_replaced(struct call *c);
void driven_free(struct call *c);

/* For a struct driver_ops: */
char *driven_path(struct driver *d, unsigned node); /* the call's path, as the only node */
void driven_ref(struct driver *d);
void driven_unref(struct driver *d);

#endif
