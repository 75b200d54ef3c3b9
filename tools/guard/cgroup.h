/* Gives the command a cgroup of its own, where cgroup v2 lets us make one. KILL reaches all
 * processes in it at once, however fast they fork and whoever they run as. */
#ifndef ZKL_TOOLS_CGROUP_H
#define ZKL_TOOLS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

struct cgroup;

/* Makes a cgroup below our own, which stays as it is. Returns NULL for a command whose daemons are
 * to be left alone. Returns NULL without a message if no cgroup can be made, or if it is not ours
 * to make. In all functions below, NULL stands for none. */
struct cgroup *cgroup_new(bool leave_daemons);

/* Removes the cgroup, unless a process lives in it. */
void cgroup_remove(const struct cgroup *c);

/* Removes the cgroup in the same way, and frees c. Only the process that has made it calls this. */
void cgroup_free(struct cgroup *c);

/* Forks a process of one thread. The child is in the cgroup from its first moment. Returns -1 if
 * that is not possible. */
pid_t cgroup_fork(const struct cgroup *c);

/* Sends KILL to all processes in the cgroup, and in those below it. */
void cgroup_kill(const struct cgroup *c);

/* Opens the file by which a process leaves the cgroups of all commands around us, when it writes
 * "0" there. Returns -1 if there is none. */
int cgroup_open_outside(void);

#endif
