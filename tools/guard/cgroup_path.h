/* Finds the place of a process in the hierarchy of cgroup v2. Pure: the kernel's texts in, paths
 * out. */
#ifndef ZKL_TOOLS_CGROUP_PATH_H
#define ZKL_TOOLS_CGROUP_PATH_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns the directory of our cgroup, by the texts of /proc/self/mountinfo and /proc/self/cgroup.
 * The caller frees it. Returns NULL if cgroup v2 is not mounted, or if no mount shows our cgroup.
 */
char *cgroup_path(const char *mountinfo, const char *membership);

/* Writes the name of a cgroup for a command, which has the maker's pid and a number in it. */
#define CGROUP_NAME_MAX 32
void cgroup_name(char ret[CGROUP_NAME_MAX], pid_t maker, int number);

/* Whether name is such a name. *ret_maker is the maker's pid; ret_maker may be NULL. */
bool cgroup_name_parse(const char *name, pid_t *ret_maker);

/* Returns the parent directory of the cgroup that the outermost zkl around us has made for its
 * command. The caller frees it. Returns NULL if path is not within such a cgroup. */
char *cgroup_path_outside(const char *path);

#endif
