/* A member of /g over the fake store, by hand: what its user is told, and how its calls end. There
 * is one at a time. */
#ifndef UNIT_MEMBER_STORY_H
#define UNIT_MEMBER_STORY_H

#include "by_hand.h"
#include "membership.h"

#define STORY_NODE "/root/g/a"

enum { STORY_OTHER = 9 /* another session */ };

extern struct member_story {
    zkl_session *s;
    zkl_member *m; /* NULL: freed */
    GString *told;
    char log[512];
} mstory;

/* A session; and "a" joins, with the data "one". options may be NULL; who hears is the story. */
void mstory_begin(const zkl_member_options *options);
void mstory_begin_joined(void); /* without options; it is in, and has told so */
void mstory_free(void);         /* the member only */
void mstory_end(void);

/* Another session takes the place of the present one. */
void mstory_replace(int64_t id);

/* The server's answers: its node, 5, is made, and read. */
void mstory_created(void);
void mstory_joined(void); /* both */

/* Its name exists, and is that of the node 3 of that session, with these data. */
void mstory_taken(int64_t session_id, const char *data);

/* Callbacks that are due are called; since the last time these were: "joined 5; gone 5 deleted". */
void mstory_told(const char *words);
bool mstory_logged(const char *text);

/* A call that does not block, and has begun. */
struct member_outcome {
    int calls;
    zkl_error error;
};

void mstory_wait(int64_t timeout_ms, struct member_outcome *o);
void mstory_update(const char *data, struct member_outcome *o);
void mstory_leave(int64_t timeout_ms, struct member_outcome *o);
void mstory_done(const zkl_error *err, void *outcome);

/* It has ended with that code, for that reason; text NULL: any. */
void mstory_ended(const struct member_outcome *o, int code, const char *text);
void mstory_pending(const struct member_outcome *o);

/* The newest data are to be set, for that version. */
void mstory_sets(const char *data, int version);

#endif
