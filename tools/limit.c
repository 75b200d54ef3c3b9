/* zkl limit: shows or sets the limit of a semaphore, on which its contenders have agreed. */
#include "connect.h"
#include "contenders.h"

#include <stdio.h>

int verb_limit(struct settings *settings, int argc, char **argv)
{
    const char *summary = "Shows how many slots the semaphore PATH has, or sets that number to N.\n"
                          "A lower limit takes no slots from their holders.";
    g_autoptr(zkl_session) session = NULL;
    g_autoptr(zkl_semaphore) semaphore = NULL;
    const char *path, *text;
    int limit = 0;
    int status = options_parse_path(settings, NULL, summary, argc, argv, &path, "N", &text);

    if (status == GO_ON)
        status = option_count("N", text, &limit);
    if (status == GO_ON)
        status = session_open(settings, &session);
    if (status != GO_ON)
        return status;
    const int64_t timeout_ms = settings->connect_timeout_ms;
    const bool show = limit == 0;
    if (zkl_semaphore_new(&semaphore, session, path, NULL) == 0 &&
        (show ? zkl_semaphore_get_limit(semaphore, timeout_ms, &limit)
              : zkl_semaphore_set_limit(semaphore, limit, timeout_ms)) == 0) {
        if (show)
            printf("%d\n", limit);
        return STATUS_OK;
    }
    if (zkl_last_error(NULL) == ZKL_ENOENT)
        return fail(STATUS_CONFLICT, "%s: no such path", path);
    return contenders_failed(path);
}
