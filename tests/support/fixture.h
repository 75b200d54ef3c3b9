/* What ties tests to throwaway servers. */
#ifndef SUPPORT_FIXTURE_H
#define SUPPORT_FIXTURE_H

#include <stdbool.h>

/* True when a server can be started. Otherwise the running test, or the suite when called from its
 * init, is marked skipped; with ZKL_REQUIRE_SERVER=1 it fails instead. */
bool server_or_skip(void);

#endif
