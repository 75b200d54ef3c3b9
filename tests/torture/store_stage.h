/* Sessions in a simulated world and what they do there, in one thread. One world at a time. */
#ifndef TORTURE_STORE_STAGE_H
#define TORTURE_STORE_STAGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <zkl.h>

#include "store_fault.h"
#include "world/world.h"

enum {
    LOCK_PATHS = 3,
    ACTORS_MAX = 4,
    ACQUISITIONS_MAX = 8,
    TRANSACTIONS_MAX = 4,
    RETAIN_MS = 5000
};

/* The locks of every scenario; the last one's parents are to be made. */
extern const char *const lock_paths[LOCK_PATHS];
#define LOCK_PATH "/dir/lock"
#define LOCK_OTHER "/dir/other"
#define WORK_PATH "/dir/work"
#define LOCK_FAR "/far/off/lock"

/* A process with a session. */
struct actor {
    struct host *host;
    zkl_session *session;
};

/* One asynchronous acquisition and what it gave. */
struct acquisition {
    struct actor *actor;
    const char *path;
    const char *other;  /* a second path that is locked with it; NULL: none */
    zkl_mutex *mutex;   /* or */
    zkl_rwlock *rwlock; /* or */
    zkl_multilock *both;
    zkl_semaphore *semaphore;
    zkl_op *op;
    zkl_grant *grant; /* until it is given back */
    char *node;       /* NULL: not granted */
    char *other_node;
    int code;
    int calls;         /* of its completion */
    int lost, endings; /* told of the grant: LOST; that or RELEASED */
};

struct transaction {
    bool begun; /* there was a grant for it */
    bool release;
    int code, calls;
    char *path; /* that it creates */
};

/* A node with a fixed name, as it was when a call had told of it. */
struct still {
    const char *path; /* NULL: it may change */
    GBytes *data;
    uint64_t czxid; /* 0: it was not there */
};

struct stage {
    struct world *world;
    bool third_party; /* has taken something away: grants without a node are excused */
    bool cut_off;     /* a connection was broken, perhaps with a session's end on its way */
    bool failed;
    struct actor actors[ACTORS_MAX];
    struct acquisition acquisitions[ACQUISITIONS_MAX];
    struct transaction transactions[TRANSACTIONS_MAX];
    unsigned actor_count, acquisition_count, transaction_count;
    uint64_t newest_token[LOCK_PATHS];
    struct still still;
};
extern struct stage stage;

/* servers: 1 stands alone. */
void stage_begin(int servers);
void stage_end(void);

/* ---- what actors do ---- */

struct actor *stage_join(const char *name);
struct acquisition *stage_lock(struct actor *a, const char *path, int64_t timeout_ms);
struct acquisition *stage_share(struct actor *a, const char *path, bool shared); /* for ever */
bool stage_shares(const struct acquisition *t); /* its grant is a reader's */
/* The one permit that there is. */
struct acquisition *stage_acquire(struct actor *a, const char *path, bool numbered);
/* The same at LOCK_PATH and LOCK_OTHER. */
struct acquisition *stage_lock_both(struct actor *a, int64_t timeout_ms);
/* At LOCK_PATH, with a mutex that retains it for RETAIN_MS, and once more with the same one. */
struct acquisition *stage_retain(struct actor *a);
struct acquisition *stage_lock_again(const struct acquisition *t);
/* A run of work, at WORK_PATH; a term, at LOCK_PATH. */
struct acquisition *stage_begin_once(struct actor *a, zkl_once *o);
struct acquisition *stage_campaign(struct actor *a, zkl_election *e);
void stage_cancel(struct acquisition *t);
void stage_release(struct acquisition *t); /* if it was granted */
/* Creates a node, under the fence of t's grant, if there is one. */
void stage_multi(struct acquisition *t, unsigned flags);
/* A call of that actor, which may block; and one that must return so. */
#define STAGE_DO(actor, call)                                                                      \
    do {                                                                                           \
        struct host *before_ = host_enter((actor)->host);                                          \
        call;                                                                                      \
        host_enter(before_);                                                                       \
    } while (0)
#define STAGE_CALL(actor, code, call) STAGE_DO(actor, MUST((call) == (code)))

/* ---- time ---- */

void stage_step(int64_t until); /* one thing happens */
void stage_run(int64_t ms);
/* False: the condition did not come true within two minutes. */
bool stage_until(bool (*condition)(const void *data), const void *data);
void stage_await(const struct acquisition *t); /* until it is completed */

/* ---- third parties ---- */

void stage_admin_delete(const char *path);
void stage_delete_node(const struct acquisition *t);
void stage_expire(int64_t session);
int64_t stage_session_id(void); /* of the host entered, whose monitor is held */

/* ---- what must be true whatever fails ---- */

/* A node with a fixed name stands now, or not, and stays as it is until it is let go. */
void rules_keep(const char *path, bool stands);
void rules_let_go(void);

/* How a run is to be called where it goes wrong. */
void rules_name(const char *scene, enum way way, unsigned nth);

/* Says that the present run is wrong; it goes on. */
void rules_fail(const char *file, int line, const char *what);
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            rules_fail(__FILE__, __LINE__, #condition);                                            \
    } while (0)

/* In this run nothing is refused or taken away. */
bool rules_mere_loss(void);

/* A completion has just given this one. */
void rules_granted(const struct acquisition *t);

/* At most one valid grant on a path, and its node stands. */
void rules_at_step(void);

/* Behind the scene: nothing of ours is left before long, neither there nor here, but the sessions;
 * and all was told once, and rightly. */
void rules_at_end(void);

/* How everything came out, in the order of the calls. */
struct outcomes {
    int codes[ACQUISITIONS_MAX], lost[ACQUISITIONS_MAX], answers[TRANSACTIONS_MAX];
};
struct outcomes rules_outcomes(void);

/* What may come out in this run, when usual comes out if nothing fails, and the code also besides
 * if a request is refused. */
void rules_compare(const struct outcomes *usual, const struct outcomes *now, int also);

#endif
