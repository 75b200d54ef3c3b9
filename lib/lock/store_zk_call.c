/* What this library lends to users of libzookeeper: checks of a grant's nodes for transactions of
 * their own, and the session's handle during a call. The functions take the monitor. */
#include <zkl-zookeeper.h>

#include "lib/base/error.h"
#include "lib/grant/grant.h"
#include "lib/session/core.h"
#include "lib/session/incarnation.h"
#include "lib/store/store_zk.h"

int zkl_grant_check_op(const zkl_grant *g, struct zoo_op *ops, size_t count)
{
    if (!g || !ops)
        return error_set(ZKL_EINVAL, NULL, "zkl_grant_check_op: %s is NULL", g ? "ops" : "g");
    if (count < grant_count(g))
        return error_set(ZKL_ERANGE, zkl_grant_node(g), "the grant has %u nodes", grant_count(g));
    for (uint32_t i = 0; i < grant_count(g); i++)
        zoo_check_op_init(&ops[i], grant_tenure(g, i)->full_node, -1);
    if (grant_is_child(g))
        return error_set(ZKL_ECHILD, zkl_grant_node(g), "%s: %s", zkl_grant_node(g),
                         zkl_strerror(ZKL_ECHILD));
    const int code = grant_check_state(g, zkl_grant_state(g));
    return code ? code : (int)grant_count(g);
}

/* The session's store while it is lent to the user's function. */
struct lending {
    zkl_session *session;
    struct store *store;
    unsigned generation;
    int cancel_state; /* the thread's, before the call */
};

/* Takes the store back. It runs however the user's function has ended, even by an exception. */
static void lending_end(void *data)
{
    const struct lending *l = data;
    zkl_session *s = l->session;

    pthread_setcancelstate(l->cancel_state, NULL);
    if (fork_is_child(l->generation))
        return;
    session_lock(s);
    s->ops->give_back(l->store);
    incarnation_user_left(s, &s->users.lent);
    session_unlock(s);
    session_unref(s);
}

int zkl_session_call(zkl_session *s, zkl_call_fn fn, void *data)
{
    int code = session_check(s);
    zkl_error why;

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_session_call: fn is NULL");
    session_lock(s);
    struct store *store = s->closing ? NULL : s->store;
    zhandle_t *zh = store ? s->ops->borrow(store) : NULL;
    s->users.lent += zh != NULL;
    if (s->closing)
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    else if (!zh)
        code = error_keep((session_why_down(s, &why), &why));
    session_unlock(s);
    if (code)
        return code;
    session_ref(s); /* fn may close it */
    struct lending lending = {.session = s, .store = store, .generation = s->generation};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &lending.cancel_state);
    pthread_cleanup_push(lending_end, &lending);
    fn(zh, data);
    pthread_cleanup_pop(1);
    if (fork_is_child(lending.generation))
        return error_set(ZKL_ECHILD, NULL, "zkl_session_call: fn returned in a forked child");
    return 0;
}
