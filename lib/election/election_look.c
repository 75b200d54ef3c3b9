/* The leader: asked for once, and observed. */
#include <string.h>

#include "election_state.h"
#include "lib/base/error.h"
#include "lib/queue/queue.h"
#include "observer.h"

static int copy_leader(const zkl_election *e, const zkl_contender *leader, char *buf, size_t size,
                       uint64_t *ret_token)
{
    const char *path = election_path(e);

    if (!leader)
        return error_set(ZKL_ENOENT, path, "%s: nobody leads", path);
    if (ret_token)
        *ret_token = leader->token;
    if (strlen(leader->owner) >= size)
        return error_set(ZKL_ERANGE, path, "%s: the leader's id has %zu bytes", path,
                         strlen(leader->owner));
    strcpy(buf, leader->owner);
    return 0;
}

/* It may be freed while the line is read. */
static void hold(zkl_election *e)
{
    session_lock(e->session);
    e->refs++;
    session_unlock(e->session);
}

static void let_go(zkl_election *e)
{
    zkl_session *s = session_ref(e->session);

    session_lock(s);
    election_unref(e);
    session_unlock(s);
    session_unref(s);
}

int zkl_election_leader(zkl_election *e, char *buf, size_t size, uint64_t *ret_token)
{
    int code = election_check(e, false);
    zkl_queue *line;

    if (code)
        return code;
    const struct queue_wish wish = {.first = e->rule};
    if (!buf && size > 0)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_leader: buf is NULL");
    hold(e);
    code = queue_read(&line, e->session, e->directory, &wish, 0);
    if (code == 0) {
        code = copy_leader(e, zkl_queue_get(line, 0), buf, size, ret_token);
        zkl_queue_free(line);
    }
    let_go(e);
    return code;
}

/* ---- an observer ---- */

int zkl_election_watch(zkl_election *e, zkl_leader_fn fn, void *data, zkl_watch **ret)
{
    int code = election_check(e, false);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_watch: fn is NULL");
    session_lock(e->session);
    if (e->session->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct children_watch *o =
            observer_new(e->session, e->directory, e->rule, fn, data, &e->observers);
        if (ret)
            *ret = children_watch_handle(o);
        children_watch_begin(o);
    }
    session_unlock(e->session);
    return code;
}
