#include "trio.h"

#include "fixture.h"
#include "live.h"

int trio_start(const char *const *config_of)
{
    const struct zk_server_options options = {
        .nodes = TRIO_NODES, .tick_ms = TRIO_TICK_MS, .config_of = config_of};

    if (!server_or_skip())
        return 0;
    live_shutdown(); /* it would only take memory */
    fault.server = zk_server_start(&options);
    if (!fault.server)
        return 1;
    fault.port = zk_server_port(fault.server, 0);
    return fault_raw_open() ? 0 : 1;
}

zkl_session *trio_session_at(int node, int timeout_ms)
{
    char connect[32];

    g_snprintf(connect, sizeof connect, "127.0.0.1:%d", zk_server_port(fault.server, node));
    zkl_session *s = fault_session(connect, timeout_ms);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    return s;
}

int trio_follower_beside(int other)
{
    int leader = zk_server_wait_leader(fault.server);

    for (int i = 0; i < zk_server_nodes(fault.server); i++)
        if (i != leader && i != other)
            return i;
    return -1;
}

void trio_end(void)
{
    EVENTUALLY(raw_exists(fault.direct, "/", NULL) == ZOK && fault_children() == 0);
    fault_close_all();
}

void trio_let_commit(void)
{
    enum { TRIES = 5, PATIENCE_MS = 5000 };
    const char *connect = zk_server_connect(fault.server);

    /* A session is a change, too. */
    for (int i = 0; i < TRIES && !raw_can_open(connect, PATIENCE_MS << i); i++)
        CHECK(zk_server_restart(fault.server, zk_server_wait_leader(fault.server)));
}
