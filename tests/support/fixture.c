#include "fixture.h"

#include "runner.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>

bool server_or_skip(void)
{
    const char *required = getenv("ZKL_REQUIRE_SERVER");
    if (zk_server_available())
        return true;
    if (required && strcmp(required, "1") == 0)
        runner_fail(__FILE__, __LINE__, "ZKL_REQUIRE_SERVER=1, but there is no ZooKeeper server");
    else
        runner_skip("no ZooKeeper server here");
    return false;
}
