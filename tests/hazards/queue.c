/* Nodes that come, go and stay while others look whose turn it is. */
#include "hazard.h"

#include "fourletter.h"

#include <string.h>

/* ---- dead_waiter ---- */

static void predecessor_gone(zhandle_t *zh, int type, int state, const char *path, void *owns)
{
    (void)zh, (void)state, (void)path;
    if (type == ZOO_DELETED_EVENT)
        atomic_store((atomic_bool *)owns, true);
}

static void dead_waiter_usual(void)
{
    char first[RAW_PATH_SIZE], middle[RAW_PATH_SIZE], last[RAW_PATH_SIZE];
    atomic_bool owns = false;
    struct Stat stat;

    fault_begin();
    struct raw *a = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *c = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    usual_enter(a, first);
    usual_enter(b, middle);
    usual_enter(c, last);
    CHECK(usual_is_first(a, first));
    CHECK_INT(zoo_wexists(raw_handle(c), middle, predecessor_gone, &owns, &stat), ZOK);
    raw_close(b);
    EVENTUALLY(atomic_load(&owns));
    CHECK(usual_is_first(a, first));
    tell("\"my predecessor is gone, so it is my turn\": B, in the middle, died; C took the lock "
         "while A held it.");
    raw_close(a);
    raw_close(c);
    fault_end();
}

static void dead_waiter_zkl(void)
{
    struct acquisition a, b, c;

    fault_begin();
    zkl_session *mine = fault_direct(FAULT_LONG_MS), *dying = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    acquisition_queue(&b, fault_mutex(dying), 2);
    acquisition_queue(&c, fault_mutex(mine), 3);
    fault_close(dying);
    CHECK(acquisition_failed(&b, ZKL_ECLOSED));
    EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(mine), zkl_grant_node(a.grant)) ==
               1);
    CHECK_INT(atomic_load(&c.done), 0);
    tell(
        "C looked again when B's node went, found A before it, and now watches A's; it was granted "
        "the lock at A's release.");
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&c));
    acquisition_end(&b);
    acquisition_end(&c);
    fault_end();
}

/* ---- adopted_node ---- */

static char *child_with(struct raw *r, const char *id)
{
    char **names = raw_children(r, fault.path), *found = NULL;

    for (char **name = names; name && *name && !found; name++)
        if (strstr(*name, id))
            found = g_strdup_printf("%s/%s", fault.path, *name);
    g_strfreev(names);
    return found;
}

static void adopted_node_usual(void)
{
    char mine[RAW_PATH_SIZE], waiting[RAW_PATH_SIZE];

    fault_begin();
    struct raw *old = usual_open(proxy_connect(fault.proxy), SESSION_MS);
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    char *path = g_strdup_printf("%s/_c_attempt7-lock-", fault.path);
    CHECK_INT(raw_create(old, path, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, mine), ZOK);
    char *other = g_strdup_printf("%s/_c_attempt8-lock-", fault.path);
    CHECK_INT(raw_create(b, other, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, waiting), ZOK);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    struct raw *new = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    char *adopted = child_with(new, "attempt7");
    CHECK_STR(adopted, mine);
    bool owns = usual_is_first(new, mine); /* and so it holds */
    CHECK(owns);
    EVENTUALLY(raw_exists(b, mine, NULL) == ZNONODE);
    CHECK_INT(raw_exists(b, waiting, NULL), ZOK);
    int64_t id = raw_session_id(new);
    CHECK(id != raw_session_id(old) && raw_exists(new, fault.path, NULL) == ZOK);
    tell("A reconnected with a new session, found the node with its attempt's id, first in line, "
         "and took it for its own; it was its old session's and went with that: B was next, while "
         "A, in a healthy session, held.");
    g_free(adopted);
    g_free(path);
    g_free(other);
    proxy_heal(fault.proxy);
    raw_close(old);
    raw_close(new);
    raw_close(b);
    fault_end();
}

/* A's create is done and not answered. While A is cut off its node is exchanged for one with the
 * same id in another session: what it finds is what an expiry in between would leave. */
static void adopted_node_zkl(void)
{
    char planted[RAW_PATH_SIZE];
    struct acquisition a;
    struct Stat stat;

    fault_begin();
    struct raw *old = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    EVENTUALLY(fault_children() == 1);
    proxy_cut(fault.proxy); /* and with it goes the answer */
    char *node = child_with(old, "_c_");
    REQUIRE(node != NULL);
    CHECK_INT(raw_delete(old, node), ZOK);
    char *like = g_strndup(node, strlen(node) - 10);
    CHECK_INT(raw_create(old, like, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, planted), ZOK);
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&a));
    CHECK(strcmp(zkl_grant_node(a.grant), planted) != 0);
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(a.grant), &stat), ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(s));
    EVENTUALLY(raw_exists(fault.direct, planted, NULL) == ZNONODE);
    tell("a node with A's id that was made in another session was deleted, not adopted; A was "
         "granted the lock for a node of its present session.");
    g_free(like);
    g_free(node);
    acquisition_end(&a);
    raw_close(old);
    fault_end();
}

const struct hazard hazards_queue[] = {
    {"dead_waiter", "a waiter dies in the middle of the queue", dead_waiter_usual, dead_waiter_zkl,
     "queue.middle_leaves attempt_queue.moves_up_when_a_middle_waiter_leaves"},
    {"adopted_node", "an old session's node is adopted after reconnecting", adopted_node_usual,
     adopted_node_zkl, "attempt.unknown_and_done_in_another_session"},
    {.name = NULL},
};
