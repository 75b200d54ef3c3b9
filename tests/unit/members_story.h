/* The group /g over the fake store, by hand: what is asked about it, and what an observer is told.
 * One at a time. */
#ifndef UNIT_MEMBERS_STORY_H
#define UNIT_MEMBERS_STORY_H

#include "by_hand.h"

#define GROUP "/root/g"

extern struct members_story {
    zkl_session *s;
    zkl_watch *watch;
    GString *told;
    char log[256];
} observed;

/* The first opens a session. The next two add an observer, which has asked the server to catch up.
 * The fourth adds "a" and "b", whose nodes are 5 and 6, and of whom the observer has told. */
void observed_open(void);
void observed_begin_as(zkl_member_layout layout);
void observed_begin(void);
void observed_begin_with_two(void);
void observed_end(void);

/* Data is the story's told: "+a=1 ~b=2 -a=1 1": joined, changed, left, and how many there are. */
void observed_on_members(zkl_members_event event, const zkl_member_info *member,
                         const zkl_members *all, void *data);

/* Callbacks that are due are called; since the last time these were. */
void observed_told(const char *words);

/* The server's answers. The first lists the children, by names with blanks between them. The second
 * is of one of them, with its watch. */
void observed_listed(uint64_t pzxid, const char *names);
void observed_node(const char *name, uint64_t czxid, uint64_t mzxid, const char *data);

/* Its watch fires. */
void observed_changes(const char *name);

/* The next list comes 100 ms after the last, and 0.1 ms for each of so many members. */
void observed_rest(int members);

#endif
