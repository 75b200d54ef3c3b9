/* What the tool says to its guard, and zkl elect to its candidate. Replies are in memory
 * (shared.h), and the channel only says that there is one. */
#ifndef ZKL_TOOLS_CHANNEL_H
#define ZKL_TOOLS_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum channel_kind {
    MESSAGE_START,  /* run the command; the text is grant_text() */
    MESSAGE_STATE,  /* value: the grant's */
    MESSAGE_LOOK,   /* the deadline has come nearer; or it is asked to step down */
    MESSAGE_SIGNAL, /* value: for --on-lost; for the candidate itself */
    MESSAGE_FORK,   /* to a zygote: guard number value, whose channel goes with it */
};

struct message {
    int kind;
    int value;
    uint64_t token;
    bool typed; /* a signal's: a key of the terminal has sent it to our process group */
    /* Only MESSAGE_START has these: */
    bool front; /* give the command the terminal that is our standard input */
    int session_timeout_ms;
    int64_t grace_ms;
    int64_t session_id;
    int slot; /* the number of the permit; -1: it has none */
};

enum channel_heard { MESSAGE_HEARD, MESSAGE_NOTHING, MESSAGE_END };

/* Two connected sockets, messages kept apart. false with errno set. */
bool channel_open(int ret[2]);

/* fork(2) with a channel between the two, of which *ret is the caller's side. -1 with errno set. */
pid_t channel_fork(int *ret);

/* Sends a message, with a text or NULL, and with a descriptor, of which the other gets a copy, or
 * -1. Any thread may call it, and it never blocks. Returns false with errno set if the other end is
 * dead, or has not listened for long. */
bool channel_send(int fd, const struct message *message, const char *text, int passed);

/* Never blocks. *ret_text is the text, to be freed by g_free(); *ret_passed is the descriptor, -1
 * for none. ret_passed is NULL where none is sent. */
enum channel_heard channel_receive(int fd, struct message *ret, char **ret_text, int *ret_passed);

/* A message of nothing, that wakes the other. */
void channel_nudge(int fd);

/* Takes the nudges that have come. false when the other is dead. */
bool channel_nudged(int fd);

#endif
