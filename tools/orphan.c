/* The session of a dead zkl is ended in a process of its own, because servers may be slow. */
#include "orphan.h"
#include "closing.h"
#include "connect.h"
#include "credentials_shared.h"
#include "guard/cgroup.h"
#include "guard/priority.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void orphan_end_session(const struct settings *settings, const zkl_session_claim *claim)
{
    zkl_session_options options = connect_options(settings);
    const int outside = cgroup_open_outside();
    sigset_t none;

    if (fork() == 0) {
        priority_give_back();
        closing_detach(outside);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* so that a service manager can end this process */
        /* Somebody may wait for the end of any file of ours. */
        const int nothing = open("/dev/null", O_RDWR);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            dup2(nothing, fd);
        close_range(STDERR_FILENO + 1, ~0U, 0);
        const GArray *credentials = credentials_shared();
        options.credentials = (const zkl_credential *)(const void *)credentials->data;
        options.credential_count = credentials->len;
        /* After this time the session has expired anyway. */
        zkl_session_end(connect_string(settings), &options, claim, settings->session_timeout_ms);
        _exit(STATUS_OK);
    }
    if (outside >= 0)
        close(outside);
}
