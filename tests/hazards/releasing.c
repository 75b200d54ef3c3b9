/* A release that frees what is not the caller's to free. */
#include "hazard.h"

#include <inttypes.h>
#include <string.h>

/* ---- freed_by_name ---- */

static void freed_by_name_usual(void)
{
    struct kv kv = KV_INIT;

    CHECK(kv_set_if_absent(&kv, "A", 1000));
    kv_pass(&kv, 1500); /* A is slow */
    CHECK(kv_set_if_absent(&kv, "B", 1000));
    kv_pass(&kv, 100);
    kv_delete(&kv); /* A's release */
    CHECK(kv_set_if_absent(&kv, "C", 1000));
    CHECK_STR(kv_owner(&kv), "C");
    tell("A's lock had expired and B held it when A, done at last, released: DEL took the key by "
         "its name, so C got in 100 ms into B's second: B and C held at once.");
}

static void freed_by_name_zkl(void)
{
    struct acquisition b, c;
    const zkl_grant *grant;

    fault_begin();
    zkl_mutex *m = fault_mutex(fault_proxied(SESSION_MS));
    zkl_session *direct = fault_direct(FAULT_LONG_MS);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    acquisition_queue(&b, fault_mutex(direct), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    REQUIRE(acquisition_granted(&b));
    proxy_thaw(fault.proxy);
    acquisition_queue(&c, fault_mutex(direct), 2);
    int err = zkl_mutex_unlock(m);
    CHECK_INT(err, ZKL_ELOST);
    EVENTUALLY(zkl_mutex_lock(m, 0, NULL) == ZKL_EBUSY); /* when it has a session again */
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(b.grant), NULL), ZOK);
    CHECK_INT(zkl_grant_state(b.grant), ZKL_HELD);
    CHECK_INT(atomic_load(&c.done), 0);
    tell("A's late unlock answered \"%s\"; B's node stood, B held on, and C waited.",
         zkl_strerror(err));
    acquisition_end(&b);
    CHECK(acquisition_granted(&c));
    acquisition_end(&c);
    fault_end();
}

/* ---- freed_first_child ---- */

/* As a session ends that its owner does not hear of, but sooner. */
static void end_session(int64_t id)
{
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_expire(id);
}

static void freed_first_child_usual(void)
{
    char lost[RAW_PATH_SIZE], held[RAW_PATH_SIZE], waiting[RAW_PATH_SIZE];

    fault_begin();
    struct raw *a = usual_open(proxy_connect(fault.proxy), FAULT_LONG_MS);
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *c = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    usual_enter(a, lost);
    usual_enter(b, held);
    usual_enter(c, waiting);
    end_session(raw_session_id(a));
    usual_granted(b, held);
    CHECK(!usual_is_first(c, waiting));
    proxy_heal(fault.proxy);
    raw_close(a);
    a = usual_open(proxy_connect(fault.proxy), FAULT_LONG_MS); /* its new session */
    char **names = raw_children(a, fault.path);
    char *first = g_strdup_printf("%s/%s", fault.path, names[0]);
    CHECK_STR(first, held);
    CHECK_INT(raw_delete(a, first), ZOK);
    usual_granted(c, waiting);
    CHECK(raw_exists(b, held, NULL) == ZNONODE);
    tell(
        "a release deletes the first child, \"which is mine, as I hold\": A's session had expired, "
        "the first child was B's, and C was first in line while B worked on, its session alive "
        "and well.");
    g_free(first);
    g_strfreev(names);
    raw_close(a);
    raw_close(b);
    raw_close(c);
    fault_end();
}

static void freed_first_child_zkl(void)
{
    struct acquisition b, c;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS), *direct = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s), *gives_up = fault_mutex(direct);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    acquisition_queue(&b, fault_mutex(direct), 2);
    end_session(zkl_session_id(s));
    REQUIRE(acquisition_granted(&b));
    acquisition_queue(&c, fault_mutex(direct), 2);
    proxy_thaw(fault.proxy);
    CHECK_INT(zkl_mutex_lock(gives_up, 100, NULL), ZKL_ETIMEDOUT);
    int never_held = zkl_mutex_unlock(gives_up);
    EVENTUALLY(zkl_grant_state(grant) == ZKL_LOST);
    int lost = zkl_mutex_unlock(m);
    CHECK_INT(never_held, ZKL_EPERM);
    CHECK_INT(lost, ZKL_ELOST);
    EVENTUALLY(zkl_mutex_lock(m, 0, NULL) == ZKL_EBUSY);
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(b.grant), NULL), ZOK);
    CHECK_INT(zkl_grant_state(b.grant), ZKL_HELD);
    CHECK_INT(atomic_load(&c.done), 0);
    tell("nobody's node is deleted but the caller's own: A's unlock answered \"%s\", that of a "
         "waiter that had given up \"%s\"; B held on, C waited.",
         zkl_strerror(lost), zkl_strerror(never_held));
    acquisition_end(&b);
    CHECK(acquisition_granted(&c));
    acquisition_end(&c);
    fault_end();
}

/* ---- shared_identity ---- */

/* zoo_lock.c's way: a child with this session's id in its name is "mine", whoever made it. */
static bool shared_lock(struct raw *r, char node[RAW_PATH_SIZE])
{
    char *mine = g_strdup_printf("x-%016" PRIx64 "-", (uint64_t)raw_session_id(r));
    char *path = g_strdup_printf("%s/%s", fault.path, mine);
    char **names = raw_children(r, fault.path);
    bool found = false;

    for (char **name = names; *name && !found; name++) {
        found = g_str_has_prefix(*name, mine);
        g_snprintf(node, RAW_PATH_SIZE, "%s/%s", fault.path, *name);
    }
    if (!found)
        CHECK_INT(raw_create(r, path, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, node), ZOK);
    g_strfreev(names);
    g_free(path);
    g_free(mine);
    return usual_is_first(r, node);
}

static void shared_identity_usual(void)
{
    char one[RAW_PATH_SIZE], two[RAW_PATH_SIZE], other[RAW_PATH_SIZE];

    fault_begin();
    struct raw *r = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *s = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    CHECK(shared_lock(r, one));
    CHECK(shared_lock(r, two)); /* another thread's mutex on the same handle */
    CHECK_STR(two, one);
    CHECK(!shared_lock(s, other));
    CHECK_INT(raw_delete(r, one), ZOK); /* the first thread's unlock */
    EVENTUALLY(usual_is_first(s, other));
    tell(
        "the owner is known by its session: two threads of one handle found the same node, %s, and "
        "both held; the first one's unlock let a third in while the second still held.",
        strrchr(one, '/') + 1);
    raw_close(r);
    raw_close(s);
    fault_end();
}

static void shared_identity_zkl(void)
{
    struct acquisition second, third;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s), *other = fault_mutex(s);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    CHECK_INT(zkl_mutex_lock(other, 0, NULL), ZKL_EBUSY);
    EVENTUALLY(fault_children() == 1);
    acquisition_queue(&second, other, 2);
    acquisition_queue(&third, fault_mutex(fault_direct(FAULT_LONG_MS)), 3);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&second));
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_grant_state(second.grant), ZKL_HELD);
    CHECK_INT(atomic_load(&third.done), 0);
    tell("each attempt has an id and a node of its own: the second handle of the session waited "
         "(\"%s\" to a try), and held when its turn came; the first one's further unlock was "
         "refused.",
         zkl_strerror(ZKL_EBUSY));
    acquisition_end(&second);
    CHECK(acquisition_granted(&third));
    acquisition_end(&third);
    fault_end();
}

/* ---- reentered ---- */

static void reentered_usual(void)
{
    char mine[RAW_PATH_SIZE], waiting[RAW_PATH_SIZE];
    bool owner;

    fault_begin();
    struct raw *a = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    usual_enter(a, mine);
    owner = usual_is_first(a, mine); /* so an inner lock() returns at once */
    CHECK(owner);
    usual_enter(b, waiting);
    CHECK_INT(raw_delete(a, mine), ZOK); /* the inner unlock() */
    EVENTUALLY(usual_is_first(b, waiting));
    tell("\"I own it already\" is a flag: the inner function's unlock deleted the node, and B was "
         "first in line while A's outer function worked on.");
    raw_close(a);
    raw_close(b);
    fault_end();
}

static void reentered_zkl(void)
{
    enum { LEVELS = 3 };
    struct acquisition b;
    const zkl_grant *grant;

    fault_begin();
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    for (int i = 0; i < LEVELS; i++)
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    for (int i = 1; i < LEVELS; i++) {
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
        CHECK_INT(fault_children(), 2);
        CHECK_INT(atomic_load(&b.done), 0);
    }
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&b));
    tell("levels are counted for each owner: locked %d times, B waited through the first %d "
         "unlocks and was granted the lock at the last.",
         LEVELS, LEVELS - 1);
    acquisition_end(&b);
    fault_end();
}

const struct hazard hazards_releasing[] = {
    {"freed_by_name", "a release frees the lock of another, by its name", freed_by_name_usual,
     freed_by_name_zkl, "mutex.nested_after_loss handle.owners_by_turns"},
    {"freed_first_child", "a release frees the lock of another, by the first child",
     freed_first_child_usual, freed_first_child_zkl,
     "scenario_admin.s19_expired_by_force handle.owners_by_turns"},
    {"shared_identity", "a release frees the lock of another, by a shared session id",
     shared_identity_usual, shared_identity_zkl, "local_queue.handles_do_not_know_each_other"},
    {"reentered", "a re-entered lock is freed by the first exit", reentered_usual, reentered_zkl,
     "mutex.reentrant"},
    {.name = NULL},
};
