/* Who still lives in a process group. */
#ifndef ZKL_TOOLS_GROUP_H
#define ZKL_TOOLS_GROUP_H

#include <sys/types.h>

enum group_state { GROUP_GONE, GROUP_LIVES, GROUP_UNKNOWN };

/* kill(-pgid, 0) counts zombies, and our leader is one on purpose: so /proc is asked. */
enum group_state group_scan(pid_t pgid);

#endif
