/* A member of a double barrier at /d over the fake store, by hand: what the server answers, and how
 * the member's calls end. There is one at a time. */
#ifndef UNIT_MEETING_H
#define UNIT_MEETING_H

#include "by_hand.h"

#define PATH "/root/d"
#define READY PATH "/ready"
#define OTHER "0"    /* is before the own node, */
#define LATER "\x7f" /* and behind it */

extern struct meeting {
    zkl_session *s;
    zkl_double_barrier *b;
    char *own; /* its node */
    struct meeting_outcome {
        int calls, code;
        char text[128];
    } out;
} meeting;

void meeting_begin(int members);
void meeting_end(void);

/* Another session takes the place of the present one. */
void meeting_next_session(void);

/* Its calls, which do not block; take_own() notes the node that is asked for. */
void meeting_done(const zkl_error *err, void *unused);
void meeting_enter(int64_t timeout_ms);
void meeting_leave(int64_t timeout_ms);
void meeting_take_own(void);

/* The one call has ended with that code; has not. */
void meeting_ended(int code);
void meeting_pending(void);

/* The server's answers. The own node is 10; the directory has the version 4, and there is no ready.
 * names are of children, with blanks between them; "*" is the own node, and the last child came or
 * went at 11. czxid is of one child, 0 if that is gone. */
void meeting_made(void);
void meeting_looked(void);
void meeting_listed(const char *names);
void meeting_stat_of(const char *name, uint64_t czxid);

/* It enters a barrier of two as the second; let_in: it has asked for its node. */
void meeting_inside(void);
void meeting_let_in(void);

/* The transaction that is asked for, and what it writes. */
void meeting_changes(const char *wanted, const char *data);

#endif
