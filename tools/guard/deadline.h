/* The deadline: until when the lock is ours, in memory that has nothing else. The command's tree
 * reads it by a path in /proc, for zkl remaining. Nobody inherits a descriptor for that: some
 * programs complain of those that they do not know. */
#ifndef ZKL_TOOLS_DEADLINE_H
#define ZKL_TOOLS_DEADLINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The environment variable that says where a command finds its deadline. */
#define DEADLINE_VARIABLE "ZKL_DEADLINE"

struct deadline {
    _Atomic int64_t until_boottime; /* the deadline, in ns of each clock; 0: the lock is gone */
    _Atomic int64_t until_raw;
    _Atomic uint64_t token; /* that of the command's grant; 0: no command has begun */
    _Atomic int64_t session_id;
    atomic_bool over; /* it is decided that the command ends, or has ended: the lock may be given
                         back at any moment */
    int fd;           /* of the file, the same in the tool and in its guards */
    int place;        /* of this struct in the file */
};

/* Makes count of them in one file without a name, for processes that are forked later. Returns NULL
 * with errno set. */
struct deadline *deadline_new(size_t count);
void deadline_free(struct deadline *d, size_t count);

/* Makes *d like a new one, for another command. */
void deadline_reset(struct deadline *d);

/* Says whose deadline it is, before the command begins. */
void deadline_begin(struct deadline *d, uint64_t token, int64_t session_id);

/* Returns the environment with DEADLINE_VARIABLE, for children of this process, in place of envp.
 */
char **deadline_tell(const struct deadline *d, char **envp);

/* Returns for how many ms nobody else can be granted the lock, by the clock that leaves less; 0:
 * that time is over. Async-signal-safe. */
int64_t deadline_left_ms(const struct deadline *d);

/* Returns the same for a command with that grant: 0 if it has ended or is to end, or if *d is
 * another grant's. */
int64_t deadline_left_of(const struct deadline *d, uint64_t token, int64_t session_id);

/* Opens what DEADLINE_VARIABLE says, for this process's life. Returns NULL with errno set. */
const struct deadline *deadline_open(const char *where);

#endif
