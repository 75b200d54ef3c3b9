/* Scenarios: what a program does with the library, played in a process of its own while one call
 * fails. Whatever answers anything but success must be documented to, and must work at a second
 * try; at the end no descriptor and no thread is left. */
#ifndef TORTURE_PLAY_H
#define TORTURE_PLAY_H

#include "fault.h"

#include <stdatomic.h>
#include <zkl.h>

struct play {
    const char *name;
    void (*fn)(void);
};

extern const struct play plays_fake[], plays_client[]; /* each ends with a NULL name */

/* Plays it with that fault and returns the exit status, after a line that says whether the fault
 * was reached; with nth 0 a line for each call and how often it was made. */
int play_run(const char *name, enum call call, unsigned nth, int error);
int play_main(char **argv); /* the same of "NAME CALL N ERROR", for whoever plays one by hand */

/* Like assert(), but ends the process with a line and status 1. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            play_fail(__FILE__, __LINE__, #condition);                                             \
    } while (0)
_Noreturn void play_fail(const char *file, int line, const char *condition);

/* Waits for what tells nobody. */
#define PLAY_AWAIT(condition)                                                                      \
    while (!(condition))                                                                           \
    play_pause()
void play_pause(void);

/* Opens a session; a refusal must be ZKL_ENOMEM, by the fault, and leave nothing. */
zkl_session *play_open(const char *connect, const zkl_session_options *options);

/* Remembers what the process has, and waits until it has no more than that again. */
void play_begin(void);
void play_end(void);
void play_stays(int threads, int fds); /* these may stay */

/* A thread of the test, in which the library's calls may fail. */
void play_thread(void *(*run)(void *data), void *data, void **ret);

struct outcome {
    zkl_grant *grant;
    zkl_error error; /* code 0: there is a grant */
    atomic_int calls;
};
void outcome_take(zkl_grant *grant, const zkl_error *error, void *data); /* zkl_acquired_fn */

/* Counts how often each state was told. */
struct states {
    atomic_int told[ZKL_RELEASED + 1];
};
void states_take(const zkl_grant *grant, zkl_state state, void *data); /* zkl_grant_fn */

#endif
