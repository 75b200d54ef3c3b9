/* Memory that the command and its guard share, mapped before the fork. Final things are told here
 * and by no message, because the queue of a process that is stopped may be full. */
#ifndef ZKL_TOOLS_SHARED_H
#define ZKL_TOOLS_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zkl/grant.h>
#include <zkl/session.h>

/* Why the command ends: the first to see a cause decides, once. */
enum exit_cause {
    CAUSE_NONE,
    CAUSE_ENDED, /* the command has ended by itself, and the lock was ours until then */
    /* All others: we end its group, because */
    CAUSE_DEADLINE, /* the lock could not be renewed, */
    CAUSE_REVOKED,  /* it was lost before its deadline, */
    CAUSE_SUSPECT,  /* it is in doubt, and that is enough, */
    CAUSE_OUTGROWN, /* the tree takes longer to end than the lock can wait, */
    CAUSE_ASKED,    /* somebody else is to lead, */
    CAUSE_TOOL,     /* the tool is dead, */
    CAUSE_GUARD     /* or its guard is */
};

#define NOT_ENDED (-1)
#define ENDED_BY_SIGNAL 0x100 /* + the signal's number */

#define LEADER_BARRED (-1)

struct shared {
    _Atomic int64_t until_boottime; /* the deadline, in ns of each clock; 0: the lock is gone */
    _Atomic int64_t until_raw;
    atomic_int leader; /* of the group, and its id; 0: not there yet, or LEADER_BARRED */
    atomic_int cause;
    atomic_int exec_error;  /* the errno of a command that cannot be executed */
    atomic_int fork_error;  /* the errno of a zygote's guard that cannot be started; 0: none */
    atomic_int stopped;     /* the signal that has stopped the leader, until the tool takes it */
    atomic_int ended;       /* how the leader has ended */
    atomic_int state;       /* the grant's, a zkl_state */
    atomic_int loss;        /* a zkl_loss, before until is 0 */
    atomic_bool asked;      /* to step down */
    atomic_bool to_end;     /* a signal that asks to end was passed on: what is left ends too */
    atomic_bool to_kill;    /* so was a second one: KILL to all */
    _Atomic uint64_t first; /* the first INT or TERM that the group got from us: shared_first() */
    atomic_int need_ms;     /* the guard has measured that the tree takes so long to end */
    atomic_bool begun;      /* the command was executed, or tried to be */
    atomic_bool executed;   /* it was, as the guard has seen */
    atomic_bool paused;     /* we have stopped the leader, while the lock is in doubt */
    atomic_bool killed;     /* somebody sends KILL */
    atomic_bool kill_told;
    atomic_int kill_left;    /* how much of the lock was left then, in ms */
    atomic_bool gone;        /* nothing of the tree lives: the node may be deleted */
    atomic_bool told;        /* --on-lost is being run, or has been */
    atomic_int on_lost;      /* its process, until it is reaped */
    atomic_int guard;        /* the guard's process, unreaped; 0: there is none */
    atomic_bool cleared;     /* a zygote's has ended, and nothing of its tree is left to it */
    zkl_session_claim claim; /* of the tool's session */
    atomic_bool claimed;     /* it is complete */
    atomic_bool finished;    /* the tool has closed its session, and does not end otherwise */
    atomic_int key;          /* the signal of a key that ended the command or the wait; 0: none */
    /* The supervisor of zkl elect reads these of each term: */
    atomic_bool connected;
    atomic_bool in_line;   /* it was once */
    atomic_int ahead;      /* how many are before it in line; -1: not known */
    _Atomic int64_t since; /* it leads: seconds since 1970; 0: not yet */
};

/* Zeros that this process and those which it forks later share, and that no core dump has. NULL
 * with errno set. munmap() ends it. */
void *shared_map(size_t size);

/* Makes count of them, one for each guard. NULL with errno set. */
struct shared *shared_new(size_t count);
void shared_free(struct shared *s, size_t count);

/* Makes it like a new one, for another command. */
void shared_reset(struct shared *s);

/* The lock is ours until deadline; 0 in it means that the lock is gone. One thread at a time calls
 * this. Returns false if the deadline is nearer than before: the guard must be told that. */
bool shared_set_deadline(struct shared *s, const zkl_deadline *deadline);

/* How long nobody else can be granted the lock, by the clock that leaves less; 0 when that time is
 * over. Async-signal-safe, and so is the next function. */
int64_t shared_left_ms(const struct shared *s);

/* Makes pid the leader, as itself does before it begins. false if it is not to begin any more. */
bool shared_set_leader(struct shared *s, pid_t pid);

/* The leader; 0 when there is none and never will be. */
pid_t shared_bar(struct shared *s);

/* The claim of a session, for who is to end it. */
void shared_claim(struct shared *s, zkl_session *session);

/* INT or TERM is about to be sent to the group, by processes_clock(). The first is remembered: the
 * processes of that time have it, and a zkl takes a second one for an order to kill. */
void shared_note_first(struct shared *s, int signo, uint64_t clock);

/* The signal that was first, 0 for none. */
int shared_first(const struct shared *s, uint64_t *ret_clock);

/* The leader that may get signals, 0 for none yet. */
pid_t shared_leader(const struct shared *s);

enum exit_cause shared_cause(const struct shared *s);

/* Whether this call has decided it. */
bool shared_decide(struct shared *s, enum exit_cause cause);

#endif
