/* All that the main thread waits for: signals, a wake-up by another thread, a time, descriptors. */
#ifndef ZKL_TOOLS_EVENTS_H
#define ZKL_TOOLS_EVENTS_H

#include <glib.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct events {
    sigset_t original;          /* the mask that we were started with: the command's */
    struct sigaction chld;      /* and the action at SIGCHLD */
    sigset_t caught;            /* the signals that events_signal() returns */
    int signals, wakeup, timer; /* signalfd, eventfd, timerfd */
    GArray *others;             /* descriptors, as int: see events_add() */
    int64_t asked_at;           /* by now_ms(): the first INT or TERM; 0: none yet */
    int orders;                 /* see events_open_below() */
    pid_t vital;                /* a child whose end asks us to end; 0: none */
    bool reaps;                 /* see events_reap_strangers() */
    const atomic_int *unreaped; /* another child that is not reaped; NULL: none */
    pid_t forker;               /* a child whose children are not reaped if it dies; 0: none */
    int key;                    /* a signal, see events_close(); 0: none */
    sigset_t spared;            /* see events_spare() */
    sigset_t typed;             /* see events_typed() */
};

/* Opens e and blocks the signals that it catches. Call it before any thread is made, since threads
 * inherit the mask. Returns false after a message. */
bool events_open(struct events *e);

/* Opens e in a child of the process that has opened parent, and closes the child's copy of parent.
 * That process passes its signals on by the channel orders (channel.h). Signals that would end the
 * child count only if they come that way, since a signal to a process group or a whole service
 * reaches both processes. events_close() closes orders. Returns false after a message. */
bool events_open_below(struct events *e, struct events *parent, int orders);

/* Does the same in a child that no signal is to end or to stop, as far as that is possible. Only
 * SIGCHLD and channel end its waits. */
bool events_open_deaf(struct events *e, struct events *parent, int channel);

/* Closes e. If .key is set, a key of the terminal has ended the command: then the key's signal ends
 * us too, and the rest of our process group, unless the group has had it. A signal that we were
 * started with ignored ends nobody. */
void events_close(struct events *e);

/* Catches one more signal, unless we were started with it ignored. */
void events_catch(struct events *e, int signo);

/* Marks a signal as meant for a command alone: events_asked_to_end() ignores it. */
void events_spare(struct events *e, int signo);

/* Whether the signal asks us to end while no command runs. */
bool events_ends(const struct events *e, int signo);

/* Sleeps until there is an event. Then call events_signal() until it returns 0. */
void events_wait(struct events *e);

/* Takes the next signal; 0: there is none. A second INT or TERM counts only from ASKED_AGAIN_MS
 * after the first: timeout(1) and service managers send one to us and one to our group. */
#define ASKED_AGAIN_MS 300
int events_signal(struct events *e);

/* Whether a key of the terminal has sent us that signal: then our process group has had it. */
bool events_typed(const struct events *e, int signo);

/* Adds or removes a descriptor. events_wait() ends when an added one is readable. */
void events_add(struct events *e, int fd);
void events_remove(struct events *e, int fd);

/* Makes events_signal() reap every child that has ended, except .vital, .unreaped and .forker,
 * because PID 1 gets all orphans. When .forker is dead it reaps nobody, since the children of
 * .forker have come to us. Does nothing if we are not PID 1. */
void events_reap_strangers(struct events *e);

/* Ends the present or next events_wait(). Any thread may call it. */
void events_wake(struct events *e);

/* Makes events_wait() end after ms milliseconds, in which suspended time counts. Replaces the time
 * that was armed before. */
void events_arm(struct events *e, int64_t ms);

/* Takes signals until one asks us to end, and returns that one; 0: none does. SIGCHLD does if the
 * child .vital has ended. */
int events_asked_to_end(struct events *e);

/* Waits for an event, ms milliseconds at most; below 0: without a limit. Then does what
 * events_asked_to_end() does. */
int events_wait_at_most(struct events *e, int64_t ms);

/* Waits for ms milliseconds. Returns 0, or the signal that asks us to end first. */
int events_pause(struct events *e, int64_t ms);

/* Waits until *done, which another thread sets before it calls events_wake(). Returns 0, or the
 * signal that asks us to end first. */
int events_until(struct events *e, const atomic_bool *done);

/* Writes text to standard output. Signals act as they did before us: they end us while a reader
 * does not read, and SIGPIPE ends us when the reader is gone. Returns GO_ON, or STATUS_IOERR after
 * a message that says why. */
int events_print(const struct events *e, const char *text);

/* Looks whether pid is a child of ours and lives, and does not reap it. *ret: how the child has
 * ended; ret may be NULL. */
enum child { CHILD_NONE, CHILD_LIVES, CHILD_ENDED };
enum child child_look(pid_t pid, siginfo_t *ret);

/* Reaps children that have ended, one after the other, until there is none, or the next is one of
 * the two that must stay unreaped (0: none). */
void children_reap(pid_t unreaped, pid_t unreaped_too);

/* Returns the time in ms by CLOCK_BOOTTIME, which runs on in suspend and which nobody can set.
 * Async-signal-safe. */
int64_t now_ms(void);

#endif
