/* Messages from the tool to its guard, and from zkl elect to its candidate. Replies are in memory
 * (shared.h), and the channel only says that there is one. */
#ifndef ZKL_TOOLS_CHANNEL_H
#define ZKL_TOOLS_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum channel_kind {
    MESSAGE_START,  /* run the command; the text is grant_text() */
    MESSAGE_STATE,  /* value: the grant's zkl_state */
    MESSAGE_LOOK,   /* look at the shared memory: it has changed */
    MESSAGE_SIGNAL, /* value: a signal, for --on-lost, or for the candidate */
    MESSAGE_FORK,   /* to a zygote: fork guard number value; its channel goes with the message */
};

struct message {
    int kind;
    int value;
    uint64_t token;
    bool typed; /* MESSAGE_SIGNAL: a key of the terminal has sent the signal to our process group */
    /* Only MESSAGE_START has these: */
    bool front; /* give the command the terminal that is our standard input */
    int session_timeout_ms;
    int64_t grace_ms;
    int64_t session_id;
    int slot; /* the number of the permit; -1: it has none */
};

enum channel_received { MESSAGE_RECEIVED, MESSAGE_NOTHING, MESSAGE_END };

/* Opens two connected sockets that keep messages apart. Returns false with errno set. */
bool channel_open(int ret[2]);

/* Forks with a channel between the two processes. *ret is each one's own side. Returns what fork(2)
 * does. */
pid_t channel_fork(int *ret);

/* Sends a message, with a text or NULL, and with a descriptor, of which the other gets a copy, or
 * -1. Any thread may call it, and it never blocks. Returns false with errno set if the other end is
 * dead, or has read nothing for long. */
bool channel_send(int fd, const struct message *message, const char *text, int passed);

/* Takes a message, and never blocks. *ret_text is the text; g_free() it. *ret_passed is the
 * descriptor, -1 for none. ret_passed is NULL where none is sent. MESSAGE_END: the other end is
 * dead. */
enum channel_received channel_receive(int fd, struct message *ret, char **ret_text,
                                      int *ret_passed);

/* Wakes the other process by a message that says nothing. */
void channel_nudge(int fd);

/* Takes the nudges that have come. Returns false if the other process is dead. */
bool channel_take_nudges(int fd);

#endif
