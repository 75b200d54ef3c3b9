/* What the programs that use zkl share. */
#ifndef BENCH_USER_H
#define BENCH_USER_H

#include <zkl.h>

/* Ends the process with the last error's text unless rc is 0. */
void user_require(int rc);

/* As the bare programs: a session of 30 s, connected. */
zkl_session *user_session(const char *address);

/* Ends the process if an acquisition failed. */
void user_granted(const zkl_error *error);

#endif
