/* Observers of an election. Each asks who is first, keeps a watch on that one, and on what it
 * proclaims, and asks again when any of this changes; recipes/observe.h decides. With the monitor
 * held. */
#ifndef LIB_OBSERVER_H
#define LIB_OBSERVER_H

#include <zkl/election.h>

#include "lib/queue/children_watch.h"
#include "recipes/observe.h"
#include "recipes/rule.h"

/* One of an election's, of whose candidates those of that rule count. It has not begun. */
struct children_watch *observer_new(zkl_session *s, const char *directory, enum rule rule,
                                    zkl_leader_fn fn, void *data, GQueue *list);

/* The servers' data have gone back: what was read and told so far is no measure any more. */
void observer_rewind_all(GQueue *observers);

#endif
