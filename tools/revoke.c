/* zkl revoke: asks the holder of a lock to give way. */
#include "connect.h"
#include "contenders.h"

int verb_revoke(struct settings *settings, int argc, char **argv)
{
    const char *summary =
        "Asks the holder of the lock PATH, or the contender NODE, to give way, and shows who was "
        "asked.\nDoes not wait for the holder.";
    g_autoptr(zkl_session) session = NULL;
    g_autoptr(zkl_queue) asked = NULL;
    const char *path, *node;
    int status = options_parse_path(settings, NULL, summary, argc, argv, &path, "NODE", &node);

    if (status == GO_ON)
        status = session_open(settings, &session);
    if (status != GO_ON)
        return status;
    if (zkl_queue_revoke(&asked, session, path, node, settings->connect_timeout_ms) != 0)
        return contenders_failed(path);
    contenders_print_some(asked);
    return STATUS_OK;
}
