#include "retained.h"

zkl_mutex *retaining(zkl_session *s, int64_t retain_ms)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.retain_ms = retain_ms;
    return fault_mutex_options(s, fault.path, &o);
}

const zkl_grant *lock_turn(zkl_mutex *m, struct turn_seen *ret)
{
    const zkl_grant *g = NULL;

    REQUIRE(zkl_mutex_lock(m, FAULT_LIMIT_MS, &g) == 0);
    CHECK_INT(zkl_grant_turn(g), 0);
    ret->token = zkl_grant_token(g);
    g_strlcpy(ret->node, zkl_grant_node(g), sizeof ret->node);
    return g;
}

/* Whatever a contender asks for. */
static const int ops[] = {PROXY_OP_CREATE,       PROXY_OP_CREATE2,  PROXY_OP_CREATE_CONTAINER,
                          PROXY_OP_GET_CHILDREN, PROXY_OP_DELETE,   PROXY_OP_GET_CHILDREN2,
                          PROXY_OP_EXISTS,       PROXY_OP_GET_DATA, PROXY_OP_MULTI};

static uint64_t sum(uint64_t (*count)(struct proxy *p, int op))
{
    uint64_t all = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        all += count(fault.proxy, ops[i]);
    return all;
}

uint64_t contender_requests(void)
{
    return sum(proxy_requests);
}

void retain_first(zkl_mutex *m, struct turn_seen *ret)
{
    char *parent = g_path_get_dirname(fault.path);

    CHECK_INT(raw_create(fault.direct, parent, NULL, -1, 0, NULL), ZOK);
    CHECK_INT(raw_create(fault.direct, fault.path, NULL, -1, 0, NULL), ZOK);
    g_free(parent);
    lock_turn(m, ret);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK(proxy_wait_answers(fault.proxy, PROXY_OP_GET_CHILDREN2, 2, FAULT_LIMIT_MS));
    /* The own node is watched 20 ms after the grant; the session has read twice for itself. */
    CHECK(proxy_wait_answers(fault.proxy, PROXY_OP_GET_DATA, 3, FAULT_LIMIT_MS));
    EVENTUALLY(sum(proxy_answers) == sum(proxy_requests));
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_GET_CHILDREN2), 2); /* one was the look */
}

void check_turn(const zkl_grant *g, const struct turn_seen *first, uint64_t turn)
{
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_grant_token(g), first->token);
    CHECK_INT(zkl_grant_turn(g), turn);
    CHECK_STR(zkl_grant_node(g), first->node);
}

void check_new_node(const zkl_grant *g, const struct turn_seen *before)
{
    CHECK(zkl_grant_token(g) > before->token);
    CHECK_INT(zkl_grant_turn(g), 0);
    CHECK(g_strcmp0(zkl_grant_node(g), before->node) != 0);
}

void take_turn(zkl_mutex *m, const struct turn_seen *first, uint64_t turn)
{
    const zkl_grant *g = NULL;

    REQUIRE(zkl_mutex_lock(m, FAULT_LIMIT_MS, &g) == 0);
    check_turn(g, first, turn);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}
