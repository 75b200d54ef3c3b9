/* An election over the fake store, and what it tells as one line of words. */
#ifndef UNIT_ELECTION_STORY_H
#define UNIT_ELECTION_STORY_H

#include "fake_store.h"

#define ELECTION "/e"
#define PATH_OF(name) (char *)ELECTION "/" name

struct election_story {
    zkl_session *session;
    zkl_election *election;
    char *node; /* of the newest candidacy */
    pthread_mutex_t lock;
    GString *told; /* "leading resigned", "nobody a b=data" */
    bool held_up;  /* the callback that comes next does not return while it is set */
};

void election_begin(struct election_story *s, const zkl_election_options *options);
void election_begin_started(struct election_story *s, const zkl_election_options *options);
void election_end(struct election_story *s); /* closes and frees what is still there */

void election_start(struct election_story *s); /* campaigning again and again */

/* The create under way, and the list behind it, are answered: first in line, with that token. */
void election_win(struct election_story *s, uint64_t token);

/* The read that leaves the watch of the own node is awaited and answered. */
void election_set_own_watch(struct election_story *s);

void election_hold_up(struct election_story *s, bool held_up);

/* Waits until that was told, and nothing else. */
#define TOLD(s, text) election_told((s), (text), __FILE__, __LINE__)
void election_told(struct election_story *s, const char *text, const char *file, int line);

/* For zkl_election_watch(). */
void election_on_leader(const zkl_leader *leader, void *story);

/* Everything pushed to the callback thread so far has run. */
void election_flush(struct election_story *s);

#endif
