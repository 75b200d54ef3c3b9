/* Runs a shard of zkl shards: its lock, and the command under that. The main thread calls all
 * functions but shard_read_queue(). */
#ifndef ZKL_TOOLS_SHARD_H
#define ZKL_TOOLS_SHARD_H

#include "../recipes/shard.h"
#include "guard/zygote.h"
#include "loss.h"
#include "run.h"
#include "shards_options.h"

/* The things that all shards of a host have in common. */
struct host_common {
    const struct settings *settings;
    const struct shards_options *options;
    struct hold_options *holds; /* one for each shard */
    struct events *events;
    struct zygote zygote;
    zkl_session *session;
    bool executed; /* the command of some shard was */
    int fatal;     /* the status to end with, as no attempt can do better; GO_ON: there is none */
};

enum shard_phase {
    SHARD_IDLE,
    SHARD_ASKING,  /* the lock is being acquired */
    SHARD_GRANTED, /* the lock is ours, without a guard yet */
    SHARD_READY,   /* there is a guard, without a command yet */
    SHARD_RUNNING,
    SHARD_CLEARING /* the lock is given back, but the guard has not ended */
};

struct shard {
    struct host_common *host;
    int number;
    struct shard_plan plan;
    enum shard_phase phase;
    zkl_mutex *mutex;
    zkl_op *op;
    struct attempt attempt;
    uint64_t token;    /* the grant's */
    struct loss *loss; /* the grant's; an rc box, since the library's last call for the grant needs
                          it, too */
    struct guard guard;
    int to_send;           /* a signal for a command that has not begun; 0: none */
    int status;            /* the last command's, once that is over */
    enum exit_cause cause; /* why the command is over; CAUSE_NONE: it never began */
    int trouble;           /* the code of the last error that was said; 0: none */
    int guardless; /* the errno that was said, by which no guard could be started; 0: one could */
    int64_t stuck_since; /* by now_ms(): since when a node of ours cannot be deleted; 0: none is
                            known */

    /* Other threads write these: */
    atomic_bool wanted, revoked;
    atomic_bool look_due;      /* the queue is to be read by the reader's thread */
    atomic_bool waits;         /* by the last reading: somebody waits for the lock */
    atomic_bool own_first;     /* by the last reading: the first node is, or may be, one of ours */
    _Atomic int64_t looked_at; /* by now_ms(): when the last reading of the queue began */
    atomic_bool stuck;         /* the library cannot delete a node of ours */
};

void shard_init(struct shard *s, struct host_common *host, int number);
const char *shard_path(const struct shard *s);

/* Makes the lock in a session that has just been opened. Returns GO_ON, or a status after a
 * message. */
int shard_open(struct shard *s);

/* Frees the lock after the session's close. */
void shard_close(struct shard *s);

/* Takes what has happened, and does what the plan then says. facts: those that all shards of the
 * host have in common, and .owned. Returns when the shard is due again, by now_ms(). */
int64_t shard_look(struct shard *s, const struct shard_facts *facts);

/* Passes a signal on to the command; if there is none yet, when it has begun. */
void shard_signal(struct shard *s, int signo);

/* Reads the lock's queue, for SHARD_LOOK. Runs on the reader's thread. */
void shard_read_queue(struct shard *s);

#endif
