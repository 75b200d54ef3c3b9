/* Watches, which report changes. There are watches of a queue (zkl_queue_watch()), of an election's
 * leader (zkl_election_watch()), of the members of a group (zkl_members_watch()) and of a counter
 * (zkl_counter_watch()). */
#ifndef ZKL_WATCH_H
#define ZKL_WATCH_H

#include <zkl/api.h>

ZKL_BEGIN

/* Ends a watch and frees it. No call of its function begins afterwards. If a call is in progress on
 * another thread, waits until that call has returned; inside a callback it does not wait. */
ZKL_API void zkl_watch_free(zkl_watch *w);

ZKL_END

#endif
