/* A cgroup of the command's own, where cgroup v2 lets us make one. KILL reaches all that is in it
 * at once, however fast it forks and whoever it runs as. */
#ifndef ZKL_TOOLS_CGROUP_H
#define ZKL_TOOLS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

struct cgroup;

/* Makes a cgroup below our own, which stays as it is. Returns NULL for a command whose daemons are
 * to be left alone. Returns NULL without a message if no cgroup can be made, or if it is not ours
 * to make. In all functions below, NULL stands for none. */
struct cgroup *cgroup_new(bool leave_daemons);

/* Removes it, unless somebody lives in it. */
void cgroup_remove(const struct cgroup *c);

/* Removes it in the same way; by its maker. */
void cgroup_free(struct cgroup *c);

/* fork(2) by a process of one thread. The child is in the cgroup from its first moment. Returns -1
 * if that is not possible. */
pid_t cgroup_fork(const struct cgroup *c);

/* KILL to all that are in it, and in those below. */
void cgroup_kill(const struct cgroup *c);

/* Opens the file to which "0" is written to leave the cgroups of all the commands around us; -1:
 * there is none. */
int cgroup_open_outside(void);

#endif
