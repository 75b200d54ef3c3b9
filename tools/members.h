/* Members of a group as text, for zkl member, shards and ls. */
#ifndef ZKL_TOOLS_MEMBERS_H
#define ZKL_TOOLS_MEMBERS_H

#include "tool.h"

/* A line of heads, and one for each; "" if there is none. */
GString *members_table(const zkl_members *ms);

/* An object; key and value first, unless key is NULL. */
void member_json(GString *out, const char *key, const char *value, const zkl_member_info *m);

/* What zkl_grant_remaining_ms() says of a membership; 0: it is not a member now. */
int64_t membership_ms(zkl_member *member);

/* Leaves, and waits for nothing. */
void leave_group(zkl_member *member);

/* Says who else has the id: of ZKL_MEMBER_BUSY. */
void say_id_is_taken(const char *path, const char *id, const zkl_member_news *news);

#endif
