/* The record of a run: one line per event, in one file per process, merged afterwards. Written by
 * workers, and by what does things to them: the demo, the fault tests, interop's chaos. */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What can happen. A worker records its own life; the demo records what it does to a worker. */
typedef enum event_kind {
    EV_READY,   /* worker: its session is there */
    EV_WANT,    /* asks for the lock: value = which (struct claim), or 0 */
    EV_GRANT,   /* has it: token */
    EV_HOLD,    /* was told to go on holding, the number is read but not written: token */
    EV_WRITE,   /* acknowledged increment: value, token */
    EV_SUSPECT, /* the library says: connection gone: token */
    EV_HELD,    /* the library says: proved again: token */
    EV_TOLD,    /* the library's callback says LOST: value = why: token */
    EV_LOST,    /* the working thread saw LOST and has stopped: token */
    EV_ELOST,   /* its unlock answered ZKL_ELOST: token */
    EV_RELEASE, /* is about to unlock: token */
    EV_DENIED,  /* unlocked another's lock, was refused with ZKL_EPERM */
    EV_ALLOWED, /* unlocked another's lock, was not refused: value = the answer */
    EV_INTACT,  /* holder, after foreign unlocks: still HELD and first in the queue: token */
    EV_BROKEN,  /* holder, after foreign unlocks: not so: token */
    EV_ERROR,   /* a call failed: value = its code */
    EV_DONE,    /* all increments written */
    EV_KILL,    /* is about to be killed with signal 9 */
    EV_DEAD,    /* the process is gone: value = its wait status */
    EV_CUT,     /* its connection was silently frozen */
    EV_THAW,    /* its connection was let go on */
    EV_OWNER,   /* value = the session of the grant: token */
    EV_SEEN,    /* looked, and the grant still had value ms: token */
    EV_REFUSED, /* the register refused a write: token */
    EV_STOP,    /* the process was stopped by a signal */
    EV_GOON,    /* and is about to be let go on */
    EV_DELETE,  /* a third party is about to delete the node of token, of the session value */
    EV_EVICT,   /* a third party is about to end the session value by force */
    EV_FAULT,   /* a fault begins: value = its number; worker = whose, -1: the servers' */
    EV_PART,    /* of a grant of several paths: value = the token at the next one: token */
    EV_NUMBERS, /* of permits with numbers: bit n of value: number n: token */
    EV_READ,    /* the register let it read: value = the number of writes: token */
    EV_BEGIN,   /* the same, and left its token there: it means to write one more: value, token */
    EV_GO,      /* means to write one more than value now: token */
    EV_SKIP,    /* does not write, as its time was too short: value, token */
    EV_LINE,    /* waits in line: value = its session, token = that of its node */
    EV_COUNTED, /* what its session counted, at its end: token = of what (judge.h), value */
    EV_SPARED,  /* needs no run of its own: one is recorded, and none is due */
    EV_ENDED,   /* its run is over: value = what the recording answered, or RUN_GIVEN_UP: token */
    EV_RUN,     /* found recorded: token; began at ns; the next is due value ms later, at turn ms */
    EV_KINDS
} event_kind;

/* The work that is run once a period. */
enum { RUN_PERIOD_MS = 2000, RUN_SLACK_MS = 900, RUN_GIVEN_UP = 1 };

/* A kind's bit in a mask of kinds. */
#define EV_BIT(kind) (UINT64_C(1) << (kind))

typedef struct event {
    int64_t ns; /* CLOCK_BOOTTIME, one clock for all processes of the machine */
    int worker; /* from 0; whom it is about */
    int pid;    /* of that worker */
    event_kind kind;
    int64_t value;
    uint64_t token;
    uint64_t turn; /* of the token */
} event;

int64_t history_now(void);
const char *history_kind_name(event_kind kind);
event_kind history_kind(const char *name); /* EV_KINDS: none */

/* Opens DIR/NAME.history for appending; a descriptor, or -1 with a message on stderr. */
int history_open(const char *dir, const char *name);

/* Appends one event by a single write(): nothing is lost when the process dies. Stamped now, or
 * with the instant given. */
void history_add(int fd, int worker, int pid, event_kind kind, int64_t value, uint64_t token);
void history_add_event(int fd, const event *e);

/* Follows all *.history files of a directory. */
typedef struct history {
    char *dir;
    GHashTable *offsets; /* file name -> bytes read */
    GArray *events;      /* of event, in order of reading; history_sort() orders them by time */
} history;

history *history_new(const char *dir);
void history_free(history *h);

/* Reads what was added since; answers the index of the first new event. false in *ok (which may be
 * NULL) when a line makes no sense. */
guint history_poll(history *h, bool *ok);
void history_sort(history *h);

/* ---- what a worker asks for: the value of EV_WANT ---- */

typedef enum claim_kind {
    CLAIM_LOCK,     /* one path, or leadership there */
    CLAIM_SEVERAL,  /* several paths, all of them */
    CLAIM_READ,     /* the shared side of a read-write lock */
    CLAIM_WRITE,    /* the other one */
    CLAIM_PERMITS,  /* of a semaphore */
    CLAIM_NUMBERED, /* the same, each with a number */
    CLAIM_ONCE,     /* the run that is due */
    CLAIM_KINDS
} claim_kind;

enum { CLAIM_PATHS_MAX = 16, CLAIM_PARTS_MAX = 4 }; /* in all; of one claim */

typedef struct claim {
    claim_kind kind;
    unsigned paths;     /* bit p: path p */
    int permits, limit; /* of a semaphore */
} claim;

/* That of a lock at path 0 is 1. */
int64_t claim_pack(const claim *c);
claim claim_unpack(int64_t value);

const char *claim_kind_name(claim_kind kind);

#endif
