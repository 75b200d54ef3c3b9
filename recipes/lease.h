/* Until when may a session's holders believe? Pure arithmetic over send and receive times.
 *
 * Rule A (an ensemble): anchor, sync, write, all on one connection, each sent after the one before
 * was answered, the sync at least one relay period after the anchor's answer. By then the server
 * has reported the anchor's touch of the session to the leader, and the write's commit shows that
 * the leader was one. So no server ends the session before anchor sent + timeout.
 * Rule C (a server that stands alone): any write answered proves it was processed by the one that
 * keeps the sessions. So: write sent + timeout.
 * A new session is proved by its creation, from before the handle was made.
 *
 * Times are pairs of clocks: CLOCK_BOOTTIME counts suspension, CLOCK_MONOTONIC_RAW is never slewed.
 * What must not be too long counts the larger difference, what must not be too short the smaller.
 * docs/design/deadlines.md has the argument. */
#ifndef RECIPES_LEASE_H
#define RECIPES_LEASE_H

#include <stdbool.h>
#include <stdint.h>

struct instant { /* ns */
    int64_t boot;
    int64_t raw;
};

struct instant instant_add(struct instant t, int64_t ns);
bool instant_reached(struct instant now, struct instant deadline);         /* by either clock */
bool instant_passed(struct instant now, struct instant since, int64_t ns); /* by both clocks */
int64_t instant_left(struct instant now, struct instant deadline); /* at most, 0 when reached */

/* As long as BOOTTIME is below this, the deadline is ahead by RAW as well: half of what is left
 * now. The kernel slows BOOTTIME against RAW by less than a quarter (10 % by the tick's length,
 * 0.05 % by frequency, as much by adjtime(), an eighth for an offset), so while half has passed by
 * the one, the whole cannot have by the other; suspension moves BOOTTIME on, which is the safe
 * side. now was read BOOTTIME first: what passes between the readings then counts for RAW as
 * passed. */
int64_t instant_sure(struct instant now, struct instant deadline);

enum lease_kind {
    LEASE_ANCHOR,  /* any request: its answer shows that our server had touched the session */
    LEASE_SYNC,    /* the chain's second step */
    LEASE_RENEWAL, /* the chain's third step: a write */
    LEASE_WRITE    /* any other write, whatever its definite answer */
};

/* What the owner of the session should send now. */
enum lease_wish { LEASE_NOTHING, LEASE_SEND_ANCHOR, LEASE_SEND_SYNC, LEASE_SEND_WRITE };

enum { LEASE_ANCHORS = 16 };

struct lease {
    int64_t timeout; /* ns: the smaller of negotiated now and at creation */
    int64_t relay;   /* ns: by then the server has reported a touch to its leader */
    int64_t margin;
    int32_t drift_permille;
    int64_t tick; /* ns, 0: unknown */
    bool alone;   /* rule C */
    bool connected;
    bool has_deadline;
    struct instant deadline;
    struct instant newest; /* send time of the newest answered request of the session */
    bool has_newest;
    struct instant extended; /* when the deadline last moved on */
    /* of this connection: */
    struct {
        struct instant sent, answered;
    } anchor[LEASE_ANCHORS]; /* a ring, sparse enough to reach back over a relay period */
    uint32_t anchors;        /* ever put into it */
    bool anchor_out;
    enum { CHAIN_IDLE, CHAIN_SYNC, CHAIN_WRITE_DUE, CHAIN_WRITE } chain;
    struct instant chain_base;  /* send time of the anchor that this round rests on */
    struct instant chain_begun; /* when the last round began */
    bool chain_ever;
};

/* Parameters derived from the timeout, for documentation and tests. */
int64_t lease_margin(int64_t timeout_ns, int32_t drift_permille);
int64_t lease_relay(int64_t timeout_ns, int64_t tick_ns);
int64_t lease_period(const struct lease *l);        /* between renewals */
int64_t lease_anchor_period(const struct lease *l); /* between anchors */

void lease_init(struct lease *l, int64_t tick_ns, int32_t drift_permille);

/* A session of that timeout was made, the attempt begun at begun (before any packet was sent). */
void lease_created(struct lease *l, struct instant begun, int64_t timeout_ns);

/* The same session has a new connection: everything of the old connection is void, and a smaller
 * timeout takes deadlines back. */
void lease_reconnected(struct lease *l, int64_t timeout_ns);
void lease_disconnected(struct lease *l);

/* The server was shown, on this connection, to stand alone. */
void lease_alone(struct lease *l);

/* What lease_want() asked for was sent now. */
void lease_sent(struct lease *l, enum lease_kind kind, struct instant now);

/* What lease_want() asked for will not be answered. */
void lease_failed(struct lease *l, enum lease_kind kind);

/* A request sent at sent, on this connection, was answered definitely at answered. True if the
 * deadline moved on. */
bool lease_answered(struct lease *l, enum lease_kind kind, struct instant sent,
                    struct instant answered);

/* What to send now, to keep the chain of proofs running. */
enum lease_wish lease_want(const struct lease *l, struct instant now);

/* How long, at most, until lease_want() must be asked again; ns. */
int64_t lease_wait(const struct lease *l, struct instant now);

/* Whether the last proof is older than two and a half renewal periods: its holders are SUSPECT. */
bool lease_overdue(const struct lease *l, struct instant now);

bool lease_valid(const struct lease *l, struct instant now);

#endif
