/* What the rest of the runtime must know of mutex handles. */
#ifndef LIB_MUTEX_H
#define LIB_MUTEX_H

#include <stdbool.h>

/* Around fork(), and in the child, where the parent's handles are nobody's. */
void mutex_before_fork(void);
void mutex_after_fork(bool child);

#endif
