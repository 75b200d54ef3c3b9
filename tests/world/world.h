/* A simulated ZooKeeper in virtual time, behind the store interface (`world_store`), for one
 * thread.
 *
 * Servers hold replicas of one log of transactions; the leader appends, the others follow when a
 * message reaches them; each answers reads, and fires watches, from what it has applied. Sessions
 * are kept by the leader, as lib's reference says ZooKeeper does it: expiry in ticks, followers
 * reporting touches when the leader pings them every half tick. Hosts are the processes that use
 * it: each has its own clocks and may be paused, cut off or killed. What happens is decided by the
 * seed and by what the caller does, by nothing else: same calls, same world.
 *
 * Nothing happens but in world_run_next(), world_run() and the functions named in "faults". They
 * call the library (done, event, watch) with the sink's monitor held and with that host entered.
 * A store's sink.closed is called by a thread of the world's own, since close waits for it. */
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include "lib/store/store.h"
#include "recipes/proofs.h"

struct world;
struct host;

/* LATE_MS: as long as the library reckons with what comes late (docs/design/late.md). */
enum { WORLD_SERVERS_MAX = 5, WORLD_LATE_MS = 20000 };

/* ---- what can be heard ---- */

enum note_kind {
    NOTE_CREATED,     /* path, session (0: not ephemeral), zxid, data; at the leader's commit */
    NOTE_DELETED,     /* path, session of the context (0: none), cause; at the leader's commit */
    NOTE_CHANGED,     /* path, data; host: NULL if an administrator did it */
    NOTE_SESSION,     /* session, host: established by commit */
    NOTE_EXPIRING,    /* session: its time is up, at server; its nodes go with the commit, each with
                         its own note. At a leader without majority nothing comes of it. */
    NOTE_SESSION_END, /* session, cause: after its nodes */
    NOTE_SENT,     /* host, session, request, watch, path, sequence: given to the client library */
    NOTE_ANSWERED, /* the same, and rc: about to be given to the caller */
    NOTE_WATCH,    /* host, session, server, path, fired: the server sends a watch event */
    NOTE_EVENT,    /* host, session, event: about to be given to the caller */
    NOTE_RESTORED, /* the servers' data has gone back: what is looked at is what is left */
    NOTE_LEADER    /* server: leads from now on; -1: nobody does. None for the first one. */
};

enum cause {
    CAUSE_REQUEST, /* a client's delete or multi */
    CAUSE_EXPIRY,
    CAUSE_CLOSE,  /* its own client closed the session */
    CAUSE_FORCED, /* world_expire(): somebody else did */
    CAUSE_ADMIN,  /* world_admin_delete() */
    CAUSE_REAPED  /* an empty container */
};

struct note {
    enum note_kind kind;
    struct host *host; /* or NULL */
    const char *path;  /* or NULL; good during the call only */
    const char *data;  /* the same */
    size_t length;     /* of data */
    int64_t session;   /* of a node: its owner */
    int64_t asker;     /* whose request it was */
    uint64_t zxid;
    enum cause cause;
    enum store_kind request;
    bool watch; /* it sets one */
    bool late;  /* it was asked for on an earlier connection */
    enum store_rc rc;
    enum store_event event;
    unsigned sequence; /* of a request, counted per host from 1 */
    int server;
    enum store_fired fired;
};

/* Operations that the servers do not know: what each lacks, those behind it lack, too. */
enum world_lacks { LACKS_NOTHING, LACKS_CONTAINERS, LACKS_CREATE2 };

typedef void (*world_note_fn)(const struct note *note, void *data);

/* ---- making one ---- */

struct world_config {
    uint64_t seed;
    int servers;                        /* 1: stands alone; 2 and more: an ensemble */
    int tick_ms;                        /* 0: 2000; timeouts are negotiated to 2 .. 20 ticks */
    int sync_limit;                     /* ticks until a follower without leader gives up; 0: 5 */
    int latency_min_us, latency_max_us; /* of each message, drawn anew; 0, 0: 100 .. 500 */
    int reap_ms;                        /* how often empty containers are looked for; 0: never */
    enum world_lacks lacks;
    bool hangs_up;      /* what is not known ends the connection, without an answer */
    bool odd;           /* A leader asks its followers for touches up to a fifth late. Now and then
                           the way between the two breaks, and what is on it is lost. Each server
                           refuses by itself what may not be set, and asks nobody. */
    int late_ms;        /* half of the writes that are lost with their connections are done at any
                           moment up to then, while that leader leads; 0: none are */
    world_note_fn note; /* may be NULL; must not call the world */
    void *note_data;
};

struct world *world_new(const struct world_config *config);
void world_free(struct world *w); /* when every store in it is closed */

/* For layout_random: by GLib's generator, which who simulates has seeded. */
void world_random(void *bytes, size_t size);

/* The client of a store is on the host entered when it is opened. It knows all servers; if its
 * hosts name any of "server0:1", "server1:1", … , those only. */
extern const struct store_ops world_store;

/* ---- time ---- */

int64_t world_now(const struct world *w);  /* ns since the beginning: the one true time */
int64_t world_next(const struct world *w); /* when the next thing happens; INT64_MAX: never */

/* Time moves on to until at most, and the next thing that is due by then happens. False: nothing
 * was, and it is until. */
bool world_run_next(struct world *w, int64_t until);
void world_run(struct world *w, int64_t until);

/* ---- hosts ---- */

/* rate_ppm: how much faster than true time its clocks run; may be negative. */
struct host *world_host(struct world *w, const char *name, int rate_ppm);
const char *host_name(const struct host *h);

/* Code that runs from now on runs there: clock_now is its clocks, stores opened are its own.
 * Returns who was entered before; NULL: nobody. */
struct host *host_enter(struct host *h);
struct host *host_entered(void);

struct instant host_clock(const struct host *h);          /* now */
int64_t host_when(const struct host *h, int64_t boot_ns); /* true time at which BOOTTIME is that */
bool host_is_paused(const struct host *h);

/* Nothing is delivered and nothing of the client runs until it is resumed; what arrives waits. On
 * resumption the client may find its own timeout before what has arrived, or behind: the seed says.
 * suspended: CLOCK_MONOTONIC_RAW stands still meanwhile. */
void host_pause(struct host *h, bool suspended);
void host_resume(struct host *h);

/* The process is dead: its connections end, no callback comes any more, its stores must still be
 * closed (nothing is sent by that). Its sessions end by expiry. */
void host_kill(struct host *h);

/* ---- faults ---- */

/* No message passes between a host and a server (-1: all) until it is healed; connections stand,
 * and what was sent arrives then, if the connection still stands. If the client has given it up
 * meanwhile, its requests may arrive nevertheless, before the news of that: the seed says.
 * to_server, to_host: the directions. */
void world_cut(struct host *h, int server, bool to_server, bool to_host);
void world_heal(struct host *h, int server);

/* The host's connection is reset now: requests that have not reached the server are never done,
 * answers that have not arrived never will. */
void world_reset(struct host *h);
/* The same, but after letting requests reach the server for the first, and keeping every answer
 * from now on away: all that was sent is done, nothing is answered. */
void world_reset_after_effect(struct host *h);

/* The k-th request from now that the host sends (1: the next) ends its connection: before it
 * reaches the server, or after it was done and before its answer is sent. */
void world_break_at(struct host *h, unsigned k, bool after_effect);

/* Writes that no leader has when the host's next connection is lost are done so much later, while
 * that leader leads; 0: as late_ms of world_config says. */
void world_hold_back(struct host *h, int64_t ms);

/* Between servers: that one hears nobody and nobody hears it. */
void world_cut_server(struct world *w, int server, bool cut);
/* That one hears nobody, but is heard. */
void world_deafen_server(struct world *w, int server, bool deaf);
void world_pause_server(struct world *w, int server, bool paused);
/* It keeps what it had applied and logged. */
void world_crash_server(struct world *w, int server, bool down);
/* Its wall clock is so far ahead of true time from now on: ctime and mtime have the leader's. */
void world_set_clock(struct world *w, int server, int64_t ms);
int world_leader(const struct world *w);                 /* -1: nobody */
void world_lag(struct world *w, int server, int64_t ns); /* added to each commit on its way there */

/* A backup of what the server has, and its return: nodes, sessions and zxids are as of then;
 * without one there is nothing any more. The server, which stands alone, starts anew. */
void world_keep(struct world *w);
void world_restore(struct world *w);

/* ---- administration, committed at once; false: it cannot be done, or nobody leads a majority ----
 */

bool world_admin_delete(struct world *w, const char *path);                /* with all below */
bool world_admin_set(struct world *w, const char *path, const char *data); /* any version */
bool world_admin_create(struct world *w, const char *path, const char *data, bool container);
bool world_expire(struct world *w, int64_t session); /* closed by somebody else */
void world_reap(struct world *w);                    /* empty containers that had children, now */
/* The next number handed out. At its end, 2147483647, it stands still, as on an idle server. */
bool world_set_counter(struct world *w, const char *path, int32_t next);
/* From now on, as if the servers were others. */
void world_lack(struct world *w, enum world_lacks lacks);
/* Servers refuse requests of this kind on path and below; SYNC: none any more. Each change in a
 * STORE_MULTI counts as what it is (GET: a check), and the whole as STORE_MULTI. */
void world_refuse(struct world *w, enum store_kind kind, const char *path);

/* ---- looking, at the leader's (newest) state ---- */

bool world_exists(const struct world *w, const char *path, int64_t *ret_owner, uint64_t *ret_czxid);
/* NULL: there is no such node, or it has no data. Good until it changes. */
const char *world_data(const struct world *w, const char *path, size_t *ret_length);
/* Names, sorted, NULL at the end; NULL if there is no such node. g_strfreev() it. */
char **world_children(const struct world *w, const char *path);
unsigned world_node_count(const struct world *w);    /* but those of a fresh server */
unsigned world_session_count(const struct world *w); /* not ended yet */
unsigned world_watch_count(const struct world *w);   /* that clients still know of */
/* Sessions that watch the node itself, as the four-letter word wchp counts them. */
unsigned world_watchers(const struct world *w, const char *path);

struct world_counts {
    uint64_t requests[STORE_MULTI + 1]; /* given to servers, by kind */
    uint64_t writes;                    /* transactions in the log, refused ones too */
    uint64_t watch_events;
    uint64_t listed_names; /* in answers to STORE_LIST */
};
struct world_counts world_counts(const struct world *w);

#endif
