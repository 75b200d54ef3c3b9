/* Shows the members of a group as text, for zkl member, shards and ls. */
#ifndef ZKL_TOOLS_MEMBERS_H
#define ZKL_TOOLS_MEMBERS_H

#include "tool.h"

/* Makes a table of the members, below a line of heads; "" if there is no member. */
GString *members_table(const zkl_members *ms);

/* Appends a member as an object. key and value come first, unless key is NULL. */
void member_json(GString *out, const char *key, const char *value, const zkl_member_info *m);

/* Returns how long the membership is still valid, in ms; 0: there is none now. */
int64_t membership_ms(zkl_member *member);

/* Leaves the group, and waits for nothing. */
void leave_group(zkl_member *member);

/* Says who else has the id. news: as ZKL_MEMBER_BUSY brings it. */
void say_id_is_taken(const char *path, const char *id, const zkl_member_news *news);

#endif
