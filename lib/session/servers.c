/* A list of servers that changes while the session lives: the store's handle takes it when it next
 * fails to connect. */
#include <string.h>

#include "core.h"
#include "lib/base/error.h"
#include "lib/base/path.h"

/* Takes hosts. */
static int change(zkl_session *s, char *hosts)
{
    if (s->closing) {
        g_free(hosts);
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    }
    char *former = s->hosts, *shown = s->shown_hosts;
    s->hosts = hosts;
    s->shown_hosts = path_show_hosts(hosts); /* a child of fork() reads one or the other */
    if (s->store && s->ops->set_hosts && strcmp(hosts, former) != 0)
        s->ops->set_hosts(s->store, hosts);
    g_free(former);
    g_free(shown);
    return 0;
}

int session_split_connect(const char *connect, char **ret_hosts, char **ret_chroot)
{
    const char *wrong = path_split_connect(connect, ret_hosts, ret_chroot);

    if (!wrong)
        return 0;
    return error_set(ZKL_EINVAL, connect, "connect string \"%.100s\": %s", connect ? connect : "",
                     wrong);
}

int zkl_session_set_servers(zkl_session *s, const char *connect)
{
    int code = session_check(s);
    char *hosts, *chroot;

    if (!code)
        code = session_split_connect(connect, &hosts, &chroot);
    if (code)
        return code;
    const bool same = strcmp(chroot, s->chroot) == 0;
    g_free(chroot);
    if (!same) {
        g_free(hosts);
        return error_set(ZKL_EINVAL, connect, "connect string \"%.100s\": it has another chroot",
                         connect);
    }
    session_lock(s);
    code = change(s, hosts);
    session_unlock(s);
    return code;
}
