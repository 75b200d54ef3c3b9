#include <stdio.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

static void put(zhandle_t *zh, void *data)
{
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
    char made[100];

    if (zkl_grant_check_op(*(const zkl_grant **)data, ops, 1) < 0) /* fails if the lock is lost */
        return;
    zoo_create_op_init(&ops[1], "/report", "done", 4, &ZOO_OPEN_ACL_UNSAFE, 0, made, sizeof made);
    if (zoo_state(zh) == ZOO_CONNECTED_STATE && zoo_multi(zh, 2, ops, results) == ZOK)
        puts("written under the lock");
}

/* An ephemeral node of the program's own: it goes with the session. */
static void make_own_node(zhandle_t *zh, void *made)
{
    *(int *)made = zoo_create(zh, "/here", "web1", 4, &ZOO_READ_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);
}

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m;
    const zkl_grant *g;
    int made = ZSYSTEMERROR;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    /* Else the library may end a session that it does not need any more. */
    if (zkl_session_wait(s, 10000) == 0 && zkl_session_keep(s, 1) == 0 &&
        zkl_session_call(s, make_own_node, &made) == 0 && made == ZOK)
        puts("announced");
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 && zkl_mutex_lock(m, 10000, &g) == 0) {
        zkl_session_call(s, put, &g);
        zkl_mutex_unlock(m);
        zkl_mutex_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * announced
 * written under the lock */
