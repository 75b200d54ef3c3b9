/* Until when may a session's holders believe? Pure arithmetic over send and receive times.
 *
 * A server that receives a request touches the session, and reports the touch within a relay period
 * to the server that it follows. An answered request is an anchor: our server has touched the
 * session since it was sent.
 *
 * Rule A (an ensemble): anchor, sync, write, which are one round of the chain of proofs. All are on
 * one connection. Each is sent after the previous answer, and the sync at least one relay period
 * after the anchor's answer. By then the server has reported the anchor's touch of the session to
 * the leader, and the write's commit shows that the leader was one. So no server ends the session
 * before anchor sent + timeout.
 *
 * A reconnect is an anchor, too: its handshake came after all that was answered before, and the
 * leader itself touches the session in it. The write, sent after it, needs no sync before it. It
 * moves on a deadline that is ahead, and revives none. A chain revives one, if the session is known
 * to have been kept.
 *
 * An observer may report to a follower, which reports to the leader. There the write's answer shows
 * that the follower has the touch, and a second round is needed, whose sync comes a relay period
 * after that answer. Each round is the first of one pair and the second of another.
 *
 * Rule C (a server that stands alone): the server that answers a write keeps the sessions itself.
 * So no server ends the session before write sent + timeout.
 *
 * A new session is proved by its creation, from before the handle was made.
 *
 * Times are pairs of clocks: CLOCK_BOOTTIME counts suspension, CLOCK_MONOTONIC_RAW is never slewed.
 * What must not be too long counts the larger difference, what must not be too short the smaller.
 * docs/design/deadlines.md has the argument. */
#ifndef RECIPES_PROOFS_H
#define RECIPES_PROOFS_H

#include "machine.h"

struct instant { /* ns */
    int64_t boot;
    int64_t raw;
};

struct instant instant_add(struct instant t, int64_t ns);
bool instant_reached(struct instant now, struct instant deadline);         /* one clock is enough */
bool instant_passed(struct instant now, struct instant since, int64_t ns); /* by both clocks */
int64_t instant_left(struct instant now, struct instant deadline); /* ns, at most; 0: reached */

/* Returns an instant of BOOTTIME, half of what is left from now: before it, the deadline is ahead
 * by RAW, too. The kernel slows BOOTTIME against RAW by less than a quarter (10 % by the tick's
 * length, 0.05 % by frequency, as much by adjtime(), an eighth for an offset). So while half has
 * passed by the one, the whole cannot have by the other; suspension moves BOOTTIME on, which is the
 * safe side. now was read BOOTTIME first: the time between the readings then counts for RAW as
 * passed. */
int64_t instant_sure(struct instant now, struct instant deadline);

enum proof_kind {
    PROOF_ANCHOR,  /* any request: its answer shows that our server had touched the session */
    PROOF_SYNC,    /* the chain's second step */
    PROOF_RENEWAL, /* the chain's third step: a write */
    PROOF_WRITE,   /* any other write, whatever the quorum answers */
    PROOF_KEEP /* a sync in place of a ping: an anchor, and a step of the proof that the session is
                  kept */
};

/* Returns what a request that asked for that kind proves by the answer rc: no more than a read, if
 * the server may have answered a write alone. */
enum proof_kind proof_by_answer(enum proof_kind kind, enum store_rc rc);

/* What the session should send now. */
enum proof_wish {
    PROOF_NOTHING,
    PROOF_SEND_ANCHOR,
    PROOF_SEND_SYNC,
    PROOF_SEND_WRITE,
    PROOF_SEND_KEEP
};

/* What the users of a session need of it. */
enum proof_need {
    PROOF_HOT,  /* a deadline: the chain runs */
    PROOF_COOL, /* to be kept, and to be proved soon when somebody needs a deadline: no write, and
                   syncs in place of pings */
    PROOF_COLD  /* nothing */
};

/* Returns what the users need. needs_deadline: something is held, or would be with a deadline.
 * in_use: somebody waits, or is a member. lately: it was opened, or somebody has entered or left,
 * within the last minute; entered: not only opened. */
enum proof_need proofs_need(bool needs_deadline, bool in_use, bool lately, bool entered);

enum { PROOF_ANCHORS = 16 };

/* A ring of anchors, sparse enough to reach back over a relay period. */
struct anchors {
    struct {
        struct instant sent, answered;
    } at[PROOF_ANCHORS];
    uint32_t count; /* how many anchors were put into it, ever */
};

struct proofs {
    int64_t timeout; /* ns: the smaller of negotiated now and at creation */
    int64_t relay;   /* ns, in which a server reports a touch to the one that it follows */
    int64_t margin;
    int32_t drift_permille;
    int64_t tick; /* ns, 0: unknown */
    bool alone;   /* rule C */
    bool connected;
    bool has_deadline;
    struct instant deadline;
    struct instant newest; /* send time of the newest answered request of the session */
    /* when a round last went as it should, even one that moved nothing; or, if it was later, when a
     * deadline began to be needed */
    struct instant last_round;
    enum proof_need need;
    /* of this connection: */
    bool relayed;               /* the server may follow a server that is not the leader */
    struct anchors heard;       /* the touches that our server had */
    struct anchors passed;      /* the touches that the server had which ours follows */
    struct instant anchor_sent; /* of the anchor that was asked for, and is not answered; 0: none */
    enum { CHAIN_IDLE, CHAIN_SYNC, CHAIN_WRITE_DUE, CHAIN_WRITE } chain;
    bool on_handshake;           /* this round rests on the handshake of this connection */
    bool rests;                  /* this round moves the deadline */
    struct instant chain_base;   /* send time of the anchor that this round rests on */
    bool passes;                 /* after this round the server that ours follows has a touch: */
    struct instant chain_passed; /* the send time of its anchor */
    struct instant chain_begun;  /* when the last round began */
    bool chain_ever;
    /* the leader does not end the session before .kept, if our server's leader is one: */
    struct instant kept;    /* 0: it is not known */
    struct instant settled; /* a write that is sent at that time or later revives the deadline */
    /* of syncs in place of pings; a time of 0: none */
    bool keep_under_way;      /* the last one is not answered yet */
    bool keep_second;         /* the last one was sent as soon as the previous one was answered */
    struct instant keep_sent; /* when the last sync was sent */
    struct instant keep_base; /* the leader is told of this anchor before that is answered */
    struct instant keep_reports; /* the leader was told of this anchor before that was sent */
    struct instant keep_passes;  /* the server that ours follows is told of this anchor before the
                                    first of two is answered */
};

/* Parameters that follow from the timeout, in ns; for documentation and tests. */
int64_t proofs_margin(int64_t timeout_ns, int32_t drift_permille);
int64_t proofs_relay(int64_t timeout_ns, int64_t tick_ns);

/* Whether an ensemble that is well proves each deadline anew before it is reached; relayed: even at
 * an observer that a follower feeds. */
bool proofs_can_last(int64_t timeout_ns, int64_t tick_ns, int32_t drift_permille, bool relayed);
int64_t proofs_period(const struct proofs *p);        /* ns between renewals */
int64_t proofs_anchor_period(const struct proofs *p); /* ns between anchors that no round wants */

void proofs_init(struct proofs *p, int64_t tick_ns, int32_t drift_permille);

/* Called when a session of that timeout was made; the attempt to make it had begun at begun, before
 * any packet was sent. */
void proofs_created(struct proofs *p, struct instant begun, int64_t timeout_ns);

/* Called when the same session has a new connection: everything of the old connection is void, and
 * a smaller timeout takes deadlines back. The newest request that was answered before that counts
 * as an anchor from now on. */
void proofs_reconnected(struct proofs *p, int64_t timeout_ns);
void proofs_disconnected(struct proofs *p);

/* Called when the server was shown, on this connection, to stand alone: from now on rule C
 * holds. */
void proofs_alone(struct proofs *p);

/* Called when the server was shown, on this connection, to report to the leader itself. Rounds that
 * begin from now on count on that. */
void proofs_direct(struct proofs *p);

/* Sets what is needed from now on. */
void proofs_use(struct proofs *p, enum proof_need need, struct instant now);

/* Called when the request that proofs_want() asked for was sent. */
void proofs_sent(struct proofs *p, enum proof_kind kind, struct instant now);

/* Called when the request that proofs_want() asked for will not be answered. */
void proofs_failed(struct proofs *p, enum proof_kind kind);

/* Counts a request, sent at sent on this connection, that was answered definitely at answered.
 * Returns whether the deadline moved on. */
bool proofs_answered(struct proofs *p, enum proof_kind kind, struct instant sent,
                     struct instant answered);

/* Returns what to send now, for what is needed. */
enum proof_wish proofs_want(const struct proofs *p, struct instant now);

/* Returns how long, at most, until proofs_want() must be asked again; ns. */
int64_t proofs_wait(const struct proofs *p, struct instant now);

/* Whether the last round that was answered is older than two and a half sixths of the timeout: then
 * the session's holders are SUSPECT. If no deadline is needed, the last answer counts. */
bool proofs_overdue(const struct proofs *p, struct instant now);

/* Returns for how many ns the session is worth a connection soon: until its deadline, or if none is
 * needed, until the servers may end it; 0: it may have ended. */
int64_t proofs_left(const struct proofs *p, struct instant now);

enum deadline {
    DEADLINE_NONE,   /* the servers may have ended the session */
    DEADLINE_AHEAD,  /* it is ahead, but the next proof may come too late */
    DEADLINE_LASTING /* a proof moves it on in time, on a network that stays as it is */
};

/* How far holders can rely on the session's deadline now. A grant is given on DEADLINE_LASTING
 * alone. */
enum deadline proofs_deadline(const struct proofs *p, struct instant now);

/* Returns what a request of that kind, answered now, counts as while somebody goes by the deadline.
 * A move is told to each of them. So a user's write moves a deadline that lasts, and of which
 * nobody is in doubt, only if that gains a 64th of the timeout. */
enum proof_kind proof_by_gain(const struct proofs *p, enum proof_kind kind, struct instant sent,
                              struct instant now);

#endif
