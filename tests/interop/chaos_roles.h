/* The contenders: processes of several libraries. Each can be killed, stopped and started anew, and
 * those of zkl can be cut off, too. */
#ifndef INTEROP_CHAOS_ROLES_H
#define INTEROP_CHAOS_ROLES_H

#include "chaos_judge.h"

#include "tests/support/process.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"

enum { SESSION_MS = 4000, EACH = 2 };

/* The first three write to a register that looks at tokens and turns, by their programs' `contend`:
 * see peers.sh. Those of zkl retain, and are of several threads. The careful one, of zkl too, has a
 * plain number: see chaos_worker.h. */
enum kind { CURATOR, KAZOO, ZKL, CAREFUL, KINDS };
enum { SLOTS = KINDS * EACH };

#define CHAOS_PATH "/interop/chaos"

/* Where they record what they do; and what is there so far. */
struct record {
    char *number, *history; /* files */
    goffset read;
    GArray *acts; /* of act */
    bool garbled;
};

/* The place of one process, whose successor takes it when it was killed. */
struct slot {
    enum kind kind;
    pid_t pid;
    int control; /* its standard input */
    bool stopped;
    struct proxy *way; /* NULL: it has none of its own */
    char *hold;        /* a file that makes a careful holder go on holding */
    char *log;
    act last;       /* of the present process; its pid is 0 before the first */
    int64_t served; /* when the latest write was recorded here, ns */
    bool overdue;   /* did not end when it was told to */
    int broken;     /* processes that ended badly by themselves */
};

struct roles_options {
    const char *command[KINDS]; /* which takes CONNECT and `locks`; that of CAREFUL is not used */
    bool fenced, careful;       /* false: what the judge must notice */
};

struct roles {
    struct roles_options o;
    struct zk_server *server;
    struct scratch scratch;
    struct record reg, plain; /* the register's and the plain number's */
    int reg_fd;
    GArray *killed; /* of int: process ids */
    struct slot slot[SLOTS];
};

const char *kind_name(enum kind kind);

/* false, with a sentence on stderr, when a server or a process does not start. roles_end() also
 * then: it ends what is left. */
bool roles_start(struct roles *c, const struct roles_options *o);
void roles_end(struct roles *c);

void roles_follow(struct roles *c); /* reads what was recorded since */

/* Between its read and its write, as far as is recorded. A register's writer also when it has been
 * refused since. */
bool slot_holds(const struct slot *s);

/* ---- what is done to them ---- */

/* Starts another in its place. */
bool roles_kill(struct roles *c, struct slot *s);

/* Not where it would stop the others or prove nothing: while it has the register's file locked, or
 * between a careful one's last look and its write. false: it was there, and goes on. */
bool roles_stop(struct roles *c, struct slot *s);
void roles_let_on(struct slot *s);
void slot_hold(const struct slot *s, bool on);

/* Starts those anew who ended by themselves, and counts them. */
bool roles_look_after(struct roles *c);

/* ---- the end ---- */

/* Tells all to end after their present turn, and waits for that. */
void roles_dismiss(struct roles *c);
int roles_nodes_left(struct roles *c); /* at the path, after the dead ones' sessions; -1: unknown */
void roles_judge(const struct roles *c, const struct record *r, struct chaos_verdict *ret);
void roles_keep(const struct roles *c, const char *folder); /* all records and logs; says where */

#endif
