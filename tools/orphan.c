/* Ends the session of a dead zkl, in a process of its own: servers may be slow. */
#include "orphan.h"
#include "closing.h"
#include "connect.h"
#include "credentials.h"
#include "guard/cgroup.h"
#include "guard/priority.h"
#include "guard/shared.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The credentials of the session: scheme and secret of one after the other, each with its NUL. */
struct left {
    atomic_size_t size; /* 0 while they change: a kill in between leaves none */
    char texts[CREDENTIALS_MAX];
};
static struct left *left;

bool orphan_prepare(void)
{
    orphan_forget();
    left = shared_map(sizeof *left);
    return left;
}

void orphan_leave_credentials(const GArray *credentials)
{
    if (!left)
        return;
    char *end = left->texts;
    atomic_store(&left->size, 0);
    for (guint i = 0; i < credentials->len; i++) {
        const zkl_credential *c = &g_array_index(credentials, zkl_credential, i);

        end = stpcpy(stpcpy(end, c->scheme) + 1, c->auth) + 1;
    }
    atomic_store(&left->size, (size_t)(end - left->texts));
}

void orphan_forget(void)
{
    if (left)
        munmap(left, sizeof *left);
    left = NULL;
}

/* Those of left itself. */
static GArray *orphan_credentials(void)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(zkl_credential));
    const char *text = left ? left->texts : NULL;
    const char *end = left ? text + atomic_load(&left->size) : NULL;

    while (text < end) {
        const zkl_credential c = {text, text + strlen(text) + 1};

        g_array_append_val(list, c);
        text = c.auth + strlen(c.auth) + 1;
    }
    return list;
}

/* Any file that stays open might keep somebody waiting for its end. */
static void close_files(void)
{
    const int nothing = open("/dev/null", O_RDWR);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    close_range(STDERR_FILENO + 1, ~0U, 0);
}

void orphan_end_session(const struct settings *settings, const zkl_session_claim *claim)
{
    zkl_session_options options = connect_options(settings);
    const int outside = cgroup_open_outside();
    sigset_t none;

    if (fork() == 0) {
        priority_give_back();
        closing_detach(outside);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* a service manager may wish it to end */
        close_files();
        const GArray *credentials = orphan_credentials();
        options.credentials = (const zkl_credential *)(const void *)credentials->data;
        options.credential_count = credentials->len;
        /* By then it has expired. */
        zkl_session_end(connect_string(settings), &options, claim, settings->session_timeout_ms);
        _exit(STATUS_OK);
    }
    if (outside >= 0)
        close(outside);
}
