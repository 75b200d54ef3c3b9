/* Memory that tool and guard share, mapped before the fork. Final facts are written here and not
 * sent in messages, because the channel to a process that is stopped may be full. */
#ifndef ZKL_TOOLS_SHARED_H
#define ZKL_TOOLS_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zkl/grant.h>
#include <zkl/session.h>

#include "deadline.h"

/* Why the command ends. The first cause that a process sees counts. */
enum exit_cause {
    CAUSE_NONE,
    CAUSE_ENDED, /* the command has ended by itself, and the lock was ours until then */
    /* With all other causes tool and guard end the command (exit_cause_is_forced()): */
    CAUSE_DEADLINE, /* the lock could not be renewed */
    CAUSE_REVOKED,  /* the lock was lost before its deadline, or before the command began; a request
                       to give way (zkl revoke) is never this cause */
    CAUSE_SUSPECT,  /* the lock is in doubt, and --on-suspect is term */
    CAUSE_OUTGROWN, /* the command's tree takes longer to end than the lock can wait */
    CAUSE_ASKED,    /* another candidate is to lead */
    CAUSE_TOOL,     /* the tool is dead */
    CAUSE_GUARD     /* the guard is dead, or could not be started */
};

/* Whether tool and guard end the command for that cause. */
static inline bool exit_cause_is_forced(enum exit_cause cause)
{
    return cause != CAUSE_NONE && cause != CAUSE_ENDED;
}

/* Values of .ended; the others are exit statuses. */
#define NOT_ENDED (-1)
#define ENDED_BY_SIGNAL 0x100 /* + the signal's number */

/* A value of .leader: the command must not begin any more. */
#define LEADER_BARRED (-1)

struct shared {
    struct deadline *deadline; /* the deadline: the command's tree reads it, too */
    atomic_int leader;         /* the first process, whose pid is the group's id; 0: none yet */
    atomic_int cause;
    atomic_int exec_error;  /* the errno of a command that cannot be executed */
    atomic_int fork_error;  /* the errno of a zygote that could not start the guard; 0: none */
    atomic_int stopped;     /* the signal that has stopped the leader, until the tool takes it */
    atomic_int ended;       /* how the leader has ended, or NOT_ENDED */
    atomic_int state;       /* the grant's, a zkl_state */
    atomic_int loss;        /* a zkl_loss, set before the deadline becomes 0 */
    atomic_bool asked;      /* the command is to end, because another candidate is to lead */
    atomic_bool to_end;     /* a signal that asks the command to end was passed on: the rest of its
                               tree ends, too */
    atomic_bool to_kill;    /* a second INT or TERM was passed on: KILL to all */
    _Atomic uint64_t first; /* the signal and time of shared_set_first_signal(); 0: none yet */
    atomic_int need_ms;     /* how long the tree takes to end, as the guard has measured */
    atomic_bool begun;      /* the exec of the command was tried */
    atomic_bool executed;   /* the command was executed, as the guard has seen */
    atomic_bool paused;     /* we have stopped the leader, while the lock is in doubt */
    atomic_bool killed;     /* KILL was sent to the group */
    atomic_bool kill_told;  /* the status line for .killed was written */
    atomic_int kill_left;   /* the time to the deadline at the first KILL, in ms */
    atomic_bool gone;       /* nothing of the tree lives: the node may be deleted */
    atomic_bool on_lost_begun; /* --on-lost is being run, or has been */
    atomic_int on_lost;        /* the pid of --on-lost, until it is reaped; 0: none */
    atomic_int guard;          /* the guard's pid, until it is reaped; 0: there is none */
    atomic_bool cleared;     /* the guard of a zygote has ended, and nothing of its tree is left */
    zkl_session_claim claim; /* the id and password of the tool's session */
    atomic_bool claimed;     /* .claim is complete */
    atomic_bool finished;    /* the tool closes its session itself */
    atomic_int key;          /* the signal of a key that ended the command or the wait; 0: none */
    /* The supervisor of zkl elect reads these, for each term: */
    atomic_bool connected;
    atomic_bool in_line;   /* the candidate has a place in line, or had one */
    atomic_int ahead;      /* how many are before the candidate in line; -1: not known */
    _Atomic int64_t since; /* when the candidate began to lead, in s since 1970; 0: not yet */
};

/* Maps zeros that this process shares with those that it forks later, and that no core dump
 * contains. Returns NULL with errno set. munmap() frees them. */
void *shared_map(size_t size);

/* Maps count of struct shared, one for each guard. Returns NULL with errno set. */
struct shared *shared_new(size_t count);

/* Unmaps what shared_new() has mapped. */
void shared_free(struct shared *s, size_t count);

/* Makes *s like a new one, for another command. */
void shared_reset(struct shared *s);

/* Sets until when the lock is ours; 0 in deadline means that the lock is gone. One thread at a time
 * calls this. Returns false if the deadline is nearer than before: then the guard must be told. */
bool shared_set_deadline(struct shared *s, const zkl_deadline *deadline);

/* Returns for how many ms nobody else can be granted the lock, by the clock that leaves less; 0:
 * that time is over. Async-signal-safe. */
int64_t shared_left_ms(const struct shared *s);

/* Makes the process pid the leader. Both its parent and the process itself call this, before the
 * command begins. Returns false if the command must not begin any more. Async-signal-safe. */
bool shared_set_leader(struct shared *s, pid_t pid);

/* Bars the command from beginning, if it has not begun. Returns the leader; 0: there is none and
 * never will be. */
pid_t shared_bar(struct shared *s);

/* Stores the session's id and password (zkl_session_claim), so that another process can end the
 * session. */
void shared_store_claim(struct shared *s, zkl_session *session);

/* Remembers the first INT or TERM, before we send it to the group. clock is the present time by
 * processes_clock(). Processes that began before that time have got the signal. They must not get
 * it again, because a zkl among them takes a second one for an order to kill. */
void shared_set_first_signal(struct shared *s, int signo, uint64_t clock);

/* Returns the signal of shared_set_first_signal(), and its time in *ret_clock; 0: there was none.
 */
int shared_first_signal(const struct shared *s, uint64_t *ret_clock);

/* Returns the leader; 0: there is none yet, or never will be. */
pid_t shared_leader(const struct shared *s);

/* Returns why the command ends; CAUSE_NONE: it does not end yet. */
enum exit_cause shared_cause(const struct shared *s);

/* Decides why the command ends, unless that is decided. Returns whether this call has decided it.
 */
bool shared_decide(struct shared *s, enum exit_cause cause);

#endif
