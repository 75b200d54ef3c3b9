/* What the tool says to its guard, and zkl elect to its candidate. Replies are in memory (shared.h,
 * report.h): they are only nudged. */
#ifndef ZKL_TOOLS_TALK_H
#define ZKL_TOOLS_TALK_H

#include <stdbool.h>
#include <stdint.h>

enum talk_kind {
    TALK_START,  /* run the command; the text is the node */
    TALK_STATE,  /* value: the grant's */
    TALK_LOOK,   /* the deadline has come nearer; or it is asked to step down */
    TALK_SIGNAL, /* value: for --on-lost; for the candidate itself */
};

struct talk {
    int kind;
    int value;
    uint64_t token;
    /* Of TALK_START: */
    bool front; /* give the command the terminal that is our standard input */
    int session_timeout_ms;
    int64_t grace_ms;
    int64_t session_id;
};

enum talk_heard { TALK_HEARD, TALK_NOTHING, TALK_END };

/* Two connected sockets, messages kept apart. false with errno set. */
bool talk_open(int ret[2]);

/* With a text, or NULL. From any thread; never blocks. false with errno set: the other is dead, or
 * has not listened for long. */
bool talk_say(int fd, const struct talk *message, const char *text);

/* Never blocks. *ret_text is the text, to be freed by g_free(). */
enum talk_heard talk_hear(int fd, struct talk *ret, char **ret_text);

/* A message of nothing, that wakes the other. */
void talk_nudge(int fd);

/* Takes the nudges that have come. false when the other is dead. */
bool talk_nudged(int fd);

#endif
