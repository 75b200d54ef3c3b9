/* retain CONNECT PATH: a process that retains a lock for a day. It reads a word a line, and answers
 * each by a line: "lock" takes the lock, "unlock" gives it back to the handle. It ends with its
 * input. */
#include <stdio.h>
#include <string.h>
#include <zkl.h>

enum { DAY_MS = 86400000, LINE = 16 };

static int obey(zkl_mutex *mutex, const char *line)
{
    if (strcmp(line, "lock\n") == 0)
        return zkl_mutex_lock(mutex, ZKL_FOREVER, NULL);
    return strcmp(line, "unlock\n") == 0 ? zkl_mutex_unlock(mutex) : ZKL_EINVAL;
}

int main(int argc, char **argv)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_session *session;
    zkl_mutex *mutex;
    char line[LINE];

    options.name = "retain";
    options.retain_ms = DAY_MS;
    if (argc != 3 || zkl_session_open(&session, argv[1], NULL, NULL) != 0 ||
        zkl_mutex_new(&mutex, session, argv[2], &options) != 0)
        return 64;
    while (fgets(line, sizeof line, stdin)) {
        puts(zkl_strerror(obey(mutex, line)));
        fflush(stdout);
    }
    zkl_mutex_free(mutex);
    zkl_session_close(session);
    return 0;
}
