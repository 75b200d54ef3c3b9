#include "process.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The time at which the process began, in ticks since the boot: field 22, and 20 behind the name's
 * end. What has the same process id later began later. */
static uint64_t read_start(void)
{
    char *text, *at;
    uint64_t start = 0;

    if (!g_file_get_contents("/proc/self/stat", &text, NULL, NULL))
        return 0;
    at = strrchr(text, ')');
    for (int field = 0; at && field < 20; field++)
        at = strchr(at + 1, ' ');
    if (at)
        start = g_ascii_strtoull(at + 1, NULL, 10);
    g_free(text);
    return start;
}

static void read_boot(struct process_id *ret)
{
    char *text;

    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
        return;
    g_strlcpy(ret->boot, g_strstrip(text), sizeof ret->boot);
    g_free(text);
}

/* "pid:[4026531836]". */
static uint64_t read_space(void)
{
    char *text = g_file_read_link("/proc/self/ns/pid", NULL),
         *digits = text ? strchr(text, '[') : NULL;
    uint64_t space = digits ? g_ascii_strtoull(digits + 1, NULL, 10) : 0;

    g_free(text);
    return space;
}

/* What cannot be read leaves the boot id empty, which proves nothing to anybody. */
static void read_self(struct process_id *ret)
{
    *ret = (struct process_id){.pid = (uint64_t)getpid()};
    gethostname(ret->host, sizeof ret->host - 1);
    ret->start = read_start();
    ret->space = read_space();
    if (ret->start != 0 && ret->space != 0)
        read_boot(ret);
}

/* Files are points of cancellation. */
void process_self(struct process_id *ret)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    read_self(ret);
    pthread_setcancelstate(before, NULL);
}

bool process_is_dead(const struct process_id *other, const struct process_id *self)
{
    const bool exists = kill((pid_t)other->pid, 0) == 0 || errno != ESRCH;

    return process_id_is_dead(other, self, exists);
}
