/* The exit statuses; and after which failures a service tries again, and when. Pure. */
#ifndef ZKL_TOOLS_FAILURE_H
#define ZKL_TOOLS_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses: numbers of sysexits(3) where there is one, and the shell's for what cannot be run.
 */
enum {
    STATUS_OK = 0,
    STATUS_CONFLICT = 1,     /* the lock was not acquired in time; -E changes it */
    STATUS_USAGE = 64,       /* bad options, path or connect string */
    STATUS_DATA = 65,        /* somebody's node or data are where ours should be */
    STATUS_UNAVAILABLE = 69, /* no server answers */
    STATUS_INTERNAL = 70,
    STATUS_IOERR = 74, /* standard output cannot be written */
    STATUS_LOST = 75,  /* the lock was lost while the command ran */
    STATUS_NOPERM = 77,
    STATUS_OVERDUE = 79, /* work of a calendar or period has no run, and should have */
    STATUS_NOEXEC = 126,
    STATUS_NOTFOUND = 127,
    STATUS_SIGNAL = 128 /* + the signal's number */
};

/* No status yet: the next step may begin. */
#define GO_ON (-1)

/* Returns the exit status for an error of the library. */
int failure_status(int code);

/* Whether a service tries again after a failure with that status, which is not its command's.
 * was_in: the service has waited in line, or has been a member, before. Then it bears refusals for
 * bearable_ms, since somebody may just be changing a permission. *refused_since, by the clock of
 * now, is when refusals began; it becomes now if it is 0. The caller sets it to 0 when all is well.
 */
bool failure_passes(int status, bool was_in, int64_t *refused_since, int64_t now,
                    int64_t bearable_ms);

/* The pause before a service tries again: the first, and the longest. */
#define PAUSE_FIRST_MS 1000
#define PAUSE_LAST_MS 30000

/* Returns the pause after one of before ms; 0: there was none. */
static inline int64_t pause_next_ms(int64_t before)
{
    if (before == 0)
        return PAUSE_FIRST_MS;
    return before * 2 < PAUSE_LAST_MS ? before * 2 : PAUSE_LAST_MS;
}

#endif
