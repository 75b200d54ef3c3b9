/* All members of a session that are not over. With the monitor held. */
#ifndef LIB_MEMBER_SESSION_H
#define LIB_MEMBER_SESSION_H

#include <stdbool.h>
#include <zkl.h>

/* Those that are not over. */
void members_add(zkl_member *m); /* behind others with the same node */
void members_remove(zkl_member *m);
zkl_member *members_find(zkl_session *s, const char *node); /* the first; of a party NULL */

/* So many are not stepped for each proof that a session gets; tests set it. */
enum { MEMBERS_MANY = 100 };
extern unsigned members_many;

#endif
