/* What every function about the members of a group is given. */
#ifndef LIB_MEMBERS_OPTIONS_H
#define LIB_MEMBERS_OPTIONS_H

#include "lib/session/core.h"

/* For a call of doing, which may wait: fills in *o. 0, or the thread's last error. */
int members_options_take(zkl_members_options *o, const char *doing, zkl_session *s,
                         const char *path, const zkl_members_options *options, bool blocking);

#endif
