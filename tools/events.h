/* All that the main thread waits for: signals, a word from another thread, a time. */
#ifndef ZKL_TOOLS_EVENTS_H
#define ZKL_TOOLS_EVENTS_H

#include <glib.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct events {
    sigset_t original;          /* the mask that we were started with: the command's */
    struct sigaction chld;      /* and what was done at SIGCHLD */
    sigset_t caught;            /* the signals that events_signal() returns */
    int signals, wakeup, timer; /* signalfd, eventfd, timerfd */
    GArray *others;             /* of int: see events_add() */
    int64_t asked_at;           /* by now_ms(): the first INT or TERM; 0: none yet */
    int orders;                 /* see events_open_below() */
    pid_t vital;                /* a child whose end asks us to end; 0: none */
    bool reaps;                 /* see events_reap_strangers() */
    const atomic_int *kept;     /* another child that stays unreaped; NULL: none */
    int key;                    /* see events_close(); 0: none */
    sigset_t spared;            /* see events_spare() */
    sigset_t typed;             /* see events_typed() */
};

/* Before any thread is made, since threads inherit the mask. false after a message. */
bool events_open(struct events *e);

/* For a child of a process that has opened parent, which is closed here. That process passes its
 * signals on by orders (channel.h). The child hears only these of the signals that would end us,
 * since a signal to a process group or a whole service reaches both processes. orders is closed
 * with the rest. */
bool events_open_below(struct events *e, struct events *parent, int orders);

/* The same for a child that no signal is to end or to stop, as far as that is possible: it hears
 * SIGCHLD, and channel. */
bool events_open_deaf(struct events *e, struct events *parent, int channel);

/* If a key of the terminal has ended the command, its signal ends us too, and the rest of our
 * process group unless that has had it. It ends nobody if we were started with it ignored. */
void events_close(struct events *e);

/* Catches one more signal, unless we were started with it ignored. */
void events_catch(struct events *e, int signo);

/* A signal that is meant for a command alone: while none runs it does not ask us to end. */
void events_spare(struct events *e, int signo);

/* Sleeps until there is something; then call events_signal() until it returns 0. A second INT or
 * TERM counts from ASKED_AGAIN_MS after the first: timeout(1) and service managers send one to us
 * and one to our group. */
#define ASKED_AGAIN_MS 300
void events_wait(struct events *e);
int events_signal(struct events *e);

/* Whether a key of the terminal has sent us that signal: then our process group has had it. */
bool events_typed(const struct events *e, int signo);

/* Adds or removes a descriptor: when it is readable, events_wait() ends. */
void events_add(struct events *e, int fd);
void events_remove(struct events *e, int fd);

/* After this call events_signal() reaps every process that has ended, except vital and kept,
 * because PID 1 gets all orphans. Does nothing if we are not PID 1. */
void events_reap_strangers(struct events *e);

/* From any thread: ends the present or next events_wait(). */
void events_wake(struct events *e);

/* Ends events_wait() after ms, suspended time included; replaces what was armed before. */
void events_arm(struct events *e, int64_t ms);

/* Takes the signals that wait, and returns the first that asks us to end, 0 for none. SIGCHLD is
 * one when the vital child has ended. */
int events_asked_to_end(struct events *e);

/* Waits for ms. 0, or the signal that asks us to end first. */
int events_pause(struct events *e, int64_t ms);

/* Waits for *done, which another thread sets before events_wake(). 0, or the signal that asks us to
 * end first. */
int events_until(struct events *e, const atomic_bool *done);

/* Writes text to standard output. Signals act as they did before us: they end us while a reader
 * does not read, and SIGPIPE ends us when the reader is gone. Returns GO_ON, or STATUS_IOERR after
 * a message that says why. */
int events_print(const struct events *e, const char *text);

/* How a child of ours stands; it is not reaped by that. *ret: how it ended; may be NULL. */
enum child { CHILD_NONE, CHILD_LIVES, CHILD_ENDED };
enum child child_look(pid_t pid, siginfo_t *ret);

/* Reaps those that have ended, up to one of the two that are kept; 0: none is. */
void children_reap(pid_t kept, pid_t kept_too);

/* The clock that deadlines are thought in: it runs on in suspend and nobody can set it.
 * Async-signal-safe. */
int64_t now_ms(void);

#endif
