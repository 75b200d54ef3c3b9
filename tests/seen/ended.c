/* Records with which status each verb of zkl has exited while tests run: a line "VERB STATUS" at
 * the end of the file ZKL_SEEN.ended, for each process that exits by itself. man/statuses.py
 * compares them with the manual. It is loaded before libzkl.so, into all commands of the scripts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char verb[16], file[4096];
static pid_t zkl; /* the children that it forks have their own ends, which nobody sees */

static void write_end(int status, void *unused)
{
    (void)unused;
    const int fd =
        getpid() == zkl ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;

    if (fd < 0)
        return;
    dprintf(fd, "%s %d\n", verb, status);
    close(fd);
}

/* The first word of nothing but small letters is the verb: no value of a global option is such a
 * word. */
__attribute__((constructor)) static void see_verb(int argc, char **argv)
{
    const char *seen = getenv("ZKL_SEEN");

    if (!seen || strcmp(program_invocation_short_name, "zkl") != 0)
        return;
    for (int i = 1; i < argc && !verb[0]; i++)
        if (argv[i][0] && !argv[i][strspn(argv[i], "abcdefghijklmnopqrstuvwxyz")])
            snprintf(verb, sizeof verb, "%s", argv[i]);
    snprintf(file, sizeof file, "%s.ended", seen);
    zkl = getpid();
    if (verb[0])
        on_exit(write_end, NULL);
}
