/* Makes the directories above a node. With the monitor held. */
#ifndef LIB_PARENTS_H
#define LIB_PARENTS_H

#include "core.h"

/* Makes what is missing above path (full), and calls done: with STORE_OK or why the last of them is
 * not there; STORE_GONE when the session ended. */
void parents_make(zkl_session *s, const char *path, enum store_mode mode,
                  void (*done)(void *context, enum store_rc rc), void *context);

#endif
