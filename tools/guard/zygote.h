/* The zygote: a process that was forked before there were threads, and forks a guard whenever the
 * tool wants one. So one tool, with one session, has many commands, each under a guard of its own
 * (guard.h).
 *
 * Guards and what a killed one leaves come to the zygote, which is a subreaper. Whatever lives
 * there and is no guard was left by a guard that was killed, and is killed in turn. When the tool
 * is dead and nothing of the commands lives any more, the zygote ends the session. When the zygote
 * is dead, the guards end their commands, and all of this falls to the tool. */
#ifndef ZKL_TOOLS_ZYGOTE_H
#define ZKL_TOOLS_ZYGOTE_H

#include "guard.h"

struct zygote {
    struct shared *shared; /* one for each guard; one more has the claim of the session */
    const struct hold_options *options; /* one for each guard */
    int count;
    void (*born)(int k, const struct zygote *z); /* called in the new guard, before it begins */
    struct events *events; /* the tool's, with the signal mask that commands get */
    pid_t tool, pid;
    int channel;
    bool dead;          /* the tool has seen the zygote's end, and does its work */
    bool given_up;      /* a process was killed and does not end: so the session is not ended */
    struct sweep sweep; /* for what killed guards leave; zygote and tool each have one */
};

/* Forks the zygote. The caller has set count, options, born and events of z. Returns false after a
 * message. */
bool zygote_start(struct zygote *z);

/* Tells the zygote which session it ends when the tool is dead and no command lives. */
void zygote_claim(struct zygote *z, zkl_session *session);

/* Asks the zygote to fork guard k. *ret is the tool's side of that guard, which can be told at once
 * what to run. Returns false with errno set; after EAGAIN the caller tries again. */
bool zygote_fork(struct zygote *z, int k, struct guard *ret);

/* Whether guard k has ended, or could not be forked, and nothing of its tree was left to others. */
bool zygote_cleared(const struct zygote *z, int k);

/* Frees guard k, which was cleared or could not be forked. Then the zygote may reap the guard and
 * its leader, so nobody signals them any more. */
void zygote_forget(struct zygote *z, int k, struct guard *g);

/* Looks whether the zygote is dead; if so, does its work in the tool. Returns in how many ms it is
 * to be called again; INT64_MAX: not before a signal, or an event on z's channel. */
int64_t zygote_look(struct zygote *z);

/* Ends the zygote, and frees what z has. Call it when no guard is left and the session is closed.
 */
void zygote_end(struct zygote *z);

#endif
