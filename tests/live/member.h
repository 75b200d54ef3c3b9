/* What the tests of groups share: the events of members and observers as one line of words. */
#ifndef LIVE_MEMBER_H
#define LIVE_MEMBER_H

#include "fault.h"

struct group_story {
    pthread_mutex_t lock;
    GString *text;
};

void group_story_begin(struct group_story *s);
void group_story_end(struct group_story *s);
char *group_story_text(struct group_story *s); /* so far; for g_free() */
bool group_story_is(struct group_story *s, const char *text);
bool group_story_ends(struct group_story *s, const char *text);

/* Records what a member is told: "joined gone:session again left …"; data is the story. */
void group_on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                     void *data);

/* Records what an observer is told: "+a=data ~a=data -a 1 …", where the number is that of all. */
void group_on_members(zkl_members_event event, const zkl_member_info *member,
                      const zkl_members *all, void *data);

/* Joins with text for data; story may be NULL. */
zkl_member *group_join(zkl_session *s, const char *id, const char *text, struct group_story *story);
char *group_node(const char *id); /* its path at fault.path; for g_free() */

/* Whether the node of that id has that data. */
bool group_has(const char *id, const char *text);

#endif
