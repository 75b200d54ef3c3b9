/* Who still lives in a process group. */
#ifndef ZKL_TOOLS_GROUP_H
#define ZKL_TOOLS_GROUP_H

#include <sys/types.h>

/* The name of a guard that has something to guard. */
#define GUARD_NAME "zkl-guard"

enum group_state { GROUP_GONE, GROUP_LIVES, GROUP_UNKNOWN };

/* kill(-pgid, 0) counts zombies, and our leader is one on purpose: so /proc is asked. A guard that
 * has lost its own tool, and has come to ours or to our guard, counts too: it is just ending the
 * group of a lock inside this one. */
enum group_state group_scan(pid_t pgid, pid_t tool, pid_t guard);

#endif
