/* The members of a group as they were read: what is told, and handed out. */
#ifndef LIB_MEMBERS_H
#define LIB_MEMBERS_H

#include <glib.h>
#include <zkl.h>

/* Takes an array of references to boxes (view.h), which it puts in order; for tests, too. */
zkl_members *members_new(GPtrArray *boxes);

/* So many members of a session are not stepped for each proof that it gets; tests set it. */
enum { MEMBERS_MANY = 100 };
extern unsigned members_many;

#endif
