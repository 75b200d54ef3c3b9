/* What the programs that use zkl share. */
#ifndef BENCH_USER_H
#define BENCH_USER_H

#include <zkl.h>

/* Ends the process with the last error's text unless rc is 0. */
void user_require(int rc);

/* A connected session. Its timeout is option timeout, in ms, or as of the bare programs 30 s;
 * option tick is the servers'. With option quiet it does not log that it has no connection. */
zkl_session *user_session(const char *address);

/* Ends the process if an acquisition failed. */
void user_granted(const zkl_error *error);

#endif
