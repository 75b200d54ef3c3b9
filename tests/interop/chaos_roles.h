/* The processes that contend, and what can be done to them. Each has a slot: it is killed and
 * started anew, and those of zkl can be cut off, too. */
#ifndef INTEROP_CHAOS_ROLES_H
#define INTEROP_CHAOS_ROLES_H

#include "tests/history/scene.h"

/* A careful one writes only when its grant is good for MARGIN_MS more: a write takes microseconds,
 * but somebody else may have the processor just then. */
enum { SESSION_MS = 4000, EACH = 2, MARGIN_MS = 1500 };

/* The first three write to a register that looks at tokens and turns, by their programs' `contend`:
 * see peers.sh. Those of zkl retain, and are of several threads. The careful one, of zkl too, is a
 * worker at a number. */
enum kind { CURATOR, KAZOO, ZKL, CAREFUL, KINDS };
enum { SLOTS = KINDS * EACH };

/* The place of one process, whose successor takes it when it was killed: a worker of the scene. */
struct slot {
    enum kind kind;
    int worker;
    event last;   /* act of the present process; its pid is 0 before the first */
    int killed;   /* the process that was killed last */
    bool served;  /* has written since this was false */
    bool overdue; /* did not end when it was told to */
    int broken;   /* processes that ended badly by themselves, and calls that failed */
};

struct roles_options {
    const char *command[KINDS]; /* which takes CONNECT and `locks`; that of CAREFUL is not used */
    bool fenced, careful;       /* false: what the judge must notice */
};

struct roles {
    struct roles_options o;
    struct scene scene;
    char *reg, *number; /* the files of the register, and of the careful ones' number */
    char *contended;    /* where those at the register record what they do */
    int reg_fd;
    guint followed;      /* events */
    guint turns;         /* of the lock, so far */
    uint64_t latest[2];  /* token at the register, and at the number */
    GHashTable *slot_of; /* process id -> 1 + number of its slot */
    struct slot slot[SLOTS];
};

const char *kind_name(enum kind kind);
bool kind_has_way(enum kind kind); /* which can be cut */

/* false, with a sentence on stderr, when a server or a process does not start. roles_end() also
 * then: it ends what is left. */
bool roles_start(struct roles *c, const struct roles_options *o);
void roles_end(struct roles *c);

void roles_follow(struct roles *c); /* reads what was recorded since */
enum kind roles_kind(const struct roles *c, const event *e);

/* Between its read and its write, as far as is recorded. A register's writer also when it has been
 * refused since. */
bool slot_holds(const struct slot *s);

/* Somebody has been where it is with a later token. */
bool slot_is_overtaken(const struct roles *c, const struct slot *s);

/* ---- what is done to them ---- */

/* Starts another in its place. */
bool roles_kill(struct roles *c, struct slot *s);

/* Not where it would stop the others or prove nothing: while it has the register's file locked, or
 * between a careful one's last look and its write. false: it was there, and goes on. */
bool roles_stop(struct roles *c, struct slot *s);
struct proxy *roles_way(struct roles *c, const struct slot *s);
void roles_hold(struct roles *c, const struct slot *s, bool on); /* a careful one goes on holding */

/* Starts those anew who ended by themselves, and counts them. */
bool roles_look_after(struct roles *c);

/* ---- the end ---- */

/* Tells all to end after their present turn, and waits for that. */
void roles_dismiss(struct roles *c);

/* Judges the register, or the careful ones' number. */
void roles_judge(const struct roles *c, bool careful, struct register_judgement *ret);

#endif
